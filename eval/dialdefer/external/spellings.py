"""What files call datasets, conditions, arms, roles and items → the names that everything here goes by."""

from collections.abc import Mapping, Sequence

from evenhand.config import did_you_mean
from evenhand.errors import DataError
from studies.dialdefer.datasets import SOURCES
from studies.dialdefer.records import Condition

DATASETS = tuple(sorted(name for name in SOURCES if name != "unified"))  # `unified` is many datasets, not one
# Beside the canonical names. The authors' files and ids say halueval_qa, harp_mcq and harp_mc; the paper says R/AIO.
OTHER_SPELLINGS = {"haluevalqa": "halueval", "harpmc": "harp", "harpmcq": "harp", "raio": "aio"}
AIO_DATASETS = ("aio", "aio-context")  # their items are called by Reddit's own ids, without a prefix
SEPARATORS = str.maketrans("", "", "-_ /")
ARM_NONE = "none"
MAIN_ROLES = "2->1"
ROLES = {"2->1": "2->1", "2→1": "2->1", "1->2": "1->2", "1→2": "1->2"}
LABELS = ("OR", "NOR")


def squeezed(text: str) -> str:
    """In lower case without separators: "HaluEval_QA" and "halueval-qa" become one."""
    return text.casefold().translate(SEPARATORS)


DATASET_OF = {**{squeezed(name): name for name in DATASETS}, **OTHER_SPELLINGS}
CONDITION_OF = {squeezed(condition): condition for condition in Condition}


def canonical_dataset(text: str) -> str:
    """The dataset's name. Raises DataError for an unknown one."""
    return looked_up(squeezed(text), DATASET_OF, text, DATASETS)


def canonical_condition(text: str) -> str:
    """The condition; "C1_True", as the paper writes, is c1_true. Raises DataError for an unknown one."""
    return looked_up(squeezed(text), CONDITION_OF, text, tuple(Condition))


def canonical_roles(text: str) -> str:
    """Who judges whom, "2->1" or "1->2". Raises DataError for anything else."""
    return looked_up(text.replace(" ", ""), ROLES, text, ("2->1", "1->2"))


def canonical_arm(text: str) -> str:
    """The arm as given; only the untreated one has a meaning of its own and is found in any case of letters."""
    return ARM_NONE if text.casefold() == ARM_NONE else text


def canonical_label(text: str) -> str:
    """r/AIO's verdict on the original poster, "OR" or "NOR". Raises DataError for anything else."""
    return looked_up(text.strip().upper(), dict(zip(LABELS, LABELS, strict=True)), text, LABELS)


def looked_up(key: str, names: Mapping[str, str], given: str, known: Sequence[str]) -> str:
    """names[key], or a DataError that says what is known."""
    if key not in names:
        raise DataError(f"is {given[:40]!a}. {did_you_mean(given[:40], known)}")
    return names[key]


def item_key(dataset: str, item_id: str) -> str:
    """One text for all spellings of an item's id: a prefix that spells the dataset's name is written in one way.

    "halueval_qa-3" and "halueval-qa-3" are one item of halueval, "harp_mcq-1967-AHSME-35" and "harp_mc-1967-AHSME-35"
    one of harp, "aio-1oh8hfn" and "1oh8hfn" one of aio. An id without such a prefix stands for itself.
    """
    breaks = [i for i, c in enumerate(item_id[:24]) if c in "-_"]
    for end in reversed(breaks):
        rest = item_id[end + 1 :]
        if rest and DATASET_OF.get(squeezed(item_id[:end])) == dataset:
            return rest if dataset in AIO_DATASETS else f"{dataset}-{rest}"
    return item_id


# How the benchmark's own ids begin, where that is not the dataset's name.
OWN_PREFIX = {"halueval": "halueval-qa", "harp": "harp_mc"}


def own_id(dataset: str, item_id: str) -> str:
    """The id as runs and built data spell it, so that verdicts from elsewhere find their item; others stay."""
    key = item_key(dataset, item_id)
    name, _, rest = key.partition("-")
    return f"{OWN_PREFIX[dataset]}-{rest}" if name == dataset and dataset in OWN_PREFIX and rest else item_id

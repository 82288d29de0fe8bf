"""r/AIO (DialDefer §3.2.2, appendix B): conflicts from Reddit with the community's verdict on the original poster.

The authors release ids, verdicts, neutralised contexts and prose summaries; every dialogue is redacted. So the dataset
`aio` needs dialogues that the user has put back, and `aio-context`, the contexts alone, is another experiment.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.errors import DataError
from benchmarks.jsonl import read_jsonl
from benchmarks.published import released_file, text_field
from benchmarks.records import Item

AIO_FILE = Path("aio/finalAIOdata_experiment_ready.jsonl")
VERDICTS = {"OR": "overreacting", "NOR": "not overreacting"}
REDACTED = "[redacted]"


def aio_context_items(root: Path) -> Iterator[Item]:
    """The conflicts with the neutralised context alone."""
    return conflicts(root, "aio-context")


def aio_items(root: Path) -> Iterator[Item]:
    """The conflicts with their dialogues. Raises DataError where one is redacted, and says what can be done."""
    for item in conflicts(root, "aio"):
        dialogue = item.meta["dialogue"]
        if not isinstance(dialogue, str) or dialogue.strip() in ("", REDACTED):
            raise DataError(
                f"{released_file(root, AIO_FILE)}: item '{item.item_id}': its dialogue (c2_input) is redacted, as in "
                "the authors' release. Put the dialogues back (from Reddit by id, screenshots transcribed; the "
                "authors give them on request), or run the contexts alone as dataset aio-context, another experiment"
            )
        yield item


def conflicts(root: Path, dataset: str) -> Iterator[Item]:
    """One item a record. correct_answer is the verdict on the original poster (Speaker 2); the renderer inverts it for
    2->1, where Speaker 2 judges Speaker 1, and takes it as it is for 1->2.

    `c1_input`, a prose summary of the dialogue, is kept in meta; no prompt shows it.
    """
    path = released_file(root, AIO_FILE)
    for number, record in read_jsonl(path):
        where = f"{path}:{number}"
        label = text_field(record, "ground_truth", where)
        if label not in VERDICTS:
            raise DataError(f"{where}: ground_truth is '{label}'; it must be OR or NOR")
        yield Item(
            item_id=text_field(record, "id", where),
            benchmark="dialdefer",
            dataset=dataset,
            question="",
            correct_answer=VERDICTS[label],
            incorrect_answer=VERDICTS["OR" if label == "NOR" else "NOR"],
            context=text_field(record, "context", where),
            meta={"label": label, "dialogue": record.get("c2_input"), "c1_input": record.get("c1_input")},
        )

"""What DialDefer's authors released (MIT), read from a folder that the user names; never shipped.

The test split as they ran it, `benchmark_data/sampled_formatted/<dataset>_formatted.jsonl` (GPQA's may be zipped, as
its authors wish), and r/AIO with every dialogue redacted, laid out as in github.com/LadyPary/DialDefer, or the same
files flat, as `evenhand build unified` fetches them. So the dataset `aio` needs dialogues that the user has put back,
and `aio-context`, the contexts alone, is another experiment.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from evenhand.errors import DataError
from evenhand.records import digest
from evenhand.sources.record_fields import Record
from studies.dialdefer.archives import records_in
from studies.dialdefer.records import BENCHMARK, TEXTS, Item
from studies.dialdefer.unified.converters import GPQA_PASSWORD, unified_item

# Canonical dataset name → stem of the published file. Sizes: Table 8.
NAMES = ("truthfulqa", "advisorqa", "amqa", "bbq", "gpqa", "halueval", "harp", "plausibleqa", "socialiqa")
FILES = {name: {"halueval": "halueval_qa", "harp": "harp_mcq"}.get(name, name) for name in NAMES}
SPLIT_FOLDER = Path("benchmark_data/sampled_formatted")
BESIDE_META = ("type", "category", "desensitized_question")  # what some records keep outside `meta`
UNIFIED = Path(__file__).with_name("unified")
N_DIGITS = 6  # of each text of TEXTS

AIO_FILE = Path("aio/finalAIOdata_experiment_ready.jsonl")
VERDICTS = {"OR": "overreacting", "NOR": "not overreacting"}
REDACTED = "[redacted]"
WAY_OUT = (
    "The authors' release has every dialogue redacted. `evenhand build aio` makes a copy of it with the dialogues put "
    "back (from Reddit by id, screenshots transcribed; see docs/aio.md): set `root` to that copy, or run the contexts "
    "alone as dataset aio-context, another experiment"
)


@cache
def published_ids() -> dict[str, tuple[str, ...]]:
    """Canonical dataset name → test ids in published order; r/AIO's among them. Sizes: Table 8."""
    content = json.loads((UNIFIED / "published_test_ids.json").read_text(encoding="utf-8"))
    return {name: tuple(ids) for name, ids in content.items() if name != "source"}


@cache
def published_digests() -> dict[str, str]:
    """Dataset → the digests of its published test items, one behind the other: no text, and enough to know it again."""
    content: dict[str, str] = json.loads((UNIFIED / "published_digests.json").read_text(encoding="utf-8"))
    return content


def differences(dataset: str, items: Sequence[Item]) -> dict[str, list[str]]:
    """Field → ids of those published test items that read otherwise here, by digests of the published texts.

    items: all test items of a dataset in published order. r/AIO's have no digests.
    """
    published, differing = published_digests().get(dataset, ""), dict[str, list[str]]()
    for place, item in enumerate(items if published else ()):
        for k, field in enumerate(TEXTS):
            start = N_DIGITS * (len(TEXTS) * place + k)
            if digest(getattr(item, field), N_DIGITS) != published[start : start + N_DIGITS]:
                differing.setdefault(field, []).append(item.item_id)
    return differing


def published_items(dataset: str, root: Path) -> Iterator[Item]:
    """The published test items of a dataset, in published order; the answers are those that the authors chose.

    Raises DataError naming file, line and field.
    """
    for record in records_at(root, SPLIT_FOLDER / f"{FILES[dataset]}_formatted.jsonl"):
        wrong = record.get("incorrect_answers")
        if not isinstance(wrong, list):
            raise record.error("incorrect_answers", "must be a list of texts")
        wrong = [record.checked_text("incorrect_answers", text) for text in wrong]
        chosen, context = filled(record, "chosen_incorrect_answer"), record.values.get("context")
        if chosen not in wrong:
            raise record.error("chosen_incorrect_answer", "is not in incorrect_answers; fetch the file again")
        meta = record.kept(*BESIDE_META)
        if record.values.get("meta") is not None:
            inside = record.inside("meta")
            meta |= inside.kept(*inside.values)
        yield unified_item(
            dataset,
            record.identifier("id"),
            filled(record, "question"),
            filled(record, "chosen_correct_answer"),
            wrong,
            meta,
            chosen=wrong.index(chosen),
            context=None if context is None else record.checked_text("context", context),
        )


def records_at(root: Path, place: Path) -> Iterator[Record]:
    """The records of a released file, in a checkout or a flat folder, or of a password-protected zip in its place."""
    for path in (root / place.name, root / place):
        for file in (path, path.with_name(f"{path.name}.zip")):
            if file.exists():
                return records_in(file, "*.jsonl", GPQA_PASSWORD)
    raise DataError(
        f"{root / place}: no such file; name a folder with the authors' release (for r/AIO's dialogues a copy of it, "
        "see docs/aio.md), or one that `evenhand build unified` has finished: the same command continues it"
    )


def filled(record: Record, name: str) -> str:
    """A text with something in it, as it stands."""
    text = record.raw_text(name)
    if not text.strip():
        raise record.error(name, "is empty")
    return text


def conflicts(root: Path, dataset: str) -> Iterator[Item]:
    """r/AIO's conflicts, `aio` with their dialogues or `aio-context` with the neutralised context alone.

    correct_answer is the verdict on the original poster (Speaker 2); the renderer inverts it for 2->1, where Speaker 2
    judges Speaker 1, and takes it as it is for 1->2. `c1_input`, a prose summary of the dialogue, is kept in meta; no
    prompt shows it. Raises DataError where a dialogue is asked for and redacted, and says what can be done.
    """
    for record in records_at(root, AIO_FILE):
        dialogue = record.values.get("c2_input")
        is_there = isinstance(dialogue, str) and dialogue.strip() and REDACTED not in dialogue
        if dataset == "aio" and not is_there:
            raise record.error("c2_input", f"of item '{record.values.get('id')}' holds no dialogue. {WAY_OUT}")
        label = record.one_of("ground_truth", VERDICTS)
        inputs = record.kept("c1_input", "c2_input")
        yield Item(
            item_id=record.identifier("id"),
            benchmark=BENCHMARK,
            dataset=dataset,
            question="",
            correct_answer=VERDICTS[label],
            incorrect_answer=VERDICTS["OR" if label == "NOR" else "NOR"],
            context=filled(record, "context"),
            meta={"label": label, "dialogue": inputs.get("c2_input"), "c1_input": inputs.get("c1_input")},
        )

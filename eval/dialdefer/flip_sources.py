"""Where flips come from: a run, or one model's verdicts in files, with what its judge wrote and what it was asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.dialdefer.dds import CONDITIONS
from eval.dialdefer.flip_examples import item_texts
from eval.dialdefer.panels import Panel
from eval.dialdefer.parsing import reasoning_in
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.verdict_files import LAYOUT, load_external, own_id
from eval.verdict_files import Column, Layout, read_frames
from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import Item
from studies.dialdefer.render import AIO_DATASETS, aio_judgment, relabel

Asked = tuple[str, str]  # a question, and a claim that answers it
TEXT_COLUMNS = ("reason", "response", "question", "claim")  # of files; what is judged beside the verdict
KEY_COLUMNS = (*LAYOUT.required, "arm", "roles")
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlipSource:
    """One judge's verdicts with their texts, which are "" where they are not known."""

    model: str
    panels: Sequence[Panel]
    reason: Callable[[Panel, int, int, int], str]  # panel, row, column, verdict → what was written for that verdict
    asked: Callable[[Panel, int, int], Asked]  # panel, row, column → question and claim


def run_source(run: JudgedRun, model: str) -> FlipSource:
    """A run's. Of several samples the first that has the verdict gives the reason; margins have none."""
    said: dict[tuple[str, int], str] = {}
    if run.reading.mode == "reason":
        for verdict in run.verdicts:
            if verdict.choice is not None:
                said.setdefault((verdict.prompt_hash, verdict.choice), verdict.text)
    items = item_texts(run)

    def reason(panel: Panel, row: int, column: int, choice: int) -> str:
        return reasoning_in(said.get((str(panel.hashes[row, column]), choice), ""))

    def asked(panel: Panel, row: int, column: int) -> Asked:
        return asked_of(items.get(panel.item_ids[row]), panel, CONDITIONS[column].claim_is_true)

    return FlipSource(model=model, panels=run.panels, reason=reason, asked=asked)


def asked_of(item: Item | None, panel: Panel, claim_is_true: bool) -> Asked:
    """The question and the claim of an item; r/AIO's question is what happened."""
    if item is None:
        return "", ""
    if item.dataset not in AIO_DATASETS:
        return item.question, item.correct_answer if claim_is_true else item.incorrect_answer
    labels = (panel.factors.speaker1, panel.factors.speaker2)
    _, judgee, judgment = aio_judgment(item, claim_is_true, labels, panel.roles)
    parts = [item.context or "", str(item.meta["dialogue"] or "") if item.dataset == "aio" else ""]
    return relabel("\n\n".join(part for part in parts if part), labels), f"{judgee} is {judgment}."


def file_sources(paths: Sequence[Path], parser: str, root: Path | None) -> list[FlipSource]:
    """Those of each model in verdict files taken together. root: of the items, for files without questions."""
    found = load_external(paths, parser)
    texts = texts_in(paths)
    datasets = {panel.dataset for judge in found.judges for panel in judge.panels}
    specs = [DatasetSpec(dataset=dataset, root=root) for dataset in sorted(datasets)] if root else []
    items = {item.item_id: item for item in load_items(specs)}
    return [file_source(judge.model, judge.panels, texts, items) for judge in found.judges]


def file_source(
    model: str, panels: Sequence[Panel], texts: Mapping[Key, Mapping[str, str]], items: Mapping[str, Item]
) -> FlipSource:
    """One model's."""

    def of(panel: Panel, row: int, column: int) -> Mapping[str, str]:
        key = (model, panel.dataset, panel.item_ids[row], str(CONDITIONS[column]), panel.factors.arm, panel.roles)
        return texts.get(key, {})

    def reason(panel: Panel, row: int, column: int, choice: int) -> str:
        found = of(panel, row, column)
        return found.get("reason", "").strip() or reasoning_in(found.get("response", ""))

    def asked(panel: Panel, row: int, column: int) -> Asked:
        found = of(panel, row, column)
        question, claim = asked_of(items.get(panel.item_ids[row]), panel, CONDITIONS[column].claim_is_true)
        return found.get("question", "") or question, found.get("claim", "") or claim

    return FlipSource(model=model, panels=panels, reason=reason, asked=asked)


def texts_in(paths: Sequence[Path]) -> dict[Key, dict[str, str]]:
    """Key of each row → its texts. The rows were checked when the verdicts were read."""
    columns = {name: LAYOUT.columns[name] for name in KEY_COLUMNS} | {name: Column("") for name in TEXT_COLUMNS}
    texts_of_key = {}
    for path in paths:
        for frame, _ in read_frames(path, Layout(columns=columns)):
            keys = zip(*(frame[name] for name in KEY_COLUMNS), strict=True)
            for key, texts in zip(keys, frame[list(TEXT_COLUMNS)].to_dict("records"), strict=True):
                model, dataset, item_id, *case = key
                if texts := {name: text for name, text in texts.items() if isinstance(text, str)}:
                    texts_of_key[model, dataset, own_id(dataset, item_id), *map(str, case)] = texts
    return texts_of_key

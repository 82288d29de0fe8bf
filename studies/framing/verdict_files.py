"""Answers from anywhere, of a study of framings: files → runs with sections that say as much as the files do."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eval.runs import PlannedPrompt
from eval.verdict_files import Column, Layout, place, read_rows
from evenhand.errors import DataError
from evenhand.records import Completion, digest
from studies.framing.asking import GIVEN, PLACEBO, SWAPPED
from studies.framing.grids import FramedRun
from studies.framing.section import FramingSection, FramingText

BETWEEN = "|"  # names in the column `answers`
LAYOUT = Layout(
    columns={  # docs/verdict-files.md says what they hold
        "item_id": Column(str, True, types=(str, int)),
        "framing": Column(str, True, types=(str, int)),
        "answer": Column(str, True, default="", types=(str, int)),
        "answers": Column(str, True),
        "model": Column(str, default="external"),
        "dataset": Column(str, default="external"),
        "case": Column(str, default="", types=(str, int)),
        "label": Column(str, default="", types=(str, int)),
        "order": Column(str, default=GIVEN),
        "cluster": Column(str, default="", types=(str, int)),
    }
)


def load_answers(paths: Sequence[Path]) -> tuple[dict[str, FramedRun], list[str]]:
    """(model → its answers as a run, columns without a meaning). Several rows of one prompt are its samples.

    Raises DataError naming file and line for an answer or a label that is not among `answers`.
    """
    rows, ignored = read_rows(paths, LAYOUT)
    rows["where"] = list(map(place, rows["path"], rows["line"]))
    listed = rows["answers"].iloc[0]
    answers = [name.strip() for name in listed.split(BETWEEN)]
    for row in rows.itertuples():
        if row.answers != listed or len({*answers}) < max(2, len(answers)):
            raise DataError(f"{row.where}: answers is '{row.answers}'; it names all answers, in one order: yes|no")
        for name in (row.answer, row.label):
            if name and name not in answers:
                raise DataError(f"{row.where}: '{name[:40]}' is not among {listed}; an unparsed one is empty")
        if row.order not in (GIVEN, SWAPPED):
            raise DataError(f"{row.where}: order is '{row.order[:40]}'; it is {GIVEN} or {SWAPPED}")
    section = section_of(rows, answers)
    models = {str(model): run_of(paths[0], of_model, section) for model, of_model in rows.groupby("model", sort=False)}
    return models, ignored


def section_of(rows: pd.DataFrame, answers: Sequence[str]) -> FramingSection:
    """What was asked, as far as rows tell: the first row's framing is the baseline. Whole numbers are a scale."""
    numbers = [int(name) for name in answers if name.isdecimal()]
    is_scale = len(answers) > 2 and [*map(str, range(numbers[0], numbers[-1] + 1))] == [*answers] if numbers else False
    kind: dict[str, Any] = {"scale": (numbers[0], numbers[-1])} if is_scale else {"answers": {a: a for a in answers}}
    is_swapped = (rows["order"] == SWAPPED).any()
    if is_swapped and is_scale:
        raise DataError(f"order: the numbers of a scale have one order; leave {SWAPPED} out")
    names = rows["framing"].unique()
    placebos = [name for name in names if re.fullmatch(PLACEBO.format(r"\d+"), name)]
    if {*placebos} != {PLACEBO.format(i) for i in range(1, len(placebos) + 1)}:
        raise DataError(
            f"framing: number placebos from 1: {', '.join(map(PLACEBO.format, range(1, len(placebos) + 1)))}"
        )
    framings = {name: FramingText(text="") for name in names if name not in placebos}
    cases: dict[str, dict[str, str]] = {name: {} for name in rows["case"].unique()}
    first = next(iter(framings))
    return FramingSection.model_construct(
        items=(),
        ask="{{ framing }}{{ choices }}",  # shows the answers' order
        baseline=first,
        framings=framings,
        placebos=[FramingText(text="")] * len(placebos),
        cases=cases,
        orders="both" if is_swapped else GIVEN,
        **kind,
    )


def run_of(path: Path, rows: pd.DataFrame, section: FramingSection) -> FramedRun:
    """One model's rows as a finished run; an answer's number is what it wrote."""
    names = tuple(section.answer_texts)
    symbols = {name: str(place) for place, name in enumerate(names)}
    plan, replies = list[PlannedPrompt](), dict[str, list[Completion]]()
    keys = ["dataset", "item_id", "framing", "case", "order"]
    for (dataset, item, framing, case, order), samples in rows.groupby(keys, sort=False):
        key = digest([dataset, item, framing, case, order], 16)
        factors = {"group": item, "case": case, "order": order, "symbols": (*symbols.values(),), "names": names}
        first = names[0] if order == GIVEN else names[-1]
        factors |= {"texts": names, "first": first, "label": samples["label"].iloc[0] or None}
        prompt = {"item_id": item, "dataset": dataset, "condition": framing, "factors": tuple(factors.items())}
        plan.append(PlannedPrompt(prompt_hash=key, cluster=samples["cluster"].iloc[0] or None, **prompt))
        texts = [symbols.get(answer, "") for answer in samples["answer"]]
        replies[key] = [
            Completion(prompt_hash=key, sample_index=i, text=text, finish_reason="stop") for i, text in enumerate(texts)
        ]
    config = {"verdict": "answer", "model": {"name": rows["model"].iloc[0]}}
    return FramedRun(path=path, config=config, provenance={}, plan=plan, replies=replies, rendered={}, section=section)

"""Answers from anywhere, of a study of framings: files → runs with sections that say as much as the files do."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eval.runs import PlannedPrompt
from eval.verdict_files import Absent, Column, Layout, as_id, one_of, place, read_rows, refuse, repeat_doubts, texts_in
from evenhand.config import did_you_mean
from evenhand.errors import DataError
from evenhand.records import Completion, digest
from evenhand.sources.record_fields import shown
from evenhand.templates import same_value
from studies.framing.asking import GIVEN, PLACEBO, SWAPPED
from studies.framing.grids import FramedRun
from studies.framing.section import FramingSection, FramingText
from studies.units import table_name

BETWEEN = "|"  # names in the column `answers`
TIE = re.compile(r"=|\b(tied?|ties|draw|equal|same|both|neither)\b", re.IGNORECASE)  # in its name
PROMPT = ["dataset", "item_id", "framing", "case", "order"]  # columns by which rows are of one prompt
TEXT = Column(str, default="")
LAYOUT = Layout(
    columns={  # docs/verdict-files.md says what they hold
        "item_id": Column(as_id, True),
        "framing": Column(table_name, True),
        "answer": Column(),
        "response": Column(),
        "answers": Column(str, default="", is_list=True),
        "model": Column(str, default="external"),
        "dataset": Column(table_name, default="external"),
        "case": Column(as_id, default=""),
        "label": TEXT,
        "order": Column(one_of((GIVEN, SWAPPED), str.casefold), default=GIVEN),
        "cluster": Column(as_id, default=""),
    },
    choice="answer",
    response="response",
)


def load_answers(paths: Sequence[Path], baseline: str | None = None) -> tuple[dict[str, FramedRun], list[str]]:
    """(model → its answers as a run, columns without a meaning). Several rows of one prompt are its samples.

    Raises DataError naming file and line for an answer or a label that is not among `answers`.
    """
    rows, ignored = read_rows(paths, LAYOUT, read_replies)
    answers = answer_names(paths, rows)
    name_of = {same_value(name): name for name in answers} | {"": ""}
    for column in ("answer", "label"):
        names = rows[column].map({value: name_of.get(same_value(value)) for value in rows[column].unique()})
        way_out = "an unparsed answer is empty, and `values` of a --mapping says what other words stand for"
        problem = f", which is not among {BETWEEN.join(answers)}; {way_out}"
        refuse_row(paths, rows[column], names.isna(), problem)
        rows[column] = names
    labelled = rows[rows["label"] != ""]
    is_other = labelled["label"] != labelled.groupby(["model", *PROMPT])["label"].transform("first")
    refuse_row(paths, labelled["label"], is_other, ", but another one in a row of the same prompt")
    section = section_of(rows, answers, baseline)
    models = {str(model): run_of(paths[0], of_model, section) for model, of_model in rows.groupby("model", sort=False)}
    return models, ignored


def read_replies(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows, each with an answer or a response."""
    has_none = (frame["answer"] == Absent.FIELD) & (frame["response"] == Absent.FIELD)
    refuse(frame["answer"], has_none, "is absent, and so is a response to read it from; an unparsed one is empty")
    return frame.assign(**{name: texts_in(frame[name], TEXT) for name in ("answer", "response")})


def answer_names(paths: Sequence[Path], rows: pd.DataFrame) -> list[str]:
    """The names of all answers in some files, of which the first is the one whose share is measured."""
    listed = rows["answers"].iloc[0]
    answers = [name.strip() for name in listed.split(BETWEEN)]
    is_other = rows["answers"] != listed
    refuse_row(paths, rows["answers"], is_other, f", but {shown(listed)} in the first row; name all")
    if len({*map(same_value, answers)}) < max(2, len(answers)) or "" in answers:
        refuse_row(paths, rows["answers"], ~is_other, "; every row names all answers, in one order: yes|no")
    return answers


def refuse_row(paths: Sequence[Path], values: pd.Series, is_bad: pd.Series, problem: str) -> None:
    """Raises DataError for the first bad value of a column."""
    for number in values.index[is_bad][:1]:
        raise DataError(f"{place(paths, number)}: {values.name} is {shown(values[number])}{problem}")


def numbers_in_order(names: Sequence[str]) -> list[float]:
    """The numbers of a scale; [] where names are none."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return []
    return numbers if len(numbers) > 2 and numbers in (sorted(numbers), sorted(numbers, reverse=True)) else []


def shown_first(answers: Sequence[str], order: str) -> str:
    """The answer that stood first: swapped, those that are no tie stood in reverse. Of three one is a tie, the last
    unless another's name says so; where ties would leave fewer than two answers none is."""
    places = [name for name in answers if not TIE.search(name)]
    places = places[:2] if len(places) == len(answers) == 3 else places if len(places) > 1 else [*answers]
    return places[0 if order == GIVEN else -1]


def section_of(rows: pd.DataFrame, answers: Sequence[str], baseline: str | None = None) -> FramingSection:
    """What was asked, as far as rows tell: where no baseline is named, the first row's framing. Numbers are a scale."""
    numbers = numbers_in_order(answers)
    is_swapped = (rows["order"] == SWAPPED).any()
    if is_swapped and numbers:
        raise DataError(f"order: the numbers of a scale have one order; leave {SWAPPED} out")
    names = rows["framing"].unique()
    placebos = [name for name in names if re.fullmatch(rf"{PLACEBO}\d+", name)]
    numbered = [f"{PLACEBO}{i}" for i in range(1, len(placebos) + 1)]
    if {*placebos} != {*numbered}:
        raise DataError(f"framing: number placebos from 1: {', '.join(numbered)}")
    framings = {name: FramingText(text="") for name in names if name not in placebos}
    cases: dict[str, dict[str, str]] = {name: {} for name in rows["case"].unique()}
    if baseline not in (None, *framings):
        problem = "a placebo cannot be the baseline" if baseline in placebos else "no row has this framing"
        raise DataError(f"--baseline {baseline}: {problem}. {did_you_mean(str(baseline), [*framings])}")
    return FramingSection.model_construct(
        items=(),
        ask="{{ framing }}{{ choices }}",  # shows the answers' order
        baseline=baseline or next(iter(framings)),
        framings=framings,
        placebos=[FramingText(text="")] * len(placebos),
        cases=cases,
        orders="both" if is_swapped else GIVEN,
        answers={name: name for name in answers},
        scale=(min(numbers), max(numbers)) if numbers else None,
    )


def run_of(path: Path, rows: pd.DataFrame, section: FramingSection) -> FramedRun:
    """One model's rows as a finished run. Responses are read where no row has an answer."""
    names = tuple(section.answer_texts)
    # An answer's number is what it wrote; of responses the name itself is looked for.
    is_read = not (rows["answer"] != "").any() and (rows["response"] != "").any()
    symbols = {name: name if is_read else str(place) for place, name in enumerate(names)}
    plan, replies = list[PlannedPrompt](), dict[str, list[Completion]]()
    for (dataset, item, framing, case, order), samples in rows.groupby(PROMPT, sort=False):
        label, cluster = (next(filter(None, samples[name]), None) for name in ("label", "cluster"))
        key = digest([dataset, item, framing, case, order], 16)
        factors = {"group": item, "case": case, "order": order, "symbols": (*symbols.values(),), "names": names}
        factors |= {"texts": names, "first": shown_first(names, order), "label": label}
        prompt = {"item_id": item, "dataset": dataset, "condition": framing, "factors": tuple(factors.items())}
        plan.append(PlannedPrompt(prompt_hash=key, cluster=cluster, **prompt))
        texts = samples["response"] if is_read else [symbols.get(answer, "") for answer in samples["answer"]]
        replies[key] = [
            Completion(prompt_hash=key, sample_index=i, text=text, finish_reason="stop") for i, text in enumerate(texts)
        ]
    config = {"verdict": "answer", "model": {"name": rows["model"].iloc[0]}}
    doubts = repeat_doubts("all framings", [[reply.text for reply in of_prompt] for of_prompt in replies.values()])
    facts: dict[str, Any] = {"config": config, "provenance": {}, "plan": plan, "replies": replies, "rendered": {}}
    return FramedRun(path=path, section=section, file_doubts=tuple(doubts), **facts)

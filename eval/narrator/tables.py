"""Tables 1 to 4 of the narrator paper, the option orders side by side; flips, and what became of the replies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from eval.estimates.estimate import Estimate
from eval.narrator.answers import STATES
from eval.narrator.method import asked_model
from eval.narrator.observe import DETECTION, PERSPECTIVES
from eval.narrator.scores import ALL, POOLED, SEEN, UNSEEN, StudyResults
from eval.narrator.words import (
    ANSWER_NOTE,
    M_WORDS,
    ORDER_WORDS,
    PERSPECTIVE_WORDS,
    TASK_WORDS,
    count,
    first_order,
    means_note,
    nth,
    order_note,
    orders_of,
    plus_minus,
    shares_note,
    tasks_of,
    visibilities_of,
)
from eval.report.shown_numbers import signed
from eval.report.table import Cell, Table
from studies.narrator.records import OptionOrder, Task

BEST, WORST = "*", "†"
DIFFERENCES = {"delta_att": "Δ_att", "delta_non_att": "Δ_non-att", "pr": "PR"}
BETWEEN = {  # two perspectives → their difference
    frozenset(("neutral", "attacker")): "delta_att",
    frozenset(("neutral", "non_attacker")): "delta_non_att",
    frozenset(("attacker", "non_attacker")): "pr",
}
DETECTED_WORDS = {True: "yes", False: "no", None: "yes less no (by share)"}  # None: their difference

Marked = Sequence[str | None]


def narrator_tables(found: StudyResults) -> list[Table]:
    """Every table for files that has a row; each judge's, of those shown, under a name of its own."""
    of_judges = [
        replace(make(found, judge), name=f"{name}{nth(i)}")
        for name, make in (("narrator_table2", table_2), ("narrator_table4", table_4))
        for i, judge in enumerate(found.shown)
    ]
    tables = [table_1(found), *of_judges, table_3(found)]
    return sorted((table for table in tables if table.rows), key=lambda table: table.name.partition("-")[0])


def table_1(found: StudyResults) -> Table:
    """The models, how they were reached and how they answered."""
    return Table(
        name="narrator_table1",
        title="Models",
        columns=("model", *asked_model(found.runs[0])),
        rows=tuple((run.judge, *asked_model(run).values()) for run in found.runs),
        note="Parameters: known of the models that Evenhand has configs for; runs do not record them.",
    )


def columns_of(found: StudyResults) -> list[tuple[Task, OptionOrder]]:
    """Table 2's columns: each task in both option orders; detection, whose options are no names, in one."""
    orders = orders_of(found)
    return [(task, order) for task in tasks_of(found) for order in (orders[:1] if task == DETECTION else orders)]


def table_2(found: StudyResults, judge: str) -> Table:
    """M by perspective, Δ and PR of one judge, visible above hidden."""
    rows: list[tuple[Cell, ...]] = []
    columns = columns_of(found)
    for visibility in visibilities_of(found):
        cells = [found.of(judge, task, visibility, order) for task, order in columns]
        rows += [
            (visibility, words, *(marked_m(of, perspective) for of in cells))
            for perspective, words in PERSPECTIVE_WORDS.items()
        ]
        rows += [
            (visibility, words, *(plus_minus(of.get(name), "+.1f") for of in cells))
            for name, words in DIFFERENCES.items()
        ]
        rows.append((visibility, "Random baseline", *(plus_minus(of.get("chance")) for of in cells)))
    is_one = len(orders_of(found)) == 1
    heads = (
        f"{TASK_WORDS[task]} ({M_WORDS[task]})"
        if is_one or task == DETECTION
        else f"{task.capitalize()}, {ORDER_WORDS[order]}"
        for task, order in columns
    )
    return Table(
        name="narrator_table2",
        title=f"Judgments by narrative perspective: {judge}",
        columns=("attack", "perspective", *heads),
        rows=tuple(rows),
        note=f"{means_note(found, judge)} {BEST}: the best of its three perspectives, and those that do not differ "
        f"from it by their paired interval. {order_note(found)}",
    )


def marked_m(measures: Mapping[str, Estimate], perspective: str) -> str | None:
    """M under a perspective, with BEST where no other one is higher beyond its paired interval.

    A difference without an interval is taken as it is.
    """
    text = plus_minus(measures.get(perspective))
    known = {name: measures[name].value or 0.0 for name in PERSPECTIVE_WORDS if plus_minus(measures.get(name))}
    if text is None or len(known) < 2:
        return text
    best = max(known, key=lambda name: known[name])
    if known[perspective] == known[best]:
        return text + BEST
    between = measures[BETWEEN[frozenset((perspective, best))]]
    return text if between.low is None or between.excludes(0) else text + BEST


def table_3(found: StudyResults) -> Table:
    """M by perspective, FAR and Δ_att of every judge, hidden and visible side by side, an option order a line."""
    names = {**PERSPECTIVE_WORDS, "far": "FAR", "delta_att": "Δ_att"}
    sides = tuple(reversed(visibilities_of(found)))
    rows: list[tuple[Cell, ...]] = []
    for task, order in columns_of(found):
        of = {judge: {side: found.of(judge, task, side, order) for side in sides} for judge in found.judges}
        columns = [
            marked_column({judge: of[judge][side].get(name) for judge in of}, name, task)
            for name in names
            for side in sides
        ]
        options = None if task == DETECTION else ORDER_WORDS[order]
        rows += [
            (TASK_WORDS[task], judge, options, *(column[i] for column in columns))
            for i, judge in enumerate(of)
            if any(of[judge].values())
        ]
    return Table(
        name="narrator_table3",
        title="Judgments by model",
        columns=("task", "model", "options", *(f"{words} {side}" for words in names.values() for side in sides)),
        rows=tuple(rows),
        note=f"{means_note(found)} FAR: share of prompts with a non-attacker as Me in which Me is named. {BEST}: best "
        f"of the models (highest M, lowest FAR, Δ_att closest to 0); {WORST}: worst (lowest M, highest FAR, most "
        f"negative Δ_att). {order_note(found)}",
    )


def marked_column(of_judges: Mapping[str, Estimate | None], name: str, task: Task) -> Marked:
    """One measure of every judge, the best and the worst of the models marked; of detection no Δ, as in the paper."""
    texts = [plus_minus(e, "+.1f" if name == "delta_att" else ".1f") for e in of_judges.values()]
    values = [None if e is None or judge == POOLED else e.value for judge, e in of_judges.items()]
    if name == "delta_att" and task == DETECTION:
        return texts
    goodness: Callable[[float], float] = {"far": lambda v: -v, "delta_att": lambda v: -abs(v)}.get(name, lambda v: v)
    best, worst = extremes([None if v is None else goodness(v) for v in values])
    if name == "delta_att":
        _, worst = extremes([v if v is not None and v < 0 else None for v in values], n_least=1)
    return marked(texts, best, worst)


def extremes(values: Sequence[float | None], n_least: int = 2) -> tuple[set[int], set[int]]:
    """(places of the highest value, places of the lowest); none of either with fewer values, or where all are equal."""
    known = {i: value for i, value in enumerate(values) if value is not None}
    if len(known) < n_least or (n_least > 1 and len(set(known.values())) == 1):
        return set(), set()
    ends = max(known.values()), min(known.values())
    first, last = ({i for i, value in known.items() if value == end} for end in ends)
    return first, last


def marked(texts: Marked, best: set[int], worst: set[int] = frozenset()) -> Marked:  # type: ignore[assignment]
    """Cells with their marks."""
    return [text and text + BEST * (i in best) + WORST * (i in worst and i not in best) for i, text in enumerate(texts)]


def table_4(found: StudyResults, judge: str) -> Table:
    """Blame and identification conditioned on detection, of one judge; an option order a line."""

    def cells(perspective: str, is_detected: bool | None, order: OptionOrder) -> list[dict[str, Estimate]]:
        """The measures of a line in every column; empty where that was not asked."""
        setting = {"perspective": perspective, "is_detected": is_detected}
        return [found.of(judge, task, side, order, **setting) for task, side in columns]

    columns = [(task, side) for task in tasks_of(found) for side in reversed(visibilities_of(found))]
    orders = [order for order in orders_of(found) if any(cells("neutral", True, order))]
    columns = [c for i, c in enumerate(columns) if any(cells("neutral", True, order)[i] for order in orders)]
    lines = [(p, is_detected) for p in PERSPECTIVES for is_detected in (True, False)]
    shown: dict[tuple[str, bool | None, OptionOrder], list[str | None]] = {}
    for order in orders:
        ms = [
            [cell.get("m") for cell in column] for column in zip(*(cells(*line, order) for line in lines), strict=True)
        ]
        best = [extremes([None if m is None else m.value for m in column])[0] for column in ms]
        texts = [marked([plus_minus(m) for m in column], top) for column, top in zip(ms, best, strict=True)]
        shown |= {(*line, order): [column[i] for column in texts] for i, line in enumerate(lines)}
        for perspective in PERSPECTIVES:
            both = zip(cells(perspective, True, order), cells(perspective, False, order), strict=True)
            shown[perspective, None, order] = [contrast(yes, no) for yes, no in both]
    rows = [
        (
            *(PERSPECTIVE_WORDS[perspective], words, ORDER_WORDS[order], *shown[perspective, is_detected, order]),
            *(count(cell, "n_prompts") if "m" in cell else None for cell in cells(perspective, is_detected, order)),
        )
        for perspective in PERSPECTIVES
        for is_detected, words in DETECTED_WORDS.items()
        for order in orders
    ]
    every = [cell for line in lines for order in orders for cell in cells(*line, order) if cell]
    return Table(
        name="narrator_table4",
        title=f"Blame and identification by detection outcome: {judge}",
        columns=(
            *("perspective", "attack detected", "options"),
            *(f"{TASK_WORDS[task]} {side}" for task, side in columns),
            *(f"prompts: {task} {side}" for task, side in columns),
        ),
        rows=tuple(rows),
        note=f"{means_note(found, judge)} {detection_note(found, every)} {BEST}: highest of its column in its option "
        f"order. {order_note(found)}",
    )


def contrast(yes: Mapping[str, Estimate], no: Mapping[str, Estimate]) -> str | None:
    """M of detected prompts less M of missed ones, and where it goes by replies, the same by share in brackets."""
    values = [(yes[name].value, no[name].value) for name in ("m", "m_by_share") if name in yes and name in no]
    texts = [signed(first - second) for first, second in values if first is not None and second is not None]
    if not values or None in values[0]:
        return None
    return texts[0] + "".join(f" ({text})" for text in texts[1:])


def detection_note(found: StudyResults, cells: Sequence[dict[str, Estimate]]) -> str:
    """Which prompts are in which row."""
    same = "under the same narrator and visibility"
    n_undecided, n_mixed = (max((count(cell, n) for cell in cells), default=0) for n in ("n_undecided", "n_mixed"))
    neither = f"are in neither row (at most {n_undecided} of a perspective)"
    both = f"are in both rows (at most {n_mixed} of a perspective)"
    if found.definitions.detection == "majority":
        return (
            f"Detected: the one answer to detection {same} is Yes; it is the option that most of its replies name. "
            f"Prompts whose detection is tied or unanswered {neither}."
        )
    if found.definitions.detection == "share" or any(run.verdict == "options" for run in found.runs):
        words = f"Prompts are weighted by the share of Yes, or of No, in the detection {same}; those with both {both}"
    else:
        words = (
            f"Detected: some reply to the detection {same} says Yes; not detected: some says No. Prompts with both "
            f"{both}, and their conversation counts once in each, which flattens the contrast of the rows: in brackets "
            "it is of prompts weighted by the share of Yes, or of No"
        )
    return f"{words}. Prompts whose detection is unanswered {neither}."


def judge_table(found: StudyResults, judge: str) -> Table:
    """PR, FAR and flips of one judge in every option order; those with unseen attackers apart, in the main order.

    Of detection, whose Yes and No have no slot, the main order alone.
    """
    main = first_order(found)
    rows: list[tuple[Cell, ...]] = []
    settings = [
        (task, side, order, group)
        for task in tasks_of(found)
        for side in visibilities_of(found)
        for group in (ALL, SEEN, UNSEEN)
        for order in orders_of(found)
        if order == main or (group == ALL and task != DETECTION)
    ]
    for task, side, order, group in settings:
        if of := found.of(judge, task, side, order, group=group):
            options = None if task == DETECTION else ORDER_WORDS[order]
            head = (task, side, options, group, count(of, "n_conversations"))
            rows.append((*head, plus_minus(of["pr"], "+.1f"), plus_minus(of.get("far")), *flip_cells(of)))
    columns = ("task", "attack", "options", "group", "conversations", "PR, pp", "FAR, %", "corruption, %")
    return Table(
        name="judge",
        title=f"False accusations and flips from Neutral to the attacker as Me: {judge}",
        columns=(*columns, "C→I", "I→C", "C→C", "I→I", "no verdict"),
        rows=tuple(rows),
        note="Each model's conversations by their one answer, correct (C) or incorrect (I), under Neutral → with the "
        f"attacker as Me; no verdict: a tie or no answer under either. {ANSWER_NOTE} "
        f"{shares_note(found.definitions)} Attacker unseen: it says only what is hidden.",
    )


def flip_cells(of: dict[str, Estimate]) -> tuple[Cell, ...]:
    """Corruption, the four counts, and the pairs without a verdict."""
    if "n_pairs" not in of:
        return (None,) * 6
    counts = (count(of, n) for n in ("n_corrupted", "n_restored", "n_stable_correct", "n_stable_incorrect"))
    return (plus_minus(of["corruption"]), *counts, count(of, "n_tied") + count(of, "n_unanswered"))


def reply_table(found: StudyResults) -> Table:
    """What became of the replies, by judge, task and perspective."""
    rows: list[tuple[Cell, ...]] = []
    for run in found.runs:
        for task in tasks_of(found):
            for perspective, words in PERSPECTIVE_WORDS.items():
                if rates := state_cells(found, run.judge, task, perspective):
                    means = (fmean(of[state].value or 0.0 for of in rates) for state in (*STATES, "tied"))
                    rows.append((run.judge, task, words, *means))
    return Table(
        name="replies",
        title="Replies, %",
        columns=("model", "task", "Me", *(state.replace("_", " ") for state in STATES), "tied prompts"),
        rows=tuple(rows),
        note="Chosen: names one option as the answer; ambiguous: several; negated only: says who it was not; continues "
        "transcript: goes on with a turn; refusal: declines to say; off list: names none as the answer; cut off: ended "
        "before it did; error: the engine gave no reply. Tied: no one option has most of a prompt's replies.",
    )


def state_cells(found: StudyResults, judge: str, task: Task, perspective: str) -> list[dict[str, Estimate]]:
    """The rates of the states of a judge's replies in every visibility and option order that was asked."""
    cells = [
        found.of(judge, task, side, order, perspective=perspective)
        for order in orders_of(found)
        for side in visibilities_of(found)
    ]
    return [cell for cell in cells if cell]

"""Tables 1, 2 and 3 of the narrator paper, the option orders side by side."""

from collections.abc import Callable, Mapping, Sequence

from eval.estimates.estimate import Estimate
from eval.narrator.measures import Effect, find_effect
from eval.narrator.method import asked_model
from eval.narrator.observe import DETECTION
from eval.narrator.study import POOLED, StudyResults
from eval.narrator.tables import (
    DIFFERENCES,
    M_WORDS,
    ORDER_WORDS,
    PERSPECTIVE_WORDS,
    TASK_WORDS,
    means_note,
    order_note,
    orders_of,
    plus_minus,
    tasks_of,
    visibilities_of,
)
from eval.report.table import Cell, Table
from studies.narrator.records import OptionOrder, Task

BEST, WORST = "*", "†"
DIFFERENCE_OF = {
    frozenset(("neutral", "attacker")): "delta_att",
    frozenset(("neutral", "non_attacker")): "delta_non_att",
    frozenset(("attacker", "non_attacker")): "pr",
}


def table_1(found: StudyResults) -> Table:
    """The models, how they were reached and how they answered."""
    rows = [(run.judge, *asked_model(run).values()) for run in found.runs]
    names = tuple(asked_model(found.runs[0]))
    return Table(
        name="narrator_table1",
        title="Models",
        columns=("model", *names),
        rows=tuple(rows),
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
        of = [find_effect(found.effects, judge, task, visibility, order) for task, order in columns]
        for perspective, words in PERSPECTIVE_WORDS.items():
            rows.append((visibility, words, *(marked_m(effect, perspective) for effect in of)))
        for name, words in DIFFERENCES:
            rows.append((visibility, words, *(plus_minus(getattr(effect, name, None), "+.1f") for effect in of)))
        rows.append((visibility, "Random baseline", *(None if e is None else f"{e.chance:.1f}" for e in of)))
    return Table(
        name="narrator_table2",
        title=f"Judgments by narrative perspective: {judge}",
        columns=("attack", "perspective", *(head(found, *column) for column in columns)),
        rows=tuple(rows),
        note=f"{means_note(found, judge)} {BEST}: the best of its three perspectives, and those that do not differ "
        f"from it by their paired interval. {order_note(found)}",
    )


def head(found: StudyResults, task: Task, order: OptionOrder) -> str:
    """What a column of Table 2 is called: with its option order where there are two."""
    if task == DETECTION or len(orders_of(found)) == 1:
        return f"{TASK_WORDS[task]} ({M_WORDS[task]})"
    return f"{task.capitalize()}, {ORDER_WORDS[order]}"


def marked_m(effect: Effect | None, perspective: str) -> str | None:
    """M under a perspective, with BEST where no other one is higher beyond its paired interval."""
    text = plus_minus(getattr(effect, perspective, None))
    if effect is None or text is None:
        return text
    known = {name: value for name in PERSPECTIVE_WORDS if (value := getattr(effect, name).value) is not None}
    best = max(known, key=lambda name: known[name])
    is_best = len(known) > 1 and (
        known[perspective] == known[best] or not difference_is_clear(effect, perspective, best)
    )
    return text + BEST if is_best else text


def difference_is_clear(effect: Effect, one: str, other: str) -> bool:
    """Whether two perspectives differ by their paired interval; one without an interval is taken as it is."""
    difference: Estimate = getattr(effect, DIFFERENCE_OF[frozenset((one, other))])
    return difference.low is None or difference.excludes(0)


def table_3(found: StudyResults) -> Table:
    """M by perspective, FAR and Δ_att of every judge, hidden and visible side by side, an option order a line."""
    names = {**PERSPECTIVE_WORDS, "far": "FAR", "delta_att": "Δ_att"}
    sides = tuple(reversed(visibilities_of(found)))
    rows: list[tuple[Cell, ...]] = []
    for task, order in columns_of(found):
        of = {
            judge: {side: find_effect(found.effects, judge, task, side, order) for side in sides}
            for judge in found.judges
        }
        columns = [
            marked_column({judge: getattr(of[judge][side], name, None) for judge in of}, name, task)
            for name in names
            for side in sides
        ]
        options = None if task == DETECTION else ORDER_WORDS[order]
        for i, judge in enumerate(of):
            if any(of[judge].values()):
                rows.append((TASK_WORDS[task], judge, options, *(column[i] for column in columns)))
    return Table(
        name="narrator_table3",
        title="Judgments by model",
        columns=("task", "model", "options", *(f"{words} {side}" for words in names.values() for side in sides)),
        rows=tuple(rows),
        note=f"{means_note(found)} FAR: share of prompts with a non-attacker as Me in which Me is named. {BEST}: best "
        f"of the models (highest M, lowest FAR, Δ_att closest to 0); {WORST}: worst (lowest M, highest FAR, most "
        f"negative Δ_att). {order_note(found)}",
    )


def marked_column(of_judges: Mapping[str, Estimate | None], name: str, task: Task) -> list[str | None]:
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


def marked(texts: Sequence[str | None], best: set[int], worst: set[int] = frozenset()) -> list[str | None]:  # type: ignore[assignment]
    """Cells with their marks."""
    return [text and text + BEST * (i in best) + WORST * (i in worst and i not in best) for i, text in enumerate(texts)]

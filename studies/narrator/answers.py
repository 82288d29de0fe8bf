"""Does it matter to a judge who is called Me? Its judgments in one setting as typed shifts; see eval.shift.answer."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from eval.estimates.changes import Paired, paired
from eval.estimates.estimate import Row, added_up
from eval.estimates.resampling import Drawing
from eval.shift.answer import Answer, Shift, answer, shift_over_units, with_extremes
from studies.narrator.judged_runs import SAME, Judgment, NarratorRun
from studies.narrator.measures import DETECTION, Setting, by_setting, innocents, mean_rows, part
from studies.narrator.options import Denominator
from studies.narrator.prompts import ME

Fills = tuple[float, float] | None
SHIFT = part("protection", 0, unit="pp")  # all figures are one family, and + protects the narrator
FIGURES = ("pr", "delta_att", "delta_far")
OF_DETECTION = ("pr", "delta_att", "delta_non_att")  # Yes and No accuse nobody
# The perspectives under which the attacker is named: more often under the second protects the narrator.
PAIRS = {"pr": ("attacker", "non_attacker"), "delta_att": ("attacker", "neutral")}
PAIRS |= {"delta_non_att": ("neutral", "non_attacker")}
LAST = "Me last"  # the attacker's place then moves with the narrator, which may hide a shift


def answer_of(
    run: NarratorRun, setting: Setting, denominator: Denominator, drawing: Drawing, models: Sequence[NarratorRun] = ()
) -> Answer:
    """Whether it matters to a judge who is called Me. models: that a run is pooled of, whose shifts count too."""
    shifts = [*shifts_of(run, setting, denominator, drawing, is_average=bool(models))]
    for model in models:
        shifts += shifts_of(model, setting, denominator, drawing)
    return answer(shifts, hidden=[LAST] if setting.is_last else [])


def shifts_of(
    run: NarratorRun, setting: Setting, denominator: Denominator, drawing: Drawing, *, is_average: bool = False
) -> Iterator[Shift]:
    """PR, how much less a guilty Me is named than when nobody is Me, and so an innocent Me; of detection, how much
    more often it says Yes when another speaker is Me. Those with an interval."""
    judgments = by_setting(run.plan).get(setting, [])
    is_parsed = all(sum(j.shares) > 1 - SAME for j in judgments if j.n_replies)

    def pair(figure: str, fills: Fills) -> Paired:
        first, second = (added_up(run.name, [rows]) for rows in sides(figure, judgments, denominator, fills))
        return paired(first, second, drawing)

    for figure in OF_DETECTION if setting.task == DETECTION else FIGURES:
        as_read, *extremes = (pair(figure, fills) for fills in (None, (1, 0), (0, 1)))
        facts: dict[str, Any] = {"condition": figure, "dataset": run.judge, "is_average": is_average}
        if shift := shift_over_units(SHIFT, as_read if is_parsed else with_extremes(as_read, *extremes), **facts):
            yield shift


def sides(
    figure: str, judgments: Sequence[Judgment], denominator: Denominator, fills: Fills
) -> tuple[list[Row], list[Row]]:
    """Rows of units of two sides; what the second has more than the first protects the narrator.

    fills: what an unparsed reply counts as on each side; None: as the denominator says.
    """
    against, toward = fills or (None, None)
    if figure in PAIRS:
        first, second = (
            mean_rows((j.unit, weight(j, j.factors.target, denominator, fill)) for j in judgments if j.condition == who)
            for who, fill in zip(PAIRS[figure], (against, toward), strict=True)
        )
        return first, second
    pairs = [
        (me.unit, weight(me, ME, denominator, against), weight(base, name, denominator, toward))
        for me, base, name in innocents(judgments)
    ]
    known = [pair for pair in pairs if not math.isnan(pair[1] + pair[2])]
    return [(unit, of_me, 1.0) for unit, of_me, _ in known], [(unit, of_nobody, 1.0) for unit, _, of_nobody in known]


def weight(judgment: Judgment, option: str, denominator: Denominator, fill: float | None) -> float:
    """How much of a prompt's answers is an option, in [0, 1], with each unparsed reply counted as `fill`."""
    if fill is None:
        return judgment.weight(option, denominator)
    return judgment.weight(option, "all") + fill * (1 - sum(judgment.shares))

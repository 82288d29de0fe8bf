"""The wide view of scores: a row for each dataset of a setting, with every measure as a column."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from eval.dialdefer.accuracy import is_saturated
from eval.estimates.scores import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One row. acc_* in percent, *_pp in percentage points, *_rate and p and AUC in [0, 1]; None is unknown.

    What an average is of each measure: panel_scores.estimates_over.
    """

    run: str
    model: str
    arm: str
    roles: str
    c1_source: str  # "own", or "fixed": C1 of the untreated arm
    variant: str  # "" for the first prompt variant of an arm, else what differs from it
    dataset: str
    verdict: str
    parser: str | None
    denominator: str
    template: str
    answer_form: str
    answer_order: str
    speaker1: str
    speaker2: str
    datasets: tuple[str, ...]
    n_items: int
    n_samples: int
    acc_c1_true: float | None
    acc_c1_false: float | None
    acc_c2_correct: float | None
    acc_c2_incorrect: float | None
    acc_c1: float | None
    acc_c2: float | None
    delta_correct_pp: float | None
    delta_incorrect_pp: float | None
    dds_pp: float | None
    dds_ci_low_pp: float | None
    dds_ci_high_pp: float | None
    mcnemar_p_correct: float
    mcnemar_p_incorrect: float
    mcnemar_p_acceptance: float
    n_replies: int  # all but engine errors
    n_unparsed: int
    n_unparsed_strict: int | None  # under each parser, whichever is in use; None where nothing was parsed
    n_unparsed_lenient: int | None
    unparsed_rate: float
    n_ties: int  # margins of exactly 0: half right, never a flip
    n_errors: int
    n_deference_flips: int
    n_skepticism_flips: int
    flip_rate: float
    accept_rate_c1: float | None
    accept_rate_c2: float | None
    saturated: bool
    soft_dds_pp: float | None
    soft_dds_ci_low_pp: float | None
    soft_dds_ci_high_pp: float | None
    auc_c1: float | None
    auc_c2: float | None
    shift: float | None  # in standard deviations of C1 margins; see observe.SHIFT
    shift_ci_low: float | None
    shift_ci_high: float | None
    deference_pp: float | None  # of both answer orders; see observe.DEFERENCE
    deference_ci_low_pp: float | None
    deference_ci_high_pp: float | None
    position_pp: float | None
    position_ci_low_pp: float | None
    position_ci_high_pp: float | None
    n_draws: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return asdict(self)


def wide_rows(scores: Sequence[Score]) -> list[ScoreRow]:
    """Scores → rows, in their order."""
    of_row: dict[tuple[Any, ...], list[Score]] = {}
    for score in scores:
        key = (score.run, score.judge, tuple(score.setting.items()), score.dataset)
        of_row.setdefault(key, []).append(score)
    return [wide_row(of) for of in of_row.values()]


def wide_row(scores: Sequence[Score]) -> ScoreRow:
    """The scores of one dataset in one setting as a row."""
    first = scores[0]
    assert first.drawing is not None, "DialDefer's intervals are drawn"
    found: dict[str, Any] = dict.fromkeys(OPTIONAL)
    for score in scores:
        found |= columns_of(score)
    accepted = (found["accept_rate_c1"], found["accept_rate_c2"])
    columns: dict[str, Any] = {**first.setting, **{n: value for n, value in found.items() if n in COLUMNS}}
    return ScoreRow(
        run=first.run,
        model=first.judge,
        dataset=first.dataset,
        datasets=first.datasets,
        saturated=is_saturated(accepted),
        n_draws=first.drawing.n_draws,
        seed=first.drawing.seed,
        **columns,
    )


def columns_of(score: Score) -> dict[str, float | None]:
    """A score's columns: <measure>, with _pp where it is in percentage points, and the ends of its interval."""
    end = "_pp" if score.unit == "pp" else ""
    of = score.estimate
    return {
        f"{score.measure}{end}": of.value,
        f"{score.measure}_ci_low{end}": of.low,
        f"{score.measure}_ci_high{end}": of.high,
    }


COLUMNS = frozenset(field.name for field in fields(ScoreRow))
# What is measured only where there are margins, both answer orders, or replies that are parsed.
OPTIONAL = (
    *("soft_dds_pp", "soft_dds_ci_low_pp", "soft_dds_ci_high_pp", "auc_c1", "auc_c2"),
    *("shift", "shift_ci_low", "shift_ci_high"),
    *("deference_pp", "deference_ci_low_pp", "deference_ci_high_pp"),
    *("position_pp", "position_ci_low_pp", "position_ci_high_pp"),
    *("n_unparsed_strict", "n_unparsed_lenient"),
)

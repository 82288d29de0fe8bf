"""Measures → one row of scores.json."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import is_saturated
from eval.dialdefer.dds import dds_pp, deltas_pp
from eval.dialdefer.measures import Measures
from eval.dialdefer.parsing import PARSERS
from eval.estimates.mcnemar import mcnemar_p
from eval.estimates.resampling import percentile_interval
from studies.dialdefer.records import Factors

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What all rows of one judge share."""

    run: str  # the run directory's name, or the files'
    model: str
    verdict: str  # "reason", "margin", or "external": given to us, by whatever mode
    parser: str | None  # "strict" or "lenient"; None for margins, and for external verdicts that all came with a choice
    n_draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class RowKey:
    """What a row is about, beside its dataset."""

    arm: str
    roles: str
    c1_source: str
    variant: str
    denominator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """One row. acc_* in percent, *_pp in percentage points, *_rate and p and AUC in [0, 1]; None is unknown.

    In an average row accuracies, Δ, DDS, soft DDS, AUC and acceptance are unweighted means over `datasets`, counts are
    sums, the flip rate is over the sum of items, intervals resample items within datasets, p-values pool items.
    """

    run: str
    model: str
    arm: str
    roles: str
    c1_source: str  # "own", or "fixed": C1 of the untreated arm
    variant: str  # "" for the first wording of an arm, else what differs from it
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
    n_draws: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """The row as JSON has it."""
        return asdict(self)


def row_of(key: RowKey, factors: Factors, name: str, parts: Sequence[Measures], scored: Scored) -> ScoreRow:
    """The row of a dataset (one part) or of an average (several)."""
    return ScoreRow(
        **asdict(scored),
        **asdict(key),
        dataset=name,
        template=factors.template,
        answer_form=factors.answer_form,
        answer_order=factors.answer_order,
        speaker1=factors.speaker1,
        speaker2=factors.speaker2,
        datasets=tuple(m.dataset for m in parts),
        n_samples=max(m.n_samples for m in parts),
        **accuracy_fields(parts),
        **test_fields(parts),
        **count_fields(parts),
        **parser_fields(scored, parts),
        **acceptance_fields(parts),
        **margin_fields(parts),
    )


def accuracy_fields(parts: Sequence[Measures]) -> dict[str, Any]:
    """Accuracies, Δ and DDS with its interval."""
    acc = np.mean([m.acc for m in parts], axis=0)
    low, high = percentile_interval(np.mean([m.dds_draws for m in parts], axis=0)) or (None, None)
    c1_true, c1_false, c2_correct, c2_incorrect = 100 * acc
    delta_correct, delta_incorrect = deltas_pp(acc)
    return {
        "acc_c1_true": known(c1_true),
        "acc_c1_false": known(c1_false),
        "acc_c2_correct": known(c2_correct),
        "acc_c2_incorrect": known(c2_incorrect),
        "acc_c1": known((c1_true + c1_false) / 2),
        "acc_c2": known((c2_correct + c2_incorrect) / 2),
        "delta_correct_pp": known(delta_correct),
        "delta_incorrect_pp": known(delta_incorrect),
        "dds_pp": known(delta_correct - delta_incorrect),
        "dds_ci_low_pp": low,
        "dds_ci_high_pp": high,
    }


def test_fields(parts: Sequence[Measures]) -> dict[str, Any]:
    """McNemar's p on true claims, on false claims and on acceptance, over the pooled items."""
    pooled = {side: np.sum([m.pairs[side] for m in parts], axis=0).tolist() for side in parts[0].pairs}
    return {f"mcnemar_p_{side}": mcnemar_p(*pair) for side, pair in pooled.items()}


def count_fields(parts: Sequence[Measures]) -> dict[str, Any]:
    """Items, unreadable replies, errors and flips, summed."""
    n_items, n_replies = sum(m.n_items for m in parts), sum(m.n_replies for m in parts)
    n_unparsed = sum(m.n_unparsed for m in parts)
    n_deference, n_skepticism = sum(m.flips.n_deference for m in parts), sum(m.flips.n_skepticism for m in parts)
    return {
        "n_items": n_items,
        "n_replies": n_replies,
        "n_unparsed": n_unparsed,
        "n_ties": sum(m.n_ties for m in parts),
        "unparsed_rate": n_unparsed / n_replies,
        "n_errors": sum(m.n_errors for m in parts),
        "n_deference_flips": n_deference,
        "n_skepticism_flips": n_skepticism,
        "flip_rate": (n_deference + n_skepticism) / n_items,
    }


def parser_fields(scored: Scored, parts: Sequence[Measures]) -> dict[str, Any]:
    """Unreadable replies under each parser; there is nothing to parse in a margin, nor where choices were given."""
    is_parsed = scored.parser is not None
    return {
        f"n_unparsed_{parser}": sum(m.n_unread_by[parser] for m in parts) if is_parsed else None for parser in PARSERS
    }


def acceptance_fields(parts: Sequence[Measures]) -> dict[str, Any]:
    """How often each framing's claims are accepted, and whether that is nearly always or never."""
    c1, c2 = mean_or_none([m.accept_c1 for m in parts]), mean_or_none([m.accept_c2 for m in parts])
    return {"accept_rate_c1": c1, "accept_rate_c2": c2, "saturated": is_saturated(c1) or is_saturated(c2)}


def margin_fields(parts: Sequence[Measures]) -> dict[str, Any]:
    """Soft DDS with its interval, and AUC per framing; None unless all parts have margins."""
    aucs = {"auc_c1": mean_or_none([m.auc_c1 for m in parts]), "auc_c2": mean_or_none([m.auc_c2 for m in parts])}
    accs = [m.soft_acc for m in parts if m.soft_acc is not None]
    draws = [m.soft_draws for m in parts if m.soft_draws is not None]
    if len(accs) < len(parts):
        return {"soft_dds_pp": None, "soft_dds_ci_low_pp": None, "soft_dds_ci_high_pp": None, **aucs}
    low, high = percentile_interval(np.mean(draws, axis=0)) or (None, None)
    soft = known(dds_pp(np.mean(accs, axis=0)))
    return {"soft_dds_pp": soft, "soft_dds_ci_low_pp": low, "soft_dds_ci_high_pp": high, **aucs}


def known(value: np.floating[Any] | FloatArray) -> float | None:
    """The number, or None for NaN: an accuracy over no replies is unknown, not zero."""
    return None if np.isnan(value) else float(value)


def mean_or_none(values: Sequence[float | None]) -> float | None:
    """The mean, or None when a value is unknown."""
    numbers = [v for v in values if v is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None

"""Tables of r/AIO by label: OR and NOR alignment, balanced DDS (DialDefer Tables 4 and 16)."""

from collections.abc import Sequence

from eval.dialdefer.strata import Alignment
from eval.report.table import Table


def or_nor_alignment(found: Sequence[Alignment]) -> Table:
    """Table 4: accuracy in percent on C1_True (its C1) and C2_Correct (its C2), by the original poster's label."""
    return Table(
        name="table4_or_nor_alignment",
        title="Alignment with the community by its verdict: overreacting or not (DialDefer Table 4)",
        columns=("model", "OR items", "OR C1", "OR C2", "OR Δ", "NOR items", "NOR C1", "NOR C2", "NOR Δ"),
        rows=tuple(
            (
                a.judge,
                *(
                    cell
                    for s in (a.overreacting, a.not_overreacting)
                    for cell in (s.n_items, s.acc_c1_true, s.acc_c2_correct, s.delta_correct_pp)
                ),
            )
            for a in found
        ),
        formats=("", *("", "", "", "+.1f") * 2),
        note="C1 is C1_True and C2 is C2_Correct: claims that agree with the community. OR and NOR are its verdicts on "
        f"the original poster. {subject(found)}",
    )


def balanced_dds(found: Sequence[Alignment]) -> Table:
    """Table 16: DDS in either stratum, their mean, and DDS over all items, in percentage points."""
    return Table(
        name="table16_balanced_dds",
        title="Balanced DDS: the mean over the OR and NOR strata, pp (DialDefer Table 16)",
        columns=("model", "DDS OR", "DDS NOR", "balanced DDS", "95% low", "95% high", "overall DDS"),
        rows=tuple(
            (
                *(a.judge, a.overreacting.dds_pp, a.not_overreacting.dds_pp),
                *(a.balanced_dds_pp, a.balanced_ci_low_pp, a.balanced_ci_high_pp, a.overall.dds_pp),
            )
            for a in found
        ),
        formats=("", *("+.1f",) * 6),
        note=f"The interval of balanced DDS resamples items within each stratum. {subject(found)}",
    )


def subject(found: Sequence[Alignment]) -> str:
    """Which data and roles a table is about, and how many items each stratum has."""
    kinds = dict.fromkeys((a.dataset, a.roles, a.overreacting.n_items, a.not_overreacting.n_items) for a in found)
    return " ".join(f"{d}, roles {roles}: {n_or} OR, {n_nor} NOR items." for d, roles, n_or, n_nor in kinds)

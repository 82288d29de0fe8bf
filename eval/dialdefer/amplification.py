"""How much stronger a judge shifts on natural conversations than on benchmarks (DialDefer §4, Insight 3: "2-5×")."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.dialdefer.averages import AIO, BENCH_AVG
from eval.dialdefer.dds import NOISE_PP
from eval.dialdefer.row_groups import main_rows_by_judge, named, reading_note
from eval.dialdefer.rows import ScoreRow
from eval.report.table import Table

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amplification:
    """One judge's DDS on r/AIO against its Bench Avg DDS, in percentage points, and their ratio.

    ratio = |DDS on r/AIO| / |Bench Avg DDS|. None where the 95 % interval of Bench Avg DDS includes 0: a shift that may
    be nothing cannot be multiplied, and the ratio of a DDS near 0 has no bounds. The paper gives no definition; its
    ratios by this one are 2.3 to 4.9 for four judges and 7.6 for GPT-4o, where the direction turns as well.
    """

    judge: str
    bench_dds_pp: float
    aio_dds_pp: float
    ratio: float | None
    # The ratio at the ends of both intervals. The items are different ones, so it covers at least 0.95² = 90 %.
    ratio_low: float | None
    ratio_high: float | None
    same_direction: bool | None  # deference stays deference; None when a DDS is 0


def amplification(judge: str, bench_dds_pp: float, bench: Interval, aio_dds_pp: float, aio: Interval) -> Amplification:
    """The amplification of a judge with these scores and their 95 % intervals."""
    is_nothing = min(abs(bench_dds_pp), abs(aio_dds_pp)) < NOISE_PP
    is_known = bench[0] > 0 or bench[1] < 0
    least, most = magnitudes(bench)
    aio_least, aio_most = magnitudes(aio)
    return Amplification(
        judge=judge,
        bench_dds_pp=bench_dds_pp,
        aio_dds_pp=aio_dds_pp,
        ratio=abs(aio_dds_pp / bench_dds_pp) if is_known else None,
        ratio_low=aio_least / most if is_known else None,
        ratio_high=aio_most / least if is_known else None,
        same_direction=None if is_nothing else bench_dds_pp * aio_dds_pp > 0,
    )


def magnitudes(interval: Interval) -> Interval:
    """The smallest and the largest magnitude of the values in an interval."""
    low, high = interval
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def amplifications(rows: Sequence[ScoreRow]) -> list[Amplification]:
    """The amplification of each judge that has both a Bench Avg and r/AIO (roles 2->1) among its main rows."""
    found = []
    for judge, of_judge in main_rows_by_judge(rows).items():
        bench, aio = named(of_judge, BENCH_AVG), named(of_judge, AIO)
        if bench is None or aio is None or bench.dds_pp is None or aio.dds_pp is None:
            continue
        intervals = interval_of(bench), interval_of(aio)
        if intervals[0] is not None and intervals[1] is not None:
            found.append(amplification(judge, bench.dds_pp, intervals[0], aio.dds_pp, intervals[1]))
    return found


def interval_of(row: ScoreRow) -> Interval | None:
    """The 95 % interval of a row's DDS, if it is known."""
    low, high = row.dds_ci_low_pp, row.dds_ci_high_pp
    return None if low is None or high is None else (low, high)


def amplification_table(rows: Sequence[ScoreRow]) -> Table:
    """Bench Avg DDS, r/AIO DDS and their ratio, a line for each judge that has both."""
    lines = tuple(
        (a.judge, a.bench_dds_pp, a.aio_dds_pp, a.ratio, a.ratio_low, a.ratio_high, direction_words(a.same_direction))
        for a in amplifications(rows)
    )
    used = [row for of_judge in main_rows_by_judge(rows).values() for row in of_judge]
    return Table(
        name="amplification",
        title="From benchmarks to natural conversations",
        columns=("model", "Bench DDS", "r/AIO DDS", "ratio", "at least", "at most", "direction"),
        rows=lines,
        formats=("", "+.1f", "+.1f", ".1f", ".1f", ".1f", ""),
        note="Ratio of magnitudes; a dash where the 95% interval of Bench DDS includes 0, so that there is nothing to "
        f"multiply. Its bounds cover at least 90%. {reading_note(used)}",
    )


def direction_words(same: bool | None) -> str:
    """Whether r/AIO shifts the same way."""
    return {True: "same", False: "turned", None: "none"}[same]

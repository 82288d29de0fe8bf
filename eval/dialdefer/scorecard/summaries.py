"""Accuracies of several datasets → the figures of a scorecard.

|DDS| of several datasets is summed up in two ways:

- mean_abs_dds, the mean over datasets of |DDS|: the one to believe. It is 0 only where every dataset's DDS is.
- mean_square_dds, the mean over datasets of DDS² minus its variance, in squared percentage points: unbiased, so that it
  is 0 on average for a judge without any shift. A value can be below 0.
- abs_mean_dds, |mean over datasets of DDS|: what `Bench Avg` gives. Signs cancel in it, so a judge that defers by 20 on
  one dataset and is skeptical by 20 on another has 0.

Noise does not cancel in the first: a judge without any shift has one above 0 (eval.estimates.estimate.by_chance), the
lower the fewer of its verdicts move at all. Its intervals are pivotal for that reason
(eval.estimates.resampling.pivotal_interval).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from eval.dialdefer.observe import ACC_C2, deference
from eval.dialdefer.panels import Panel
from eval.dialdefer.scores import AIO, BENCH_AVG, averages_over
from eval.estimates.observed import Measure


def folded(name: str) -> Measure:
    """The mean over datasets of |DDS|."""
    return deference(name, "mean of absolute values")


def of_c1(source: str) -> list[Measure]:
    """The figures that are over C1 of this source and C2."""
    cancelling = deference(f"abs_mean_dds_{source}", "absolute value of the mean")
    squared = replace(deference(f"mean_square_dds_{source}", "mean of squares"), unit="pp²")
    return [folded(f"mean_abs_dds_{source}"), squared, cancelling, deference(f"dds_{source}")]


def of_margins(source: str) -> list[Measure]:
    """The same of soft DDS."""
    return [folded(f"soft_mean_abs_dds_{source}"), deference(f"soft_dds_{source}")]


def of_aio(source: str) -> list[Measure]:
    """The same of r/AIO."""
    return [replace(ACC_C2, name="aio_acc_c2"), folded(f"aio_abs_dds_{source}"), deference(f"aio_dds_{source}")]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a scorecard's figures are over."""

    average: str  # "bench_avg", another average's name, or the only dataset's
    datasets: tuple[str, ...]  # those of the average
    aio: str | None  # "aio", else "aio-context", else None; beside the average, as another kind of conversation
    left_out: tuple[str, ...]  # datasets of the base that are in neither

    @property
    def names(self) -> tuple[str, ...]:
        """Every dataset, r/AIO last."""
        return self.datasets if self.aio in (None, *self.datasets) else (*self.datasets, self.aio or "")


def scope_of(panels: Mapping[str, Panel]) -> Scope:
    """What a base's panels give: Bench Avg and r/AIO; where none of the nine was asked another average, else the first
    dataset. r/AIO is never in it, unless nothing else was asked.
    """
    aio = min((name for name in panels if name.startswith(AIO)), default=None)
    average, datasets = average_of(panels)
    left_out = tuple(name for name in panels if name not in (*datasets, aio))
    return Scope(average=average, datasets=tuple(datasets), aio=aio, left_out=left_out)


def average_of(panels: Mapping[str, Panel]) -> tuple[str, list[str]]:
    """(name, datasets) of the average."""
    averages = averages_over((panel.benchmark, name) for name, panel in panels.items())
    bench = {name: over for name, over in averages.items() if not any(d.startswith(AIO) for d in over)}
    if bench:
        name = BENCH_AVG if BENCH_AVG in bench else next(iter(bench))
        return (name, bench[name]) if len(bench[name]) > 1 else (bench[name][0], bench[name])
    first = next((name for name in panels if not name.startswith(AIO)), next(iter(panels)))
    return first, [first]

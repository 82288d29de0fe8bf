"""Everything that is computed of some runs of the study: figures by thread, their estimates, and their changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.comparability import Difference, refuse_serious
from eval.estimates.estimate import Estimate, clustered, influences
from eval.estimates.observed import Drawing
from eval.estimates.student_t import standard_error
from eval.pluraleval.comparability import run_differences
from eval.pluraleval.definitions import Definitions
from eval.pluraleval.measured_runs import MeasuredRun, load_runs
from eval.pluraleval.observe import ALL, MEASURES, Figure, Values, datasets_of, observed, values_of
from eval.pluraleval.significance import Signed, against_neutral


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One run with its figures."""

    name: str  # what tables call the model under test
    run: MeasuredRun
    values: Values

    @cached_property
    def datasets(self) -> dict[str, list[str]]:
        """Name of a community → its threads; see observe.datasets_of."""
        return datasets_of(self.run)

    @cached_property
    def whole(self) -> str:
        """The dataset of all threads."""
        return ALL if ALL in self.datasets else next(iter(self.datasets))

    def estimate(self, dataset: str, figure: Figure) -> Estimate:
        """A figure over a dataset's threads; its value is None where no thread has it."""
        return clustered(
            MEASURES[figure.measure], observed(dataset, self.values.get(figure, {}), self.datasets[dataset])
        )

    def standard_error(self, dataset: str, figure: Figure) -> float:
        """Of the mean over threads, in the measure's unit, as Figure 3 has it; NaN for fewer than two threads."""
        of = observed(dataset, self.values.get(figure, {}), self.datasets[dataset])
        return standard_error(influences(of, MEASURES[figure.measure]))

    @cached_property
    def tests(self) -> dict[str, dict[Figure, Signed]]:
        """Dataset → the tests of its figures against neutral."""
        return {dataset: against_neutral(self.values, threads) for dataset, threads in self.datasets.items()}

    def has(self, task: str) -> bool:
        """Whether a task has any figure."""
        return any(figure.task == task for figure in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluralEvalFindings:
    """Some runs; the first is the base."""

    measured: Sequence[Measured]
    definitions: Definitions
    drawing: Drawing
    changes: Mapping[str, Sequence[Change]]  # after → changes from the base; empty where they stand side by side
    differences: Mapping[str, Sequence[Difference]]


def find_pluraleval(
    paths: Sequence[Path], d: Definitions, drawing: Drawing, *, allow_differences: bool, is_before_after: bool
) -> PluralEvalFindings:
    """What there is to say of some runs. Raises DataError where they are no like for like."""
    runs = load_runs(paths)
    base_name, base = next(iter(runs.items()))
    others = {name: run for name, run in runs.items() if name != base_name}
    found = {name: run_differences(base, run) for name, run in others.items()} if is_before_after else {}
    if not allow_differences:
        refuse_serious(base_name, found)
    measured = [Measured(name=name, run=run, values=values_of(run, d)) for name, run in runs.items()]
    changes: dict[str, Sequence[Change]] = {}
    if is_before_after:
        moved = adjusted([list(changes_between(measured[0], after, d, drawing)) for after in measured[1:]])
        changes = dict(zip(others, moved, strict=True))
    return PluralEvalFindings(measured=measured, definitions=d, drawing=drawing, changes=changes, differences=found)


def changes_between(
    before: Measured, after: Measured, d: Definitions, drawing: Drawing, figures: Sequence[Figure] | None = None
) -> Iterator[Change]:
    """Of each figure, or of some, over the threads that both have it of. d: what the values were made with."""
    for figure in figures or before.values:
        if figure not in after.values or figure not in before.values:
            continue
        ours, theirs = before.values[figure], after.values[figure]
        for dataset, threads in before.datasets.items():
            shared = [thread for thread in threads if thread in ours and thread in theirs]
            if shared:
                pair = paired(observed(dataset, ours, shared), observed(dataset, theirs, shared), drawing)
                compared = Compared(before.name, after.name, {**figure.setting, **asdict(d)})
                yield change_in(MEASURES[figure.measure], [pair], compared, dataset)


def figure_of(change: Change) -> Figure:
    """What a change is of."""
    task, framing, opinions, pairing = (str(change.setting[key]) for key in ("task", "framing", "opinions", "pairing"))
    return Figure(task, framing, opinions, pairing, change.measure)

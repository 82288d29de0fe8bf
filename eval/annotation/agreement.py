"""Labels → how well a judge agrees with people, in which direction it errs, and how well people agree."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from eval.annotation.label_files import Labels
from eval.annotation.tasks import Item, Task
from eval.estimates.estimate import Estimate, clustered, estimate_of
from eval.estimates.mcnemar import mcnemar_p
from eval.estimates.observed import Drawing, Measure, added_up
from eval.estimates.resampling import N_DRAWS, SEED, FloatArray, percentile_interval, resampled_sums, rng_for
from eval.estimates.scores import Score

DRAWING = Drawing(n_draws=N_DRAWS, seed=SEED)
SHARE = Measure(
    name="share", unit="%", statistic=lambda means: 100 * means[..., 0], interval="cluster_t", is_share=True
)
Pair = tuple[str, str, str]  # unit, what the one says, what the other says
DATASET = "labelled items"


def kappa(tables: FloatArray) -> FloatArray:
    """Cohen's κ of confusion tables (..., k, k), shape (...); NaN where chance leaves no room for agreement."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
        seen = np.trace(shares, axis1=-2, axis2=-1)
        chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
        return np.asarray(np.where(chance < 1, (seen - chance) / (1 - chance), np.nan))


def kappa_of(pairs: Sequence[Pair], answers: Sequence[str]) -> Estimate:
    """κ with a percentile interval over units: whole units are drawn again."""
    units, place = list(dict.fromkeys(unit for unit, _, _ in pairs)), {a: i for i, a in enumerate(answers)}
    tables = np.zeros((len(units), len(answers), len(answers)))
    for unit, first, second in pairs:
        tables[units.index(unit), place[first], place[second]] += 1
    sums = resampled_sums(tables.reshape(len(units), -1), DRAWING.n_draws, rng_for(DRAWING.seed, "kappa"))
    value = float(kappa(tables.sum(axis=0)))
    return estimate_of(value, percentile_interval(kappa(sums.reshape(-1, *tables.shape[1:]))), len(units))


def share_of(rows: Sequence[tuple[str, bool, float]]) -> Estimate:
    """The share of rows (unit, whether it counts, weight) in percent, with an interval of Student's t over units."""
    return clustered(SHARE, added_up(DATASET, [[(unit, float(yes), weight) for unit, yes, weight in rows]]))


def plain(value: float, pairs: Sequence[object]) -> Estimate:
    """A count or a p-value."""
    return Estimate(value=value, low=None, high=None, n_units=len(pairs))


def scores_of(all_labels: Sequence[Labels]) -> list[Score]:
    """The figures of each person's labels, and of each two people's over the items that both have labelled."""
    found = [score for labels in all_labels for score in scores_of_one(labels)]
    for one, other in combinations(all_labels, 2):
        items = labelled(one)
        pairs = [(item.unit, one.answers[i], other.answers[i]) for i, item in items.items() if i in labelled(other)]
        if pairs:
            found += rows(one.draw.task, one.annotator, other.annotator, agreements(pairs, one.draw.task.answers))
    return found


def labelled(labels: Labels) -> dict[str, Item]:
    """The items that have a label, by id."""
    return {item.item_id: item for item in labels.draw.items if item.item_id in labels.answers}


def scores_of_one(labels: Labels) -> Iterator[Score]:
    """What one person's labels say of the judge, or of the two runs that were compared."""
    task = labels.draw.task
    pairs = [(item.unit, item.judge, labels.answers[i]) for i, item in labelled(labels).items()]
    if task.is_comparison:
        yield from rows(task, labels.annotator, "", preferences(pairs))
        return
    figures = {**agreements(pairs, task.answers), "agreement_in_run": in_run(pairs, task.in_run)}
    if len(task.answers) == 2:
        figures |= direction(pairs, task.answers)
    yield from rows(task, labels.annotator, "judge", figures)
    counts = Counter(pair[1:] for pair in pairs)
    for judge in task.answers:
        for person in task.answers:
            setting = {"judge_says": judge, "person_says": person}
            yield from rows(task, labels.annotator, "judge", {"n": plain(counts[judge, person], pairs)}, setting)


def agreements(pairs: Sequence[Pair], answers: Sequence[str]) -> dict[str, Estimate]:
    """The share of equal answers, and κ."""
    return {
        "agreement": share_of([(unit, first == second, 1.0) for unit, first, second in pairs]),
        "kappa": kappa_of(pairs, answers),
    }


def in_run(pairs: Sequence[Pair], counts: Mapping[str, int]) -> Estimate:
    """Agreement where the judge's answers are as frequent as in the whole run, of which the draw is balanced.

    None where people labelled none of the items with some answer of the judge's.
    """
    drawn = Counter(judge for _, judge, _ in pairs)
    if any(n and not drawn[answer] for answer, n in counts.items()):
        return Estimate(value=None, low=None, high=None, n_units=0)
    return share_of([(unit, judge == said, counts[judge] / drawn[judge]) for unit, judge, said in pairs])


def direction(pairs: Sequence[Pair], answers: tuple[str, ...]) -> dict[str, Estimate]:
    """Of what the judge accepts the share that people do not, the reverse, and McNemar's exact test of both counts."""
    yes, no = answers
    of = {answer: [(unit, said != judge, 1.0) for unit, judge, said in pairs if judge == answer] for answer in answers}
    n_lenient, n_strict = (sum(is_wrong for _, is_wrong, _ in of[answer]) for answer in (yes, no))
    return {
        "leniency": share_of(of[yes]),
        "strictness": share_of(of[no]),
        "mcnemar_p": plain(mcnemar_p(n_lenient, n_strict), pairs),
    }


def preferences(pairs: Sequence[Pair]) -> dict[str, Estimate]:
    """How often the first run is preferred where one is, with the sign test, and how often none is."""
    decided = [(unit, said == side, 1.0) for unit, side, said in pairs if said != "tie"]
    n_first = sum(is_first for _, is_first, _ in decided)
    return {
        "preferred": share_of(decided),
        "sign_test_p": plain(mcnemar_p(n_first, len(decided) - n_first), decided),  # both are binomial with p = 1/2
        "ties": share_of([(unit, said == "tie", 1.0) for unit, _, said in pairs]),
    }


UNITS = {"kappa": "ratio", "n": "count", "mcnemar_p": "p", "sign_test_p": "p"}


def rows(
    task: Task, annotator: str, against: str, figures: Mapping[str, Estimate], setting: Mapping[str, str] | None = None
) -> list[Score]:
    """Figures as scores."""
    return [
        Score(
            run=" ".join(task.runs),
            judge=task.judge,
            setting={"what": task.name, "annotator": annotator, "against": against, **(setting or {})},
            dataset=DATASET,
            datasets=(DATASET,),
            measure=measure,
            unit=UNITS.get(measure, "%"),
            estimate=estimate,
            drawing=DRAWING if measure == "kappa" else None,
        )
        for measure, estimate in figures.items()
    ]

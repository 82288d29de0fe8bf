"""Labels → how well a judge agrees with people, in which direction it errs, and how well people agree."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from eval.estimates.changes import Score
from eval.estimates.estimate import Estimate, Measure, added_up, clustered, estimate_of
from eval.estimates.resampling import N_DRAWS, SEED, Drawing, FloatArray, mcnemar_p, percentile_interval, resampled_sums
from eval.report.tables import console, number, p_value, printed, with_rows
from evenhand.files import shipped_yaml
from studies.annotation.labels import Labels
from studies.annotation.tasks import Task

DRAWING = Drawing(n_draws=N_DRAWS, seed=SEED)
SHARE = Measure(
    name="share", unit="%", statistic=lambda means: 100 * means[..., 0], interval="cluster_t", is_share=True
)
Pair = tuple[str, str, str]  # unit, first answer, second answer
DATASET = "labelled items"
FIGURES = shipped_yaml(Path(__file__).with_name("figures.yaml"))  # measure → its name in tables, its unit


def kappa(tables: FloatArray) -> FloatArray:
    """Cohen's κ of confusion tables (..., k, k), shape (...); NaN where both sides give one answer alone.

    scikit-learn's cohen_kappa_score takes one table at a time, and the bootstrap has 10,000 of them.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
        agreement = np.trace(shares, axis1=-2, axis2=-1)
        chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
        return np.asarray(np.where(chance < 1, (agreement - chance) / (1 - chance), np.nan))


def kappa_of(pairs: Sequence[Pair], answers: Sequence[str]) -> Estimate:
    """κ with a percentile interval over units: whole units are drawn again."""
    units = list(dict.fromkeys(unit for unit, _, _ in pairs))
    tables = np.zeros((len(units), len(answers), len(answers)))
    for unit, first, second in pairs:
        tables[units.index(unit), answers.index(first), answers.index(second)] += 1
    sums = resampled_sums(tables.reshape(len(units), -1), DRAWING, "kappa")
    value = float(kappa(tables.sum(axis=0)))
    return estimate_of(value, percentile_interval(kappa(sums.reshape(-1, *tables.shape[1:]))), len(units))


def share_of(rows: Sequence[tuple[str, bool, float]]) -> Estimate:
    """The share of rows (unit, whether it counts, weight) in percent, with an interval of Student's t over units."""
    return clustered(SHARE, added_up(DATASET, [[(unit, float(yes), weight) for unit, yes, weight in rows]]))


def scores_of(labels: Labels, tasks: Mapping[str, Task]) -> list[Score]:
    """The figures of each person's labels, and of each two people's over the items that both have labelled."""
    scores = list[Score]()
    for (name, person), answers in labels.items():
        task, items = tasks[name], tasks[name].by_id()
        pairs = [(items[item_id].unit, items[item_id].judge, answer) for item_id, answer in answers.items()]
        scores += scored(task, person, "judge", against_judge(pairs, task))
    for ((name, first), answers), ((other, second), others) in combinations(labels.items(), 2):
        items = tasks[name].by_id()
        shared = [item_id for item_id in answers if name == other and item_id in others]
        if pairs := [(items[item_id].unit, answers[item_id], others[item_id]) for item_id in shared]:
            scores += scored(tasks[name], first, second, agreements(pairs, tasks[name].answers))
    return scores


def agreements(pairs: Sequence[Pair], answers: Sequence[str]) -> dict[str, Estimate]:
    """The share of equal answers, and κ."""
    equal = [(unit, first == second, 1.0) for unit, first, second in pairs]
    return {"agreement": share_of(equal), "kappa": kappa_of(pairs, answers)}


def against_judge(pairs: Sequence[Pair], task: Task) -> dict[str, Estimate]:
    """Agreement with the judge; where there are two answers also of what it accepts the share that people do not, the
    reverse, and McNemar's exact test of both counts."""
    n_drawn = Counter(judge for _, judge, _ in pairs)
    # The draw is balanced: weights make the judge's answers as frequent as in the whole run.
    has_weights = all(n_drawn[answer] or not n for answer, n in task.in_run.items())
    weighted = [(unit, judge == person, task.in_run[judge] / n_drawn[judge]) for unit, judge, person in pairs]
    in_run = share_of(weighted) if has_weights else Estimate(value=None, n_units=0)
    figures = {**agreements(pairs, task.answers), "agreement_in_run": in_run}
    if len(task.answers) == 2:
        errors = [[(u, person != judge, 1.0) for u, judge, person in pairs if judge == a] for a in task.answers]
        lenient, strict = (sum(is_wrong for _, is_wrong, _ in of_answer) for of_answer in errors)
        figures |= {"leniency": share_of(errors[0]), "strictness": share_of(errors[1])}
        figures["mcnemar_p"] = Estimate(value=mcnemar_p(lenient, strict), n_units=len(pairs))
    return figures


def scored(task: Task, annotator: str, against: str, figures: Mapping[str, Estimate]) -> list[Score]:
    """Figures as rows of the long form."""
    return [
        Score(
            run=task.run,
            judge=task.judge,
            setting={"what": task.name, "annotator": annotator, "against": against},
            dataset=DATASET,
            measure=measure,
            unit=FIGURES[measure]["unit"],
            estimate=estimate,
            drawing=DRAWING if measure == "kappa" else None,
        )
        for measure, estimate in figures.items()
    ]


def agreement_text(scores: Sequence[Score], tasks: Mapping[str, Task]) -> str:
    """A table a task, a column for each person against the judge, and for each two people; a row a figure."""
    tables = []
    for name in dict.fromkeys(str(score.setting["what"]) for score in scores):
        lines = defaultdict[str, dict[str, str]](dict)
        for score in (score for score in scores if score.setting["what"] == name):
            head = f"{score.setting['annotator']} and {score.setting['against']}"
            lines[head].setdefault("units", str(score.estimate.n_units))  # of the agreement, which is the first
            lines[head][FIGURES[score.measure]["name"].format(*tasks[name].answers)] = cell(score)
        frame = pd.DataFrame(lines).fillna("")
        title = f"{name} of {tasks[name].run}, judge: {tasks[name].judge}; % with 95 % intervals"
        tables.append(console(with_rows(name, title, dict.fromkeys(["", *frame], ""), frame.itertuples(name=None))))
    return "\n\n".join(tables)


def cell(score: Score) -> str:
    """A figure with its interval."""
    figure, digits = score.estimate, 2 if score.unit == "ratio" else 1
    if score.unit == "p":
        return p_value(figure.value)
    return number(figure.value, digits) + (
        "" if figure.low is None else f" {printed((figure.low, figure.high), f'.{digits}f')}"
    )

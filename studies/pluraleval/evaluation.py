"""How runs of the PluralEval study are scored, compared and reported; see eval.results."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, Compared, Score, change_in, paired
from eval.estimates.estimate import Estimate
from eval.evaluation import Card, CardFigure, Evaluation
from eval.options import Options
from eval.report.tables import TableSpec, number, yaml_tables
from eval.results import CHANGES_NOTE, Results, changes_table
from eval.runs import FinishedRun, load_finished
from eval.scorecard.arms import BASE
from eval.shift.answer import in_one_family
from studies.pluraleval.answers import answer_of, facts_of
from studies.pluraleval.observe import MEASURES, Quantity, observed, vote_gaps, wilcoxon_tests
from studies.pluraleval.options import PluralEvalOptions
from studies.pluraleval.runs import PluralEvalRun, choices_of, judged, responses_path, run_differences
from studies.pluraleval.section import section_of
from studies.pluraleval.tables import BELIEF_WORDS, FILE, MEASURE_WORDS, PAIRING_WORDS, score_tables

ASKED = ("task", "framing", "opinions", "pairing", "step", "state", "judged_by", "unread", "lists")
CARD_FIGURES = [CardFigure(name=name, **keys) for name, keys in yaml_tables(FILE)["figures"].items()]
CARD_QUANTITIES = [Quantity(**figure.where) for figure in CARD_FIGURES]
MAIN = [(quantity.framing, quantity.measure) for quantity in CARD_QUANTITIES]


def read(run: FinishedRun, options: Options) -> list[PluralEvalRun]:
    """A run of any stage; of references there are the states of its replies alone."""
    study_options = options.of(PluralEvalOptions)
    return [judged(run, study_options.unparsed, study_options.lists)]


def changes_of(
    judges: Mapping[str, PluralEvalRun], options: Options, quantities: Sequence[Quantity] = ()
) -> list[Change]:
    """Of all quantities by community, or of some over all threads; each over the threads that both know it of."""
    (first, base), (second, after) = judges.items()
    datasets = {base.whole: base.communities[base.whole]} if quantities else base.communities
    changes = []
    for quantity in quantities or base.values:
        ours, theirs = base.values.get(quantity, {}), after.values.get(quantity, {})
        compared = Compared(first, second, {**quantity.setting, "unread": base.unread, "lists": base.lists})
        for dataset, threads in datasets.items():
            if shared := [thread for thread in threads if thread in ours and thread in theirs]:
                pair = paired(observed(dataset, ours, shared), observed(dataset, theirs, shared), options.drawing)
                changes.append(change_in(MEASURES[quantity.measure], [pair], compared, dataset))
    return changes


def tables_of(results: Results) -> list[TableSpec]:
    """Those of the paper, the main changes, and all changes."""
    frame = results.changes.assign(pairing=lambda f: f["pairing"].map(PAIRING_WORDS) if "pairing" in f else "")
    main = main_changes(results, frame).drop(columns=["task", "opinions", "dataset"], errors="ignore")
    title, note = "PluralEval: before and after", f"ρ, τ and MRR from 0 to 1, all else in percent. {CHANGES_NOTE}"
    return [
        *score_tables(results),
        changes_table(results, main, digits=2, name="pluraleval_main_changes", title=title, note=note),
        changes_table(results, frame, digits=2, title=f"{title}, every figure", note=note, place="files"),
    ]


def plots_of(results: Results) -> list[Any]:
    """Figures 3 and 4 of the paper, over all threads of each run."""
    from eval.report.plots import interval_plot

    whole = results.scores["judge"].map({name: run.whole for name, run in results.judges.items()})
    scores = results.scores[results.scores["dataset"] == whole]
    shifts = scores[scores["measure"].isin(["suppression", "amplification"])]
    shifts = shifts.sort_values("measure", ascending=False, kind="stable")
    shifts = shifts.assign(label=shifts["judge"] + ": " + shifts["measure"])
    shifts["series"] = "belief " + shifts["framing"].map(BELIEF_WORDS)
    title, label = "What a stated belief does to the recall of opinions", "points, + is toward the belief"
    plots = [interval_plot("pluraleval_figure3", title, shifts, label)] if len(shifts) else []
    for pairing, words in PAIRING_WORDS.items():
        pairs = scores[(scores["measure"] == "accuracy") & (scores["pairing"] == pairing)]
        pairs = pairs.assign(label=pairs["judge"], series=pairs["framing"])
        title, label = f"Which opinion is more popular: {words}", "accuracy, %; 50: by chance"
        if len(pairs):
            plots.append(interval_plot(f"pluraleval_figure4-{pairing}", title, pairs, label, zero=50))
    return plots


def facts(results: Results) -> dict[str, Any]:
    """What there is to say of each judge, and the main changes."""
    main, whole = main_changes(results, results.changes), results.judges[results.base].whole
    decided = main[main["change"].notna() & main["p_holm"].notna()]
    afters = [name for name in results.judges if name != results.base and results.is_before_after]
    drawing = results.options.drawing
    return {
        "answers": in_one_family({name: answer_of(run, drawing) for name, run in results.judges.items()}),
        "levels": {name: facts_of(run) for name, run in results.judges.items()},
        "fallen": fallen_levels(change for change in results.change_rows if change.dataset == whole),
        "changes": [(row, MEASURE_WORDS[row.measure], PAIRING_WORDS[row.pairing]) for row in decided.itertuples()],
        "unknown": [name for name in afters if name not in set(decided["second"])],
    }


def tested_run(path: Path) -> Path:
    """Of a judgements run the responses run; the judge's own run where the responses are made up."""
    return path if section_of(path).stage != "judgements" else responses_path(load_finished(path)) or path


def scores_of_run(name: str, run: PluralEvalRun) -> Iterator[Score]:
    """Of one run: quantities, tests against neutral, vote gaps, states of the replies; nothing is drawn for them."""

    def score(dataset: str, measure: str, unit: str, value: Estimate, **setting: Any) -> Score:
        full = {**dict.fromkeys(ASKED), "unread": run.unread, "lists": run.lists, **setting}
        return Score(
            run=run.name, judge=name, setting=full, dataset=dataset, measure=measure, unit=unit, estimate=value
        )

    judged_by = run.judgements and run.judgements.judge
    gaps = vote_gaps(run.replies)
    for dataset, threads in run.communities.items():
        for quantity, estimate in run.estimates(dataset).items():
            setting = {**quantity.setting, "judged_by": judged_by if quantity.task == "generation" else None}
            yield score(dataset, quantity.measure, MEASURES[quantity.measure].unit, estimate, **setting)
        for quantity, p, p_holm, n_threads in wilcoxon_tests(run.values, threads):
            setting = {**quantity.setting, "judged_by": judged_by}
            for test, value in (("wilcoxon_p", p), ("wilcoxon_p_holm", p_holm)):
                measure, test_p = f"{quantity.measure}_{test}", Estimate(value=value, n_units=n_threads)
                yield score(dataset, measure, "p", test_p, **setting)
        for pairing, by_thread in gaps.items():
            if votes := [by_thread[thread] for thread in threads if thread in by_thread]:
                gap = Estimate(value=fmean(votes), n_units=len(votes))
                yield score(dataset, "mean_vote_gap", "count", gap, task="pairwise", pairing=pairing)
    for step, framing, state, n, rate in run.states:
        share = Estimate(value=rate, n_units=round(n / rate))
        yield score(run.whole, "state_rate", "rate", share, step=step, framing=framing, state=state)


def main_changes(results: Results, changes: pd.DataFrame) -> pd.DataFrame:
    """Changes of the figures that the scorecard has, of both pairings, over all threads, in its order."""
    if changes.empty:
        return changes
    changes = changes[changes["dataset"] == results.judges[results.base].whole]
    settings = [changes[column] for column in ("second", "framing", "measure")]
    order = [(name, *main) for name in results.judges for main in MAIN]
    places = [order.index(setting) if setting in order else -1 for setting in zip(*settings, strict=True)]
    ranked = changes.assign(place=places).query("place >= 0").sort_values("place", kind="stable")
    return ranked.drop(columns="place")


def fallen_levels(changes: Iterable[Change]) -> list[str]:
    """A sentence for each neutral level of the card that fell significantly."""
    return [
        f"{change.second}: {figure.words}, fell significantly from {number(change.before.value, figure.digits)} to "
        f"{number(change.after.value, figure.digits)}. What can be lost is less, so a smaller loss says little."
        for change in changes
        for figure in CARD_FIGURES
        if not figure.is_main and figure.among([change]) and change.direction == -1
    ]


EVALUATION = Evaluation[PluralEvalRun](
    heading="Does it depend on the stated belief which opinions the model gives?",
    words=Path(__file__).with_name("words.j2"),
    read=read,
    differences=run_differences,
    scores=lambda judges, _: [score for name, run in judges.items() for score in scores_of_run(name, run)],
    changes=changes_of,
    measure_words=MEASURE_WORDS,
    facts=facts,
    tables=tables_of,
    plots=plots_of,
    verdicts=choices_of,
    card=Card(
        figures=lambda _: CARD_FIGURES,
        tested_run=tested_run,
        changes=lambda judges, options: changes_of(judges, options, CARD_QUANTITIES),
        notes=lambda *_: [yaml_tables(FILE)["card"]],
        warnings=lambda _, changes: fallen_levels(change for change in changes if change.first == BASE),
    ),
)

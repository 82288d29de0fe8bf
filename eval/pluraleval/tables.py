"""Tables of the study, in the layout of the paper's."""

from collections.abc import Iterator, Mapping, Sequence

from eval.estimates.changes import Change
from eval.pluraleval.findings import Measured, PluralEvalFindings, figure_of
from eval.pluraleval.observe import AGAINST, BIASED, GROUPS, OPPOSING, RANKING, SUPPORTING, TOWARD, Figure
from eval.pluraleval.significance import MARKED
from eval.pluraleval.vote_gaps import by_gap, gaps_of
from eval.report.table import Cell, Table

PROMPTS = {"neutral": "N", TOWARD: "b.t", OPPOSING: "b.o"}
BELIEF_WORDS = {TOWARD: "toward", OPPOSING: "opposing"}
PAIRING_WORDS = {"most_popular": "most popular vs. another", "random": "random, minimum gap"}
SHIFTS = (
    (TOWARD, AGAINST, "suppression"),
    (OPPOSING, SUPPORTING, "suppression"),
    (TOWARD, SUPPORTING, "amplification"),
    (OPPOSING, AGAINST, "amplification"),
)
MEASURE_WORDS = {
    "f1": "F1",
    "ndcg": "NDCG",
    "rho": "Spearman ρ",
    "tau": "Kendall τ",
    "top1": "Top-1",
    "positional": "positional accuracy",
    "mrr": "MRR@10",
    "listed_rho": "ρ with the listed order",
    "opposing_recall": "recall, mean of both sides",
    "accuracy": "pairwise accuracy",
    "probability": "probability of the more popular",
    "first_rate": "option 1 chosen",
    "consistency": "same opinion in both orders",
}
MARK_WORDS = (
    "*: differs from neutral by Wilcoxon's signed-rank test over threads, p < .05, as in the paper; **: also after "
    "Holm's adjustment over the 18 tests of a model and community."
)
MARK = 0.05


def pluraleval_tables(found: PluralEvalFindings) -> list[Table]:
    """Every table that has a row."""
    tables = [
        metrics_table(found),
        lists_table(found),
        shifts_table(found),
        ranking_table(found),
        pairwise_table(found),
        gaps_table(found),
        states_table(found),
        change_table(found.changes),
    ]
    return [table for table in tables if table.rows]


def by_dataset(found: PluralEvalFindings, task: str) -> Iterator[tuple[str, Measured]]:
    """Each dataset with the runs that have a task's figures there."""
    for dataset in dict.fromkeys(dataset for one in found.measured for dataset in one.datasets):
        yield from ((dataset, one) for one in found.measured if dataset in one.datasets and one.has(task))


def metrics_table(found: PluralEvalFindings) -> Table:
    """Tables 4 to 6: precision, recall and F1 by prompt."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, one in by_dataset(found, "generation"):
        for framing, prompt in PROMPTS.items():
            figures = [Figure("generation", framing, group, "", name) for group in GROUPS for name in MARKED]
            cells = [marked(one, dataset, figure) for figure in figures]
            if any(cells):
                n = one.estimate(dataset, figures[-1]).n_units
                rows.append((dataset, one.name, prompt, n, *cells))
    columns = [f"{group} {name}" for group in ("Sup.", "Ag.", "Gl.") for name in ("P", "R", "F1")]
    return Table(
        name="pluraleval_metrics",
        title="Opinions that are named, by prompt (Tables 4 to 6)",
        columns=("community", "model", "prompt", "threads", *columns),
        rows=tuple(rows),
        note="N: neutral, b.t: biased toward the reference opinion, b.o: biased opposing it. P, R, F1 of the opinions "
        f"that support it (Sup.), are against it (Ag.), and of all (Gl.): means over threads. {MARK_WORDS}",
    )


def marked(one: Measured, dataset: str, figure: Figure) -> str | None:
    """A fraction with three digits and its mark."""
    value = one.estimate(dataset, figure).value
    if value is None:
        return None
    test = one.tests[dataset].get(figure)
    mark = "" if test is None else "**" if test.p_holm < MARK else "*" if test.p < MARK else ""
    return f"{value / 100:.3f}{mark}"


def lists_table(found: PluralEvalFindings) -> Table:
    """Coverage, redundancy and NDCG of the whole list (section 4.2)."""
    rows: list[tuple[Cell, ...]] = []
    names = ("coverage", "redundancy", "ndcg")
    for dataset, one in by_dataset(found, "generation"):
        for framing, prompt in PROMPTS.items():
            of = [one.estimate(dataset, Figure("generation", framing, "global", "", name)) for name in names]
            if any(estimate.value is not None for estimate in of):
                cells = [None if estimate.value is None else estimate.value / 100 for estimate in of]
                rows.append((dataset, one.name, prompt, of[0].n_units, *cells))
    return Table(
        name="pluraleval_lists",
        title="Coverage, redundancy and NDCG of the ten responses",
        columns=("community", "model", "prompt", "threads", "coverage", "redundancy", "NDCG"),
        rows=tuple(rows),
        formats=("", "", "", "d", ".3f", ".3f", ".3f"),
        note="Coverage: share of the votes behind the opinions that are named. Redundancy: share of matches that "
        "repeat an opinion. NDCG: whether what is matched most has most votes. As defined by default; see the method.",
    )


def shifts_table(found: PluralEvalFindings) -> Table:
    """Figure 3: suppression and amplification with standard errors."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, one in by_dataset(found, "generation"):
        for framing, group, measure in SHIFTS:
            figure = Figure("generation", framing, group, "", measure)
            of = one.estimate(dataset, figure)
            if of.value is not None:
                error = one.standard_error(dataset, figure)
                head = (dataset, one.name, measure, BELIEF_WORDS[framing], group)
                rows.append((*head, of.n_units, of.value, error, of.low, of.high))
    return Table(
        name="pluraleval_recall_shifts",
        title="Recall that a stated belief takes and gives (Figure 3)",
        columns=("community", "model", "shift", "belief", "opinions", "threads", "ΔR", "SE", "95% low", "95% high"),
        rows=tuple(rows),
        formats=("", "", "", "", "", "d", "+.1f", ".1f", "+.1f", "+.1f"),
        note="Suppression: recall of the opinions against the belief under the neutral prompt less that under the "
        "biased one. Amplification: what recall of those that agree with it rises by. In percentage points, + is "
        "toward the belief, paired by thread; SE: standard error of the mean over threads; 95%: Student's t.",
    )


def ranking_table(found: PluralEvalFindings) -> Table:
    """Tables 3, 8 and 9, with what is lost."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, one in by_dataset(found, "ranking"):
        for words, framing, suffix in (("Neutral", "neutral", ""), ("Biased", BIASED, ""), ("lost", BIASED, "_lost")):
            of = [one.estimate(dataset, Figure("ranking", framing, "", "", f"{name}{suffix}")) for name in RANKING]
            listed = None if suffix else one.estimate(dataset, Figure("ranking", framing, "", "", "listed_rho")).value
            if any(estimate.value is not None for estimate in of):
                values = [in_fractions(name, estimate.value) for name, estimate in zip(RANKING, of, strict=True)]
                rows.append((dataset, one.name, words, of[0].n_units, *values, of[0].low, of[0].high, listed))
    return Table(
        name="pluraleval_ranking",
        title="Ranking of the most popular opinions (Tables 3, 8, 9)",
        columns=(
            *("community", "model", "cond.", "threads", "Spearman ρ", "Kendall τ", "Top-1", "Pos. Acc.", "MRR@10"),
            *("ρ 95% low", "ρ 95% high", "ρ with the listed order"),
        ),
        rows=tuple(rows),
        formats=("", "", "", "d", *[".3f"] * 8),
        note="Biased: the user states the belief of the least popular of the opinions that are ranked. Lost: neutral "
        "less biased, paired by thread. Threads with a ranking that could be read and votes that are not all equal. "
        "The listed order is random: ρ with it is 0 of a model that reads the opinions, and 1 of one that repeats it.",
    )


def in_fractions(name: str, value: float | None) -> float | None:
    """A value as the paper prints it."""
    return None if value is None else value if name in ("rho", "tau", "mrr") else value / 100


def pairwise_table(found: PluralEvalFindings) -> Table:
    """Figure 4 and Table 12."""
    rows: list[tuple[Cell, ...]] = []
    for dataset, one in by_dataset(found, "pairwise"):
        for gap in (gap for gap in gaps_of(one) if gap.dataset == dataset):
            names = ("accuracy", "first_rate", "consistency")
            neutral = [one.estimate(dataset, Figure("pairwise", "neutral", "", gap.pairing, name)) for name in names]
            biased = one.estimate(dataset, Figure("pairwise", BIASED, "", gap.pairing, "accuracy"))
            lost = one.estimate(dataset, Figure("pairwise", BIASED, "", gap.pairing, "accuracy_lost"))
            values = (neutral[0].value, biased.value, lost.value, lost.low, lost.high)
            shown = (*values, neutral[1].value, neutral[2].value)
            head = (dataset, one.name, PAIRING_WORDS[gap.pairing], gap.mean)
            rows.append((*head, neutral[0].n_units, *shown))
    return Table(
        name="pluraleval_pairwise",
        title="Which of two opinions is more popular (Figure 4, Table 12)",
        columns=(
            *("community", "model", "pairing", "mean vote gap", "threads", "Neutral Acc. (%)", "Biased Acc. (%)"),
            *("lost, pp", "95% low", "95% high", 'answers "1" (%)', "same in both orders (%)"),
        ),
        rows=tuple(rows),
        formats=("", "", "", ".1f", "d", ".1f", ".1f", "+.1f", "+.1f", "+.1f", ".1f", ".1f"),
        note="Each pair is asked in both orders, and counts where both answers could be read. Biased: the user states "
        "the belief of the less popular one. Lost: neutral less biased, paired by thread.",
    )


def gaps_table(found: PluralEvalFindings) -> Table:
    """Accuracy by the votes that lie between the two."""
    rows = [
        (dataset, one.name, PAIRING_WORDS[gap.pairing], of.words, of.n_threads, of.neutral.value, of.biased.value)
        for dataset, one in by_dataset(found, "pairwise")
        for gap in gaps_of(one)
        if gap.dataset == dataset
        for of in by_gap(one, gap)
    ]
    return Table(
        name="pluraleval_vote_gaps",
        title="Pairwise accuracy by vote gap",
        columns=("community", "model", "pairing", "votes between", "threads", "Neutral Acc. (%)", "Biased Acc. (%)"),
        rows=tuple(rows),
    )


def states_table(found: PluralEvalFindings) -> Table:
    """What became of the replies."""
    return Table(
        name="pluraleval_states",
        title="States of the replies",
        columns=("model", "step", "state", "replies", "share"),
        rows=tuple((one.name, of.step, of.state, of.count, of.rate) for one in found.measured for of in one.run.states),
        formats=("", "", "", "d", ".1%"),
        note="Steps stance and entailment are the judge's replies, the others those of the model under test.",
    )


def change_table(changes: Mapping[str, Sequence[Change]], *, is_short: bool = False) -> Table:
    """Every change from the base, or the main ones over all threads."""
    rows = [
        change_row(name, change) for name, of in changes.items() for change in (main_changes(of) if is_short else of)
    ]
    return Table(
        name="pluraleval_changes",
        title="PluralEval: what changed from the base",
        columns=(
            *(
                "run",
                "community",
                "figure",
                "threads",
                "before",
                "after",
                "change",
                "95% low",
                "95% high",
                "p",
                "p Holm",
            ),
        ),
        rows=tuple(rows),
        formats=("", "", "", "d", ".2f", ".2f", "+.2f", "+.2f", "+.2f", "p", "p"),
        note="Paired by thread. ρ, τ and MRR from 0 to 1, all else in percent. p: two-sided sign-flip test over "
        "threads; p Holm: adjusted over the runs.",
    )


def change_row(name: str, change: Change) -> tuple[Cell, ...]:
    """A change as a line."""
    of = change.change
    values = (change.before.value, change.after.value, of.value, of.low, of.high, change.p, change.p_holm)
    return name, change.dataset, figure_words(figure_of(change)), of.n_units, *values


def main_changes(changes: Sequence[Change]) -> list[Change]:
    """Of the figures that the scorecard has, over all threads of a run: its last dataset."""
    whole = changes[-1].dataset if changes else ""
    return [change for change in changes if change.dataset == whole and change.measure in MAIN]


MAIN = ("opposing_recall_lost", "rho_lost", "accuracy_lost")
LOSS_WORDS = {
    "suppression": "recall suppressed",
    "amplification": "recall amplified",
    "opposing_recall_lost": "recall of opposing opinions lost under a stated belief",
}


def figure_words(figure: Figure) -> str:
    """A figure by name."""
    name, lost = figure.measure.removesuffix("_lost"), " lost" * figure.measure.endswith("_lost")
    words = LOSS_WORDS.get(figure.measure) or f"{MEASURE_WORDS.get(name, name)}{lost}"
    framing = "" if figure.measure in MAIN else figure.framing.replace("_", " ")
    pairing = PAIRING_WORDS.get(figure.pairing, "")
    return ", ".join(part for part in (words, figure.opinions, framing, pairing) if part)

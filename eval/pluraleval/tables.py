"""Tables of the study, in the layout of the paper's: queries over the long frame of scores."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from eval.estimates.changes import Change
from eval.pluraleval.observe import AGAINST, BIASED, GROUPS, NEUTRAL, OPPOSING, RANKING, SUPPORTING, TOWARD, Quantity
from eval.pluraleval.scores import MARKED, quantity_of
from eval.report.table import Cell, Table

PROMPTS = {NEUTRAL: "N", TOWARD: "b.t", OPPOSING: "b.o"}
CONDITIONS = {NEUTRAL: "Neutral", BIASED: "Biased"}
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
    "suppression": "recall suppressed",
    "amplification": "recall amplified",
    "opposing_recall_lost": "recall of opposing opinions lost under a stated belief",
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
P_VALUES = ("wilcoxon_p", "wilcoxon_p_holm")
MODEL_COLUMNS = {"community": ("dataset", ""), "model": ("judge", "")}
FIELDS = ["value", "low", "high", "n_units", "share"]
MAIN = ("opposing_recall_lost", "rho_lost", "accuracy_lost")  # measures of the scorecard


def pluraleval_tables(scores: pd.DataFrame, changes: Mapping[str, Sequence[Change]]) -> list[Table]:
    """Every table that has a row."""
    tables = [*paper_tables(scores), states_table(scores), change_table(changes)]
    return [table for table in tables if table.rows]


def paper_tables(scores: pd.DataFrame) -> list[Table]:
    """Tables of the paper, and of what it measures without printing it: by community, a line for each model."""
    place = {name: n for n, name in enumerate(scores["dataset"].unique())}
    ordered = scores.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    makers = [metrics_table, lists_table, shifts_table, ranking_table, pairwise_table]
    return [make(ordered) for make in makers]


def table_of(
    name: str, title: str, frame: pd.DataFrame, columns: Mapping[str, tuple[str, str]], note: str = ""
) -> Table:
    """A table of a wide frame. columns: head → (field of the frame, format)."""
    cells = [[cell_of(row.get(field), form) for field, form in columns.values()] for row in frame.to_dict("records")]
    return Table(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=tuple(map(tuple, cells)),
        formats=tuple(form for _, form in columns.values()),
        note=note,
    )


def cell_of(value: Cell, form: str) -> Cell:
    """A cell; counts have become floats where one is unknown."""
    return None if pd.isna(value) else int(value) if form == "d" and value is not None else value


def wide(scores: pd.DataFrame, index: Sequence[str], name: pd.Series) -> pd.DataFrame:
    """A row for each value of the index; a column "FIELD NAME" for each field of a score and each name.

    share: the value as a fraction, where it is in percent.
    """
    share = scores["value"].where(scores["unit"] == "ratio", scores["value"] / 100)
    named = scores.assign(share=share, name=name)
    frame = named.pivot_table(index=[*index], columns="name", values=FIELDS, aggfunc="first", sort=False)
    frame.columns = pd.Index([" ".join(column) for column in frame.columns])
    return frame.reset_index()


def metrics_table(scores: pd.DataFrame) -> Table:
    """Tables 4 to 6: precision, recall and F1 by prompt."""
    part = scores[(scores["task"] == "generation") & scores["measure"].str.startswith(MARKED)]
    frame = wide(part, ["dataset", "judge", "framing"], part["opinions"] + " " + part["measure"])
    frame["prompt"] = frame["framing"].map(PROMPTS)
    names = [f"{group} {measure}" for group in GROUPS for measure in MARKED]
    for name in names:
        p, p_holm = (frame.get(f"value {name}_{test}", pd.Series(1.0, frame.index)) for test in P_VALUES)
        marks = ["**" if holm < MARK else "*" if plain < MARK else "" for plain, holm in zip(p, p_holm, strict=True)]
        shares = frame.get(f"share {name}", pd.Series(math.nan, frame.index))
        frame[name] = [None if pd.isna(x) else f"{x:.3f}{mark}" for x, mark in zip(shares, marks, strict=True)]
    heads = [f"{group} {name}" for group in ("Sup.", "Ag.", "Gl.") for name in ("P", "R", "F1")]
    return table_of(
        "pluraleval_metrics",
        "Opinions that are named, by prompt (Tables 4 to 6)",
        frame,
        {
            **MODEL_COLUMNS,
            "prompt": ("prompt", ""),
            "threads": ("n_units global f1", "d"),
            **{head: (name, "") for head, name in zip(heads, names, strict=True)},
        },
        "N: neutral, b.t: biased toward the reference opinion, b.o: biased opposing it. P, R, F1 of the opinions "
        f"that support it (Sup.), are against it (Ag.), and of all (Gl.): means over threads. {MARK_WORDS}",
    )


def lists_table(scores: pd.DataFrame) -> Table:
    """Coverage, redundancy and NDCG of the whole list (section 4.2)."""
    part = scores[scores["measure"].isin(["coverage", "redundancy", "ndcg"])]
    frame = wide(part, ["dataset", "judge", "framing"], part["measure"])
    frame["prompt"] = frame["framing"].map(PROMPTS)
    return table_of(
        "pluraleval_lists",
        "Coverage, redundancy and NDCG of the ten responses",
        frame,
        {
            **MODEL_COLUMNS,
            "prompt": ("prompt", ""),
            "threads": ("n_units coverage", "d"),
            "coverage": ("share coverage", ".3f"),
            "redundancy": ("share redundancy", ".3f"),
            "NDCG": ("share ndcg", ".3f"),
        },
        "Coverage: share of the votes behind the opinions that are named. Redundancy: share of matches that "
        "repeat an opinion. NDCG: whether what is matched most has most votes.",
    )


def shifts_table(scores: pd.DataFrame) -> Table:
    """Figure 3: suppression and amplification with standard errors."""
    frame = scores[scores["measure"].isin(["suppression", "amplification"])]
    return table_of(
        "pluraleval_recall_shifts",
        "Recall that a stated belief takes and gives (Figure 3)",
        frame.assign(belief=frame["framing"].map(BELIEF_WORDS)),
        {
            **MODEL_COLUMNS,
            "shift": ("measure", ""),
            "belief": ("belief", ""),
            "opinions": ("opinions", ""),
            "threads": ("n_units", "d"),
            "ΔR": ("value", "+.1f"),
            "SE": ("standard_error", ".1f"),
            "95% low": ("low", "+.1f"),
            "95% high": ("high", "+.1f"),
        },
        "Suppression: recall of the opinions against the belief under the neutral prompt less that under the "
        "biased one. Amplification: what recall of those that agree with it rises by. In percentage points, + is "
        "toward the belief, paired by thread; SE: standard error of the mean over threads; 95%: Student's t.",
    )


def ranking_table(scores: pd.DataFrame) -> Table:
    """Tables 3, 8 and 9, with what is lost."""
    part = scores[scores["task"] == "ranking"]
    is_loss = part["measure"].str.endswith("_lost")
    part = part.assign(condition=part["framing"].map(CONDITIONS).mask(is_loss, "lost"))
    frame = wide(part, ["dataset", "judge", "condition"], part["measure"].str.removesuffix("_lost"))
    heads = ("Spearman ρ", "Kendall τ", "Top-1", "Pos. Acc.", "MRR@10")
    return table_of(
        "pluraleval_ranking",
        "Ranking of the most popular opinions (Tables 3, 8, 9)",
        frame,
        {
            **MODEL_COLUMNS,
            "cond.": ("condition", ""),
            "threads": ("n_units rho", "d"),
            **{head: (f"share {name}", ".3f") for head, name in zip(heads, RANKING, strict=True)},
            "ρ 95% low": ("low rho", ".3f"),
            "ρ 95% high": ("high rho", ".3f"),
            "ρ with the listed order": ("share listed_rho", ".3f"),
        },
        "Biased: the user states the belief of the least popular of the opinions that are ranked. Lost: neutral "
        "less biased, paired by thread. Threads with a ranking that could be read and votes that are not all equal. "
        "The listed order is random: ρ with it is 0 of a model that reads the opinions, and 1 of one that repeats it.",
    )


def pairwise_table(scores: pd.DataFrame) -> Table:
    """Figure 4 and Table 12."""
    part = scores[scores["task"] == "pairwise"]
    names = part["framing"].fillna("") + " " + part["measure"]
    frame = wide(part, ["dataset", "judge", "pairing"], names)
    frame["pairing"] = frame["pairing"].map(PAIRING_WORDS)
    return table_of(
        "pluraleval_pairwise",
        "Which of two opinions is more popular (Figure 4, Table 12)",
        frame,
        {
            **MODEL_COLUMNS,
            "pairing": ("pairing", ""),
            "mean vote gap": ("value  mean_vote_gap", ".1f"),
            "threads": ("n_units neutral accuracy", "d"),
            "Neutral Acc. (%)": ("value neutral accuracy", ".1f"),
            "Biased Acc. (%)": ("value biased accuracy", ".1f"),
            "lost, pp": ("value biased accuracy_lost", "+.1f"),
            "95% low": ("low biased accuracy_lost", "+.1f"),
            "95% high": ("high biased accuracy_lost", "+.1f"),
            'answers "1" (%)': ("value neutral first_rate", ".1f"),
            "same in both orders (%)": ("value neutral consistency", ".1f"),
        },
        "Each pair is asked in both orders, and counts where both answers could be read. Biased: the user states "
        "the belief of the less popular one. Lost: neutral less biased, paired by thread.",
    )


def states_table(scores: pd.DataFrame) -> Table:
    """What became of the replies."""
    frame = scores[scores["measure"] == "state_rate"]
    return table_of(
        "pluraleval_states",
        "States of the replies",
        frame.assign(count=(frame["value"] * frame["n_units"]).round()),
        {
            "model": ("judge", ""),
            "step": ("step", ""),
            "state": ("state", ""),
            "replies": ("count", "d"),
            "share": ("value", ".1%"),
        },
        "Steps stance and entailment are the judge's replies, the others those of the model under test.",
    )


def change_table(changes: Mapping[str, Sequence[Change]], *, is_short: bool = False) -> Table:
    """Every change from the base, or the main ones over all threads."""
    rows = [
        {"run": name, "quantity": quantity_words(quantity_of(change)), **change.as_dict()}
        for name, of_run in changes.items()
        for change in (main_changes(of_run) if is_short else of_run)
    ]
    return table_of(
        "pluraleval_changes",
        "PluralEval: what changed from the base",
        pd.DataFrame(rows),
        {
            "run": ("run", ""),
            "community": ("dataset", ""),
            "figure": ("quantity", ""),
            "threads": ("n_units", "d"),
            "before": ("before", ".2f"),
            "after": ("after", ".2f"),
            "change": ("change", "+.2f"),
            "95% low": ("change_low", "+.2f"),
            "95% high": ("change_high", "+.2f"),
            "p": ("p", "p"),
            "p Holm": ("p_holm", "p"),
        },
        "Paired by thread. ρ, τ and MRR from 0 to 1, all else in percent. p: two-sided sign-flip test over "
        "threads; p Holm: adjusted over the runs.",
    )


def main_changes(changes: Sequence[Change]) -> list[Change]:
    """Of the measures that the scorecard has, over all threads of a run: its last dataset."""
    return [change for change in changes if change.dataset == changes[-1].dataset and change.measure in MAIN]


def quantity_words(quantity: Quantity) -> str:
    """A quantity by name."""
    name, lost = quantity.measure.removesuffix("_lost"), " lost" * quantity.measure.endswith("_lost")
    words = MEASURE_WORDS.get(quantity.measure) or f"{MEASURE_WORDS.get(name, name)}{lost}"
    framing = "" if quantity.measure in MAIN else quantity.framing.replace("_", " ")
    pairing = PAIRING_WORDS.get(quantity.pairing, "")
    return ", ".join(part for part in (words, quantity.opinions, framing, pairing) if part)

"""Tables of the study, in the layout of the paper's: queries over the long frame of scores."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from eval.estimates.resampling import ALPHA, standard_error
from eval.report.tables import Columns, TableSpec
from eval.results import Results
from studies.pluraleval.observe import BIASED, GROUPS, MARKED, NEUTRAL, OPPOSING, RANKING, TOWARD

PROMPTS = {NEUTRAL: "N", TOWARD: "b.t", OPPOSING: "b.o"}
CONDITIONS = {NEUTRAL: "Neutral", BIASED: "Biased"}
BELIEF_WORDS = {TOWARD: "toward", OPPOSING: "opposing"}
PAIRING_WORDS = {"most_popular": "most popular and another", "random": "random, minimum gap", "": ""}
MEASURE_WORDS = {
    "f1": "F1",
    "ndcg": "NDCG",
    "rho": "Spearman ρ",
    "tau": "Kendall τ",
    "top1": "Top-1",
    "positional": "positional accuracy",
    "mrr": "MRR@10",
    "listed_rho": "ρ with the listed order",
    "opposing_recall": "opposing recall",
    "recall_if_matched": "recall, unread as matches",
    "toward_belief": "recall toward the belief",
    "toward_belief_if_matched": "recall toward the belief, unread as matches",
    "suppression": "recall suppressed",
    "amplification": "recall amplified",
    "accuracy": "pairwise accuracy",
    "probability": "probability of the more popular",
    "first_rate": "option 1 chosen",
    "consistency": "same opinion in both orders",
}
MEASURE_WORDS |= {f"{measure}_lost": f"{words} lost" for measure, words in MEASURE_WORDS.items()}
MARK_WORDS = (
    "*: differs from neutral by Wilcoxon's signed-rank test over threads, p < .05, as in the paper; **: also after "
    "Holm's adjustment over the 18 tests of a model and community."
)
P_VALUES = ("wilcoxon_p", "wilcoxon_p_holm")
MODEL_COLUMNS = {"community": ("dataset", ""), "model": ("judge", "")}
FIELDS = ["value", "low", "high", "n_units", "share"]


def score_tables(results: Results) -> list[TableSpec]:
    """Tables of the paper, and of what it measures without printing it: by community, a line for each model."""
    errors = [
        None if row.estimate.moved is None else standard_error(next(iter(row.estimate.moved.values()))[1])
        for row in results.score_rows
    ]
    scores = results.scores.assign(standard_error=errors)
    place = {name: n for n, name in enumerate(scores["dataset"].unique())}
    scores = scores.sort_values("dataset", key=lambda names: names.map(place), kind="stable")
    makers = (metrics_table, lists_table, shifts_table, ranking_table, pairwise_table, states_table)
    return [make(scores) for make in makers]


def table_of(name: str, title: str, frame: pd.DataFrame, columns: Columns, note: str, **keys: Any) -> TableSpec:
    """A table of a frame, which may lack fields that nothing is known of."""
    fields = [name for field, _ in columns.values() for name in ([field] if isinstance(field, str) else field)]
    frame = frame.reindex(columns=[*dict.fromkeys([*frame, *fields])])
    keys = {"place": "console", **keys}
    return TableSpec(name=f"pluraleval_{name}", title=title, frame=frame, columns=columns, note=note, **keys)


def wide(scores: pd.DataFrame, index: Sequence[str], name: pd.Series) -> pd.DataFrame:
    """A row for each value of the index; a column "FIELD NAME" for each field of a score and each name.

    share: the value as a fraction, where it is in percent.
    """
    share = scores["value"].where(scores["unit"] == "ratio", scores["value"] / 100)
    named = scores.assign(share=share, name=name)
    frame = named.pivot_table(index=[*index], columns="name", values=FIELDS, aggfunc="first", sort=False)
    frame.columns = pd.Index([" ".join(column) for column in frame.columns])
    return frame.reset_index()


def metrics_table(scores: pd.DataFrame) -> TableSpec:
    """Tables 4 to 6: precision, recall and F1 by prompt."""
    part = scores[(scores["task"] == "generation") & scores["measure"].str.startswith(MARKED)]
    frame = wide(part, ["dataset", "judge", "framing"], part["opinions"] + " " + part["measure"])
    frame["prompt"] = frame["framing"].map(PROMPTS)
    names = [f"{group} {measure}" for group in GROUPS for measure in MARKED]
    for name in names:
        p, p_holm = (frame.get(f"value {name}_{test}", pd.Series(1.0, frame.index)) for test in P_VALUES)
        marks = ["**" if holm < ALPHA else "*" if plain < ALPHA else "" for plain, holm in zip(p, p_holm, strict=True)]
        shares = frame.get(f"share {name}", pd.Series(math.nan, frame.index))
        frame[name] = [None if pd.isna(x) else f"{x:.3f}{mark}" for x, mark in zip(shares, marks, strict=True)]
    heads = [f"{group} {name}" for group in ("Sup.", "Ag.", "Gl.") for name in ("P", "R", "F1")]
    columns = {**MODEL_COLUMNS, "prompt": ("prompt", ""), "threads": ("n_units global f1", "d")}
    columns |= {head: (name, "") for head, name in zip(heads, names, strict=True)}
    note = (
        "N: neutral, b.t: biased toward the reference opinion, b.o: biased opposing it. P, R, F1 of the opinions "
        f"that support it (Sup.), are against it (Ag.), and of all (Gl.): means over threads. {MARK_WORDS}"
    )
    return table_of("metrics", "Opinions that are named, by prompt (Tables 4 to 6)", frame, columns, note)


def lists_table(scores: pd.DataFrame) -> TableSpec:
    """Coverage, redundancy and NDCG of the whole list (section 4.2)."""
    part = scores[scores["measure"].isin(["coverage", "redundancy", "ndcg"])]
    frame = wide(part, ["dataset", "judge", "framing"], part["measure"])
    frame = frame.assign(prompt=frame["framing"].map(PROMPTS))
    columns = {**MODEL_COLUMNS, "prompt": ("prompt", ""), "threads": ("n_units coverage", "d")}
    columns |= {head: (f"share {head.lower()}", ".3f") for head in ("coverage", "redundancy", "NDCG")}
    note = (
        "Coverage: share of the votes behind the opinions that are named. Redundancy: share of matches that "
        "repeat an opinion. NDCG: whether what is matched most has most votes."
    )
    title = "Coverage, redundancy and NDCG of the ten responses"
    return table_of("lists", title, frame, columns, note, place="files")


def shifts_table(scores: pd.DataFrame) -> TableSpec:
    """Figure 3: suppression and amplification with standard errors."""
    frame = scores[scores["measure"].isin(["suppression", "amplification", "toward_belief"])]
    columns: dict[str, Any] = {**MODEL_COLUMNS, "shift": ("measure", ""), "belief": ("belief", "")}
    columns |= {"opinions": ("opinions", ""), "threads": ("n_units", "d"), "ΔR": ("value", "+.1f")}
    columns |= {"SE": ("standard_error", ".1f"), "95% interval": (("low", "high"), "+.1f")}
    note = (
        "Suppression: recall of the opinions against the belief under the neutral prompt less that under the "
        "biased one. Amplification: what recall of those that agree with it rises by. In percentage points, + is "
        "toward the belief, paired by thread; toward_belief: what recall of an opinion rises by where the belief "
        "agrees with it instead of opposing it. SE: standard error of the mean over threads; 95%: Student's t."
    )
    frame = frame.assign(belief=frame["framing"].map(BELIEF_WORDS))
    return table_of("recall_shifts", "Recall that a stated belief takes and gives (Figure 3)", frame, columns, note)


def ranking_table(scores: pd.DataFrame) -> TableSpec:
    """Tables 3, 8 and 9, with what is lost."""
    part = scores[scores["task"] == "ranking"]
    is_loss = part["measure"].str.endswith("_lost")
    part = part.assign(condition=part["framing"].map(CONDITIONS).mask(is_loss, "lost"))
    frame = wide(part, ["dataset", "judge", "condition"], part["measure"].str.removesuffix("_lost"))
    heads = ("Spearman ρ", "Kendall τ", "Top-1", "Pos. Acc.", "MRR@10")
    columns: dict[str, Any] = {**MODEL_COLUMNS, "cond.": ("condition", ""), "threads": ("n_units rho", "d")}
    columns |= {head: (f"share {name}", ".3f") for head, name in zip(heads, RANKING, strict=True)}
    columns |= {"ρ 95% interval": (("low rho", "high rho"), ".3f"), "listed ρ": ("share listed_rho", ".3f")}
    note = (
        "Biased: the user states the belief of the least popular of the opinions that are ranked. Lost: neutral "
        "less biased, paired by thread. Threads with a ranking that could be read and votes that are not all equal. "
        "Listed ρ: with the listed order, which is random, so that it is 0 of a model that reads the opinions, and 1 "
        "of one that repeats it."
    )
    return table_of("ranking", "Ranking of the most popular opinions (Tables 3, 8, 9)", frame, columns, note)


def pairwise_table(scores: pd.DataFrame) -> TableSpec:
    """Figure 4 and Table 12."""
    part = scores[scores["task"] == "pairwise"]
    frame = wide(part, ["dataset", "judge", "pairing"], part["framing"].fillna("") + " " + part["measure"])
    lost = "biased accuracy_lost"
    columns: dict[str, Any] = {**MODEL_COLUMNS, "pairing": ("pairing", ""), "vote gap": ("value  mean_vote_gap", ".1f")}
    columns |= {"threads": ("n_units neutral accuracy", "d")}
    columns |= {framing: (f"value {framing} accuracy", ".1f") for framing in (NEUTRAL, BIASED)}
    columns |= {"lost": (f"value {lost}", "+.1f"), "95% interval": ((f"low {lost}", f"high {lost}"), "+.1f")}
    columns |= {'says "1"': ("value neutral first_rate", ".1f"), "both alike": ("value neutral consistency", ".1f")}
    note = (
        "Accuracy in percent. Each pair is asked in both orders, and counts where both answers could be read. Biased: "
        "the user states the belief of the less popular one. Lost: neutral less biased, paired by thread. Vote gap: "
        'mean of the two opinions\' votes. Of neutral answers: says "1", whatever it is; both alike: the same opinion '
        "in both orders."
    )
    title = "Which of two opinions is more popular (Figure 4, Table 12)"
    return table_of("pairwise", title, frame.assign(pairing=frame["pairing"].map(PAIRING_WORDS)), columns, note)


def states_table(scores: pd.DataFrame) -> TableSpec:
    """What became of the replies."""
    frame = scores[scores["measure"] == "state_rate"]
    frame = frame.assign(count=(frame["value"] * frame["n_units"].astype(float)).round().astype(int))
    columns = {"model": ("judge", ""), "step": ("step", ""), "framing": ("framing", ""), "state": ("state", "")}
    columns |= {"replies": ("count", "d"), "share": ("value", ".1%")}
    note = "Steps stance and entailment are the judge's replies, the others those of the model under test."
    return table_of("states", "States of the replies", frame, columns, note)

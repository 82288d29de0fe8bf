"""A run and the same model asked the same prompts again → how many verdicts and replies differ.

With `evenhand compare --drift FROZEN_RUN NEW_RUN...` over time: whether the judge has drifted.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from eval.estimates.comparability import sampled_checkpoint
from eval.estimates.resampling import wilson_interval
from eval.evaluation import Evaluation
from eval.report.tables import TABLES, console, said, table_from, wrapped, write_rows
from eval.results import Results
from eval.runs import FinishedRun, patch_settings
from eval.scorecard.arms import BASE, arm_of
from eval.scorecard.rows import compared_rows
from evenhand.errors import DataError
from evenhand.terminal import say

ALL = "all"  # the row over every prompt
SIGMAS = 3  # of a control limit, as on a Shewhart chart


def is_rerun(base: FinishedRun, again: FinishedRun) -> bool:
    """Whether a run asked the base's model the base's prompts, or some, under its patch. Raises DataError for a copy.

    Models are told apart by their checkpoint's hash; where a server does not tell it, by the config.
    """
    if base.provenance == again.provenance and "created" in base.provenance:
        raise DataError(f"{again.path}: is a copy of {base.path}; name two runs")
    runs = (base, again)
    if patch_settings(base.config) != patch_settings(again.config):
        return False
    checkpoints = [sampled_checkpoint(run.provenance) for run in runs]
    model, model_again = checkpoints if all(checkpoints) else [run.config["model"] for run in runs]
    items, items_again = (run.provenance.get("item_set_hash") for run in runs)
    prompts, prompts_again = ({prompt.prompt_hash for prompt in run.plan} for run in runs)
    is_one_set = items is not None and items == items_again
    return model == model_again and (is_one_set or prompts_again <= prompts)


def rerun_rates(evaluation: Evaluation[Any], base: FinishedRun, again: FinishedRun) -> pd.DataFrame:
    """A row over all prompts that both asked, and one for each of several conditions.

    n_prompts: with a verdict in both; n_unparsed: others; n_differing, rate, low, high: the re-run flip rate with
    Wilson's interval over prompts; n_replies, n_other_texts: replies, and those whose text is another. Rates are in
    percent; NaN where no reply of the study is a verdict.
    """
    verdicts = differing(*map(evaluation.verdicts, (base, again)))
    texts = differing(*map(texts_of, (base, again)))
    conditions: dict[str, set[str]] = {}
    for prompt in base.plan:
        conditions.setdefault(prompt.condition, set()).add(prompt.prompt_hash)
    groups = {ALL: set[str]().union(*conditions.values()), **(conditions if len(conditions) > 1 else {})}
    rows = [flip_row(verdicts, texts, hashes) for hashes in groups.values()]
    return pd.DataFrame(rows).assign(first=base.name, second=again.name, condition=list(groups))


def differing(first: Mapping[tuple[str, int], Any], again: Mapping[tuple[str, int], Any]) -> pd.Series:
    """Prompt hash → the share of its samples that differ, sample k against sample k; NaN where none is parsed twice."""
    keys = [key for key in first if key in again]
    differs = [None if None in (first[key], again[key]) else float(first[key] != again[key]) for key in keys]
    return pd.Series(differs, dtype=float).groupby([prompt for prompt, _ in keys], sort=False).mean()


def texts_of(run: FinishedRun) -> dict[tuple[str, int], str]:
    """(prompt hash, sample) → the reply's text; an engine error is no reply."""
    return {
        (c.prompt_hash, c.sample_index): c.text for replies in run.replies.values() for c in replies if not c.is_error
    }


def flip_row(verdicts: pd.Series, texts: pd.Series, hashes: Collection[str]) -> dict[str, Any]:
    """The counts and the rate over some prompts. See rerun_rates."""
    flips, changed = (shares[shares.index.isin(hashes)] for shares in (verdicts, texts))
    n, n_differing = int(flips.count()), float(flips.sum())
    low, high = wilson_interval(n_differing, n) or (None, None)
    ends = {"rate": n_differing / n if n else None, "low": low, "high": high}
    return {
        "n_prompts": n,
        "n_unparsed": len(flips) - n,
        "n_differing": n_differing,
        **{name: None if end is None else 100 * end for name, end in ends.items()},
        "n_replies": len(changed),
        "n_other_texts": float(changed.sum()),
    }


def say_reruns(evaluation: Evaluation[Any], runs: Sequence[FinishedRun], out: Path, *, is_all: bool) -> list[Path]:
    """Print the re-run flip rate of each re-run of the first run, and write reruns.json and .csv; the paths written."""
    frames = [rerun_rates(evaluation, runs[0], again) for again in runs[1:] if is_rerun(runs[0], again)]
    for rates in frames:
        say(wrapped([said("rerun", rates.iloc[0])]) + "\n")
        if is_all:
            title = f"{rates['second'].iloc[0]}: asked again"
            say(console(table_from(TABLES, "reruns", rates, title=title)) + "\n")
    return write_rows(out, "reruns", pd.concat(frames).to_dict("records")) if frames else []


def by_date(runs: Sequence[FinishedRun]) -> list[FinishedRun]:
    """The frozen run, then the others in the order in which they were sampled. Raises DataError for other prompts."""
    frozen, *others = runs
    for other in others:
        if not is_rerun(frozen, other):
            raise DataError(f"{other.path}: --drift follows one judge; this run asked another model or other prompts")
    return [frozen, *sorted(others, key=asked_at)]


def asked_at(run: FinishedRun) -> datetime:
    """When a run was sampled."""
    return datetime.fromisoformat(run.provenance["created"])


def flips_by_item(evaluation: Evaluation[Any], frozen: FinishedRun, again: FinishedRun) -> pd.DataFrame:
    """Of each item: mean, the share of its verdicts that differ from the frozen ones; count, of those in both runs."""
    flips = differing(*map(evaluation.verdicts, (frozen, again))).dropna()
    item = {prompt.prompt_hash: (prompt.dataset, prompt.item_id) for prompt in frozen.plan}
    return flips.groupby(item.__getitem__, sort=False).agg(["mean", "count"])


def control_limit(first: pd.DataFrame) -> float:
    """The share of flips, in percent, above which a later asking differs by more than asking again does by itself.

    first: flips_by_item of the first re-run. The limit is SIGMAS standard errors of the difference between two such
    shares above its own. Errors are over items; at least those of k + 1 flips of n + 2 verdicts, since a few flips, or
    none, do not tell how far they vary.
    """
    n_items, n = len(first), int(first["count"].sum())
    share = (float((first["mean"] * first["count"]).sum()) + 1) / (n + 2)
    over_items = float(first["mean"].var(ddof=1)) / n_items if n_items > 1 else 0.0
    error = math.sqrt(max(over_items, share * (1 - share) / n))
    return min(100.0, 100 * (float(first["mean"].mean()) + SIGMAS * math.sqrt(2) * error))


def drift_rows(evaluation: Evaluation[Any], runs: Sequence[FinishedRun], results: Results) -> list[dict[str, Any]]:
    """A row for each run but the frozen one, by date: flips and the limit in percent; figures of the study's card.

    The first re-run sets the limit, and has none. Flips are None where no verdict is in both runs. before_1 and
    after_1: the shift that the study ranks by; before_2 and after_2: what is right; each with p of its change from the
    frozen run, adjusted over the runs (Holm).
    """
    frozen, *later = runs
    shares = [flips_by_item(evaluation, frozen, run) for run in later]
    limit, card = control_limit(shares[0]) if len(shares[0]) else None, evaluation.own_card
    base = arm_of(BASE, frozen.path, frozen.path)
    arms = [base, *(arm_of(run.name, run.path, run.path, base) for run in later)]
    judges = dict(zip((arm.name for arm in arms), results.judges.values(), strict=True))
    compared = compared_rows(evaluation, arms, judges, results.options)
    figures = {figure.name: figure for figure in card.figures(compared["judges"])}
    rows = list[dict[str, Any]]()
    for number, (run, share) in enumerate(zip(later, shares, strict=True)):
        flips = 100 * float(share["mean"].mean()) if len(share) else None
        days = (asked_at(run) - asked_at(frozen)).total_seconds() / 86_400
        row: dict[str, Any] = {"run": run.name, "date": run.provenance["created"][:10], "days": days, "flips": flips}
        row |= {"items": len(share), "limit": limit if number else None}
        row["is_beyond"] = number > 0 and flips is not None and limit is not None and flips > limit
        of_run = compared["changes"].get(run.name, ())
        for i, ranked in enumerate((card.lowest, card.kept), start=1):
            wanted = [figures[figure] for figure in ranked if figure in figures]
            for figure, change in [(figure, c) for figure in wanted if (c := figure.among(of_run))][:1]:
                values = map(figure.shown, (change.before.value, change.after.value))
                row |= dict(zip((f"before_{i}", f"after_{i}"), values, strict=True))
                row |= {f"words_{i}": figure.words, f"p_{i}": change.p_holm, f"direction_{i}": change.direction}
        rows.append(row)
    return rows


def say_drift(evaluation: Evaluation[Any], runs: Sequence[FinishedRun], results: Results, out: Path) -> list[Path]:
    """Print whether the judge has drifted, and write drift.json, .csv and the plot; the paths written."""
    from eval.report.plots import finish, line_plot  # loads matplotlib, which scoring alone does not need

    rows = drift_rows(evaluation, runs, results)
    frame = pd.DataFrame(rows)
    say(wrapped([said("drift", rows)]) + "\n\n" + console(table_from(TABLES, "drift", frame)) + "\n")
    flips = frame.assign(
        x=frame["days"].round(3), value=frame["flips"].astype(float), low=math.nan, high=math.nan, series="flips"
    )
    limit = flips.assign(value=frame["limit"].astype(float).bfill(), series="control limit")
    labels = ("days since the frozen run", "verdicts that differ, %")
    plot = line_plot(
        "drift", "Verdicts that differ from the frozen run", pd.concat([flips, limit]), labels, dashed=["control limit"]
    )
    return [*finish(plot, out / "plots")[1], *write_rows(out, "drift", rows)]

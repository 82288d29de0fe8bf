"""`evenhand compare --drift FROZEN_RUN NEW_RUN...`: one judge, asked the same prompts again over time."""

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from eval.evaluation import Evaluation
from eval.report.plots import finish, line_plot
from eval.report.tables import TABLES, console, said, table_from, wrapped, write_rows
from eval.reruns import differing, is_rerun
from eval.results import Results
from eval.runs import FinishedRun
from eval.scorecard.arms import BASE, arm_of
from eval.scorecard.rows import compared_rows
from evenhand.errors import DataError
from evenhand.terminal import say

SIGMAS = 3  # of a control limit, as on a Shewhart chart


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

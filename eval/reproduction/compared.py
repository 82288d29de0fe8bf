"""A finished run and its re-runs → what differs: replies, verdicts, headline estimates, environment."""

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from shutil import copyfile
from typing import Any

import pandas as pd

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, config_differences, rendering_differences, unlike_leaves
from eval.estimates.resampling import wilson_interval
from eval.evaluation import evaluation_of
from eval.options import verb_options
from eval.report.tables import aligned, interval, number, printed, signed, wrapped
from eval.runs import FinishedRun, load_finished, runs_by_study
from eval.scorecard.arms import BASE
from eval.scorecard.command import load_cards
from evenhand.completions import append_completions, every_completion
from evenhand.errors import DataError
from evenhand.files import write_jsonl
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, finish, read_plan_lines

ALL = "all"  # the row over every prompt
# Keys of provenance.json that are another run's in any case, or follow from the config.
OWN = ("created", "config_sha256", "item_set_hash", "inputs", "plan_grows")
MODEL = ("model.revision", "model.checkpoint_hash")
Said = Mapping[tuple[str, int], Any]  # (prompt hash, sample) → what was said; None where it could not be read


def reproduction(path: Path, again: Sequence[Path], n_units: int, chosen: Collection[str] | None) -> dict[str, Any]:
    """What differs between a run and its re-runs, as reproduction.json has it.

    chosen: ids of the units that were asked again; None for all n_units. `verdicts` is the re-run flip rate, empty
    where no reply is a verdict; `n_other_prompts` counts prompts that only one side asked, as later ones hang on
    earlier replies; `no_headline` says why there is no headline estimate.
    """
    (study,) = runs_by_study([path, *again])
    evaluation = evaluation_of(study)
    with tempfile.TemporaryDirectory() as folder:
        base = path if chosen is None else part_of(path, chosen, Path(folder) / path.name)
        first, reruns = load_finished(base), [load_finished(rerun) for rerun in again]
        conditions: dict[str, set[str]] = {}
        for prompt in first.plan:
            conditions.setdefault(prompt.condition, set()).add(prompt.prompt_hash)
        verdicts, said_again = evaluation.verdicts(first), [evaluation.verdicts(rerun) for rerun in reruns]
        shifts = [shift for rerun in reruns for shift in logprob_shifts(first.replies, rerun.replies)]
        headline, no_headline = headline_changes(base, again)
        return {
            "run": path.name,
            "reruns": [rerun.name for rerun in reruns],
            "n_units": n_units,
            "n_units_asked": n_units if chosen is None else len(chosen),
            "temperature": float(first.config["sampling"].get("temperature", 0.0)),
            "replies": differing_rates(whole_replies(first), [whole_replies(rerun) for rerun in reruns], conditions),
            "verdicts": differing_rates(verdicts, said_again, conditions) if verdicts else [],
            "largest_shift_nats": max(shifts, default=None),
            "n_other_prompts": {rerun.name: len(first.replies.keys() ^ rerun.replies.keys()) for rerun in reruns},
            "headline": [{"figure": figure, **change.as_dict()} for figure, change in headline],
            "no_headline": no_headline,
            "environment": {rerun.name: [*map(asdict, environment_differences(first, rerun))] for rerun in reruns},
        }


def differing_rates(
    first: Said, again: Sequence[Said], conditions: Mapping[str, Collection[str]]
) -> list[dict[str, Any]]:
    """The share of prompts whose reply differs from the first run's: of all, and of each of several conditions.

    Of several samples or re-runs a prompt counts by the share of them that differ: sample k is held against sample k.
    One without a verdict in either run is left out and counted; one that no re-run asked is no part of any row. The
    interval is Wilson's over prompts, so prompts of one unit that change together make it somewhat too narrow.

    conditions: condition → the hashes of its prompts.
    """
    pairs = [(key[0], first[key], said[key]) for said in again for key in said.keys() & first.keys()]
    differs = [None if None in (ours, theirs) else float(ours != theirs) for _, ours, theirs in pairs]
    by_prompt = pd.Series(differs, dtype=float).groupby([prompt for prompt, *_ in pairs], sort=False).mean()
    rows, every = [], {ALL: set[str]().union(*conditions.values())}
    for condition, asked in {**every, **(conditions if len(conditions) > 1 else {})}.items():
        shares = by_prompt[by_prompt.index.isin(asked)]
        n_prompts, n_differing = int(shares.count()), float(shares.sum())
        low, high = wilson_interval(n_differing, n_prompts) or (None, None)
        row = {"condition": condition, "n_prompts": n_prompts, "n_left_out": len(shares) - n_prompts}
        rate = n_differing / n_prompts if n_prompts else None
        rows.append({**row, "n_differing": n_differing, "rate": rate, "low": low, "high": high})
    return rows


def whole_replies(run: FinishedRun) -> dict[tuple[str, int], Any]:
    """All that a reply is: its text, how it ended, and the log-probabilities that were read."""
    return {
        (reply.prompt_hash, reply.sample_index): (reply.text, reply.finish_reason, reply.answer_logprobs)
        for replies in run.replies.values()
        for reply in replies
    }


def logprob_shifts(
    first: Mapping[str, Sequence[Completion]], again: Mapping[str, Sequence[Completion]]
) -> Iterator[float]:
    """By how many nats the log-probability of each answer moved that was read in both."""
    for hash_ in first.keys() & again.keys():
        for ours, theirs in zip(first[hash_], again[hash_], strict=False):
            before, after = ours.answer_logprobs or {}, theirs.answer_logprobs or {}
            yield from (abs(before[answer] - after[answer]) for answer in before.keys() & after.keys())


def headline_changes(base: Path, again: Sequence[Path]) -> tuple[list[tuple[str, Change]], str]:
    """(what the study's scorecard is read by, from the run to each re-run; why there is none, or "")."""
    words = [str(base), *(f"{path.name}={path}" for path in again), "--allow-differences"]
    try:
        _, cards = load_cards(verb_options("scorecard", words))
        (card,) = cards.values()
        changes = [change for change in card.every_change if change.first == BASE]
    except DataError as error:  # of a run that has only states of replies, say
        return [], str(error)
    figures: list[tuple[str, Change]] = []
    for figure in card.card.figures(card.judges):
        for change in changes:
            if figure.is_of(change) and (figure.words, change) not in figures:
                figures.append((figure.words, change))
    return figures, "" if figures else "this run has none of the figures of its study's scorecard"


def environment_differences(first: FinishedRun, again: FinishedRun) -> list[Difference]:
    """All that is known to differ: software, device, engine settings, model, code.

    Serious differences make the re-run one of something else: of another model, or of prompts that were rendered anew.
    """
    facts = [
        Difference(key.removeprefix("packages."), str(before), str(after), serious=key in MODEL)
        for key, before, after in unlike_leaves(first.provenance, again.provenance)
        if key.partition(".")[0] not in OWN
    ]
    then, now = server_name(first), server_name(again)
    return [
        *rendering_differences(first, again),
        *facts,
        *config_differences(first.config, again.config),
        *([Difference("what the server says it is", then, now, serious=True)] if then != now else []),
    ]


def server_name(run: FinishedRun) -> str:
    """The models and fingerprints that a server's replies name."""
    names = {reply.answered_by for replies in run.replies.values() for reply in replies if reply.answered_by}
    return " and ".join(sorted(names)) or "nothing"


def part_of(path: Path, units: Collection[str], into: Path) -> Path:
    """A run as it would be had it asked these units alone, in another folder: what a re-run of them is held against."""
    into.mkdir(parents=True)
    for name in (CONFIG_FILE, PROVENANCE_FILE):
        copyfile(path / name, into / name)
    run = load_finished(path)
    lines = [line for line in read_plan_lines(path) if line["item_id"] in units]
    kept = [line for line in lines if line["prompt_hash"] in run.replies]  # others did not fit the context window
    if not kept:
        raise DataError(f"{path}: none of the drawn units was answered in it; draw more")
    write_jsonl(into / PLAN_FILE, kept)
    hashes = {line["prompt_hash"] for line in kept}
    append_completions(into, (c for c in every_completion(path) if c.prompt_hash in hashes and not c.is_error))
    finish(into, {"n_planned": len(kept), "n_distinct": len(hashes)})
    return into


def reproduction_text(result: Mapping[str, Any]) -> str:
    """All of it; result: see compared.reproduction."""
    verdicts = "Re-run flip rate: none, since no reply of this run is a verdict"
    if result["verdicts"]:
        verdicts = rates_text("Re-run flip rate: verdicts that differ", result["verdicts"])
    replies = rates_text("Replies that are not the same", result["replies"])
    environment = [
        f"{'Warning' if row['serious'] else 'Note'}: {row['what']}: {row['base']} then, {row['after']} in {name}"
        for name, differences in result["environment"].items()
        for row in differences
    ]
    environment += [
        f"Environment of {name}: nothing differs of code, packages, device, engine and model"
        for name, differences in result["environment"].items()
        if not differences
    ]
    return "\n\n".join([wrapped([*opening(result)]), replies, verdicts, headline_text(result), wrapped(environment)])


def opening(result: Mapping[str, Any]) -> Iterator[str]:
    """What was asked again, and how."""
    run, reruns = result["run"], result["reruns"]
    yield f"{run} asked again {f'{len(reruns)} times: ' if len(reruns) > 1 else 'as '}{', '.join(reruns)}"
    if result["n_units_asked"] < result["n_units"]:
        drawn = (
            f"Only {result['n_units_asked']} of its {result['n_units']} units were asked again, drawn by a fixed seed"
        )
        yield f"{drawn}; its own figures below are over these, too"
    if (temperature := result["temperature"]) > 0:
        yield f"Sampled at temperature {temperature:g} with the config's seed: replies may differ by chance alone"
    for name, n in result["n_other_prompts"].items():
        if n:
            yield f"{n} prompts were asked by {run} or {name} alone, as later prompts hang on earlier replies"
    if result["largest_shift_nats"] is not None:
        yield f"Log-probabilities of answers moved by {result['largest_shift_nats']:.3g} nats at most"


def rates_text(title: str, rates: Sequence[Mapping[str, Any]]) -> str:
    """A line for each condition."""
    lines = [["condition", "prompts", "unread", "differ", "rate, %", "95% interval"]]
    for row in rates:
        rate, *ends = (None if row[end] is None else 100 * row[end] for end in ("rate", "low", "high"))
        counts = [str(row["n_prompts"]), str(row["n_left_out"]), f"{round(row['n_differing'], 1):g}"]
        lines.append([row["condition"], *counts, number(rate), printed(tuple(ends), ".1f")])
    return "\n".join([title, *aligned(lines)])


def headline_text(result: Mapping[str, Any]) -> str:
    """The figures on both sides."""
    if not result["headline"]:
        return wrapped([f"Headline estimates: none to hold against each other. {result['no_headline']}"])
    base = "run, same units" if result["n_units_asked"] < result["n_units"] else "run"
    lines = [["figure", "re-run", base, "again", "difference", "95% interval"]]
    for row in result["headline"]:
        digits = 1 if row["unit"] in ("%", "pp") else 2
        values = [number(row["before"], digits), number(row["after"], digits), signed(row["change"], digits)]
        lines.append([row["figure"], row["second"], *values, interval(row["change_low"], row["change_high"], digits)])
    return "\n".join(["Headline estimates, paired by unit", *aligned(lines)])

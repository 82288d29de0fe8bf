"""A finished run and its re-runs → what differs: replies, verdicts, headline estimates, environment."""

import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference
from eval.options import scorecard_options
from eval.reproduction.environment import environment_differences
from eval.reproduction.flips import DifferingRate, differing_rates, largest_shift, said_by
from eval.run_studies import runs_by_study
from eval.sampling_runs import FinishedRun, load_finished
from eval.scorecard.arms import BASE
from eval.scorecard.command import load_cards
from eval.study import evaluation_of
from evenhand.completion_shards import append_completions, every_completion
from evenhand.errors import DataError
from evenhand.jsonl import write_jsonl
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, finish, read_plan_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What was found; re-runs are named by their directories."""

    run: str
    reruns: tuple[str, ...]
    n_units: int  # of the run
    n_units_asked: int  # again
    temperature: float
    replies: Sequence[DifferingRate]  # text, end or log-probabilities are not the same
    verdicts: Sequence[DifferingRate]  # the re-run flip rate; empty where no reply is a verdict
    largest_shift: float | None  # of a log-probability, in nats
    n_other_prompts: Mapping[str, int]  # re-run → prompts that only one side asked: later ones hang on earlier replies
    headline: Sequence[tuple[str, Change]]  # what the figure is called, and how far the re-run's lies from the run's
    no_headline: str  # why there is none; "" where there is one
    environment: Mapping[str, Sequence[Difference]]  # re-run → in what it differs

    def as_dict(self) -> dict[str, Any]:
        """As reproduction.json has it."""
        found = {name: [asdict(one) for one in of] for name, of in self.environment.items()}
        headline = [{"figure": words, **change.as_dict()} for words, change in self.headline]
        plain = {name: getattr(self, name) for name in ("run", "reruns", "n_units", "n_units_asked", "temperature")}
        return {
            **plain,
            "replies": [asdict(rate) for rate in self.replies],
            "verdicts": [asdict(rate) for rate in self.verdicts],
            "largest_shift_nats": self.largest_shift,
            "n_other_prompts": dict(self.n_other_prompts),
            "headline": headline,
            "no_headline": self.no_headline,
            "environment": found,
        }


def reproduction(path: Path, again: Sequence[Path], n_units: int, chosen: Collection[str] | None) -> Reproduction:
    """Hold a run's re-runs against it. chosen: ids of the units that were asked again; None for all n_units."""
    (study,) = runs_by_study([path, *again])
    evaluation = evaluation_of(study)
    with tempfile.TemporaryDirectory() as folder:
        base = path if chosen is None else part_of(path, chosen, Path(folder) / path.name)
        first, reruns = load_finished(base), [load_finished(one) for one in again]
        conditions = hashes_by_condition(first)
        headline, reason = headline_changes(base, again)
        return Reproduction(
            run=path.name,
            reruns=tuple(run.name for run in reruns),
            n_units=n_units,
            n_units_asked=n_units if chosen is None else len(chosen),
            temperature=float(first.config["sampling"].get("temperature", 0.0)),
            replies=differing_rates(said_by(first.replies), [said_by(run.replies) for run in reruns], conditions),
            verdicts=verdict_rates(evaluation.verdicts(base), [evaluation.verdicts(one) for one in again], conditions),
            largest_shift=max(
                (shift for run in reruns if (shift := largest_shift(first.replies, run.replies)) is not None),
                default=None,
            ),
            n_other_prompts={run.name: len(first.replies.keys() ^ run.replies.keys()) for run in reruns},
            headline=headline,
            no_headline=reason,
            environment={run.name: environment_differences(first, run) for run in reruns},
        )


def verdict_rates(
    first: Mapping[tuple[str, int], Any],
    again: Sequence[Mapping[tuple[str, int], Any]],
    conditions: Mapping[str, Collection[str]],
) -> list[DifferingRate]:
    """The re-run flip rate; nothing where no reply is a verdict."""
    return differing_rates(first, again, conditions) if first else []


def hashes_by_condition(run: FinishedRun) -> dict[str, set[str]]:
    """Condition → the hashes of its prompts."""
    found: dict[str, set[str]] = {}
    for prompt in run.plan:
        found.setdefault(prompt.condition, set()).add(prompt.prompt_hash)
    return found


def headline_changes(base: Path, again: Sequence[Path]) -> tuple[list[tuple[str, Change]], str]:
    """(what the study's scorecard is read by, from the run to each re-run; why there is none, or "")."""
    words = [str(base), *(f"{path.name}={path}" for path in again), "--allow-differences"]
    try:
        _, cards = load_cards(scorecard_options(words))
        (card,) = cards.values()
        changes = [change for change in card.changes() if change.first == BASE]
    except DataError as error:  # of a run that has only states of replies, say
        return [], str(error)
    found: list[tuple[str, Change]] = []
    for headline in card.headlines():
        for change in filter(headline.is_of, changes):
            if (headline.words, change) not in found:  # of a single dataset the average is the dataset again
                found.append((headline.words, change))
    return found, "" if found else "this run has none of the figures of its study's scorecard"


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

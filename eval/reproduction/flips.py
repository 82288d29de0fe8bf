"""How often the same prompt gets another verdict, or other words, when a run is asked again."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.estimates.resampling import wilson_interval
from evenhand.records import Completion

ALL = "all"  # the row over every prompt

Said = Mapping[tuple[str, int], Any]  # (prompt hash, sample) → what was said; None where it could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingRate:
    """The share of prompts whose reply differs from the first run's, among those with something to compare.

    Of several samples or re-runs a prompt counts by the share of them that differ: sample k is held against sample k.
    The interval is Wilson's over prompts, so prompts of one unit that change together make it somewhat too narrow.
    """

    condition: str
    n_prompts: int
    n_left_out: int  # asked again, but without a verdict in one of the runs
    n_differing: float
    rate: float | None
    low: float | None
    high: float | None


def differing_rates(
    first: Said, again: Sequence[Said], conditions: Mapping[str, Collection[str]]
) -> list[DifferingRate]:
    """A row for all prompts, then one for each condition where there are several.

    conditions: condition → the hashes of its prompts. A prompt that no re-run asked is no part of any row.
    """
    hashes = {hash_ for of_condition in conditions.values() for hash_ in of_condition}
    shares = share_by_prompt(first, again, hashes)
    rows = {ALL: hashes, **(conditions if len(conditions) > 1 else {})}
    return [rate_of(name, [shares[h] for h in of if h in shares]) for name, of in rows.items()]


def share_by_prompt(first: Said, again: Sequence[Said], hashes: Collection[str]) -> dict[str, float | None]:
    """Prompt hash → the share of its replies that differ; None where none can be compared."""
    found: dict[str, list[bool | None]] = {}
    for said in again:
        for key in said.keys() & first.keys():
            if key[0] in hashes:
                one, other = first[key], said[key]
                found.setdefault(key[0], []).append(None if one is None or other is None else one != other)
    known = {hash_: [differs for differs in of if differs is not None] for hash_, of in found.items()}
    return {hash_: sum(of) / len(of) if of else None for hash_, of in known.items()}


def rate_of(condition: str, shares: Sequence[float | None]) -> DifferingRate:
    """One row."""
    known = [share for share in shares if share is not None]
    n_differing = sum(known)
    low, high = wilson_interval(n_differing, len(known)) or (None, None)
    return DifferingRate(
        condition=condition,
        n_prompts=len(known),
        n_left_out=len(shares) - len(known),
        n_differing=n_differing,
        rate=n_differing / len(known) if known else None,
        low=low,
        high=high,
    )


def said_by(replies: Mapping[str, Sequence[Completion]]) -> dict[tuple[str, int], Any]:
    """All that a reply is: its text, how it ended, and the log-probabilities that were read."""
    return {
        (reply.prompt_hash, reply.sample_index): (reply.text, reply.finish_reason, reply.answer_logprobs)
        for of_prompt in replies.values()
        for reply in of_prompt
    }


def largest_shift(first: Mapping[str, Sequence[Completion]], again: Mapping[str, Sequence[Completion]]) -> float | None:
    """The most that the log-probability of an answer moved, in nats; None where none was read in both."""
    return max(shifts(first, again), default=None)


def shifts(first: Mapping[str, Sequence[Completion]], again: Mapping[str, Sequence[Completion]]) -> Iterator[float]:
    """By how much each log-probability moved."""
    for hash_ in first.keys() & again.keys():
        for one, other in zip(first[hash_], again[hash_], strict=False):
            ours, theirs = one.answer_logprobs or {}, other.answer_logprobs or {}
            yield from (abs(ours[answer] - theirs[answer]) for answer in ours.keys() & theirs.keys())

"""Replies to framed prompts as arrays of items × framings × cases × orders of the answers.

A reply that names no answer is unknown and counts nowhere; how many there are is a measure of its own. In a tie each
answer gets its part.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from eval.estimates.resampling import FloatArray
from eval.runs import FinishedRun, PlannedPrompt, clusters_of, copy_doubts, reading_shares
from evenhand.completions import answer_doubts, read_excluded
from evenhand.records import Completion
from studies.framing.asking import GIVEN
from studies.framing.replies import CHOSEN, ERROR, TIE, Choice, choice_in
from studies.framing.section import FramingSection

TIED = 1e-9  # two shares that differ by less are a tie
LARGEST_ODDS = 50.0  # nats; a log-odds beyond it is as good as certain, and an infinite one has no mean
SHARE_OF = "share of "  # an answer, of the replies
PUSHED_BY = "pushed by "  # a framing, of an item's replies: the share of the answer that it argues for
FIELDS = ("value", "first", "right", "soft", "odds", "unread", "right_first")


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """What a judge answered about one dataset: arrays (n_items, n_framings, n_cases, n_orders), NaN where unknown.

    value: 1 for the first answer, else 0, or a scale's number. first: whether the answer shown first was named. right
    needs labels: right_first is 1 where the first answer is the right one, 0 where another one is. soft (the
    probability of the first answer, or the expected number) and odds (its log-odds, of two answers) need
    log-probabilities. unread: the share of replies that name no answer.
    """

    items: tuple[str, ...]
    groups: tuple[str, ...]  # of each item
    clusters: tuple[str, ...]  # of each item: those of one cluster are resampled together
    framings: tuple[str, ...]  # the baseline first
    placebos: tuple[str, ...]  # those among the framings that should change nothing
    cases: tuple[str, ...]
    orders: tuple[str, ...]
    answers: tuple[str, ...]
    fields: Mapping[str, FloatArray]
    shares: FloatArray  # of each answer, with a further axis of answers
    # (n_items, n_framings, n_cases): the position of the answer that a framing argues for, where some do
    pushed: FloatArray | None = None
    n_errors: int = 0
    fill: float | None = None  # what `changed` and `consistent` count an unparsed pair as; None: nowhere
    fitted: float = 0.0  # see eval.estimates.estimate.Observed

    def at(self, framing: str) -> int:
        """A framing's position."""
        return self.framings.index(framing)

    def of(self, name: str, framing: str) -> FloatArray:
        """(n_items, n_cases, n_orders): a field in one framing, "share of ANSWER", or accepts_wrong: the share of the
        first answer where another one is right."""
        if name.startswith(PUSHED_BY):
            assert self.pushed is not None
            places = self.pushed[:, self.at(name.removeprefix(PUSHED_BY)), :, None]
            indices = np.broadcast_to(np.nan_to_num(places).astype(int), self.shares[:, 0, ..., 0].shape)[..., None]
            shares = np.take_along_axis(self.shares[:, self.at(framing)], indices, axis=-1)[..., 0]
            return np.where(np.isnan(places), math.nan, shares)
        if name.startswith(SHARE_OF):
            return self.shares[:, self.at(framing), ..., self.answers.index(name.removeprefix(SHARE_OF))]
        if name == "accepts_wrong":
            shares = self.shares[:, self.at(framing), ..., 0]
            return np.where(self.of("right_first", framing) == 0, shares, math.nan)
        return self.fields[name][:, self.at(framing)]

    @cached_property
    def named(self) -> FloatArray:
        """(n_items, n_framings, n_cases, n_orders): the position of the answer that most replies name; NaN in a tie."""
        ordered = np.sort(self.shares, axis=-1)
        is_clear = ordered[..., -1] - ordered[..., -2] > TIED  # False where unknown
        return np.where(is_clear, np.argmax(np.nan_to_num(self.shares), axis=-1), math.nan)

    def filled(self, values: tuple[float, float], i: int) -> "Grid":
        """Unparsed replies counted as the least (i is 0) or the most (1) that they can be: a value; each answer, the
        right one and the first one or not; changed and consistent or not."""
        fields, unread = dict(self.fields), self.fields["unread"]
        for name, fill in (("value", values[i]), ("right", float(i)), ("first", float(i))):
            whole = (1 - unread) * np.nan_to_num(fields[name]) + unread * fill
            is_filled = (unread > 0) & ((name != "right") | ~np.isnan(fields["right_first"]))
            fields[name] = np.where(is_filled, whole, fields[name])
        part = unread[..., None]
        shares = np.where(part > 0, (1 - part) * np.nan_to_num(self.shares) + part * i, self.shares)
        return replace(self, fields=fields, shares=shares, fill=float(i))

    def changed(self, framing: str) -> FloatArray:
        """(n_items, n_cases, n_orders): 1 where a framing's answer is not the baseline's; NaN where one is unknown."""
        before, after = self.named[:, 0], self.named[:, self.at(framing)]
        differs = np.where(np.isnan(before + after), math.nan, before != after)
        is_unparsed = (self.of("unread", framing) > 0) | (self.fields["unread"][:, 0] > 0)
        return self.where_parsed(differs, is_unparsed)

    def consistent(self, framing: str) -> FloatArray:
        """1 where both orders have one answer, (n_items, n_cases, 1); NaN where one is not known."""
        first, second = (self.named[:, self.at(framing), :, order] for order in (0, 1))
        agrees = np.where(np.isnan(first + second), math.nan, first == second)
        return self.where_parsed(agrees, (self.of("unread", framing) > 0).any(axis=-1))[..., None]

    def where_parsed(self, values: FloatArray, is_unparsed: Any) -> FloatArray:
        """Values of pairs of replies, and `fill` for those of which one is unparsed."""
        return values if self.fill is None else np.where(is_unparsed, self.fill, values)


@dataclass(frozen=True, kw_only=True)
class FramedRun(FinishedRun):
    """A finished run of a study in YAML."""

    section: FramingSection
    judged: Mapping[str, Grid] | None = None  # by a rule instead of as replied; see studies.framing.thresholds
    file_doubts: tuple[str, ...] = ()  # of a file of verdicts
    left_out: tuple[str, ...] = ()  # framings that what is over all framings leaves out

    @property
    def follow_ups(self) -> tuple[str, ...]:
        """The framings and placebos that go on behind a reply."""
        return tuple(name for name, text in self.section.texts.items() if text.follow_up_to is not None)

    @property
    def verdict(self) -> str:
        """How verdicts are read."""
        return str(self.config["verdict"])

    @cached_property
    def doubts(self) -> list[str]:
        """What to know of its answers before believing a figure."""
        n_excluded = len(read_excluded(self.path))
        left_out = [f"{n_excluded} items are left out, since they do not fit the context window."] if n_excluded else []
        doubts = [*left_out, *self.file_doubts, *copy_doubts(self.plan)]
        asked = [dict(prompt.factors) for prompt in self.plan if prompt.condition == self.section.baseline]
        right = [f["texts"][f["names"].index(f["label"])] for f in asked if f["label"] is not None]
        if len(right) > 1 and len({*right}) == 1:
            doubts.append(
                f"'{right[0]}' is right everywhere: who says it to everything is right, so right % tells nothing."
            )
        return [*doubts, *answer_doubts(chain.from_iterable(self.replies.values()), self.verdict)]

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The answers' names. Shares and shifts are of the first one."""
        if self.section.choices:  # as many as the item with most has
            return max((tuple(sorted(dict(prompt.factors)["names"])) for prompt in self.plan), key=len)
        return tuple(self.section.answer_texts)

    @cached_property
    def values(self) -> FloatArray:
        """What each answer counts: a scale's number, else 1 for the first and 0 for the others."""
        if self.section.scale:
            return np.array([float(name) for name in self.answers])
        return np.array([1.0, *[0.0] * (len(self.answers) - 1)])

    @cached_property
    def clusters(self) -> dict[tuple[str, str], str]:
        """(dataset, item) → its cluster."""
        return clusters_of(self.plan)

    @cached_property
    def grids(self) -> Mapping[str, Grid]:
        """Dataset → what was answered about it."""
        if self.judged is not None:
            return self.judged
        by_dataset: dict[str, list[PlannedPrompt]] = {}
        for prompt in self.plan:
            by_dataset.setdefault(prompt.dataset, []).append(prompt)
        return {dataset: self.grid(prompts) for dataset, prompts in by_dataset.items()}

    @cached_property
    def filled(self) -> Mapping[str, tuple[Grid, ...]]:
        """Dataset → its grid with unparsed replies counted as the least and as the most; () where all were parsed."""
        limits = self.section.scale or (0.0, 1.0)
        return {
            dataset: tuple(grid.filled(limits, i) for i in (0, 1)) if grid.fields["unread"].any() else ()
            for dataset, grid in self.grids.items()
        }

    def grid(self, prompts: Sequence[PlannedPrompt]) -> Grid:
        """What was answered to the prompts of one dataset."""
        section = self.section
        items = tuple(sorted({prompt.item_id for prompt in prompts}))
        framings = tuple(dict.fromkeys([section.baseline, *section.texts]))
        axes = (items, framings, tuple(section.cases) or ("",), section.order_names)
        places = [{name: i for i, name in enumerate(axis)} for axis in axes]
        shape = tuple(map(len, axes))
        fields = {name: np.full(shape, math.nan) for name in FIELDS}
        shares, groups, n_errors = np.full((*shape, len(self.answers)), math.nan), [""] * len(items), 0
        pushed = np.full(shape[:3], math.nan)
        for prompt in prompts:
            factors = dict(prompt.factors)
            names = (prompt.item_id, prompt.condition, factors["case"], factors["order"])
            cell = tuple(place[name] for place, name in zip(places, names, strict=True))
            choices, groups[cell[0]] = self.choices[prompt.prompt_hash], factors["group"]
            scores, shares[cell] = self.scores(choices, self.replies[prompt.prompt_hash], factors)
            for name, value in scores.items():
                fields[name][cell] = value
            n_errors += sum(choice.state == ERROR for choice in choices)
            if (answer := factors.get("pushed") or section.texts[prompt.condition].pushed) in self.answers:
                pushed[cell[:3]] = self.answers.index(answer)
        return Grid(
            items=items,
            groups=tuple(groups),
            clusters=tuple(self.clusters[prompts[0].dataset, item] for item in items),
            framings=framings,
            placebos=tuple(name for name in framings if name not in section.framings),
            cases=axes[2],
            orders=axes[3],
            answers=self.answers,
            fields=fields,
            shares=shares,
            pushed=pushed,
            n_errors=n_errors,
        )

    @cached_property
    def choices(self) -> dict[str, list[Choice]]:
        """Hash of a prompt → what each reply to it names."""
        choices = dict[str, list[Choice]]()
        for prompt in self.plan:
            factors, quotable = dict(prompt.factors), self.section.quotable[prompt.condition]
            how = (factors["symbols"], factors["texts"], quotable, self.section.pattern)
            choices[prompt.prompt_hash] = [choice_in(reply, *how) for reply in self.replies[prompt.prompt_hash]]
        return choices

    def readings(self) -> Iterator[tuple[str, str, float, int]]:
        """(framing, how its replies were read or why not, % of them, how many), of texts, the most frequent first."""
        choices = ((prompt.condition, choice) for prompt in self.plan for choice in self.choices[prompt.prompt_hash])
        return reading_shares(Counter((framing, choice.reading) for framing, choice in choices if choice.reading))

    def scores(
        self, choices: Sequence[Choice], replies: Sequence[Completion], factors: Mapping[str, Any]
    ) -> tuple[dict[str, float], FloatArray]:
        """Fields of one prompt and the share of each answer: means over those of its replies that name an answer."""
        symbols, names, label = factors["symbols"], factors["names"], factors["label"]
        parsed = [choice for choice in choices if choice.state in (CHOSEN, TIE)]
        n_errors = sum(choice.state == ERROR for choice in choices)
        fields = dict.fromkeys(FIELDS, math.nan)
        shares = np.full(len(self.answers), math.nan)
        if label is not None:
            fields["right_first"] = float(label == self.answers[0])
        if len(choices) > n_errors:
            fields["unread"] = 1 - len(parsed) / (len(choices) - n_errors)
        if parsed:
            counts = dict.fromkeys(names, 0.0)
            for choice in parsed:
                for place in choice.places:
                    counts[names[place]] += 1 / len(choice.places)
            shares = np.array([counts.get(name, 0.0) / len(parsed) for name in self.answers])
            fields["value"] = float(shares @ self.values)
            fields["first"] = counts[factors["first"]] / len(parsed)
            if label is not None:
                fields["right"] = counts[label] / len(parsed)
        symbol_of = dict(zip(names, symbols, strict=True))
        of_replies = [logs for reply in replies if (logs := reply.answer_logprobs) and all(s in logs for s in symbols)]
        if of_replies:  # (n_replies, n_answers); several where the judge reads its own samples
            log = np.array(
                [[logs[symbol_of[a]] if a in symbol_of else -math.inf for a in self.answers] for logs in of_replies]
            )
            with np.errstate(invalid="ignore"):
                p = np.exp(log - log.max(axis=1, keepdims=True))
                fields["soft"] = float(np.mean(p @ self.values / p.sum(axis=1)))
                if len(self.answers) == 2:
                    fields["odds"] = float(np.mean(np.clip(log[:, 0] - log[:, 1], -LARGEST_ODDS, LARGEST_ODDS)))
        return fields, shares


def judged_above(grid: Grid, thresholds: FloatArray) -> Grid:
    """A grid of two answers as thresholds judge it: log-odds (n_items or 1, n_framings, n_orders) above which the first
    answer is given. Without log-odds a reply stays as it was; with a threshold NaN nothing is known.
    """
    from scipy.special import expit  # where it is needed: scipy takes a while to import

    limits = thresholds[:, :, None, :]
    fields, odds = dict(grid.fields), grid.fields["odds"] - limits
    has_odds, is_first = ~np.isnan(odds), np.array([order == GIVEN for order in grid.orders])

    def judged(value: FloatArray, before: FloatArray) -> FloatArray:
        return np.where(has_odds, value, np.where(np.isnan(limits), math.nan, before))

    value = judged((np.sign(odds) + 1) / 2, fields["value"])
    fields["first"] = np.where(is_first, value, 1 - value)
    right = np.where(fields["right_first"] == 1, value, 1 - value)
    fields["right"] = np.where(np.isnan(fields["right"]), math.nan, right)
    fields["soft"] = judged(expit(odds), fields["soft"])
    shares = np.stack([value, 1 - value], axis=-1)
    return replace(grid, fields={**fields, "value": value, "odds": odds}, shares=shares)

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
from studies.framing.replies import Choice
from studies.framing.section import FramingSection

TIED = 1e-9  # two shares that differ by less are a tie
LARGEST_ODDS = 50.0  # nats; a log-odds beyond it is as good as certain, and an infinite one has no mean
SHARE_OF = "share of "  # an answer, of the replies
PUSHED_BY = "pushed by "  # a framing, of an item's replies: the share of the answer that it argues for
FIELDS = ("unread", "soft", "odds")
PLACES = ("first", "right", "pushed")


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """What a judge answered about one dataset: arrays (n_items, n_framings, n_cases, n_orders), NaN where unknown.

    shares: of each answer among the replies that name one, on a further axis. places: the positions of the answer that
    is shown first, of the right one, and of the one that the framing argues for. unread: the share of replies that name
    no answer. soft (the probability of the first answer, or the expected number) and odds (its log-odds, of two
    answers) need log-probabilities.
    """

    items: tuple[str, ...]
    groups: tuple[str, ...]  # of each item
    clusters: tuple[str, ...]  # of each item: those of one cluster are resampled together
    framings: tuple[str, ...]  # the baseline first
    placebos: tuple[str, ...]  # those among the framings that should change nothing
    cases: tuple[str, ...]
    orders: tuple[str, ...]
    answers: tuple[str, ...]
    values: FloatArray  # what each answer counts: a scale's number, else 1 for the first and 0 for the others
    shares: FloatArray
    places: Mapping[str, FloatArray]
    fields: Mapping[str, FloatArray]  # unread, soft, odds
    fill: int | None = None  # unparsed replies count as the least (0) or the most (1) that they can be; None: nowhere
    fitted: float = 0.0  # see eval.estimates.estimate.Observed

    @property
    def compared(self) -> list[str]:
        """The framings but the baseline and the placebos."""
        return [name for name in self.framings[1:] if name not in self.placebos]

    def at(self, framing: str) -> int:
        """A framing's position."""
        return self.framings.index(framing)

    def of(self, name: str, framing: str | None = None) -> FloatArray:
        """A field, or what replies say: "value" (what the answers count), or the share of replies that name an answer:
        the one shown "first", the "right" one, "share of ANSWER", "pushed by FRAMING", or the first where another is
        right ("accepts_wrong"). (n_items, n_cases, n_orders) in one framing; without one as in the grid.
        """
        at: Any = slice(None) if framing is None else self.at(framing)
        if name in self.fields:
            return self.fields[name][:, at]
        shares, limits = self.shares[:, at], (0.0, 1.0)
        if name == "value":
            answered, is_meant = shares @ self.values, np.array(True)
            limits = self.values.min(), self.values.max()
        else:
            places = np.broadcast_to(self.places_of(name, at), shares.shape[:-1])
            is_meant = ~np.isnan(places)
            indices = np.nan_to_num(places).astype(int)[..., None]
            answered = np.where(is_meant, np.take_along_axis(shares, indices, axis=-1)[..., 0], math.nan)
        if self.fill is None:
            return np.asarray(answered)
        unread = self.fields["unread"][:, at]
        whole = (1 - unread) * np.nan_to_num(answered) + unread * limits[self.fill]
        return np.where((unread > 0) & is_meant, whole, answered)

    def places_of(self, name: str, at: Any) -> FloatArray:
        """The positions of the answers that a name of `of` means, NaN where there is none."""
        if name == "accepts_wrong":
            return np.where(self.places["right"][:, at] > 0, 0.0, math.nan)
        if name.startswith(SHARE_OF):
            return np.array(float(self.answers.index(name.removeprefix(SHARE_OF))))
        if name.startswith(PUSHED_BY):
            return self.places["pushed"][:, self.at(name.removeprefix(PUSHED_BY))]
        return self.places[name][:, at]

    @cached_property
    def named(self) -> FloatArray:
        """(n_items, n_framings, n_cases, n_orders): the position of the answer that most replies name; NaN in a tie."""
        ordered = np.sort(self.shares, axis=-1)
        is_clear = ordered[..., -1] - ordered[..., -2] > TIED  # False where unknown
        return np.where(is_clear, np.argmax(np.nan_to_num(self.shares), axis=-1), math.nan)

    def changed(self, framing: str) -> FloatArray:
        """(n_items, n_cases, n_orders): 1 where a framing's answer is not the baseline's; NaN where one is unknown."""
        before, after = self.named[:, 0], self.named[:, self.at(framing)]
        differs = np.where(np.isnan(before + after), math.nan, before != after)
        return self.filled(differs, (self.of("unread", framing) > 0) | (self.fields["unread"][:, 0] > 0))

    def consistent(self, framing: str) -> FloatArray:
        """1 where both orders have one answer, (n_items, n_cases, 1); NaN where one is not known."""
        first, second = (self.named[:, self.at(framing), :, order] for order in (0, 1))
        agrees = np.where(np.isnan(first + second), math.nan, first == second)
        return self.filled(agrees, (self.of("unread", framing) > 0).any(axis=-1))[..., None]

    def filled(self, values: FloatArray, is_unparsed: Any) -> FloatArray:
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

    @property
    def first_grid(self) -> Grid:
        """A dataset's grid: framings, cases, orders and answers are those of every dataset."""
        return next(iter(self.grids.values()))

    @cached_property
    def filled(self) -> Mapping[str, tuple[Grid, ...]]:
        """Dataset → its grid with unparsed replies counted as the least and as the most; () where all were parsed."""
        return {
            dataset: tuple(replace(grid, fill=i) for i in (0, 1)) if grid.fields["unread"].any() else ()
            for dataset, grid in self.grids.items()
        }

    def grid(self, prompts: Sequence[PlannedPrompt]) -> Grid:
        """What was answered to the prompts of one dataset."""
        section = self.section
        items = tuple(sorted({prompt.item_id for prompt in prompts}))
        framings = tuple(dict.fromkeys([section.baseline, *section.texts]))
        axes = (items, framings, tuple(section.cases) or ("",), section.order_names)
        indices = [{name: i for i, name in enumerate(axis)} for axis in axes]
        shape = tuple(map(len, axes))
        fields, places = ({name: np.full(shape, math.nan) for name in names} for names in (FIELDS, PLACES))
        shares, groups = np.full((*shape, len(self.answers)), math.nan), [""] * len(items)
        for prompt in prompts:
            factors, choices = dict(prompt.factors), self.choices[prompt.prompt_hash]
            names = (prompt.item_id, prompt.condition, factors["case"], factors["order"])
            cell = tuple(index[name] for index, name in zip(indices, names, strict=True))
            groups[cell[0]] = factors["group"]
            fields["unread"][cell], shares[cell] = self.unread_and_shares(choices, factors["names"])
            fields["soft"][cell], fields["odds"][cell] = self.soft_and_odds(self.replies[prompt.prompt_hash], factors)
            pushed = factors.get("pushed") or section.texts[prompt.condition].pushed
            meant = {"first": (cell, factors["first"]), "right": (cell, factors["label"]), "pushed": (cell[:3], pushed)}
            for name, (where, answer) in meant.items():
                if answer in self.answers:
                    places[name][where] = self.answers.index(answer)
        return Grid(
            items=items,
            groups=tuple(groups),
            clusters=tuple(self.clusters[prompts[0].dataset, item] for item in items),
            framings=framings,
            placebos=tuple(name for name in framings if name not in section.framings),
            cases=axes[2],
            orders=axes[3],
            answers=self.answers,
            values=self.values,
            shares=shares,
            places=places,
            fields=fields,
        )

    @cached_property
    def choices(self) -> dict[str, list[Choice]]:
        """Hash of a prompt → what each reply to it names."""
        choices = dict[str, list[Choice]]()
        for prompt in self.plan:
            factors = dict(prompt.factors)
            how = (prompt.condition, factors["symbols"], factors["texts"])
            choices[prompt.prompt_hash] = [
                self.section.choice_in(reply, *how) for reply in self.replies[prompt.prompt_hash]
            ]
        return choices

    def readings(self) -> Iterator[tuple[str, str, float, int]]:
        """(framing, how its replies were read or why not, % of them, how many), of texts, the most frequent first."""
        choices = ((prompt.condition, choice) for prompt in self.plan for choice in self.choices[prompt.prompt_hash])
        return reading_shares(Counter((framing, choice.reading) for framing, choice in choices if choice.reading))

    def unread_and_shares(self, choices: Sequence[Choice], names: Sequence[str]) -> tuple[float, FloatArray]:
        """The share of a prompt's replies that name no answer, and that of each answer among the others."""
        named = [[names[place] for place in choice.places] for choice in choices if choice.places]
        unread = 1 - len(named) / len(choices)
        counts = [sum(answers.count(name) / len(answers) for answers in named) for name in self.answers]
        return unread, np.array(counts) / len(named) if named else np.full(len(counts), math.nan)

    def soft_and_odds(self, replies: Sequence[Completion], factors: Mapping[str, Any]) -> tuple[float, float]:
        """Means over the replies of a prompt that have the log-probability of every symbol; NaN where none has."""
        symbol_of = dict(zip(factors["names"], factors["symbols"], strict=True))
        known = [logs for reply in replies if (logs := reply.answer_logprobs) and logs.keys() >= {*symbol_of.values()}]
        if not known:
            return math.nan, math.nan
        log = np.array([[logs.get(symbol_of.get(name, ""), -math.inf) for name in self.answers] for logs in known])
        with np.errstate(invalid="ignore"):
            p = np.exp(log - log.max(axis=1, keepdims=True))
            soft = float(np.mean(p @ self.values / p.sum(axis=1)))
            odds = float(np.mean(np.clip(log[:, 0] - log[:, 1], -LARGEST_ODDS, LARGEST_ODDS)))
        return soft, odds if len(self.answers) == 2 else math.nan


def judged_above(grid: Grid, thresholds: FloatArray) -> Grid:
    """A grid of two answers as thresholds judge it: log-odds (n_items or 1, n_framings, n_orders) above which the first
    answer is given. Without log-odds a reply stays as it was; with a threshold NaN nothing is known.
    """
    from scipy.special import expit  # where it is needed: scipy takes a while to import

    odds = grid.fields["odds"] - thresholds[:, :, None, :]
    accepts = (np.sign(odds) + 1) / 2
    is_judged = ~np.isnan(grid.fields["odds"]) | np.isnan(thresholds[:, :, None, :])
    shares = np.where(is_judged[..., None], np.stack([accepts, 1 - accepts], axis=-1), grid.shares)
    fields = {**grid.fields, "odds": odds, "soft": np.where(is_judged, expit(odds), grid.fields["soft"])}
    return replace(grid, fields=fields, shares=shares)

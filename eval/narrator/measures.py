"""M by perspective, Δ_att, Δ_non-att, PR and FAR (narrator paper, section 3.7)."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.estimates import Estimate, Mean, Row, estimate, mean_of, minus
from eval.narrator.judged_runs import Judgment
from studies.narrator.records import OPTION_ORDERS, TASKS, VISIBILITIES, OptionOrder, Perspective, Task, Visibility

ALL, SEEN, UNSEEN = "all", "attacker seen", "attacker unseen"
MEASURES = ("neutral", "attacker", "non_attacker", "delta_att", "delta_non_att", "pr", "far")
DETECTION: Task = "detection"
PERSPECTIVES: tuple[Perspective, ...] = ("neutral", "attacker", "non_attacker")

# Each measure is a mean over the rows of one part, or the first part's mean minus the second's.
PARTS: Mapping[str, tuple[str, ...]] = {
    "neutral": ("neutral",),
    "attacker": ("attacker",),
    "non_attacker": ("non_attacker",),
    "delta_att": ("attacker", "neutral"),
    "delta_non_att": ("non_attacker", "neutral"),
    "pr": ("non_attacker", "attacker"),
    "far": ("far",),
}

Setting = tuple[Task, Visibility, OptionOrder]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """The means that the effects are made of, over the same conversations. far: None in detection."""

    neutral: Mean
    attacker: Mean
    non_attacker: Mean  # over a conversation's variants first
    far: Mean | None  # over prompts: each non-attacker variant counts

    def measure(self, name: str) -> Mean | None:
        """One of MEASURES; differences are paired within clusters."""
        first, *others = (getattr(self, part) for part in PARTS[name])
        mean: Mean | None = minus(first, others[0]) if others else first
        return mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What perspective does to one task under one visibility and option order, over one group of conversations.

    Estimates are in percent; delta_* and pr in percentage points. chance: what a judge would have that draws an option
    at random: the mean of 1/n over conversations, and over the prompts of FAR.
    """

    judge: str  # a run's name, or POOLED
    task: Task
    visibility: Visibility
    option_order: OptionOrder
    group: str  # ALL, SEEN, UNSEEN, or "<n> speakers"
    n_speakers: int | None  # of a group by size
    n_conversations: int
    neutral: Estimate
    attacker: Estimate
    non_attacker: Estimate
    delta_att: Estimate
    delta_non_att: Estimate
    pr: Estimate
    far: Estimate | None
    chance: float
    far_chance: float | None

    def as_dict(self) -> dict[str, Any]:
        """One flat row: each estimate as <name>, <name>_low and <name>_high."""
        row: dict[str, Any] = {
            "judge": self.judge,
            "task": self.task,
            "visibility": self.visibility,
            "option_order": self.option_order,
            "group": self.group,
            "n_speakers": self.n_speakers,
            "n_conversations": self.n_conversations,
            "n_clusters": self.neutral.n_clusters,
        }
        for name in MEASURES:
            found: Estimate | None = getattr(self, name)
            row[name] = found and found.value
            row[f"{name}_low"], row[f"{name}_high"] = (found.low, found.high) if found else (None, None)
        return {**row, "chance": self.chance, "far_chance": self.far_chance}


def by_setting(judgments: Iterable[Judgment]) -> dict[Setting, list[Judgment]]:
    """Judgments of each task, visibility and option order, in the order of the study's tables."""
    found: dict[Setting, list[Judgment]] = {
        (task, visibility, order): [] for order in OPTION_ORDERS for task in TASKS for visibility in VISIBILITIES
    }
    for judgment in judgments:
        factors = judgment.factors
        found[factors.task, factors.visibility, factors.option_order].append(judgment)
    return {setting: of_setting for setting, of_setting in found.items() if of_setting}


def effects(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Effect]:
    """The effects of every setting: over all conversations, and apart where some attackers are unseen."""
    return [
        effect_of(judge, setting, group, members, d)
        for setting, of_setting in by_setting(judgments).items()
        for group, members in groups_of(of_setting)
    ]


def groups_of(judgments: Sequence[Judgment]) -> Iterator[tuple[str, Sequence[Judgment]]]:
    """All judgments of a setting; and where the hidden attack is all that some attackers say, those apart."""
    yield ALL, judgments
    unseen = [judgment for judgment in judgments if judgment.factors.attacker_is_unseen]
    if unseen:
        if seen := [judgment for judgment in judgments if not judgment.factors.attacker_is_unseen]:
            yield SEEN, seen
        yield UNSEEN, unseen


def effects_by_size(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Effect]:
    """The effects by number of speakers, for Figure 3; sizes with few conversations among them."""
    found = []
    for setting, of_setting in by_setting(judgments).items():
        for size in sorted({judgment.factors.n_speakers for judgment in of_setting}):
            members = [judgment for judgment in of_setting if judgment.factors.n_speakers == size]
            found.append(effect_of(judge, setting, f"{size} speakers", members, d, size))
    return found


def effect_of(
    judge: str,
    setting: Setting,
    group: str,
    judgments: Sequence[Judgment],
    d: Definitions = DEFAULT,
    n_speakers: int | None = None,
) -> Effect:
    """One effect; the judgments are all of one setting."""
    task, visibility, option_order = setting
    means = means_of(judgments, d)
    found = {name: means.measure(name) for name in MEASURES}
    chances = {judgment.conversation: 1 / len(judgment.options) for judgment in judgments}
    accusable = [1 / len(judgment.options) for judgment in judgments if is_accusable(judgment)]
    return Effect(
        judge=judge,
        task=task,
        visibility=visibility,
        option_order=option_order,
        group=group,
        n_speakers=n_speakers,
        n_conversations=len(chances),
        **{name: estimate(mean) for name, mean in found.items() if mean is not None and name != "far"},
        far=None if means.far is None else estimate(means.far),
        chance=100 * fmean(chances.values()),
        far_chance=100 * fmean(accusable) if accusable else None,
    )


def means_of(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Means:
    """The means of one setting."""
    rows = rows_of(judgments, d)
    return Means(
        neutral=mean_of(rows["neutral"]),
        attacker=mean_of(rows["attacker"]),
        non_attacker=mean_of(rows["non_attacker"]),
        far=mean_of(rows["far"]) if "far" in rows else None,
    )


def rows_of(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> dict[str, list[Row]]:
    """The rows that the means of one setting are over, by part of PARTS; no "far" in detection."""
    rows: dict[str, list[Row]] = {p: aligned(judgments, p, d) for p in PERSPECTIVES}
    if all(judgment.factors.task == DETECTION for judgment in judgments):
        return rows
    accused = [
        (cluster_of(judgment, d), judgment.me_weight(d.denominator), prompt_weight(judgment, d))
        for judgment in judgments
        if is_accusable(judgment) and not math.isnan(judgment.me_weight(d.denominator))
    ]
    return {**rows, "far": accused}


def is_accusable(judgment: Judgment) -> bool:
    """Whether a judgment counts for FAR: a speaker who is no attacker is Me, and Me is an option."""
    return judgment.factors.perspective == "non_attacker" and judgment.factors.task != DETECTION


def aligned(judgments: Iterable[Judgment], perspective: Perspective, d: Definitions) -> list[Row]:
    """One row for each judge and conversation: how much of the answers is the attacker, over its variants."""
    return averaged([judgment for judgment in judgments if judgment.factors.perspective == perspective], d)


def averaged(judgments: Iterable[Judgment], d: Definitions) -> list[Row]:
    """One row for each judge and conversation: how much of the answers is the attacker, averaged over its prompts."""
    variants: dict[tuple[str, str], tuple[Hashable, list[float], list[float]]] = {}
    for judgment in judgments:
        weight = judgment.target_weight(d.denominator)
        if not math.isnan(weight):
            of = variants.setdefault((judgment.judge, judgment.conversation), (cluster_of(judgment, d), [], []))
            of[1].append(weight)
            of[2].append(prompt_weight(judgment, d))
    return [(cluster, sum(values) / len(values), sum(ns) / len(ns)) for cluster, values, ns in variants.values()]


def prompt_weight(judgment: Judgment, d: Definitions) -> float:
    """What a prompt weighs in a mean."""
    return judgment.n_counted(d.denominator) if d.weights == "samples" else 1.0


def cluster_of(judgment: Judgment, d: Definitions) -> Hashable:
    """The cluster whose rows may depend on each other."""
    return judgment.conversation if d.clusters == "conversation" else (judgment.judge, judgment.conversation)


def main_order(asked: Iterable[OptionOrder]) -> OptionOrder:
    """The option order of main tables and sentences: the published one where it was asked."""
    return "published" if "published" in asked else "fixed_slot"


def find_effect(
    found: Iterable[Effect], judge: str, task: Task, visibility: Visibility, option_order: OptionOrder = "published"
) -> Effect | None:
    """The effect over all conversations in one setting; None where that was not asked."""
    wanted = (judge, task, visibility, option_order, ALL)
    for effect in found:
        if (effect.judge, effect.task, effect.visibility, effect.option_order, effect.group) == wanted:
            return effect
    return None

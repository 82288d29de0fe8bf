"""M by perspective, Δ_att, Δ_non-att, PR and FAR (narrator paper, section 3.7)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from eval.estimates.estimate import Estimate, clustered
from eval.estimates.observed import added_up
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.elimination import ELIMINATOR_GAIN, elimination_rows
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import DETECTION, EFFECTS, Asked, by_setting, is_accusable, observed
from studies.narrator.records import OptionOrder, Task, Visibility

ALL, SEEN, UNSEEN = "all", "attacker seen", "attacker unseen"


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
    eliminator_gain: Estimate | None  # see eval.narrator.elimination
    chance: float
    far_chance: float | None


def effects(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Effect]:
    """The effects of every setting: over all conversations, and apart where some attackers are unseen."""
    return [
        effect_of(judge, asked, group, members, d)
        for asked, of_setting in by_setting(judgments).items()
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
    for asked, of_setting in by_setting(judgments).items():
        for size in sorted({judgment.factors.n_speakers for judgment in of_setting}):
            members = [judgment for judgment in of_setting if judgment.factors.n_speakers == size]
            found.append(effect_of(judge, asked, f"{size} speakers", members, d, size))
    return found


def effect_of(
    judge: str,
    asked: Asked,
    group: str,
    judgments: Sequence[Judgment],
    d: Definitions = DEFAULT,
    n_speakers: int | None = None,
) -> Effect:
    """One effect; the judgments are all of one setting."""
    seen = observed(judgments, d)
    found: dict[str, Any] = {measure.name: clustered(measure, seen) for measure in EFFECTS}
    is_detection = asked.task == DETECTION
    rows = [] if is_detection else elimination_rows(judgments, d)
    found["eliminator_gain"] = None if is_detection else clustered(ELIMINATOR_GAIN, added_up(seen.dataset, [rows]))
    if is_detection:
        found["far"] = None
    chances = {judgment.conversation: 1 / len(judgment.options) for judgment in judgments}
    accusable = [1 / len(judgment.options) for judgment in judgments if is_accusable(judgment)]
    return Effect(
        judge=judge,
        **asked._asdict(),
        group=group,
        n_speakers=n_speakers,
        n_conversations=len(chances),
        **found,
        chance=100 * fmean(chances.values()),
        far_chance=100 * fmean(accusable) if accusable else None,
    )


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

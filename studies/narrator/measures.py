"""Judgments → what is observed of them, the study's measures, and scores in long form, which tables and plots read.

A unit is a conversation, or what one model makes of it. Parts are perspectives (M under each), FAR, what of it is there
beyond the neutral answers, and corruption.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal, NamedTuple

from eval.estimates.changes import Score
from eval.estimates.estimate import Estimate, Measure, Observed, Row, added_up, clustered
from eval.estimates.resampling import mcnemar_p
from studies.narrator.judged_runs import POOLED, Judgment, NarratorRun
from studies.narrator.options import Denominator, Detection, NarratorOptions
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import OPTION_ORDERS, TASKS, VISIBILITIES, OptionOrder, Perspective, Task, Visibility
from studies.narrator.replies import STATES

DETECTION: Task = "detection"
PERSPECTIVES: tuple[Perspective, ...] = ("neutral", "attacker", "non_attacker")
ALL, SEEN, UNSEEN = "all", "attacker seen", "attacker unseen"
ANSWERED = "answered under every narrator"  # where some were not: what is left when each is compared with itself
SETTING = ("task", "visibility", "option_order", "group", "n_speakers", "perspective", "is_detected")
FEWEST_CONVERSATIONS = 10  # a number of speakers with fewer leaves Figure 3

Outcome = Literal["correct", "incorrect", "tied", "unanswered"]
FLIPS: dict[str, tuple[Outcome, Outcome]] = {  # under Neutral, and with the attacker as Me
    "stable_correct": ("correct", "correct"),
    "corrupted": ("correct", "incorrect"),
    "restored": ("incorrect", "correct"),
    "stable_incorrect": ("incorrect", "incorrect"),
}
Sides = tuple[float, float]  # how much of a prompt is among detected attacks and among missed ones, each in [0, 1]
NEITHER: Sides = (0.0, 0.0)


class Setting(NamedTuple):
    """A setting of the study: what is compared only within itself."""

    task: Task
    visibility: Visibility
    option_order: OptionOrder

    @property
    def is_in_slot(self) -> bool:
        """Whether Me stands in its name's slot. Yes and No have none."""
        return self.option_order == "fixed_slot" and self.task != DETECTION

    @property
    def is_last(self) -> bool:
        """Whether Me stands last, and the attacker's place so moves with the narrator."""
        return self.option_order == "published" and self.task != DETECTION


def main_setting(settings: Iterable[tuple[Any, ...]]) -> Setting:
    """Of these, the one that sentences tell of: the most subjective task, the attack shown, Me in its name's slot.

    With Me last, the attacker's place moves with the narrator.
    """
    return min(
        (Setting(*setting) for setting in settings),
        key=lambda of: (-TASKS.index(of.task), of.visibility != "visible", of.option_order != "fixed_slot"),
    )


DEFAULT = NarratorOptions()


def part(name: str, first: int, second: int | None = None, *, unit: str = "%") -> Measure:
    """A part's mean, in percent; or, in percentage points, less that of a second part, paired within units."""
    return Measure(
        name=name,
        unit=unit,
        statistic=lambda means: 100 * (means[..., first] - (0 if second is None else means[..., second])),
        interval="cluster_t",
        is_share=unit == "%",
    )


EFFECTS = (
    *(part(perspective, i) for i, perspective in enumerate(PERSPECTIVES)),
    part("delta_att", 1, 0, unit="pp"),
    part("delta_non_att", 2, 0, unit="pp"),
    part("pr", 2, 1, unit="pp"),
    part("far", 3),
    part("delta_far", 4, unit="pp"),
)
MEASURES = (*EFFECTS, part("corruption", 5))
SHARE = part("share", 0)  # of what is observed of one part alone
DELTA = part("delta", 0, 1, unit="pp")
ELIMINATOR_GAIN = part("eliminator_gain", 0, unit="pp")  # beside Δ_non-att: what of it needs no evidence


def by_setting(judgments: Iterable[Judgment]) -> dict[Setting, list[Judgment]]:
    """Judgments of each task, visibility and option order, in the order of the study's tables."""
    settings = defaultdict[Setting, list[Judgment]](list)
    for judgment in judgments:
        settings[Setting(*(getattr(judgment.factors, name) for name in Setting._fields))].append(judgment)
    in_order = (Setting(t, side, order) for order in OPTION_ORDERS for t in TASKS for side in VISIBILITIES)
    return {setting: settings[setting] for setting in in_order if setting in settings}


def main_order(orders: Iterable[OptionOrder]) -> OptionOrder:
    """The option order of main tables and sentences: the published one where it was asked."""
    return "published" if "published" in orders else "fixed_slot"


def observed(judgments: Sequence[Judgment], denominator: Denominator) -> Observed:
    """All parts of the judgments of one setting, of which there is at least one; no row of FAR in detection.

    M of a unit is the mean over its prompts under a perspective; FAR has a row for each prompt, and so has by how much
    more its innocent Me is named than the same person when nobody is Me.
    """
    rows = [
        mean_rows((j.unit, j.target_weight(denominator)) for j in judgments if j.condition == perspective)
        for perspective in PERSPECTIVES
    ]
    accused = [(j.unit, j.weight(ME, denominator), 1.0) for j in judgments if j.is_accusable]
    beyond = [
        (j.unit, j.weight(ME, denominator) - base.weight(name, denominator), 1.0)
        for j, base, name in innocents(judgments)
    ]
    return added_up(judgments[0].dataset, [*rows, accused, beyond, corrupted(judgments)])


def mean_rows(values: Iterable[tuple[str, float]]) -> list[Row]:
    """A row for each unit: the mean of its values that are known."""
    of_units = defaultdict[str, list[float]](list)
    for unit, value in values:
        if not math.isnan(value):
            of_units[unit].append(value)
    return [(unit, fmean(of_unit), 1.0) for unit, of_unit in of_units.items()]


def innocents(judgments: Sequence[Judgment]) -> Iterator[tuple[Judgment, Judgment, str]]:
    """Each judgment that counts for FAR, its unit's when nobody is Me, and what who is Me is called there."""
    neutral = {j.unit: j for j in judgments if j.condition == "neutral"}
    for judgment in judgments:
        if judgment.is_accusable and (base := neutral.get(judgment.unit)):
            (name,) = {*base.options} - {*judgment.options}
            yield judgment, base, name


def fully_answered(judgments: Sequence[Judgment], denominator: Denominator) -> list[Judgment]:
    """The judgments of units whose M is known under every perspective that was asked."""
    answered_units = defaultdict[str, set[str]](set)
    for judgment in judgments:
        if not math.isnan(judgment.target_weight(denominator)):
            answered_units[judgment.condition].add(judgment.unit)
    perspectives = {judgment.condition for judgment in judgments}
    kept = set.intersection(*(answered_units[perspective] for perspective in perspectives))
    return [judgment for judgment in judgments if judgment.unit in kept]


def outcome(judgment: Judgment) -> Outcome:
    """What a prompt's one answer is: correct where most replies name the annotated attacker, or say Yes."""
    if len(judgment.leaders) == 1:
        return "correct" if judgment.leaders == (judgment.factors.target,) else "incorrect"
    return "tied" if judgment.leaders else "unanswered"


def outcome_pairs(judgments: Sequence[Judgment]) -> dict[str, tuple[Outcome, Outcome]]:
    """Unit → its outcomes under Neutral and with the attacker as Me, of what was asked under both."""
    neutral, attacker = ({j.unit: outcome(j) for j in judgments if j.condition == who} for who in PERSPECTIVES[:2])
    return {name: (neutral[name], attacker[name]) for name in neutral if name in attacker}


def corrupted(judgments: Sequence[Judgment]) -> list[Row]:
    """A row for each unit that is correct under Neutral: whether it is incorrect under Attacker."""
    return [
        (name, float(second == "incorrect"), 1.0)
        for name, (first, second) in outcome_pairs(judgments).items()
        if first == "correct" and second in ("correct", "incorrect")
    ]


def elimination_rows(judgments: Sequence[Judgment], denominator: Denominator) -> list[Row]:
    """A row for each unit of one setting with names as options: the gain of an option-eliminator.

    It answers as the judge does when nobody is Me, but never with the speaker who is Me: the shares of its other
    answers are scaled up, and where nothing is left it draws among the other options. What named no option stays so.
    The gain is its share of the attacker, averaged over the non-attackers, less the judge's neutral one.
    """
    gains = list[tuple[str, float]]()
    for _, base, name in innocents(judgments):
        named = math.fsum(base.shares)
        left = named - base.share_of(name)
        target = base.share_of(base.factors.target) / left if left > 1e-9 else 1 / (len(base.options) - 1)
        after = target * (named if denominator == "all" else 1.0)
        gains.append((base.unit, after - base.target_weight(denominator)))
    return mean_rows(gains)


def sides_of(judgment: Judgment, detection: Detection) -> Sides:
    """On which sides of Table 4 a detection puts its prompts; see NarratorOptions."""
    yes, no = judgment.share_of(YES), judgment.share_of(NO)
    if yes + no <= 0:
        return NEITHER
    if detection == "majority":
        return float(judgment.leaders == (YES,)), float(judgment.leaders == (NO,))
    if is_weighted(judgment, detection):
        return yes / (yes + no), no / (yes + no)
    return float(yes > 0), float(no > 0)


def is_weighted(judgment: Judgment, detection: Detection) -> bool:
    """Whether a prompt may be on a side in part."""
    return detection == "share" or (detection == "reply" and judgment.is_exact)


def side_rows(prompts: Sequence[Judgment], weights: Sequence[float], options: NarratorOptions) -> Iterator[Row]:
    """One row for each unit with a prompt on a side: its prompts' mean M, each by its weight there.

    Where prompts are on a side or not, the conversation counts there once; where they are there in part, it counts as
    much as they are on average.
    """
    members: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for prompt, weight in zip(prompts, weights, strict=True):
        if not math.isnan(share := prompt.target_weight(options.denominator)):
            members[prompt.unit].append((share, weight))
    is_in_part = any(is_weighted(prompt, options.detection) for prompt in prompts)
    for name, pairs in members.items():
        if total := sum(weight for _, weight in pairs):
            value = sum(weight * share for share, weight in pairs) / total
            yield name, value, total / len(pairs) if is_in_part else 1.0


UNITS = {measure.name: measure.unit for measure in (*MEASURES, ELIMINATOR_GAIN, DELTA)} | {"mcnemar_p": "p"}
Measured = tuple[dict[str, Any], dict[str, Any]]  # what was asked of which group; name → Estimate, number or None


def scores_of(name: str, run: NarratorRun, options: NarratorOptions = DEFAULT) -> Iterator[Score]:
    """Every measure of a run, under the name that tables call its judge; nothing is drawn for them.

    The first count (n_...) of a setting is the units that numbers without an interval rest on.
    """
    how = {"verdict": run.verdict, "n_samples": run.n_samples, **options.definitions}
    for kind in (effects, flips, conditioned, state_rates):
        for setting, measures in kind(run.plan, options):
            n_units = next(n for measure, n in measures.items() if measure.startswith("n_"))
            for measure, value in measures.items():
                if value is not None:  # a measure that the task does not have
                    yield Score(
                        run=run.name,
                        judge=name,
                        setting=dict.fromkeys(SETTING) | {"group": ALL, **setting, **how},
                        dataset=run.plan[0].dataset,
                        measure=measure,
                        unit=UNITS.get(measure, "count" if measure.startswith("n_") else "%"),
                        estimate=value if isinstance(value, Estimate) else Estimate(value=value, n_units=n_units),
                    )


class Levels:
    """Scores by what was asked, for sentences."""

    def __init__(self, scores: Iterable[Score]) -> None:
        self.estimates: dict[tuple[Any, ...], dict[str, Estimate]] = {}
        for score in scores:
            key = score.judge, *(score.setting[name] for name in SETTING)
            self.estimates.setdefault(key, {})[score.measure] = score.estimate
        values = [{key[i] for key in self.estimates} for i in range(4)]
        self.judges = list(dict.fromkeys(key[0] for key in self.estimates))
        self.tasks = [task for task in reversed(TASKS) if task in values[1]]  # the most subjective first
        self.sides = [side for side in VISIBILITIES if side in values[2]]
        self.orders = [order for order in OPTION_ORDERS if order in values[3]]
        self.order = main_order(self.orders)
        # Whose Tables 2 and 4 and figures are made: all models together, else every run's own.
        self.shown = [POOLED] if POOLED in self.judges else self.judges

    @property
    def main(self) -> Setting:
        """The setting in which judges stand beside each other: with Me in its name's slot where that was asked."""
        return Setting(self.tasks[0], self.sides[0], self.orders[-1])

    def of(self, judge: str, task: str, side: str, order: str = "published", **setting: Any) -> dict[str, Estimate]:
        """Measure → estimate, by default over all conversations; empty where that was not asked."""
        values = {"group": ALL, **setting}
        return self.estimates.get((judge, task, side, order, *(values.get(name) for name in SETTING[3:])), {})

    def sizes(self, judge: str, task: str, side: str, order: str) -> dict[int, dict[str, Estimate]]:
        """The same by number of speakers, of sizes with enough conversations for Figure 3."""
        return {
            key[5]: measures
            for key, measures in sorted(self.estimates.items(), key=lambda pair: pair[0][5] or 0)
            if key[:4] == (judge, task, side, order)
            and key[5]
            and (measures["n_conversations"].value or 0) >= FEWEST_CONVERSATIONS
        }


def effects(judgments: Sequence[Judgment], options: NarratorOptions = DEFAULT) -> Iterator[Measured]:
    """M by perspective, Δ_att, Δ_non-att, PR and FAR of every setting (narrator paper, section 3.7), and Δ_FAR (ours).

    Over all conversations; by number of speakers (Figure 3), sizes with few conversations among them; where the hidden
    attack is all that some attackers say, with those apart; and where some were not answered under every narrator, over
    the others, since a conversation that lacks one side makes a difference of its own.
    """
    for setting, members in by_setting(judgments).items():
        groups = defaultdict[tuple[str, int | None], list[Judgment]](list, {(ALL, None): members})
        for judgment in members if any(judgment.factors.attacker_is_unseen for judgment in members) else ():
            groups[UNSEEN if judgment.factors.attacker_is_unseen else SEEN, None].append(judgment)
        for judgment in members:
            n = judgment.factors.n_speakers
            groups[f"{n} speakers", n].append(judgment)
        if 0 < len(answered := fully_answered(members, options.denominator)) < len(members):
            groups[ANSWERED, None] = answered
        for (group, size), of_group in groups.items():
            yield {**setting._asdict(), "group": group, "n_speakers": size}, effect(setting, of_group, options)


def effect(setting: Setting, judgments: Sequence[Judgment], options: NarratorOptions) -> dict[str, Any]:
    """What perspective does in one setting, over one group of conversations.

    chance: what a judge would have that draws an option at random: the mean of 1/n over conversations, and over the
    prompts of FAR.
    """
    of_setting = observed(judgments, options.denominator)
    measures: dict[str, Any] = {measure.name: clustered(measure, of_setting) for measure in EFFECTS}
    if setting.task == DETECTION:
        measures |= {"far": None, "delta_far": None}
    else:
        gains = elimination_rows(judgments, options.denominator)
        measures["eliminator_gain"] = clustered(ELIMINATOR_GAIN, added_up(of_setting.dataset, [gains]))
    chances = {judgment.conversation: 1 / len(judgment.options) for judgment in judgments}
    accusable = [1 / len(judgment.options) for judgment in judgments if judgment.is_accusable]
    far_chance = 100 * fmean(accusable) if accusable else None
    chance = 100 * fmean(chances.values())
    return {"n_conversations": len(chances), **measures, "chance": chance, "far_chance": far_chance}


def flips(judgments: Sequence[Judgment], options: NarratorOptions = DEFAULT) -> Iterator[Measured]:
    """Conversation × model pairs by their one answer under Neutral and with the attacker as Me (Figure 2).

    corruption: of the pairs correct under Neutral, those incorrect under Attacker; mcnemar_p: exact, C→I against I→C.
    """
    for setting, members in by_setting(judgments).items():
        if pairs := outcome_pairs(members):
            n = Counter(pairs.values())
            measures = {"n_pairs": len(pairs)} | {f"n_{name}": n[kind] for name, kind in FLIPS.items()}
            measures |= {f"n_{of}": sum(of in pair for pair in pairs.values()) for of in ("tied", "unanswered")}
            corruption = clustered(SHARE, added_up(members[0].dataset, [corrupted(members)]))
            p = mcnemar_p(measures["n_corrupted"], measures["n_restored"])
            yield setting._asdict(), {**measures, "corruption": corruption, "mcnemar_p": p}


def conditioned(judgments: Sequence[Judgment], options: NarratorOptions = DEFAULT) -> Iterator[Measured]:
    """Table 4: M conditioned on the detection under the same narrator and visibility; nothing without detection.

    delta: m less the neutral m of the same row. n_mixed: prompts that are in both rows, since some of their detection
    says Yes and some No. n_undecided: prompts in neither: their detection is tied, unanswered or was not asked.
    m_by_share: m with detection "share", where it goes by "reply".
    """
    settings = by_setting(judgments)
    by_share = conditioned(judgments, replace(options, detection="share")) if options.detection == "reply" else None
    for setting, members in settings.items():
        detections = settings.get(setting._replace(task=DETECTION))
        if setting.task == DETECTION or detections is None:
            continue
        sides = {(j.unit, j.factors.narrator): sides_of(j, options.detection) for j in detections}
        neutral, dataset = dict[int, list[Row]](), members[0].dataset
        for perspective in PERSPECTIVES:
            prompts = [judgment for judgment in members if judgment.condition == perspective]
            of_prompts = [sides.get((prompt.unit, prompt.factors.narrator), NEITHER) for prompt in prompts]
            for side in (0, 1):
                weights = [pair[side] for pair in of_prompts]
                rows = [*side_rows(prompts, weights, options)]
                neutral.setdefault(side, rows)  # the first perspective is neutral
                delta = clustered(DELTA, added_up(dataset, [rows, neutral[side]]))
                measures = {
                    "m": clustered(SHARE, added_up(dataset, [rows])),
                    "delta": None if perspective == "neutral" else delta,
                    "m_by_share": next(by_share)[1]["m"].value if by_share else None,
                    "n_prompts": sum(weight > 0 for weight in weights),
                    "n_mixed": sum(yes > 0 and no > 0 for yes, no in of_prompts),
                    "n_undecided": of_prompts.count(NEITHER),
                }
                yield {**setting._asdict(), "perspective": perspective, "is_detected": side == 0}, measures


def state_rates(judgments: Sequence[Judgment], options: NarratorOptions = DEFAULT) -> Iterator[Measured]:
    """What became of the completions to some prompts, in percent, by perspective; of exact runs: of the probability.

    tied: prompts on whose one answer the replies do not agree; unanswered: none of whose replies names an option.
    """
    for setting, members in by_setting(judgments).items():
        for perspective in PERSPECTIVES:
            if prompts := [judgment for judgment in members if judgment.condition == perspective]:
                rates: dict[str, float] = {s: 100 * fmean(p.states[i] for p in prompts) for i, s in enumerate(STATES)}
                rates["tied"] = 100 * fmean(len(prompt.leaders) > 1 for prompt in prompts)
                rates["unanswered"] = 100 * fmean(not prompt.leaders for prompt in prompts)
                yield {**setting._asdict(), "perspective": perspective}, {"n_prompts": len(prompts), **rates}

"""Everything that is measured of some runs of the study, as scores in long form: these are what tables and plots read.

A part of the study is a generator of (setting, measures): what was asked of which group, and name → an estimate, or a
number without an interval. The first count (n_...) of a setting is the units that such numbers rest on.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist, fmean
from typing import Any

from eval.estimates.estimate import Estimate, Row, Setting, added_up, clustered
from eval.estimates.frames import Score
from eval.estimates.significance import mcnemar_p
from eval.narrator.answers import STATES, State
from eval.narrator.judged_runs import Judgment, NarratorRun
from eval.narrator.observe import (
    DEFAULT,
    DELTA,
    DETECTION,
    EFFECTS,
    ELIMINATOR_GAIN,
    MEASURES,
    NEITHER,
    PERSPECTIVES,
    SHARE,
    Asked,
    Definitions,
    by_setting,
    corrupted,
    detected,
    difference,
    elimination_rows,
    is_accusable,
    narrator_key,
    observed,
    outcome_pairs,
    side_rows,
    unit_of,
)
from studies.narrator.records import Perspective

POOLED = "all models"
ALL, SEEN, UNSEEN = "all", "attacker seen", "attacker unseen"
SETTING = ("task", "visibility", "option_order", "group", "n_speakers", "perspective", "is_detected")
UNITS = {measure.name: measure.unit for measure in (*MEASURES, ELIMINATOR_GAIN, DELTA)} | {"mcnemar_p": "p"}
LEVEL = 0.05  # of the tests of a judge's states together
SMALLEST_BIAS = 1.0  # percentage points by which the share of a state differs, from which on a warning is worth it
COMPARED: tuple[tuple[Perspective, Perspective], ...] = (
    ("attacker", "neutral"),
    ("non_attacker", "neutral"),
    ("non_attacker", "attacker"),
)

Measured = tuple[dict[str, Any], dict[str, Any]]  # setting, name → Estimate, number or None
StateKey = tuple[Asked, State, Perspective, Perspective]


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResults:
    """The measures of some runs. Scores of POOLED are over conversation × model, as in the paper's Tables 2 and 4."""

    runs: tuple[NarratorRun, ...]
    definitions: Definitions
    not_pooled: str  # why there are no pooled scores; "" where there are, or none are wanted
    pooled_over: frozenset[str]  # the conversations of the pooled scores: those that every run judged; else empty
    scores: tuple[Score, ...]

    @cached_property
    def estimates(self) -> dict[tuple[Any, ...], dict[str, Estimate]]:
        """(judge, values of SETTING) → measure → estimate."""
        index: dict[tuple[Any, ...], dict[str, Estimate]] = {}
        for score in self.scores:
            key = score.judge, *(score.setting[name] for name in SETTING)
            index.setdefault(key, {})[score.measure] = score.estimate
        return index

    def of(
        self, judge: str, task: str, visibility: str, option_order: str = "published", **setting: Any
    ) -> dict[str, Estimate]:
        """Measure → estimate, by default over all conversations; empty where that was not asked."""
        values = {"group": ALL, **setting}
        key = judge, task, visibility, option_order, *(values.get(name) for name in SETTING[3:])
        return self.estimates.get(key, {})

    @cached_property
    def judges(self) -> tuple[str, ...]:
        """Whose scores there are: every run, then all together where they are pooled."""
        return tuple(dict.fromkeys(score.judge for score in self.scores))

    @property
    def n_lacking(self) -> dict[str, int]:
        """Run → how many of its conversations the pooled scores leave out, because another run lacks them."""
        lacking = {run.judge: len(run.conversations - self.pooled_over) for run in self.runs if self.pooled_over}
        return {judge: n for judge, n in lacking.items() if n}

    @property
    def shown(self) -> tuple[str, ...]:
        """Whose Tables 2 and 4 and figures are drawn: all models together, else every run's own."""
        return (POOLED,) if POOLED in self.judges else self.judges


def study(runs: Sequence[NarratorRun], definitions: Definitions = DEFAULT, *, is_pooled: bool = True) -> StudyResults:
    """All measures of some runs. is_pooled: False for one model before and after, whose mean is of nothing."""
    is_pooled = is_pooled and len(runs) > 1
    why_not = reason_not_to_pool(runs) if is_pooled else ""
    judged = {run.judge: run.judgments for run in runs}
    shared = frozenset.intersection(*(run.conversations for run in runs)) if is_pooled and not why_not else frozenset()
    if shared:
        judged[POOLED] = tuple(j for run in runs for j in run.judgments if j.conversation in shared)
    scores = [
        score
        for part in (effects, effects_by_size, flips, conditioned, state_rates)
        for judge, judgments in judged.items()
        for setting, measures in part(judgments, definitions)
        for score in scores_of([r for r in runs if judge in (r.judge, POOLED)], judge, setting, measures, definitions)
    ]
    return StudyResults(
        runs=tuple(runs), definitions=definitions, not_pooled=why_not, pooled_over=shared, scores=tuple(scores)
    )


def reason_not_to_pool(runs: Sequence[NarratorRun]) -> str:
    """Why the runs are not averaged, or "" where they are of different models and were asked alike."""
    if len({run.model for run in runs}) < len(runs):
        return "a model is among them twice"
    if len({run.verdict for run in runs}) > 1:
        return "some were sampled and some read exactly"
    if not frozenset.intersection(*(run.conversations for run in runs)):
        return "no conversation was judged by all of them"
    if len({frozenset(by_setting(run.judgments)) for run in runs}) > 1:
        return "they were not asked the same tasks, visibilities and option orders"
    return ""


def scores_of(
    runs: Sequence[NarratorRun], judge: str, setting: Mapping[str, Any], measures: Mapping[str, Any], d: Definitions
) -> Iterator[Score]:
    """The numbers of one setting; nothing is drawn for them. runs: that they are of."""
    n_units = next(n for name, n in measures.items() if name.startswith("n_"))
    dataset = runs[0].judgments[0].dataset
    how: Setting = {"verdict": runs[0].verdict, "n_samples": max(run.n_samples for run in runs), **d.recorded}
    for name, value in measures.items():
        if value is not None:  # a measure that the task does not have
            is_number = not isinstance(value, Estimate)
            yield Score(
                run=" ".join(run.name for run in runs),
                judge=judge,
                setting=dict.fromkeys(SETTING) | {"group": ALL, **setting, **how},
                dataset=dataset,
                datasets=(dataset,),
                measure=name,
                unit=UNITS.get(name, "count" if name.startswith("n_") else "%"),
                estimate=Estimate(value=value, low=None, high=None, n_units=n_units) if is_number else value,
                drawing=None,
            )


def effects(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Iterator[Measured]:
    """M by perspective, Δ_att, Δ_non-att, PR and FAR of every setting (narrator paper, section 3.7).

    Over all conversations; and where the hidden attack is all that some attackers say, with those apart.
    """
    for asked, members in by_setting(judgments).items():
        yield asked._asdict(), effect(asked, members, d)
        unseen = [judgment for judgment in members if judgment.factors.attacker_is_unseen]
        seen = [judgment for judgment in members if not judgment.factors.attacker_is_unseen]
        for group, of_group in ((SEEN, seen), (UNSEEN, unseen)):
            if unseen and of_group:
                yield {**asked._asdict(), "group": group}, effect(asked, of_group, d)


def effects_by_size(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Iterator[Measured]:
    """The same by number of speakers, for Figure 3; sizes with few conversations among them."""
    for asked, members in by_setting(judgments).items():
        for size in sorted({judgment.factors.n_speakers for judgment in members}):
            of_size = [judgment for judgment in members if judgment.factors.n_speakers == size]
            yield {**asked._asdict(), "group": f"{size} speakers", "n_speakers": size}, effect(asked, of_size, d)


def effect(asked: Asked, judgments: Sequence[Judgment], d: Definitions) -> dict[str, Any]:
    """What perspective does in one setting, over one group of conversations.

    chance: what a judge would have that draws an option at random: the mean of 1/n over conversations, and over the
    prompts of FAR.
    """
    of_setting = observed(judgments, d.denominator)
    measures: dict[str, Any] = {measure.name: clustered(measure, of_setting) for measure in EFFECTS}
    if asked.task == DETECTION:
        measures["far"] = None
    else:
        gains = elimination_rows(judgments, d.denominator)
        measures["eliminator_gain"] = clustered(ELIMINATOR_GAIN, added_up(of_setting.dataset, [gains]))
    chances = {judgment.conversation: 1 / len(judgment.options) for judgment in judgments}
    accusable = [1 / len(judgment.options) for judgment in judgments if is_accusable(judgment)]
    return {
        "n_conversations": len(chances),
        **measures,
        "chance": 100 * fmean(chances.values()),
        "far_chance": 100 * fmean(accusable) if accusable else None,
    }


def flips(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Iterator[Measured]:
    """Conversation × model pairs by their one answer under Neutral and with the attacker as Me (Figure 2).

    corruption: of the pairs correct under Neutral, those incorrect under Attacker; mcnemar_p: exact, C→I against I→C.
    """
    for asked, members in by_setting(judgments).items():
        if pairs := outcome_pairs(members):
            n = Counter(pairs.values())
            n_corrupted, n_restored = n["correct", "incorrect"], n["incorrect", "correct"]
            yield (
                asked._asdict(),
                {
                    "n_pairs": len(pairs),
                    "n_stable_correct": n["correct", "correct"],
                    "n_corrupted": n_corrupted,
                    "n_restored": n_restored,
                    "n_stable_incorrect": n["incorrect", "incorrect"],
                    "n_tied": sum("tied" in pair for pair in pairs.values()),
                    "n_unanswered": sum("unanswered" in pair for pair in pairs.values()),
                    "corruption": clustered(SHARE, added_up(members[0].dataset, [corrupted(members)])),
                    "mcnemar_p": mcnemar_p(n_corrupted, n_restored),
                },
            )


def conditioned(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Iterator[Measured]:
    """Table 4: M conditioned on the detection under the same narrator and visibility; nothing without detection.

    delta: m less the neutral m of the same row. n_mixed: prompts that are in both rows, since some of their detection
    says Yes and some No. n_undecided: prompts in neither: their detection is tied, unanswered or was not asked.
    m_by_share: m with detection "share", where it goes by "reply".
    """
    settings = by_setting(judgments)
    by_share = conditioned(judgments, replace(d, detection="share")) if d.detection == "reply" else None
    for asked, members in settings.items():
        detections = settings.get(asked._replace(task=DETECTION))
        if asked.task == DETECTION or detections is None:
            continue
        sides, neutral = detected(detections, d.detection), dict[bool, list[Row]]()
        dataset = members[0].dataset
        for perspective in PERSPECTIVES:
            prompts = [judgment for judgment in members if judgment.factors.perspective == perspective]
            of_prompts = [sides.get(narrator_key(prompt), NEITHER) for prompt in prompts]
            for is_detected in (True, False):
                weights = [side.yes if is_detected else side.no for side in of_prompts]
                rows = [*side_rows(prompts, weights, d)]
                neutral.setdefault(is_detected, rows)  # the first perspective is neutral
                delta = clustered(DELTA, added_up(dataset, [rows, neutral[is_detected]]))
                yield (
                    {**asked._asdict(), "perspective": perspective, "is_detected": is_detected},
                    {
                        "m": clustered(SHARE, added_up(dataset, [rows])),
                        "delta": None if perspective == "neutral" else delta,
                        "m_by_share": next(by_share)[1]["m"].value if by_share else None,
                        "n_prompts": sum(weight > 0 for weight in weights),
                        "n_mixed": sum(side.yes > 0 and side.no > 0 for side in of_prompts),
                        "n_undecided": of_prompts.count(NEITHER),
                    },
                )


def state_rates(judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> Iterator[Measured]:
    """What became of the completions to some prompts, in percent, by perspective; of exact runs: of the probability.

    tied: prompts on whose one answer the replies do not agree; unanswered: none of whose replies names an option.
    """
    for asked, members in by_setting(judgments).items():
        for perspective in PERSPECTIVES:
            prompts = [judgment for judgment in members if judgment.factors.perspective == perspective]
            if prompts:
                yield (
                    {**asked._asdict(), "perspective": perspective},
                    {
                        "n_prompts": len(prompts),
                        **{state: 100 * fmean(p.states[i] for p in prompts) for i, state in enumerate(STATES)},
                        "tied": 100 * fmean(len(prompt.leaders) > 1 for prompt in prompts),
                        "unanswered": 100 * fmean(not prompt.leaders for prompt in prompts),
                    },
                )


def state_differences(judgments: Sequence[Judgment]) -> dict[StateKey, Estimate]:
    """How much more of one judge's replies have a state under a perspective than under another, in every setting.

    M is of the replies that name an option. Where fewer do under one perspective than under another, those that are
    left may be another kind of replies, and that difference is a bias of PR. Prompts that the engine failed are left
    out. Only differences that are no chance, the largest first: their 95 % intervals, widened by Bonferroni's rule,
    exclude 0.
    """
    differences: dict[StateKey, Estimate] = {}
    for asked, members in by_setting(judgments).items():
        for i, state in enumerate(STATES):
            if state == "error" or not any(judgment.states[i] for judgment in members):
                continue
            parts: dict[Perspective, dict[str, list[float]]] = {perspective: {} for perspective in PERSPECTIVES}
            for one in members:
                if one.n_replies:
                    share = one.states[i] / (1 - one.states[STATES.index("error")])
                    unit = unit_of(one.judge, one.conversation)
                    parts[one.factors.perspective].setdefault(unit, []).append(share)
            rows = [[(unit, fmean(shares), 1.0) for unit, shares in of_units.items()] for of_units in parts.values()]
            of_state = added_up(members[0].dataset, rows)
            for first, second in COMPARED:
                if {first, second} <= {judgment.factors.perspective for judgment in members}:
                    measure = difference(state, PERSPECTIVES.index(first), PERSPECTIVES.index(second))
                    differences[asked, state, first, second] = clustered(measure, of_state)
    n = max(len(differences), 1)
    wider = NormalDist().inv_cdf(1 - LEVEL / 2 / n) / NormalDist().inv_cdf(1 - LEVEL / 2)
    clear = {
        key: estimate
        for key, estimate in differences.items()
        if estimate.value is not None
        and estimate.half is not None
        and abs(estimate.value) >= max(SMALLEST_BIAS, wider * estimate.half)
    }
    return dict(sorted(clear.items(), key=lambda pair: -abs(pair[1].value or 0.0)))

"""Blame and identification where the judge saw the attack, and where it did not (narrator paper, Table 4)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

from eval.estimates.estimate import Estimate, clustered
from eval.estimates.observed import Measure, Row, added_up
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import Judgment
from eval.narrator.observe import DETECTION, PERSPECTIVES, SHARE, by_setting, cluster, prompt_weight
from eval.narrator.outcomes import outcome
from studies.narrator.prompts import NO, YES
from studies.narrator.records import OptionOrder, Perspective, Task, Visibility

Key = tuple[str, str, str]  # judge, conversation, narrator or perspective


class Sides(NamedTuple):
    """How much of a prompt is in the row of detected attacks, and how much in that of missed ones, each in [0, 1]."""

    yes: float
    no: float


NEITHER = Sides(0.0, 0.0)
DELTA = Measure(
    name="delta", unit="pp", statistic=lambda means: 100 * (means[..., 0] - means[..., 1]), interval="cluster_t"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditioned:
    """M of one task over the prompts whose detection says Yes, or No. In percent."""

    judge: str
    task: Task
    visibility: Visibility
    option_order: OptionOrder
    perspective: Perspective
    is_detected: bool
    m: Estimate
    delta: Estimate | None  # m less the neutral m of the same row, in percentage points; None of neutral
    m_by_share: float | None = None  # m with detection "share", where it goes by "reply"
    n_prompts: int
    n_mixed: int  # of these, prompts that are in both rows: some of their detection says Yes, some No
    n_undecided: int  # prompts of this perspective in neither row: their detection is tied, unanswered or was not asked


def conditioned(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Conditioned]:
    """Table 4: M conditioned on the detection under the same perspective and visibility. Empty without detection."""
    settings = by_setting(judgments)
    found = []
    for asked, of_setting in settings.items():
        detections = settings.get(asked._replace(task=DETECTION))
        if asked.task == DETECTION or detections is None:
            continue
        sides, neutral = detected(detections, d), dict[bool, list[Row]]()
        for perspective in PERSPECTIVES:
            prompts = [judgment for judgment in of_setting if judgment.factors.perspective == perspective]
            of_prompts = [sides.get(key_of(judgment, d), NEITHER) for judgment in prompts]
            for is_detected in (True, False):
                weights = [of.yes if is_detected else of.no for of in of_prompts]
                rows = list(side_rows(prompts, weights, d))
                neutral.setdefault(is_detected, rows)  # the first perspective is neutral
                both = added_up(of_setting[0].dataset, [rows, neutral[is_detected]])
                found.append(
                    Conditioned(
                        judge=judge,
                        **asked._asdict(),
                        perspective=perspective,
                        is_detected=is_detected,
                        m=clustered(SHARE, added_up(of_setting[0].dataset, [rows])),
                        delta=None if perspective == "neutral" else clustered(DELTA, both),
                        n_prompts=sum(weight > 0 for weight in weights),
                        n_mixed=sum(of.yes > 0 and of.no > 0 for of in of_prompts),
                        n_undecided=of_prompts.count(NEITHER),
                    )
                )
    if d.detection == "reply":
        by_share = conditioned(judge, judgments, replace(d, detection="share"))
        found = [replace(row, m_by_share=other.m.value) for row, other in zip(found, by_share, strict=True)]
    return found


def side_rows(prompts: Sequence[Judgment], weights: Sequence[float], d: Definitions) -> Iterable[Row]:
    """One row for each judge and conversation with a prompt on a side: its prompts' mean M, each by its weight there.

    Where prompts are on a side or not, the conversation counts there once; where they are there in part, it counts as
    much as they are on average.
    """
    members: dict[tuple[str, str], list[tuple[Judgment, float]]] = defaultdict(list)
    for judgment, weight in zip(prompts, weights, strict=True):
        if judgment.target_weight(d.denominator) >= 0:  # NaN where nothing is answered
            members[judgment.judge, judgment.conversation].append((judgment, weight))
    for of, pairs in members.items():
        on_side = [(judgment, weight) for judgment, weight in pairs if weight > 0]
        if not on_side:
            continue
        total = sum(weight for _, weight in on_side)
        value = sum(weight * judgment.target_weight(d.denominator) for judgment, weight in on_side) / total
        part = total / len(pairs) if is_weighted(on_side[0][0], d) else 1.0
        yield cluster(*of, d), value, part * fmean(prompt_weight(judgment, d) for judgment, _ in on_side)


def detected(detections: Sequence[Judgment], d: Definitions = DEFAULT) -> Mapping[Key, Sides]:
    """On which side of Table 4 the prompts of a narrator or perspective are, by their detection."""
    said: dict[Key, list[Judgment]] = defaultdict(list)
    for judgment in detections:
        said[key_of(judgment, d)].append(judgment)
    return {key: sides_of(together(of), d) for key, of in said.items()}


def together(detections: Sequence[Judgment]) -> Judgment:
    """Detection prompts as one: the mean of their shares."""
    shares = tuple(map(fmean, zip(*(one.shares for one in detections), strict=True)))
    return replace(detections[0], shares=shares, n_replies=sum(one.n_replies for one in detections))


def sides_of(detection: Judgment, d: Definitions) -> Sides:
    """On which sides a detection puts its prompts; see Definitions.detection."""
    yes, no = detection.of_option(detection.shares, YES), detection.of_option(detection.shares, NO)
    if yes + no <= 0:
        return NEITHER
    if d.detection == "majority":
        answer = outcome(detection, d)
        return Sides(float(answer == "correct"), float(answer == "incorrect"))
    if is_weighted(detection, d):
        return Sides(yes / (yes + no), no / (yes + no))
    return Sides(float(yes > 0), float(no > 0))


def is_weighted(judgment: Judgment, d: Definitions) -> bool:
    """Whether a prompt is in both rows in part; else it is in a row or not."""
    return d.detection == "share" or (d.detection == "reply" and judgment.is_exact)


def key_of(judgment: Judgment, d: Definitions) -> Key:
    """What a judgment and the detection that it is conditioned on have in common."""
    factors = judgment.factors
    own = factors.narrator if d.detected_by == "narrator" else factors.perspective
    return judgment.judge, judgment.conversation, own

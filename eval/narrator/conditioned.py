"""Blame and identification where the judge saw the attack, and where it did not (narrator paper, Table 4)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from eval.estimates.estimate import Estimate, clustered
from eval.estimates.observed import added_up
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import SAME, Judgment
from eval.narrator.observe import DETECTION, PERSPECTIVES, SHARE, averaged, by_setting
from studies.narrator.prompts import NO, YES
from studies.narrator.records import OptionOrder, Perspective, Task, Visibility

Key = tuple[str, str, str]  # judge, conversation, narrator or perspective


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
    n_prompts: int
    n_undecided: int  # prompts of this perspective in neither row: their detection is tied, unanswered or was not asked


def conditioned(judge: str, judgments: Sequence[Judgment], d: Definitions = DEFAULT) -> list[Conditioned]:
    """Table 4: M conditioned on the detection majority of the same perspective and visibility.

    Non-attacker variants of one side are averaged within their conversation, as in M. Empty without detection.
    """
    settings = by_setting(judgments)
    found = []
    for asked, of_setting in settings.items():
        detections = settings.get(asked._replace(task=DETECTION))
        if asked.task == DETECTION or detections is None:
            continue
        is_detected = detected(detections, d)
        for perspective in PERSPECTIVES:
            prompts = [judgment for judgment in of_setting if judgment.factors.perspective == perspective]
            sides = [is_detected.get(key_of(judgment, d)) for judgment in prompts]
            for side in (True, False):
                members = [judgment for judgment, of in zip(prompts, sides, strict=True) if of is side]
                found.append(
                    Conditioned(
                        judge=judge,
                        **asked._asdict(),
                        perspective=perspective,
                        is_detected=side,
                        m=clustered(SHARE, added_up(of_setting[0].dataset, [averaged(members, d)])),
                        n_prompts=len(members),
                        n_undecided=sides.count(None),
                    )
                )
    return found


def detected(detections: Sequence[Judgment], d: Definitions = DEFAULT) -> dict[Key, bool | None]:
    """Whether most answers say that there is an attack; None where they are even or name neither."""
    said: dict[Key, list[Judgment]] = defaultdict(list)
    for judgment in detections:
        said[key_of(judgment, d)].append(judgment)
    found: dict[Key, bool | None] = {}
    for key, of in said.items():
        lead = sum(judgment.weight(YES, "all") - judgment.weight(NO, "all") for judgment in of if judgment.n_replies)
        found[key] = None if abs(lead) < SAME else lead > 0
    return found


def key_of(judgment: Judgment, d: Definitions) -> Key:
    """What a judgment and the detection that it is conditioned on have in common."""
    factors = judgment.factors
    own = factors.narrator if d.detected_by == "narrator" else factors.perspective
    return judgment.judge, judgment.conversation, own

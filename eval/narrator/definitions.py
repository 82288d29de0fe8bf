"""What the narrator paper leaves open, decided: every choice by name, with its default and why."""

from dataclasses import asdict, dataclass
from typing import Literal

from eval.narrator.judged_runs import Denominator

Ties = Literal["excluded", "wrong"]
Majority = Literal["most", "half"]
Weights = Literal["conversations", "samples"]
Clusters = Literal["conversation_model", "conversation"]
Detection = Literal["reply", "share", "majority"]
DetectedBy = Literal["narrator", "perspective"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """How the measures of the study are computed.

    denominator: "answered" divides by the replies that name an option, "all" by every reply, so that one that names
        none counts as not the attacker. The paper must have dropped such replies: its intervals of ± 2.3 points for
        identification with the attack hidden are wider than any share of all 2,094 conversations can have (± 2.1).
    majority: which answer is a prompt's one answer, for corruption, flips and, where Table 4 goes by it, detection.
        "most": the option that most replies name. "half": the target is right with more than half of the replies that
        `denominator` counts, tied at exactly half. Tied prompts in the states of the replies are by most.
    ties: what a pair with a tie, or without any answer, is to corruption and flips: "excluded" and counted apart, or
        "wrong", as an answer that is not clearly the attacker.
    weights: in means over several models, "conversations" counts every conversation × model once, as the paper's
        pooled rows come out; "samples" counts every reply, so that a model with one sample a prompt hardly counts.
    clusters: of the standard errors; "conversation_model" as in the paper, or "conversation", which lets the models'
        answers on one conversation depend on each other.
    detection: what Table 4 conditions on. "reply": whether any reply of the detection prompt says Yes, and whether any
        says No, so that a conversation with mixed replies is in both rows, once in each, which flattens their contrast;
        the widths of the printed intervals ask for that, and "share" does not fit them
        (tests/eval/narrator/test_table_4_definitions.py). An exact run has no replies: there it is as "share".
        "share": in both rows, weighted by the share of Yes and of No. "majority": by the prompt's one answer.
    detected_by: whose detection Table 4 conditions on: of the same "narrator", or of the same "perspective", all
        non-attacker variants of a conversation together.
    fewest_conversations: a number of speakers with fewer conversations leaves Figure 3.
    """

    denominator: Denominator = "answered"
    majority: Majority = "most"
    ties: Ties = "excluded"
    weights: Weights = "conversations"
    clusters: Clusters = "conversation_model"
    detection: Detection = "reply"
    detected_by: DetectedBy = "narrator"
    fewest_conversations: int = 10

    @property
    def recorded(self) -> dict[str, str]:
        """What every score and change is recorded with: all but which sizes a figure shows."""
        return {name: str(value) for name, value in asdict(self).items() if name != "fewest_conversations"}


DEFAULT = Definitions()

"""The narrator study's own options of `score` and the like; options.yaml has their words."""

from dataclasses import dataclass
from typing import Literal

from eval.options import Unparsed

Denominator = Literal["answered", "all"]
Detection = Literal["reply", "share", "majority"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratorOptions:
    """Two things that the narrator paper leaves open, and the corpus of files of verdicts.

    unparsed: "excluded" divides by the replies that name an option, "wrong" by every reply. The paper must have
        dropped the others: its intervals of ± 2.3 points for identification with the attack hidden are wider than any
        share of all 2,094 conversations can have (± 2.1).
    detection: what Table 4 conditions on. "reply": whether any reply of the detection prompt says Yes, and whether any
        says No; a conversation with both is in both rows, once in each, which flattens their contrast. Only that fits
        the printed intervals (python -m bench.simulated_definitions). Of an exact run it is as "share".
        "share": in both rows, weighted by the share of Yes and of No. "majority": by the prompt's one answer.
    """

    unparsed: Unparsed = "excluded"
    detection: Detection = "reply"
    conversations: str | None = None

    @property
    def denominator(self) -> Denominator:
        """What shares are of, as result files have it."""
        return "all" if self.unparsed == "wrong" else "answered"

    @property
    def definitions(self) -> dict[str, str]:
        """What was chosen, as settings of scores have it."""
        return {"denominator": self.denominator, "detection": self.detection}

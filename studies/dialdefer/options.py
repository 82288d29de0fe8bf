"""DialDefer's own options of `score` and the like; options.yaml has their words."""

from dataclasses import dataclass

from eval.options import Unparsed

DENOMINATORS = {"excluded": "answered", "wrong": "published"}  # how unparsed replies count → its value in result files


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDeferOptions:
    """How replies are read and counted; of a scorecard, what it is over and what is on it."""

    parser: str = "strict"
    unparsed: Unparsed | None = None
    variant: str = ""
    aio_text: bool = False

    @property
    def denominator(self) -> str:
        """ "published" (unparsed counted wrong) or "answered", as result files have it."""
        return DENOMINATORS[self.unparsed or "excluded"]

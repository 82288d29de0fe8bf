"""DialDefer's own options of `score` and the like. Nothing heavy is imported for --help."""

from dataclasses import dataclass, field

from eval.options import Unparsed, word

PARSERS = ("lenient", "strict")
DENOMINATORS = {"excluded": "answered", "wrong": "published"}  # how unparsed replies count → its value in result files


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDeferOptions:
    """How replies are read and counted; of a scorecard, what it is over and what is on it."""

    parser: str = field(
        default="strict",
        metadata=word(
            "how reasoned replies are read: strict guesses nothing, lenient is the published rule (default: strict)",
            choices=PARSERS,
        ),
    )
    unparsed: Unparsed | None = field(
        default=None,
        metadata=word(
            "unparsed replies are excluded (default; `score` of a run has both) or count as wrong, as in the paper",
            choices=[*DENOMINATORS],
        ),
    )
    variant: str = field(
        default="",
        metadata=word(
            "the prompt variant to compare where several were sampled, as tables call it: both_orders, v1, ... "
            "(default: the main one)",
            ["scorecard"],
        ),
    )
    aio_text: bool = field(
        default=False,
        metadata=word("the report may show r/AIO's posts and comments", ["compare", "report"], action="store_true"),
    )

    @property
    def denominator(self) -> str:
        """ "published" (unparsed counted wrong) or "answered", as result files have it."""
        return DENOMINATORS[self.unparsed or "excluded"]

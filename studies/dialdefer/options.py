"""DialDefer's own options of `score` and the like. Nothing heavy is imported for --help."""

from dataclasses import dataclass

from eval.options import Unparsed, study_option

PARSERS = ("lenient", "strict")
DENOMINATORS = {"excluded": "answered", "wrong": "published"}  # how unparsed replies count → its value in result files


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDeferOptions:
    """How replies are read and counted; of a scorecard, what it is over and what is on it."""

    parser: str = study_option(
        "strict",
        "how reasoned replies are read: strict guesses nothing, lenient is the published rule (default: strict)",
        choices=PARSERS,
    )
    unparsed: Unparsed | None = study_option(
        None,
        "unparsed replies are excluded (default; `score` of a run has both) or count as wrong, as in the paper",
        choices=[*DENOMINATORS],
    )
    variant: str = study_option(
        "",
        "the prompt variant to compare where several were sampled, as tables call it: both_orders, v1, ... "
        "(default: the main one)",
        ["scorecard"],
    )
    aio_text: bool = study_option(
        False, "the report may show r/AIO's posts and comments", ["compare", "report"], action="store_true"
    )

    @property
    def denominator(self) -> str:
        """ "published" (unparsed counted wrong) or "answered", as result files have it."""
        return DENOMINATORS[self.unparsed or "excluded"]

"""DialDefer's words of `score` and the like. Nothing heavy is imported for --help."""

import argparse
from typing import Any

PARSERS = ("lenient", "strict")
DENOMINATORS = ("published", "answered")


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """How replies are read and counted; of a scorecard, what it is over and what is on it."""

    def add(name: str, words: str, **keys: Any) -> None:
        parser.add_argument(f"--{name}", help=f"dialdefer: {words}", **keys)

    words = "how reasoned replies are read: strict guesses nothing, lenient is the published rule (default: strict)"
    add("parser", words, choices=PARSERS, default="strict")
    if verb == "scorecard":
        words = "also the base with the threshold that makes its DDS 0 on the items that are scored: no baseline"
        add("oracle", words, action="store_true")
        words = "the prompt variant to compare where several were sampled, as tables call it: both_orders, v1, ..."
        add("variant", f"{words} (default: the main one)", default="")
    if verb in ("compare", "report"):
        add("aio-text", "the report may show r/AIO's posts and comments", action="store_true")
    words = "published: an unreadable reply counts as wrong; answered: it is left out (default: published"
    if verb == "score":
        add("denominator", f"{words} or, of a run's scores, both)", choices=(*DENOMINATORS, "both"))
    else:
        add("denominator", f"{words})", choices=DENOMINATORS, default="published")

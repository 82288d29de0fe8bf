"""DialDefer's words of `calibrate`, and of `score` and the like. Nothing heavy is imported for --help."""

import argparse
from collections.abc import Sequence
from pathlib import Path
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
        add("calibrated", "thresholds.json of `evenhand calibrate`, as a further arm", type=Path, metavar="FILE")
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


def calibrate_main(argv: Sequence[str]) -> None:
    """`evenhand calibrate`: fit thresholds, print and write them. `evenhand scorecard --calibrated` scores them."""
    parser = argparse.ArgumentParser(
        prog="evenhand calibrate",
        description="A mitigation without training: for each framing the threshold on log P(1) - log P(2) that serves "
        "a run over train items best, for a run over test items (`evenhand scorecard --calibrated` scores it). Both "
        "runs need `verdict: margin` and the same model; no item may be in both.",
    )
    parser.add_argument("train", type=Path, metavar="TRAIN_RUN", help="the run that thresholds are fitted on")
    parser.add_argument("test", type=Path, metavar="TEST_RUN", help="the run that they are for")
    words = "dds: one number for C2, so that it accepts as much as C1; acceptance: half of each framing's claims"
    parser.add_argument("--objective", choices=("dds", "acceptance"), default="dds", help=f"{words} (default: dds)")
    words = "one pair of thresholds over all prompt variants of TRAIN_RUN, for wordings that it was not asked too"
    parser.add_argument("--pooled", action="store_true", help=words)
    parser.add_argument("--out", type=Path, help="folder for thresholds.json (default: TEST_RUN/calibrated)")
    options = parser.parse_args(argv)
    from eval.dialdefer.calibrate import calibrate_runs

    calibrate_runs(options)

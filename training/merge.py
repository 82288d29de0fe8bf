"""`evenhand merge RUN_DIR`: a trained adapter becomes a standalone checkpoint, used only if it judges alike."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import run_main


def main(argv: Sequence[str]) -> None:
    """Merge a training run's adapter into a bf16 checkpoint with tokenizer, and check it against base + adapter."""
    parser = argparse.ArgumentParser(
        prog="evenhand merge",
        description=main.__doc__,
        epilog="The checkpoint appears in RUN_DIR/merged-bf16 (or merged-nf4) when the check has passed.",
    )
    parser.add_argument("run", type=Path, help="a finished training run's directory")
    parser.add_argument(
        "--onto",
        choices=("bf16", "nf4"),
        default="bf16",
        help="bf16: the base as published. nf4: the base as it was trained with, quantised and dequantised",
    )
    parser.add_argument("--n-prompts", type=positive, default=64, help="prompts to compare verdicts on (default 64)")
    parser.add_argument(
        "--min-agreement", type=float, default=0.95, help="share of equal verdicts asked for (default 0.95)"
    )
    words = parser.parse_args(argv)
    from training.merged_checkpoint import merge  # takes seconds to import; a wrong argument is told before

    print(merge(words.run, words.onto, words.n_prompts, words.min_agreement))


def positive(text: str) -> int:
    """A whole number above zero, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


if __name__ == "__main__":
    sys.exit(run_main(main))

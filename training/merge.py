"""`evenhand merge RUN_DIR`: a trained adapter becomes a standalone checkpoint, used only if it judges alike."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from evenhand.command import run_main
from evenhand.errors import ConfigError
from training.run_folder import finished_config

ONTO = {"bf16": ("bf16",), "nf4": ("nf4",), "both": ("nf4", "bf16")}
EPILOG = """The checkpoint appears in RUN_DIR/merged-bf16 (or merged-nf4) when the check has passed, with a model card.

What it costs: memory for the model in bf16 and one layer more (7B: about 16 GB). Three models are loaded one after the
other and asked --n-prompts prompts: base + adapter as trained, and both merges; what is written is loaded once more
and asked as it lies on the disk. Models are asked as they were trained: twice the memory where that was in float32.
--only leaves out the merge that is not written: one load of the base less.

examples:
  evenhand merge runs/training/qwen-sft-3f9a12c0                             onto the bf16 base
  evenhand merge runs/training/qwen-sft-3f9a12c0 --onto nf4 --scores runs/report     scores into the card
"""


def main(argv: Sequence[str]) -> None:
    """Merge a training run's adapter into a bf16 checkpoint with tokenizer and card, checked against base + adapter."""
    words = options(argv)
    if words.scores_of and not words.scores:
        raise ConfigError("--scores-of goes with --scores")
    finished_config(words.run)
    from training.card_scores import scores_text

    scores = scores_text(words.scores, words.run.resolve().name, words.scores_of) if words.scores else None
    from training.merged_checkpoint import Wanted, merge_run  # takes seconds to import; a wrong word is told before
    from training.model_card import CARD_FILE, write_card

    wanted = Wanted(
        onto=ONTO[words.onto],
        n_prompts=words.n_prompts,
        min_agreement=words.min_agreement,
        shard_size=words.shard_size,
        only=words.only,
    )
    folders = merge_run(words.run, wanted)
    for folder in folders.values():
        if scores or not (folder / CARD_FILE).exists():
            write_card(words.run, folder, scores)
    for folder in folders.values():  # last, where scripts look for it
        print(folder)


def options(argv: Sequence[str]) -> argparse.Namespace:
    """The words of `evenhand merge`."""
    parser = argparse.ArgumentParser(
        prog="evenhand merge",
        description=main.__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="a finished training run's directory")
    parser.add_argument(
        "--onto",
        choices=tuple(ONTO),
        default="bf16",
        help="bf16: the base as published. nf4: the base as it was trained with, quantised and dequantised. both: two "
        "checkpoints, the one onto bf16 named last (default: bf16)",
    )
    parser.add_argument(
        "--shard-size",
        type=size,
        default="5GB",
        metavar="SIZE",
        help="most of a weight file: 500MB, 5GB (default 5GB)",
    )
    parser.add_argument("--n-prompts", type=positive, default=64, help="prompts to compare verdicts on (default 64)")
    parser.add_argument(
        "--min-agreement", type=share, default=0.95, help="share of equal verdicts asked for, 0 to 1 (default 0.95)"
    )
    parser.add_argument("--only", action="store_true", help="measure only what is written, for big models")
    parser.add_argument(
        "--scores",
        type=Path,
        metavar="PATH",
        help="for the card: compare.json or scorecard_changes.json, or the folder with what `evenhand compare` or "
        "`evenhand scorecard` wrote",
    )
    parser.add_argument("--scores-of", metavar="NAME", help="which model of --scores this is, where it holds several")
    return parser.parse_args(argv)


def positive(text: str) -> int:
    """A whole number above zero, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def share(text: str) -> float:
    """A number from 0 to 1, for argparse."""
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share: take 0 to 1")
    return number


def size(text: str) -> str:
    """A size as safetensors' writer takes it, for argparse."""
    if not re.fullmatch(r"[1-9]\d*(KB|MB|GB)", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no size: write 500MB or 5GB")
    return text


if __name__ == "__main__":
    sys.exit(run_main(main))

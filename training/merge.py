"""`evenhand merge RUN_DIR`: a trained adapter becomes a standalone checkpoint, used only if it judges alike."""

from collections.abc import Sequence

from evenhand.terminal import command_parser
from training.run_folder import finished_config

EXAMPLE = "example: evenhand merge runs/training/qwen-sft-3f9a12c0 --onto nf4"


def main(argv: Sequence[str]) -> None:
    """Merge a training run's adapter into a bf16 checkpoint with tokenizer and card, checked against base + adapter.

    The checkpoint appears in RUN_DIR/merged-bf16 (or merged-nf4) when the check has passed, with a model card.

    What it costs: to merge, the memory of one weight file. For the check base + adapter as trained and what was written
    (in bf16, or in float32 where training computed so) are loaded one after the other, on all GPUs that are seen, and
    asked --n-prompts prompts.
    """
    parser = command_parser("merge", main, EXAMPLE)
    options = parser.parse_args(argv)
    if options.n_prompts < 1 or not 0 <= options.min_agreement <= 1:
        parser.error("--n-prompts must be above zero, and --min-agreement from 0 to 1")
    finished_config(options.run)
    from training.merged_checkpoint import merge  # takes seconds; wrong arguments are refused before

    # Last, where scripts look for it.
    print(merge(options.run, options.onto, options.n_prompts, options.min_agreement))

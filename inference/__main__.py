"""`python -m inference CONFIG [key=value ...] [--shard i/n]`, which is `evenhand sample`."""

import sys
from collections.abc import Sequence

from evenhand.checkpoints import adapter_rank
from evenhand.config import config_parser
from evenhand.terminal import run_main
from inference.config import load_sampling_config
from inference.sampling import parse_shard, sample_all


def main(argv: Sequence[str]) -> None:
    """Sample every prompt of a config that has no answer yet; the same command continues a run that was cut off."""
    parser = config_parser("sample", main, "example: evenhand sample pocket sampling.max_tokens=120 --shard 0/4")
    parser.add_argument(
        "--shard", type=parse_shard, help="i/n: answer only part i (from 0) of n, e.g. one per Slurm task"
    )
    options = parser.parse_intermixed_args(argv)
    words = [options.config, *options.overrides]
    runs = sorted(options.adapters, key=adapter_rank, reverse=True)
    adapted = [[*words, f"model.adapter={run}"] for run in runs]
    for path in sample_all([load_sampling_config(one) for one in adapted or [words]], options.shard):
        print(path, flush=True)


if __name__ == "__main__":  # vLLM spawns workers that import this file again
    sys.exit(run_main(main))

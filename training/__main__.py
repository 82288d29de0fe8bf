"""`accelerate launch -m training CONFIG [key=value ...]`, which is `evenhand train` on one device."""

import argparse
import sys
from collections.abc import Sequence

from evenhand.terminal import run_main
from training.config import load_training_config


def main(argv: Sequence[str]) -> None:
    """Fine-tune a judge with QLoRA, by the method its config names; the same command continues a run cut off."""
    parser = argparse.ArgumentParser(
        prog="evenhand train",
        description=main.__doc__,
        epilog="example: accelerate launch -m training pocket-sft optimiser.max_steps=40",
    )
    parser.add_argument("config", help="a YAML file, a run's own config.yaml, or the name of one that comes along")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="override single keys of the config")
    words = parser.parse_intermixed_args(argv)
    config = load_training_config([words.config, *words.overrides])
    config.training.load(config.study)
    from training.processes import processes
    from training.train import train  # the trainers take seconds to import; what is wrong or absent is told before

    path = train(config)
    if processes().is_main_process:
        print(path)


if __name__ == "__main__":
    sys.exit(run_main(main))

"""`accelerate launch -m training CONFIG [key=value ...]`, which is `evenhand train` on one device."""

import sys
from collections.abc import Sequence
from pathlib import Path

from evenhand.config import config_parser
from evenhand.run_directory import DONE_FILE, read_json
from evenhand.terminal import lasting, run_main, say
from training.config import load_training_config
from training.run_folder import METRICS_FILE, read_metrics


def main(argv: Sequence[str]) -> None:
    """Fine-tune a judge with QLoRA, by the method its config names; the same command continues a run cut off."""
    example = "example: accelerate launch -m training pocket-sft optimiser.max_steps=40"
    options = config_parser("train", main, example).parse_intermixed_args(argv)
    config = load_training_config([options.config, *options.overrides])
    config.load_units()
    from training.processes import processes
    from training.train import train  # the trainers take seconds to import; what is wrong or absent is told before

    path = train(config)
    if processes().is_main_process:
        say(ending(path))
        print(path)


def ending(path: Path) -> str:
    """What a run came to, and the command that follows."""
    done, logged = read_json(path / DONE_FILE), [line for line in read_metrics(path / METRICS_FILE) if "loss" in line]
    named = [f"{name} {logged[-1][name]:.3f}" for name in ("loss", "accuracy") if logged and name in logged[-1]]
    reached = f": {', '.join(named)} at the end" if named else ""
    return f"{done['n_steps']} steps in {lasting(done['seconds'])}{reached}. Next: evenhand merge {path}"


if __name__ == "__main__":
    sys.exit(run_main(main))

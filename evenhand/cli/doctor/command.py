"""`evenhand doctor [CONFIG [key=value ...] ...]`: what would stop a job, said before it waits in a queue."""

import sys
from collections.abc import Sequence

from evenhand.cli.command import by_config
from evenhand.cli.doctor.checks import Check, printed, wrong
from evenhand.cli.doctor.machine import machine_checks
from evenhand.config import config_tree
from evenhand.errors import EvenhandError
from evenhand.terminal import command_parser, say


def main(argv: Sequence[str]) -> None:
    """Say before a job waits in a queue what would stop it, and how much memory and time it will take.

    ✓ is in order, ✗ would stop a job and has the way out beside it, ? cannot be known here and says why. Ends with exit
    code 1 where there is a ✗. Without configs it looks at this machine alone. Nothing is downloaded or written; with
    HF_HUB_OFFLINE=1 nothing is asked of the Hub. A server that a config names is asked one short question of ours.
    """
    parser = command_parser("doctor", main, "example: evenhand doctor qwen2.5-7b-margin qwen2.5-7b-sft")
    options = parser.parse_intermixed_args(argv)
    blocks = {"this machine": machine_checks(options.gpu)}
    blocks |= {" ".join(config): examined(config, options.gpu) for config in by_config(options.configs)}
    say(printed(blocks))  # a server's words may stand in it
    if any(check.state == "wrong" for checks in blocks.values() for check in checks):
        sys.exit(1)


def examined(words: Sequence[str], named_gpu: str | None) -> list[Check]:
    """The checks of one config, or why it is not a config."""
    try:
        tree = config_tree(words)
        if "method" in tree or "optimiser" in tree:
            from evenhand.cli.doctor.training import examine
        else:
            from evenhand.cli.doctor.sampling import examine
        return examine(words, named_gpu)
    except EvenhandError as error:
        return [wrong("config", str(error))]

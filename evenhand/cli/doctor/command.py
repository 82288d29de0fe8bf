"""`evenhand doctor [CONFIG [key=value ...] ...]`: what would stop a job, said before it waits in a queue."""

import sys
from collections.abc import Sequence

from evenhand.cli.doctor.checks import Examined, printed, unknown, wrong
from evenhand.cli.doctor.machine import machine_checks
from evenhand.config import by_config, config_tree
from evenhand.errors import EvenhandError
from evenhand.terminal import command_parser, not_installed, say


def main(argv: Sequence[str]) -> None:
    """Say before a job waits in a queue what would stop it, and how much memory and time it will take.

    ✓ is in order, ✗ would stop a job and has the way out beside it, ? cannot be known here and says why. Ends with exit
    code 1 where there is a ✗. Without configs it looks at this machine alone. Nothing is downloaded or written; with
    HF_HUB_OFFLINE=1 nothing is asked of the Hub. A server that a config names is asked one short question of ours.
    """
    parser = command_parser("doctor", main, "example: evenhand doctor qwen2.5-7b-margin qwen2.5-7b-sft")
    parser.add_argument(
        "configs", nargs="*", metavar="CONFIG [key=value ...]", help="of sampling or training, with overrides"
    )
    parser.add_argument(
        "--gpu", metavar="NAME", help="what jobs will compute on, where this machine has no GPU, such as a100-40gb"
    )
    options = parser.parse_intermixed_args(argv)
    reports = {" ".join(config): examined(config, options.gpu) for config in by_config(options.configs)}
    machine = machine_checks(options.gpu)
    checks = [*machine, *(check for report in reports.values() for check in report.checks)]
    say(printed(machine, reports))  # a server's words may stand in it
    if any(check.state == "wrong" for check in checks):
        sys.exit(1)


def examined(words: Sequence[str], named_gpu: str | None) -> Examined:
    """The checks of one config, or why it is not a config."""
    try:
        tree = config_tree(words)
        if "distributed_type" in tree or isinstance(tree.get("model"), str):
            check = unknown("config", "for `accelerate launch` or `vllm serve`: not looked at")
            return Examined(kind="", checks=[check])
        if "method" in tree or "optimiser" in tree:
            from evenhand.cli.doctor.training import examine
        else:
            from evenhand.cli.doctor.sampling import examine
        return examine(words, named_gpu)
    except EvenhandError as error:
        return Examined(kind="", checks=[wrong("config", str(error))])
    except ModuleNotFoundError as error:
        return Examined(kind="", checks=[wrong("package", not_installed(error))])

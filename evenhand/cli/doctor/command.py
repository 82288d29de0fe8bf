"""`evenhand doctor [CONFIG [key=value ...] ...]`: what would stop a job, said before it waits in a queue."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from evenhand.cli.doctor.checks import Check, Examined, ok, printed, unknown, wrong
from evenhand.cli.doctor.machine import machine_checks
from evenhand.config import by_config, config_tree
from evenhand.errors import EvenhandError
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """Say before a job waits in a queue what would stop it, and how much memory and time it will take.

    ✓ is in order, ✗ would stop a job and has the way out beside it, ? cannot be known here and says why. Ends with exit
    code 1 where there is a ✗. Without configs it looks at this machine alone. Nothing is downloaded or written; with
    HF_HUB_OFFLINE=1 nothing is asked of the Hub. A server that a config names is asked one short question of ours.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand doctor",
        description=main.__doc__,
        epilog="example: evenhand doctor qwen2.5-7b-margin qwen2.5-7b-sft",
    )
    parser.add_argument(
        "configs", nargs="*", metavar="CONFIG [key=value ...]", help="of sampling, training or serving, with overrides"
    )
    parser.add_argument(
        "--gpu", metavar="NAME", help="what jobs will compute on, where this machine has no GPU, such as a100-40gb"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="sum up the hours of all GPUs that slurm/pipeline.sh with SEEDS=N takes: every training config with N "
        "seeds, every sampling config asked of the base and of each trained judge",
    )
    parser.add_argument("--base", metavar="CONFIG", help="with --seeds: the one of the configs that trains the base")
    parser.add_argument("--json", action="store_true", help="print JSON, with the numbers behind the estimates")
    words = parser.parse_intermixed_args(argv)
    configs = {" ".join(own): examined(own, words.gpu) for own in by_config(words.configs)}
    owed = {name: n_bytes for found in configs.values() for name, n_bytes in found.owed.items()}
    machine = machine_checks(words.gpu, sum(owed.values()))
    if words.seeds is not None:
        machine.append(comparison_check(configs, words.seeds, words.base))
    is_ok = all(
        check.state != "wrong" for checks in [machine, *(f.checks for f in configs.values())] for check in checks
    )
    if words.json:
        found = {name: asdict(one) for name, one in configs.items()}
        print(json.dumps({"ok": is_ok, "machine": [asdict(check) for check in machine], "configs": found}, indent=2))
    else:
        say(printed(machine, configs))  # a server's words may stand in it
    if not is_ok:
        sys.exit(1)


def examined(words: Sequence[str], named_gpu: str | None) -> Examined:
    """What is to be said of one config; that it is none, too."""
    try:
        tree = config_tree(words)
        if "distributed_type" in tree:
            check = unknown("config", "for `accelerate launch`: says nothing of model and data")
            return Examined(kind="", checks=[check])
        if "method" in tree or "optimiser" in tree:
            from evenhand.cli.doctor.training import examine
        else:
            from evenhand.cli.doctor.sampling import examine
        return examine(words, named_gpu)
    except EvenhandError as error:
        return Examined(kind="", checks=[wrong("config", str(error))])


def comparison_check(configs: Mapping[str, Examined], n_seeds: int, base: str | None) -> Check:
    """Hours of all jobs of slurm/pipeline.sh: each training n_seeds times, that of the base once, each sampling for
    every judge."""
    times = {"training": 0, "sampling": 0, "": 0}
    n_judges = 1 + n_seeds * sum(one.kind == "training" for name, one in configs.items() if name.split()[0] != base)
    times = {"training": n_seeds, "sampling": n_judges}
    hours = [
        one.device_hours and one.device_hours * (1 if name.split()[0] == base else times[one.kind])
        for name, one in configs.items()
        if one.kind in times
    ]
    known = [n for n in hours if n is not None]
    if len(known) < len(hours):
        return unknown("comparison", f"{len(hours) - len(known)} of the configs have no time, see theirs")
    says = f"{n_judges} judges with {n_seeds} seeds an arm: {sum(known):.3g} device-hours of training and sampling"
    return ok("comparison", f"{says}; merging and scoring not counted", device_hours=sum(known))

"""`evenhand doctor [CONFIG [key=value ...] ...]`: reads configs, has them examined, prints what was found."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from evenhand.cli.doctor.check import Examined, unknown, wrong
from evenhand.cli.doctor.comparison_time import comparison_check
from evenhand.cli.doctor.hub_checks import hub_check
from evenhand.cli.doctor.machine_checks import machine_checks
from evenhand.cli.doctor.printed import printed
from evenhand.cli.doctor.storage import cache_checks
from evenhand.config import by_config, config_tree
from evenhand.errors import EvenhandError


def main(argv: Sequence[str]) -> None:
    """Say before a job waits in a queue what would stop it, and how much memory and time it will take.

    ✓ is in order, ✗ would stop a job and has the way out beside it, ? cannot be known here and says why. Ends with exit
    code 1 where there is a ✗. Without configs it looks at this machine alone. Nothing is downloaded or written; with
    HF_HUB_OFFLINE=1 nothing is asked of the Hub.
    """
    parser = argparse.ArgumentParser(
        prog="evenhand doctor",
        description=main.__doc__,
        epilog="example: evenhand doctor configs/inference/qwen2.5-7b-margin.yaml configs/training/qwen2.5-7b-sft.yaml",
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
    machine = [*machine_checks(words.gpu), *cache_checks(sum(owed.values())), hub_check()]
    if words.seeds is not None:
        base = next((one for name, one in configs.items() if name.split(" ")[0] == words.base), None)
        machine.append(comparison_check([one for one in configs.values() if one is not base], words.seeds, base))
    checks = [*machine, *(check for found in configs.values() for check in found.checks)]
    is_ok = all(check.state != "wrong" for check in checks)
    if words.json:
        found = {name: asdict(one) for name, one in configs.items()}
        print(json.dumps({"ok": is_ok, "machine": [asdict(check) for check in machine], "configs": found}, indent=2))
    else:
        print(printed(machine, configs))
    if not is_ok:
        sys.exit(1)


def examined(words: Sequence[str], named_gpu: str | None) -> Examined:
    """What is to be said of one config; that it is none, too."""
    try:
        kind = kind_of(words)
        if kind is None:
            return Examined(
                kind="", checks=[unknown("config", "for `accelerate launch`: says nothing of model and data")]
            )
        if kind == "training":
            from evenhand.cli.doctor.training import examine
        else:
            from evenhand.cli.doctor.sampling import examine
        return examine(words, named_gpu)
    except EvenhandError as error:
        return Examined(kind="", checks=[wrong("config", str(error))])


def kind_of(words: Sequence[str]) -> str | None:
    """What a config is for, by its keys; None for a launcher's."""
    tree = config_tree(words)
    if "method" in tree or "optimiser" in tree:
        return "training"
    if "distributed_type" in tree:
        return None
    return "serving" if isinstance(tree.get("model"), str) else "sampling"

"""Seconds per step of SFT and DPO: the shipped pocket configs, a few steps each, one after the other."""

import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).parents[2]
STEPS = 6


def seconds_per_step(method: str, root: Path) -> float:
    """The median time from one logged step to the next; the first step, a warm-up, ends before the first interval."""
    config = f"configs/training/pocket-{method}.yaml"
    words = [config, f"optimiser.max_steps={STEPS}", "run.logging_steps=1", f"run.root={root}"]
    command = [sys.executable, "-m", "training", *words]
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    metrics = Path(done.stdout.strip().splitlines()[-1]) / "metrics.jsonl"
    times = [row["time"] for row in map(json.loads, metrics.read_text().splitlines()) if "loss" in row]
    return median(later - earlier for earlier, later in pairwise(times))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sft, dpo = (seconds_per_step(method, Path(folder)) for method in ("sft", "dpo"))
    print("training, shipped pocket configs, 4 prompts a step (for DPO with both answers), reference pass not counted")
    print(f"s/step: SFT {sft:.2f}, DPO {dpo:.2f}, DPO / SFT {dpo / sft:.2f}", flush=True)


if __name__ == "__main__":
    main()

"""Seconds per step of SFT and DPO, the shipped pocket configs, a few steps each in one run."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).parents[2]
STEPS = 6


def seconds_per_step(method: str, root: Path) -> float:
    """The median step of a short run, the first (warm-up) left out."""
    words = [f"configs/training/pocket-{method}.yaml", f"optim.max_steps={STEPS}", f"run.root={root}"]
    done = subprocess.run(
        [sys.executable, "-m", "training", *words], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True
    )
    metrics = Path(done.stdout.strip().splitlines()[-1]) / "metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    return median([row["step_s"] for row in rows if "step_s" in row][1:])


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sft, dpo = (seconds_per_step(method, Path(folder)) for method in ("sft", "dpo"))
    print(f"training, s/step: SFT {sft:.2f}, DPO {dpo:.2f}, DPO / SFT {dpo / sft:.2f}", flush=True)


if __name__ == "__main__":
    main()

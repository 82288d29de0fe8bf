"""Scoring verdicts from a file: seconds and peak memory at 10⁴, 10⁵ and 10⁶ verdicts, 10,000 draws, 2 models × 5 arms.

Each scoring is `evenhand score` in a process of its own, start included. Linear is a ratio of time to size near 1. Here
it is far below: there are as many draws for few items as for many.
"""

import contextlib
import io
import itertools
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from eval.__main__ import score_main
from studies.dialdefer.records import Condition
from studies.dialdefer.scores import AIO, BENCH_DATASETS

ARMS = ("none", "honest", "dehumanizing", "sft", "dpo")
SIZES = (10_000, 100_000, 1_000_000)


def write(path: Path, n_items: int) -> None:
    """Verdicts over two models, all arms and ten datasets, right 7 times in 10."""
    draw = random.Random(0)
    with path.open("w") as file:
        for cell in itertools.product(("a", "b"), ARMS, (*BENCH_DATASETS, AIO), range(n_items), Condition):
            model, arm, dataset, item, condition = cell
            row = {"model": model, "benchmark": "dialdefer", "dataset": dataset, "item_id": f"{dataset}-{item}"}
            choice = 2 - (condition.claim_is_true == (draw.random() < 0.7))
            file.write(
                json.dumps({**row, "condition": condition, "arm": arm, "roles": "2->1", "choice": choice}) + "\n"
            )


def score(path: str, out: str) -> None:
    """Score a file and print the process's peak memory in GiB."""
    with contextlib.redirect_stdout(io.StringIO()):
        score_main([path, "--out", out])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def main() -> None:
    first = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            write(path := Path(folder) / "v.jsonl", size // 400)
            start = time.perf_counter()
            words = [sys.executable, "-m", "bench.scoring", str(path), f"{path}.scores"]
            peak = float(subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout)
            seconds = time.perf_counter() - start
            first = first or seconds
            ratio = seconds / first / (size / SIZES[0])
            print(f"{size:9,} verdicts: {seconds:6.1f} s, peak {peak:.2f} GiB, time/size {ratio:.2f}", flush=True)


if __name__ == "__main__":
    score(*sys.argv[1:]) if len(sys.argv) > 1 else main()

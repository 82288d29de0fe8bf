"""Scoring verdicts from files: seconds and peak memory at 10⁴, 10⁵ and 10⁶ verdicts, with 10,000-draw intervals.

Each scoring is `evenhand score` in a process of its own, start included. Linear is a ratio of time to size near 1. Here
it is far below: there are as many draws for few items as for many.
"""

import contextlib
import io
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from eval.__main__ import score_main
from eval.dialdefer.scores import AIO, BENCH_DATASETS
from studies.dialdefer.records import Condition

ARMS = ("none", "honest", "dehumanizing", "sft", "dpo")
SIZES = (10_000, 100_000, 1_000_000)
PUBLISHED_ITEMS = 300  # a dataset, as in the published split
WORDS = "The claim follows from what is known about the question, and nothing speaks against it. " * 4


def verdicts(n_models: int, n_items: int) -> Iterator[tuple[str, str, str, Condition, str, int]]:
    """(model, dataset, item id, condition, arm, choice) over five arms and ten datasets, right 7 times in 10."""
    draw = random.Random(0)
    for model in range(n_models):
        for arm in ARMS:
            for dataset in (*BENCH_DATASETS, AIO):
                for item in range(n_items):
                    for condition in Condition:
                        is_one = condition.claim_is_true == (draw.random() < 0.7)
                        yield f"owner/model-{model}", dataset, f"{dataset}-{item}", condition, arm, 2 - is_one


def write_json_lines(path: Path, n_models: int, n_items: int, *, with_responses: bool = False) -> None:
    """Verdicts as JSON lines, with choices or with replies that are to be parsed."""
    with path.open("w") as file:
        for number, (model, dataset, item, condition, arm, choice) in enumerate(verdicts(n_models, n_items)):
            said = f'"choice": {choice}'
            if with_responses:
                said = (
                    f'"response": "{{\\"chosen_answer\\": \\"{choice}\\", \\"reasoning\\": \\"{number}. {WORDS}\\"}}"'
                )
            file.write(
                f'{{"model": "{model}", "benchmark": "dialdefer", "dataset": "{dataset}", "item_id": "{item}", '
                f'"condition": "{condition}", "arm": "{arm}", "roles": "2->1", "label": null, {said}}}\n'
            )


def write_csv(path: Path, n_models: int, n_items: int) -> None:
    """Verdicts as CSV."""
    with path.open("w") as file:
        file.write("model,dataset,item_id,condition,arm,choice\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in verdicts(n_models, n_items))


def write_parquet(path: Path, n_models: int, n_items: int) -> None:
    """Verdicts as parquet."""
    import pyarrow
    import pyarrow.parquet

    names = ("model", "dataset", "item_id", "condition", "arm", "choice")
    columns = zip(*verdicts(n_models, n_items), strict=True)
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, map(list, columns), strict=True))), path)


def score(path: Path, out: Path) -> None:
    """Score a file and print the process's peak memory in GiB."""
    with contextlib.redirect_stdout(io.StringIO()):
        score_main([str(path), "--out", str(out)])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def timed(path: Path) -> tuple[float, float]:
    """(seconds of the whole process, its peak memory in GiB) of scoring a file."""
    start = time.perf_counter()
    words = [sys.executable, "-m", "tests.bench.scoring", str(path), str(path.with_suffix(".scores"))]
    output = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    return time.perf_counter() - start, float(output)


def main() -> None:
    print("scoring, JSON lines with choices, 2 models × 5 arms × 10 datasets, items grow")
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for size in SIZES:
            path = Path(folder) / "v.jsonl"
            write_json_lines(path, 2, size // 400)
            seconds, peak = timed(path)
            first = first or seconds
            ratio = (seconds / first) / (size / SIZES[0])
            print(f"{size:9,} verdicts: {seconds:6.1f} s, peak {peak:.2f} GiB, time/size {ratio:.2f}", flush=True)
        n_models = SIZES[-1] // (len(ARMS) * 10 * 4 * PUBLISHED_ITEMS)
        for kind, write, shape in (
            (f"{n_models} models, {PUBLISHED_ITEMS} items", write_json_lines, (n_models, PUBLISHED_ITEMS)),
            ("CSV", write_csv, (2, SIZES[-1] // 400)),
            ("parquet", write_parquet, (2, SIZES[-1] // 400)),
        ):
            path = Path(folder) / {write_csv: "v.csv", write_parquet: "v.parquet"}.get(write, "v.jsonl")
            write(path, *shape)
            seconds, peak = timed(path)
            print(
                f"{200 * shape[0] * shape[1]:9,} verdicts ({kind}): {seconds:6.1f} s, peak {peak:.2f} GiB", flush=True
            )
        write_json_lines(path := Path(folder) / "v.jsonl", 2, SIZES[-1] // 400, with_responses=True)
        seconds, peak = timed(path)
        print(f"{SIZES[-1]:9,} verdicts (replies to parse): {seconds:6.1f} s, peak {peak:.2f} GiB", flush=True)


if __name__ == "__main__":
    score(Path(sys.argv[1]), Path(sys.argv[2])) if len(sys.argv) > 1 else main()

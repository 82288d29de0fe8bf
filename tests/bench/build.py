"""Building the Unified Benchmark: seconds and peak memory at one, two and four times its size, on made files.

Each build is a process of its own, so that its peak memory is its own. Linear is a ratio of time to size near 1.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from studies.dialdefer.unified.build import build
from studies.dialdefer.unified.catalogue import NINE
from tests.made.built_folder import request
from tests.made.unified_files import write_raw

SCALES = (1, 2, 4)


def measure(folder: Path) -> None:
    """Build folder/raw once and print items, seconds and GiB."""
    names = [dataset.name for dataset in NINE]
    start = time.perf_counter()
    manifest = build(request(folder / "built", folder / "raw", names, n_test=100))
    seconds = time.perf_counter() - start
    n_items = sum(found["n_pool"] for found in manifest["contents"].values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(n_items, seconds, peak)


def main() -> None:
    print("build unified, made files in the publishers' formats")
    first = None
    for scale in SCALES:
        with tempfile.TemporaryDirectory() as folder:
            write_raw(Path(folder) / "raw", scale=scale)
            words = [sys.executable, "-m", "tests.bench.build", folder]
            output = subprocess.run(
                words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
            ).stdout
        n_items, seconds, peak = (float(word) for word in output.split())
        first = first or (n_items, seconds)
        ratio = (seconds / first[1]) / (n_items / first[0])
        print(f"{n_items:9,.0f} items: {seconds:6.1f} s, peak {peak:.2f} GiB, time/size {ratio:.2f}", flush=True)


if __name__ == "__main__":
    measure(Path(sys.argv[1])) if len(sys.argv) > 1 else main()

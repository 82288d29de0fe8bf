"""`make bench`: building the data and scoring verdicts at three sizes, prompt tokens saved by planning together,
sampling against bare vLLM and transformers, margins against reasoning, the narrator study's prefixes and conversations
a second, training against TRL.

Each comparison runs in a process of its own, one after the other, so that none shares memory or threads with another.
"""

import subprocess
import sys

PARTS = (
    "tests.bench.build",
    "tests.bench.scoring",
    "tests.bench.planning",
    "tests.bench.sampling",
    "tests.bench.narrator",
    "tests.bench.training",
)


def main() -> int:
    for part in PARTS:
        done = subprocess.run([sys.executable, "-m", part], check=False)
        if done.returncode:
            print(f"{part} failed", file=sys.stderr)
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

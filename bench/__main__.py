"""`make bench`, or one part of it, as in `make bench ARGS=training`: speeds as ratios, measured in one run.

scoring: seconds and memory by the number of verdicts; sampling: against bare vLLM and transformers, margins against
reasoning; training: SFT and DPO against TRL. Each part runs in a process of its own.
"""

import subprocess
import sys

PARTS = ("scoring", "sampling", "training")

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        subprocess.run([sys.executable, "-m", f"bench.{part}"], check=True)

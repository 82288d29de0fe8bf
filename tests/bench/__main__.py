"""`make bench`, or one part of it, as in `make bench ARGS=training`: speeds as ratios, measured in one run.

scoring: seconds and memory by the number of verdicts; sampling: against bare vLLM and transformers, margins against
reasoning; training: SFT and DPO against TRL. The last two also tell the share of this machine's own speed in matrix
products that is reached. Each part runs in a process of its own.
"""

import subprocess
import sys
from collections.abc import Sequence

PARTS = ("scoring", "sampling", "training")


def main(wanted: Sequence[str]) -> int:
    """Run the named parts, or all of them."""
    if unknown := [part for part in wanted if part not in PARTS]:
        print(f"no part is called '{unknown[0]}'; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for part in PARTS:
        if not wanted or part in wanted:
            code = subprocess.run([sys.executable, "-m", f"tests.bench.{part}"], check=False).returncode
            if code:
                print(f"{part} failed", file=sys.stderr)
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

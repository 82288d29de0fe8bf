"""`make bench`, or one part of it, as in `make bench ARGS=narrator`.

build and scoring: data and verdicts at three sizes; planning: prompt tokens saved by planning together; sampling:
against bare vLLM and transformers, margins against reasoning; narrator: that study's prefixes and conversations a
second; pluraleval: threads at once, and that study's prefixes; taxonomy: flips a second, and the codebook's reuse;
wildscope: memory and speed of streaming a dump; aio: posts a minute through the stages of r/AIO's construction; load: a
run directory of up to a million prompts; training: against TRL. sampling and training also tell the share of this
machine's own speed in matrix products that is reached, and doctor's estimate.

Each comparison runs in a process of its own, one after the other, so that none shares memory or threads with another.
"""

import subprocess
import sys
from collections.abc import Sequence

PARTS = (
    *("build", "scoring", "planning", "sampling", "narrator", "pluraleval", "taxonomy", "wildscope", "aio", "load"),
    "training",
)


def main(wanted: Sequence[str]) -> int:
    """Run the named parts, or all of them."""
    if unknown := [part for part in wanted if part not in PARTS]:
        print(f"no part is called '{unknown[0]}'; there are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for part in PARTS:
        if wanted and part not in wanted:
            continue
        done = subprocess.run([sys.executable, "-m", f"tests.bench.{part}"], check=False)
        if done.returncode:
            print(f"{part} failed", file=sys.stderr)
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

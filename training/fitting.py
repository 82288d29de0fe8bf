"""What memory does not hold at once is computed in several passes, and so is from then on what has as many tokens."""

import gc
import math
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from training.batches import Bundle
from training.memory import is_out_of_memory

Found = TypeVar("Found")


class Fitting:
    """Remembers how many tokens did not fit, and gives passes half of them at most. Bundles stay whole."""

    def __init__(self, most: float = math.inf) -> None:
        self.most = most  # tokens of a pass, each example counted for itself

    def in_passes(
        self, bundles: Sequence[Bundle], compute: Callable[[Sequence[Bundle]], Found], undo: Callable[[], None]
    ) -> list[Found]:
        """What is computed of some bundles, pass by pass: of all at once where they fit.

        undo: takes back what the passes of an attempt have left behind. An error for lack of memory goes on to the
        caller where a single bundle does not fit.
        """
        most, n_tokens = self.most, 0
        while True:
            try:
                found = []
                for some in self.passes(bundles):
                    n_tokens = size(some) if len(some) > 1 else 0
                    found.append(compute(some))
                break
            except (RuntimeError, MemoryError) as error:
                if not n_tokens or not is_out_of_memory(error):
                    raise
            # Here, and not above, where the error's traceback holds what fills the memory.
            self.most = n_tokens // 2
            undo()
            free_memory()
        if self.most < most:
            print(
                f"Out of memory: from here on a pass has at most {self.most:.0f} tokens, and a larger microbatch "
                "takes several. Its loss and gradients stay what they are (but for kto, whose drift is that of a pass)",
                file=sys.stderr,
            )
        return found

    def passes(self, bundles: Sequence[Bundle]) -> list[list[Bundle]]:
        """The bundles in order, as many together as fit."""
        found: list[list[Bundle]] = []
        n_tokens = 0
        for bundle in bundles:
            n_tokens += size([bundle])
            if not found or n_tokens > self.most:
                found.append([])
                n_tokens = size([bundle])
            found[-1].append(bundle)
        return found


def size(bundles: Sequence[Bundle]) -> int:
    """The tokens of some bundles."""
    return sum(example.n_tokens for bundle in bundles for example in bundle)


def free_memory() -> None:
    """Give back what a failed pass has left to the allocator."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

"""What does not fit into memory is computed in several passes, and from then on so is everything as large."""

import gc
import math
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from training.batches import Group
from training.memory import is_out_of_memory

Result = TypeVar("Result")


class Fitting:
    """Remembers how many tokens did not fit, and gives passes half of them at most. Groups stay whole."""

    def __init__(self, most: float = math.inf) -> None:
        self.most = most  # tokens of a pass, each example counted for itself

    def in_passes(
        self, groups: Sequence[Group], compute: Callable[[Sequence[Group]], Result], undo: Callable[[], None]
    ) -> list[Result]:
        """What is computed of some groups, pass by pass: of all at once where they fit.

        undo: takes back what the passes of an attempt have left behind. An error for lack of memory goes on to the
        caller where a single group does not fit.
        """
        most, n_tokens = self.most, 0
        while True:
            try:
                results = []
                for some in self.passes(groups):
                    n_tokens = size(some) if len(some) > 1 else 0
                    results.append(compute(some))
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
        return results

    def passes(self, groups: Sequence[Group]) -> list[list[Group]]:
        """The groups in order, as many together as fit."""
        passes: list[list[Group]] = []
        n_tokens = 0
        for group in groups:
            n_tokens += size([group])
            if not passes or n_tokens > self.most:
                passes.append([])
                n_tokens = size([group])
            passes[-1].append(group)
        return passes


def size(groups: Sequence[Group]) -> int:
    """The tokens of some groups."""
    return sum(example.n_tokens for group in groups for example in group)


def free_memory() -> None:
    """Give back what a failed pass has left to the allocator."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

"""The next microbatches are made while the present one is computed.

By a thread, not by the worker processes of a DataLoader: a microbatch takes it one or two milliseconds, and in the
copy to the GPU it leaves the interpreter to others. A process would be a copy of all examples, forked from one that
holds CUDA, or on a Mac started anew with everything pickled, and would outlive a killed run for some seconds.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import torch

Made = TypeVar("Made")
NOTHING = object()  # stands behind the last one


def made_ahead(source: Iterator[Made], n: int) -> Iterator[Made]:
    """What a source yields, in its order; while one is in use, the next n are made. An error comes in its turn."""
    thread = ThreadPoolExecutor(1, "microbatches", same_gpu())
    try:
        waiting: deque[Future[Made | object]] = deque(thread.submit(next, source, NOTHING) for _ in range(n))
        while True:
            waiting.append(thread.submit(next, source, NOTHING))
            if (made := waiting.popleft().result()) is NOTHING:
                return
            yield made  # type: ignore[misc]
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def same_gpu() -> Callable[[], None] | None:
    """What gives another thread this one's current GPU: it would pin memory for the first, and take room on it."""
    return partial(torch.cuda.set_device, torch.cuda.current_device()) if torch.cuda.is_available() else None

"""A replica that is killed, or frozen, at a random request and comes back: what of the run is lost, doubled, wrong."""

import random
import threading
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from inference import replicas
from inference.engine import open_engine
from tests.made.fake_server import FakeServer, Reply
from tests.made.growing_run import Found
from tests.made.toy_runs import config, echo, prompts

N = 60


def away(how: str, folder: Path, rng: random.Random) -> Found:
    """One of two replicas goes away at a random request, for a random time."""
    count, at = iter(range(10**6)), rng.randrange(N // 2)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(replicas, "LOOK_S", 0.05)
        patch.setattr(replicas, "tell", lambda words: None)
        one, other = (stack.enter_context(FakeServer(echo)) for _ in range(2))

        def script(body: dict[str, Any], n_before: int) -> Reply:
            if next(count) == at:
                one.kill() if how == "kill" else one.freeze()
                back = threading.Timer(rng.uniform(0, 1), one.start if how == "kill" else one.thaw)
                stack.callback(back.join)
                back.start()
            return echo(body, n_before)

        one.script = script
        engine = {"concurrency": 4, "health_timeout_s": 0.3, "give_up_s": 60, "timeout_s": 60}
        with open_engine(config([one.base_url, other.base_url], engine)) as opened:
            found = list(opened.generate(prompts(N)))
    expected = {p.prompt_hash: f"answer to {p.messages[0].content}" for p in prompts(N)}
    said = [c for c in found if not c.is_error]
    return Found(
        lost=len(expected.keys() - {c.prompt_hash for c in said}),
        doubled=len(said) - len(Counter(c.prompt_hash for c in said)),
        wrong=sum(expected[c.prompt_hash] != c.text for c in said),
    )

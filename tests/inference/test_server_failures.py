"""A whole sampling run through a server that misbehaves: what was answered stays, what was not is asked again."""

from itertools import count
from pathlib import Path

import pytest

from evenhand.errors import ModelError
from evenhand.run_directory import is_done
from inference import server_client
from inference.config import InferenceConfig
from inference.sampling import sample
from tests.made.fake_server import FakeServer, Reply, Script, answer, refusal
from tests.made.read_back import completions_of
from tests.made.toy_runs import config

N_PROMPTS = 8  # two items under four conditions


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(delay: float) -> None:
        """Ask again without the wait."""

    monkeypatch.setattr(server_client, "sleep", at_once)


def run(server: FakeServer, root: Path) -> InferenceConfig:
    keys = {"benchmarks": [{"dataset": "pocket", "n_items": 2}], "run": {"root": str(root), "shard_size": 2}}
    return config(server.base_url, {"concurrency": 2}, **keys)


def failing_once_started(broken: Reply) -> Script:
    """Answers three prompts, then fails all."""
    turn = count()
    return lambda body, n_before: answer("1") if next(turn) < 3 else broken


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (refusal(429, "slow down"), "429 slow down"),
        (refusal(500, "boom"), "500 boom"),
        (Reply(body="<html>"), "reply is not JSON: <html>"),
        (refusal(401, "who are you"), "OPENAI_API_KEY"),
        (refusal(404, "no such model"), "no such model"),
    ],
    ids=["429", "500", "garbage", "401", "404"],
)
def test_a_run_says_what_failed_keeps_its_answers_and_continues(tmp_path: Path, broken: Reply, words: str) -> None:
    with FakeServer(failing_once_started(broken)) as server:
        with pytest.raises(ModelError) as caught:
            sample(run(server, tmp_path))
        assert words in str(caught.value)
        (path,) = (tmp_path / "inference").iterdir()
        kept = {key: c for key, c in completions_of(path).items() if not c.is_error}
        assert len(kept) == 3
        assert not is_done(path)

        server.script = lambda body, n_before: answer("2")
        server.asked.clear()
        assert sample(run(server, tmp_path)) == path
    assert len(server.asked) == N_PROMPTS - 3
    completions = completions_of(path)
    assert sorted(c.text for c in completions.values()) == ["1"] * 3 + ["2"] * 5
    assert all(completions[key] == completion for key, completion in kept.items())
    assert is_done(path)

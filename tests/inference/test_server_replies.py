"""No reply of a server can hang a run, take all memory, or lose what others have answered."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenhand.run_directory import is_done
from inference import server_client
from inference.sampling import sample
from inference.server_client import LONGEST_WISH, wish_of
from inference.watchdog import Watchdog
from tests.made.fake_server import FakeServer, Reply, answer, refusal
from tests.made.read_back import completions_of
from tests.made.toy_runs import ask, ask_until_error, config, echo, prompts


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the client would have waited before asking again; here it does not wait."""
    seconds: list[float] = []

    async def note(delay: float) -> None:
        seconds.append(delay)

    monkeypatch.setattr(server_client, "sleep", note)
    return seconds


def dripping() -> Iterator[bytes]:
    """A byte now and then, for ever: no single read takes long."""
    while True:
        time.sleep(0.02)
        yield b" "


def test_a_body_that_drips_for_ever_ends_at_the_deadline_of_the_request() -> None:
    reply = Reply(body='{"choices": ', more=dripping())
    with FakeServer(lambda body, n: reply) as server:
        (found,) = ask(server, prompts(1), {"timeout_s": 0.3, "max_retries": 0})
    assert found.finish_reason == "error: no reply within 0.3 s"


HALF = '{"choices": [{"message": {"content": "1 \\ud83d"}, "finish_reason": "st\\ud83dop"}], "model": "m\\ude00"}'


def test_half_a_surrogate_pair_in_one_reply_loses_nothing_and_the_run_finishes(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"benchmarks": [{"dataset": "pocket", "n_items": 2}], "run": {"root": str(tmp_path)}}
    with FakeServer(lambda body, n: Reply(body=HALF) if len(server.asked) == 3 else answer("2")) as server:
        path = sample(config(server.base_url, **keys))
    found = completions_of(path).values()
    assert sorted(c.text for c in found) == ["1 \ufffd", *["2"] * 7]
    assert {(c.finish_reason, c.answered_by) for c in found} == {("st\ufffdop", "m\ufffd"), ("stop", None)}
    assert is_done(path)


def test_a_wait_of_minutes_that_the_server_asks_for_is_kept_and_told(
    waits: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    busy = refusal(429, "slow \x1b[2Jdown", retry_after="300")
    with FakeServer(lambda body, n: busy if n == 0 else echo(body, n)) as server:
        found = ask(server, prompts(4))
    assert waits == [300] * 4
    assert not any(c.is_error for c in found)
    told = capsys.readouterr().err
    assert told.count("asks to wait 300 s (429 slow \\x1b[2Jdown); waiting until ") == 1  # not once a request


@pytest.mark.parametrize(("headers", "seconds"), [({"retry_after": "2400"}, 2400), ({}, 0)])
def test_a_wait_that_the_server_asks_for_is_announced_to_the_watchdog_and_a_pause_of_ours_is_not(
    waits: list[float], headers: dict[str, str], seconds: float
) -> None:
    busy = refusal(503, "slow down", **headers)
    before = time.monotonic()
    with FakeServer(lambda body, n: busy if n == 0 else echo(body, n)) as server, Watchdog(7200, list) as watchdog:
        assert [c.is_error for c in ask(server, prompts(1))] == [False]
    assert len(waits) == 1
    assert before + seconds <= watchdog.excused_until <= time.monotonic() + seconds


def test_a_wait_of_a_day_ends_the_run_before_the_server_is_asked_again(waits: list[float]) -> None:
    busy = refusal(503, "maintenance", retry_after="86400")
    with FakeServer(lambda body, n: busy if len(server.asked) > 8 else echo(body, n)) as server:
        kept, words = ask_until_error(server, prompts(40))
    assert "asks to wait 86,400 s (503 maintenance). What was answered is kept" in words
    assert len(kept) == 8
    assert waits == []


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry-After": "61.5"}, 61.5, 61.5),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5, 1.5),
        ({"Retry-After": "Fri, 31 Dec 2999 23:59:59 GMT"}, LONGEST_WISH, 1e11),
        ({"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0, 0),
        ({"Retry-After": "1e999"}, LONGEST_WISH, float("inf")),
        *(({"Retry-After": text}, 0, 0) for text in ("nan", "-5", "soon", "")),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nonsense_is_no_wish(
    headers: dict[str, str], low: float, high: float
) -> None:
    assert low <= wish_of(httpx.Headers(headers)) <= high


def test_a_key_that_the_server_quotes_reaches_no_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with FakeServer(lambda body, n: refusal(400, "key sk-very-secret has no credit") if n else echo(body, n)) as server:
        found = ask(server, [*prompts(1), *prompts(1)], {"api_key_env": "MY_KEY", "concurrency": 1})
    assert found[1].finish_reason == "error: 400 key $MY_KEY has no credit"

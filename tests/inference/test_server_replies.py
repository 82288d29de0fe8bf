"""No reply of a server can hang a run, take all memory, or lose what others have answered."""

import gzip
import itertools
import json
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from evenhand.completion_shards import read_completions
from evenhand.errors import ConfigError, ModelError
from evenhand.run_directory import is_done
from inference import server_client
from inference.engine import open_engine
from inference.sampling import sample
from inference.server_client import LONGEST_WISH, wish_of
from inference.server_requests import largest_reply
from tests.made.fake_server import FakeServer, Reply, answer, as_json, refusal
from tests.made.toy_runs import ask, ask_until_error, config, echo, prompts

MIB = 2**20


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


def memory_of(reply: Reply) -> tuple[str, float]:
    """(the finish reason that a reply leads to, the most memory that reading it took in MiB)."""
    with FakeServer(lambda body, n: reply) as server, open_engine(config(server.base_url)) as engine:
        tracemalloc.start()
        try:
            (found,) = engine.generate(prompts(1))
            return found.finish_reason, tracemalloc.get_traced_memory()[1] / MIB
        finally:
            tracemalloc.stop()


def test_a_body_without_end_is_cut_off_at_a_limit() -> None:
    reason, most = memory_of(Reply(body="{", more=itertools.repeat(b" " * MIB)))
    assert reason == "error: reply of more than 4 MiB"
    assert most < 20


def test_a_small_gzip_body_that_unpacks_to_gigabytes_is_cut_off_at_the_same_limit() -> None:
    packed = gzip.compress(b" " * 256 * MIB, compresslevel=9)  # 0.25 MiB
    reason, most = memory_of(Reply(body=packed, headers={"Content-Encoding": "gzip"}))
    assert reason == "error: reply of more than 4 MiB"
    assert most < 20


def test_a_redirect_is_not_followed_and_its_body_is_bound_as_well() -> None:
    packed = gzip.compress(b" " * 256 * MIB, compresslevel=9)
    moved = {"Location": "http://elsewhere.example/v1", "Content-Encoding": "gzip"}
    with FakeServer(lambda body, n: Reply(308, packed, moved)) as server:
        (found,) = ask(server, prompts(1))
    assert found.finish_reason == "error: reply of more than 4 MiB"
    listing = Reply(308, headers={"Location": "http://elsewhere.example/v1"})
    words = r"moved to http://elsewhere\.example/v1\); correct engine\.base_url"
    with FakeServer(echo, models=listing) as server, pytest.raises(ModelError, match=words):
        ask(server, prompts(1))


def test_more_samples_and_longer_ones_may_take_more_room() -> None:
    few, many = (config("http://x/v1", sampling={"n": n, "temperature": 1, "max_tokens": 300}) for n in (1, 1000))
    assert largest_reply(few) < 5 * MIB
    assert largest_reply(many) > 1000 * 300 * 12  # every token an escaped character beyond the basic plane


@pytest.mark.parametrize(
    ("body", "coding", "said"),
    [
        (gzip.compress(answer("1").body.encode()), "gzip", None),  # type: ignore[union-attr]
        (gzip.compress(b"{" * 1000)[:-9], "gzip", "reply's gzip is cut off"),
        (b"{}", "gzip", "reply is no gzip"),
        (gzip.compress(answer("1").body.encode()), "GZIP", None),  # type: ignore[union-attr]
        (b"{}", "br", "reply is packed as 'br', which was not asked for"),
    ],
    ids=["whole", "cut off", "none", "in capitals", "another packing"],
)
def test_packed_replies_are_read_or_refused_by_name(body: bytes, coding: str, said: str | None) -> None:
    with FakeServer(lambda asked, n: Reply(body=body, headers={"Content-Encoding": coding})) as server:
        (found,) = ask(server, prompts(1))
    assert found.finish_reason.startswith(f"error: {said}" if said else "stop")


HALF = '{"choices": [{"message": {"content": "1 \\ud83d"}, "finish_reason": "st\\ud83dop"}], "model": "m\\ude00"}'


def test_half_a_surrogate_pair_in_one_reply_loses_nothing_and_the_run_finishes(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"benchmarks": [{"dataset": "pocket", "n_items": 2}], "run": {"root": str(tmp_path)}}
    with FakeServer(lambda body, n: Reply(body=HALF) if len(server.asked) == 3 else answer("2")) as server:
        path = sample(config(server.base_url, **keys))
    found = read_completions(path).values()
    assert sorted(c.text for c in found) == ["1 \ufffd", *["2"] * 7]
    assert {(c.finish_reason, c.answered_by) for c in found} == {("st\ufffdop", "m\ufffd"), ("stop", None)}
    assert is_done(path)


def test_whole_surrogate_pairs_stay_as_they_are() -> None:
    with FakeServer(lambda body, n: Reply(body=json.dumps({"choices": [{"message": {"content": "😀"}}]}))) as server:
        assert ask(server, prompts(1))[0].text == "😀"


@pytest.mark.parametrize("tokens", [10**400, -1, "7", 1.5])
def test_a_token_count_that_is_none_is_unknown(tokens: object) -> None:
    reply = {"choices": [{"message": {"content": "1"}}], "usage": {"prompt_tokens": tokens}}
    with FakeServer(lambda body, n: as_json(reply)) as server:
        assert ask(server, prompts(1))[0].prompt_tokens is None


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


@pytest.mark.parametrize("key", ["sk-schlüssel", "sk-“quoted”", "sk-two words", "sk-line\nbreak"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with FakeServer(echo) as server, pytest.raises(ConfigError) as caught:
        ask(server, prompts(1), {"api_key_env": "MY_KEY"})
    assert "$MY_KEY: its character" in str(caught.value)
    assert key[3:] not in str(caught.value)


def test_a_key_that_the_server_quotes_reaches_no_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    with FakeServer(lambda body, n: refusal(400, "key sk-very-secret has no credit") if n else echo(body, n)) as server:
        found = ask(server, [*prompts(1), *prompts(1)], {"api_key_env": "MY_KEY", "concurrency": 1})
    assert found[1].finish_reason == "error: 400 key $MY_KEY has no credit"

"""Several servers of one model: work goes where there is room, leaves a replica that is away, and returns to it."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from evenhand.completion_shards import every_completion
from evenhand.errors import ConfigError, ModelError
from evenhand.records import Completion
from evenhand.run_directory import is_done
from inference import replicas, server_client
from inference.engine import open_engine
from inference.replicas import Replicas
from inference.sampling import sample
from inference.server_client import StatusError
from tests.made.fake_server import FakeServer, Reply, Script, as_json
from tests.made.toy_runs import config, echo, prompts

PATIENCE_S = 60  # a hang guard


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas are looked at ten times a second, and pauses are short."""
    monkeypatch.setattr(replicas, "LOOK_S", 0.1)
    monkeypatch.setattr(server_client, "FIRST_PAUSE", 0.01)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said of replicas."""
    words: list[str] = []
    monkeypatch.setattr(replicas, "tell", words.append)
    return words


@pytest.fixture
def two() -> Iterator[tuple[FakeServer, FakeServer]]:
    with ExitStack() as stack:
        servers = [FakeServer(echo) for _ in range(2)]
        for server in servers:
            stack.enter_context(server)
        yield servers[0], servers[1]


def made(*servers: FakeServer, **engine: Any) -> Any:
    """The config of a run that asks the servers."""
    settings = {"concurrency": 2, "health_timeout_s": 0.5, "timeout_s": 30, "give_up_s": 20, **engine}
    return config([server.base_url for server in servers], settings)


def ask(n: int, *servers: FakeServer, **engine: Any) -> list[Completion]:
    with open_engine(made(*servers, **engine)) as opened:
        return list(opened.generate(prompts(n)))


def assert_each_answered_once(found: list[Completion], n: int) -> None:
    assert sorted((c.prompt_hash, c.text) for c in found) == sorted(
        (p.prompt_hash, f"answer to {p.messages[0].content}") for p in prompts(n)
    )


def once(n: int, act: Callable[[], object]) -> Script:
    """The echo, which does something when it is asked for the n-th time."""
    count = iter(range(10**6))

    def script(body: dict[str, Any], n_before: int) -> Reply:
        if next(count) == n:
            act()
        return echo(body, n_before)

    return script


def wait_for(seen: Callable[[], object]) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not seen():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def until(event: threading.Event) -> Script:
    """The echo, which waits for the event."""

    def script(body: dict[str, Any], n_before: int) -> Reply:
        assert event.wait(PATIENCE_S)
        return echo(body, n_before)

    return script


def test_a_slow_replica_gets_what_it_has_room_for_and_the_other_one_the_rest(
    two: tuple[FakeServer, FakeServer],
) -> None:
    slow, quick = two
    the_rest_is_answered = threading.Event()
    slow.script = until(the_rest_is_answered)
    quick.script = once(17, the_rest_is_answered.set)
    assert_each_answered_once(ask(20, slow, quick), 20)
    assert (len(slow.asked), len(quick.asked)) == (2, 18)


@pytest.mark.parametrize("how", ["kill", "freeze"])
def test_the_work_of_a_replica_that_goes_away_moves_on_and_it_is_asked_again_when_it_is_back(
    how: str, two: tuple[FakeServer, FakeServer], told: list[str]
) -> None:
    one, other = two
    n_asked: list[int] = []
    returned = threading.Event()

    def go_away() -> None:
        n_asked.append(len(one.asked))
        one.kill() if how == "kill" else one.freeze()

    def come_back() -> None:
        wait_for(lambda: told)
        one.start() if how == "kill" else one.thaw()
        wait_for(lambda: told[-1] == f"{one.base_url}: is back")
        n_under_way = 2  # which a thawed server still gets to read
        wait_for(lambda: len(one.asked) > n_asked[0] + n_under_way)
        returned.set()

    one.script, count = once(3, go_away), iter(range(10**6))

    def script(body: dict[str, Any], n: int) -> Reply:
        if (number := next(count)) == 20:
            come_back()
        elif number > 20:
            assert returned.wait(PATIENCE_S)  # there has to be something left to ask it
        return echo(body, n)

    other.script = script
    assert_each_answered_once(ask(60, one, other), 60)
    assert told[0].startswith(f"warning: {one.base_url}: no server answers there")


@pytest.mark.timeout(120)  # the request itself would wait for an hour
def test_what_a_frozen_replica_was_asked_is_not_waited_for(two: tuple[FakeServer, FakeServer]) -> None:
    frozen, well = two
    frozen.script = once(1, frozen.freeze)
    assert_each_answered_once(ask(20, frozen, well, timeout_s=3600), 20)


def test_what_times_out_at_a_replica_that_still_lists_its_models_is_asked_of_the_other(
    two: tuple[FakeServer, FakeServer],
) -> None:
    (hung, well), over = two, threading.Event()
    hung.script = until(over)
    try:
        assert_each_answered_once(ask(40, hung, well, timeout_s=1), 40)
    finally:
        over.set()


def test_a_replica_whose_last_request_failed_gets_one_prompt_at_a_time_until_it_answers(
    two: tuple[FakeServer, FakeServer],
) -> None:
    async def rooms() -> list[int]:
        asked = Replicas(made(*two, concurrency=4).engine, 10**6)
        await asked.open("judge", margin=False)
        found = []
        for script in (lambda body, n: Reply(500), echo):
            two[0].script = script
            with suppress(StatusError):
                await asked.ask(asked.all[0], "/chat/completions", {"messages": [{"content": "x"}]})
            found.append(asked.all[0].room(4))
        asked.all[0].leave("it is gone")
        found.append(asked.all[0].room(4))
        asked.all[0].come_back()
        await asked.close()
        return [*found, asked.all[0].room(4)]

    assert asyncio.run(rooms()) == [1, 4, 0, 1]


def test_when_all_are_away_the_run_ends_after_the_stated_time_keeps_its_answers_and_continues(
    two: tuple[FakeServer, FakeServer], tmp_path: Path
) -> None:
    one, other = two

    def end() -> None:
        one.kill()
        other.kill()

    one.script = once(3, end)
    keys = {"benchmarks": [{"dataset": "pocket", "n_items": 5}], "run": {"root": str(tmp_path), "shard_size": 2}}
    engine = {"concurrency": 2, "give_up_s": 0.5}
    with pytest.raises(ModelError, match=r"none of 2 replicas has been there for 0.5 s .*the same command continues"):
        sample(config([one.base_url, other.base_url], engine, **keys))
    (path,) = (tmp_path / "inference").iterdir()
    kept = [c for c in every_completion(path) if not c.is_error]
    assert kept
    assert not is_done(path)
    one.script = echo
    one.start()
    assert sample(config(one.base_url, engine, **keys)) == path  # the address is no part of a run's name
    assert is_done(path)
    counts = [(c.prompt_hash, c.sample_index) for c in every_completion(path) if not c.is_error]
    assert len(counts) == len(set(counts)) == 20


def test_a_prompt_that_kills_every_replica_is_an_error_with_its_reason(
    two: tuple[FakeServer, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die_of_it(server: FakeServer) -> Script:
        def script(body: dict[str, Any], n: int) -> Reply:
            if body["messages"][-1]["content"] == "question 5":
                server.kill()
                threading.Timer(0.3, server.start).start()
            return echo(body, n)

        return script

    for server in two:
        server.script = die_of_it(server)
    found = ask(12, *two, concurrency=1)
    errors = {c.prompt_hash: c.finish_reason for c in found if c.is_error}
    assert errors == {prompts(12)[5].prompt_hash: "error: replicas went away 4 times while this was asked of them"}
    assert len(found) == 12


def test_a_replica_that_is_away_at_the_start_joins_later(two: tuple[FakeServer, FakeServer]) -> None:
    one, late = two
    joined = threading.Event()
    late.kill()
    late.script = once(0, joined.set)
    one.script, count = echo, iter(range(10**6))

    def script(body: dict[str, Any], n: int) -> Reply:
        number = next(count)
        if number == 3:
            late.start()
        if number > 3:
            assert joined.wait(PATIENCE_S)
        return echo(body, n)

    one.script = script
    assert_each_answered_once(ask(20, one, late), 20)


def listing(**facts: object) -> Reply:
    return as_json({"data": [{"id": "judge", "owned_by": "vllm", **facts}]})


def test_replicas_of_different_checkpoints_are_refused_before_anything_is_asked(
    two: tuple[FakeServer, FakeServer],
) -> None:
    one, other = two
    one.models, other.models = listing(root="before"), listing(root="after")
    with pytest.raises(ModelError, match=f"{other.base_url}: is no replica of the same model .*'after'.*'before'"):
        ask(3, one, other)
    other.models = as_json({"data": [{"id": "another"}]})
    with pytest.raises(ModelError, match="does not serve model 'judge'"):
        ask(3, one, other)
    assert one.asked == other.asked == []


def test_what_comes_back_as_another_model_is_not_asked(two: tuple[FakeServer, FakeServer], told: list[str]) -> None:
    one, changed = two
    one.models, changed.models = listing(root="before"), listing(root="before")

    def change() -> None:
        changed.kill()
        changed.models = listing(root="after")
        changed.start()

    changed.script, count = once(1, change), iter(range(10**6))

    def script(body: dict[str, Any], n: int) -> Reply:
        if next(count) == 3:
            wait_for(lambda: "is no replica of the same model" in "".join(told))
            changed.asked.clear()
        return echo(body, n)

    one.script = script
    assert_each_answered_once(ask(30, one, changed), 30)
    assert changed.asked == []


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ([], "engine.base_url: takes an address, or a list of replicas"),
        (["http://a/v1", "http://a/v1"], "names http://a/v1 twice"),
        (["http://a/v1", "http://me:hunter22@b/v1"], "has an @"),
        (7, "takes an address"),
    ],
)
def test_a_list_of_replicas_is_checked_one_by_one(url: Any, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(url)
    assert says in str(caught.value)
    assert "hunter22" not in str(caught.value)

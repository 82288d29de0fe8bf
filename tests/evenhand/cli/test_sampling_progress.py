"""How far a sampling run has come, told from its directory alone, also while others write there."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand.cli.status.progress import Progress
from evenhand.cli.status.sampling import WatchedSampling
from evenhand.completions import append_completions, exclude
from evenhand.records import Completion, Prompt, SamplingOverride
from evenhand.run_directory import finish, open_run, write_plan
from tests.made.toy_prompts import toy_config, toy_prompt

PROMPTS = [replace(toy_prompt(f"question {number}"), item_id=f"item-{number}") for number in range(10)]


def planned_run(path: Path, prompts: Sequence[Prompt] = PROMPTS, *, grows: bool = False, n: int = 1) -> Path:
    """A run that was planned an hour ago and has no answer."""
    config = toy_config("owner/model", "reason", sampling={"n": n, "temperature": 1.0})
    open_run(path, config, "hash", {"name": "owner/model"}, lambda: "CPU: made up", plan_grows=grows)
    write_plan(path, prompts)
    an_hour_ago = time.time() - 3600
    os.utime(path / "provenance.json", (an_hour_ago, an_hour_ago))
    return path


def completion(prompt: Prompt, index: int = 0, reason: str = "stop") -> Completion:
    return Completion(prompt_hash=prompt.prompt_hash, sample_index=index, text="1", finish_reason=reason)


def answer(path: Path, prompts: Sequence[Prompt], index: int = 0, reason: str = "stop", ago: float = 0) -> Path:
    """Add a shard, written so many seconds ago; a checksum does not cover the time in a shard's name."""
    shard = append_completions(path, [completion(prompt, index, reason) for prompt in prompts])
    return shard.rename(shard.with_name(f"{time.time_ns() - int(ago * 1e9)}-{shard.name.partition('-')[2]}"))


def look(run: Path | WatchedSampling) -> Progress:
    (stage,) = (WatchedSampling(run) if isinstance(run, Path) else run).look()
    return stage


def counts(run: Path | WatchedSampling) -> tuple[int | None, int | None]:
    stage = look(run)
    return stage.done, stage.planned


def test_the_answers_of_all_shards_are_counted_once_each(tmp_path: Path) -> None:
    run = planned_run(tmp_path / "run")
    answer(run, PROMPTS[:4])
    answer(run, PROMPTS[2:6])  # two processes asked two of the prompts
    stage = look(run)
    assert (stage.state, stage.done, stage.planned, stage.plan_grows, stage.note) == ("unfinished", 6, 10, False, None)
    answer(run, PROMPTS)
    finish(run, {})
    stage = look(run)
    assert (stage.state, stage.done, stage.planned) == ("complete", 10, 10)
    assert (stage.per_second, stage.seconds_left) == (None, None)


def test_a_prompt_takes_as_many_answers_as_the_run_or_its_own_drawing_says(tmp_path: Path) -> None:
    own = replace(PROMPTS[0], drawing=SamplingOverride(n=1))
    run = planned_run(tmp_path / "run", [own, *PROMPTS[1:3]], n=4)
    answer(run, [own, PROMPTS[1]])
    answer(run, [PROMPTS[1]], index=3)
    assert counts(run) == (3, 1 + 2 * 4)


def test_rate_and_time_left_come_from_the_times_of_the_shards(tmp_path: Path) -> None:
    run = planned_run(tmp_path / "run")
    for number, ago in enumerate((3000, 1700, 900, 200, 100)):
        answer(run, [PROMPTS[number]], ago=ago)
    stage = look(run)
    # In the half hour before the last shard four answers came.
    assert stage.per_second == pytest.approx(4 / 1800, rel=1e-3)
    assert stage.seconds_left == pytest.approx(5 * 1800 / 4, rel=1e-3)


def test_of_a_run_that_nobody_writes_to_any_more_no_time_left_is_told(tmp_path: Path) -> None:
    run = planned_run(tmp_path / "run")
    for number, ago in enumerate((3000, 2900)):
        answer(run, [PROMPTS[number]], ago=ago)
    for name in ("completions", "plan.jsonl"):
        os.utime(run / name, (time.time() - 2900,) * 2)
    stage = look(run)
    assert stage.per_second
    assert stage.seconds_left is None
    assert stage.written_s_ago == pytest.approx(2900, abs=60)


def test_items_that_are_left_out_owe_nothing(tmp_path: Path) -> None:
    shared = replace(PROMPTS[1], item_id="item-0")  # of an item that is left out and of one that is not
    run = planned_run(tmp_path / "run", [*PROMPTS[:4], shared])
    watch = WatchedSampling(run)
    assert counts(watch) == (0, 4)
    exclude(run, {PROMPTS[0]: "700 tokens with the answer, window 512"})
    stage = look(watch)
    assert (stage.done, stage.planned) == (0, 3)
    assert stage.note == "1 items are left out, since they do not fit the context window"


def test_the_last_reason_why_there_was_no_reply_is_told_until_there_is_one(tmp_path: Path) -> None:
    run = planned_run(tmp_path / "run")
    watch = WatchedSampling(run)
    answer(run, PROMPTS[:2], reason="error: 500\nserver says no")
    stage = look(watch)
    assert (stage.done, stage.note) == (
        0,
        "2 prompts got no reply so far, the last reason: error: 500 server says no",
    )
    answer(run, PROMPTS[:1])
    assert str(look(watch).note).startswith("1 prompts got no reply")
    answer(run, PROMPTS[:2])
    assert look(watch).note is None


def test_a_damaged_or_half_shown_shard_is_named_hides_no_other_and_is_read_when_it_is_whole(tmp_path: Path) -> None:
    run = planned_run(tmp_path / "run")
    watch = WatchedSampling(run)
    shard = answer(run, PROMPTS[:3])
    answer(run, PROMPTS[3:5])
    whole = shard.read_bytes()
    for damaged in (whole[:-20], whole[: whole.index(b"\n") + 1], b"\0\0\0\n" + whole):
        shard.write_bytes(damaged)
        stage = look(watch)
        assert stage.done == 2
        assert str(stage.note).startswith(f"{shard}:")
    shard.write_bytes(whole)
    assert (look(watch).done, look(watch).note) == (5, None)


def test_looking_again_reads_only_shards_that_are_new_until_one_is_deleted(tmp_path: Path) -> None:
    run = planned_run(tmp_path / "run")
    watch = WatchedSampling(run)
    first = answer(run, PROMPTS[:2])
    look(watch)
    whole = first.read_bytes()
    first.write_bytes(b"no longer read")
    answer(run, PROMPTS[2:4])
    assert counts(watch) == (4, 10)
    assert look(watch).note is None
    first.write_bytes(whole)
    first.unlink()
    assert counts(watch) == (2, 10)

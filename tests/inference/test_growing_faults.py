"""Growing plans under faults, and two processes whose growing units share a prompt: each finishes its own."""

import random
from collections import Counter
from pathlib import Path

import pytest

from evenhand.completions import Answers, CompletionLog, every_completion
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.run_directory import is_done
from evenhand.study import Units
from inference.sampling import sample
from inference.schedule import Plan, in_shard
from tests.made.completions import asked_by
from tests.made.fuzz import N_FAULTS
from tests.made.growing_run import N_STEPS, N_UNITS, TRIALS, Chain, Found, GrowingRun, growing_engine
from tests.made.read_back import completions_of
from tests.made.scripted_engine import AnsweringEngine, config, scripted
from tests.toy_study.section import Fruit


@pytest.mark.parametrize("fault", TRIALS)
def test_nothing_is_lost_doubled_or_wrong_under(fault, tmp_path):
    draws = {number: random.Random(f"{fault} {number}") for number in range(N_FAULTS)}
    differences = {number: TRIALS[fault](tmp_path / str(number), rng) for number, rng in draws.items()}
    assert {number: seen for number, seen in differences.items() if seen != Found()} == {}


def test_a_clock_that_is_set_back_puts_no_second_answer_before_the_one_that_a_unit_has_gone_by(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text("name: x\n")
    for text in ("first", "second", "third"):
        log = CompletionLog(tmp_path, 1)
        log.add(Completion(prompt_hash="ab", sample_index=0, text=text, finish_reason="stop"))
        monkeypatch.setattr("evenhand.completions.time.time_ns", lambda: 10**9)  # in 1970
    assert [c.text for c in every_completion(tmp_path)] == ["first", "second", "third"]
    assert completions_of(tmp_path)["ab", 0].text == "first"


def test_what_was_answered_here_is_not_asked_again_while_its_folder_is_shown_late(tmp_path, monkeypatch):
    read, looks = Answers.read, list[Path]()

    def late(self, path):
        looks.append(path)
        last = {file.name for file in sorted((path / "completions").glob("*"))[-2:]} if len(looks) == 2 else set()
        self.shards |= last  # at the first look nothing is there yet
        read(self, path)
        self.shards -= last
        return self

    monkeypatch.setattr(Answers, "read", late)
    run, engine = GrowingRun(tmp_path), growing_engine()
    assert run.found(run.command(engine)) == Found()
    assert engine.asked_once() == N_UNITS * N_STEPS
    assert len(looks) > 2


SHARDS = [(0, 2), (1, 2)]


class Quoting(Chain):
    """Begins with a question that every such unit asks."""

    def opening(self):
        return "Is fruit sweet?"


def two_units():
    """One of each shard."""
    made = [Quoting(f"fruit {number}") for number in range(20)]
    return [next(unit for unit in made if in_shard(unit.unit_id, shard)) for shard in SHARDS]


def saying(text, meanwhile=lambda: None):
    """Another process may do its whole part while this one's first answer is under way."""
    engine = AnsweringEngine(lambda prompt: text)
    engine.before = lambda number: meanwhile() if number == 0 else None
    return engine


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Runs a shard of a run of the two units with an engine."""
    two = config(tmp_path)
    monkeypatch.setattr(type(two.study), "units", lambda self, verdict: Units(two_units(), "made"))

    def run(number, engine):
        scripted(monkeypatch, engine)
        return sample(two, SHARDS[number])

    return run


def outcome(path):
    """The replies that count, unit by unit, in the order in which they were asked for."""
    replies = completions_of(path)
    return [
        [replies[prompt.prompt_hash, 0].text for prompt in asked_by(unit, lambda p: replies[p.prompt_hash, 0].text)]
        for unit in two_units()
    ]


def test_one_after_the_other_the_second_reads_the_shared_reply_and_asks_nothing_again(ask):
    first, second = saying("yes"), saying("no")
    assert not is_done(ask(0, first))
    path = ask(1, second)
    assert is_done(path)
    assert (first.asked_once(), second.asked_once()) == (N_STEPS, N_STEPS - 1)
    assert outcome(path) == [["yes"] * N_STEPS, ["yes", *["no"] * (N_STEPS - 1)]]


def test_a_process_whose_shared_reply_came_second_asks_what_its_unit_owes_by_the_first(ask):
    """It said that other shards owed it, though they were over, and nobody asked."""
    path = ask(0, saying("no", lambda: ask(1, saying("yes"))))
    assert is_done(path)
    assert outcome(path) == [["yes", *["no"] * (N_STEPS - 1)], ["yes"] * N_STEPS]
    written = Counter(completion.prompt_hash for completion in every_completion(path))
    assert sorted(written.values())[-2:] == [1, 2], "the shared prompt alone has two replies"


def test_two_units_of_one_name_are_refused(tmp_path):
    plan = Plan(tmp_path, config(tmp_path), Units([Fruit("fig"), Fruit("fig")], "made"), Answers())
    with pytest.raises(DataError, match="the id 'fig' occurs twice"):
        list(plan.prompts())

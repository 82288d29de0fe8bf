"""A sampling run loses nothing, asks nothing twice, and refuses to be mixed with another."""

import signal
from pathlib import Path
from typing import Any

import pytest

from evenhand import completions as shards
from evenhand.completions import Answers
from evenhand.errors import DataError, ModelError
from evenhand.records import Completion
from evenhand.run_directory import is_done
from evenhand.terminal import run_main
from inference.config import FREE_OF_EFFECT, InferenceConfig
from inference.sampling import sample
from inference.schedule import Plan, Run, first_prompts
from studies.dialdefer import section as planning
from studies.dialdefer.records import read_plan
from tests.made.scripted_engine import ScriptedEngine, answers, config, scripted


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    return scripted(monkeypatch)


def test_a_run_answers_every_planned_prompt_and_is_done(tmp_path: Path, engine: ScriptedEngine) -> None:
    path = sample(config(tmp_path))
    planned = read_plan(path)
    assert len(planned) == 40
    assert set(answers(path)) == {(p.prompt_hash, 0) for p in planned}
    assert is_done(path)


def test_an_engine_that_dies_keeps_what_it_answered_and_the_same_command_asks_only_for_the_rest(
    tmp_path: Path, engine: ScriptedEngine
) -> None:
    engine.die_after = 11
    with pytest.raises(ModelError, match="died"):
        sample(config(tmp_path))
    engine.die_after = None
    path = sample(config(tmp_path))
    assert len(engine.asked) == len(set(engine.asked)) == 40
    assert engine.asked[11:] == engine.expected, "an engine is told when it is opened what it will be asked"
    assert is_done(path)


@pytest.mark.parametrize(
    ("number", "exit_code", "told"),
    [
        (signal.SIGINT, 130, "interrupted; what was computed is kept"),
        (signal.SIGTERM, 143, "interrupted by SIGTERM; what was computed is kept"),
        (signal.SIGHUP, 129, "interrupted by SIGHUP; what was computed is kept"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
def test_sigterm_and_sighup_dropped_everything_since_the_last_shard_as_sigint_did_not(
    tmp_path: Path,
    engine: ScriptedEngine,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
    exit_code: int,
    told: str,
) -> None:
    engine.signal_after = (11, number)
    # As in a terminal: where the tests run in the background, Ctrl-C is ignored.
    before = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    at_first = signal.signal(number, before)
    try:
        assert run_main(lambda _: print(sample(config(tmp_path))), []) == exit_code
        assert signal.getsignal(number) is before
    finally:
        signal.signal(number, at_first)
    assert told in capsys.readouterr().err
    engine.signal_after = None
    (path,) = (tmp_path / "inference").iterdir()
    assert len(answers(path)) == 11
    sample(config(tmp_path))
    assert len(engine.asked) == len(set(engine.asked)) == 40


def test_an_error_is_no_answer_it_is_reported_and_asked_again(tmp_path: Path, engine: ScriptedEngine) -> None:
    unlucky = first_prompts(config(tmp_path))[5].prompt_hash
    engine.errors = {unlucky}
    with pytest.raises(ModelError, match=r"1 prompts got no reply, the last reason: error: 500"):
        sample(config(tmp_path))
    engine.errors = set()
    path = sample(config(tmp_path))
    assert engine.asked.count(unlucky) == 2
    assert answers(path)[unlucky, 0] == unlucky


def test_what_is_owed_is_found_with_one_shard_of_answers_in_memory(
    tmp_path: Path, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = first_prompts(config(tmp_path))[5].prompt_hash
    engine.errors = {unlucky}
    with pytest.raises(ModelError, match="1 prompts got no"):
        sample(config(tmp_path))
    counted = CountedCompletion
    counted.live = counted.peak = 0
    monkeypatch.setattr(shards, "completion_from", lambda record: counted(**record))
    (path,) = tmp_path.glob("inference/*")
    assert owed(path, config(tmp_path)) == {unlucky}
    assert len(owed(path, config(tmp_path, sampling={"n": 2, "temperature": 1.0}))) == 40
    assert 0 < counted.peak <= 2 * 7


def owed(path: Path, settings: InferenceConfig) -> set[str]:
    """Hashes of the prompts that a run lacks."""
    run = Run(path, settings, settings.study.units("reason").units, plan_grows=False)
    plan = Plan(run, Answers(keeps_replies=False).read(path))
    assert len(list(plan.prompts())) == 40
    return {*plan.owed}


class CountedCompletion(Completion):
    """A completion that is counted while it lives."""

    live = peak = 0

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        CountedCompletion.live += 1
        CountedCompletion.peak = max(CountedCompletion.peak, CountedCompletion.live)

    def __del__(self) -> None:
        CountedCompletion.live -= 1


def test_shards_divide_the_work_and_the_last_one_finishes_the_run(tmp_path: Path, engine: ScriptedEngine) -> None:
    path = sample(config(tmp_path), (0, 3))
    assert not is_done(path)
    sample(config(tmp_path), (2, 3))
    assert not is_done(path)
    sample(config(tmp_path), (1, 3))
    assert is_done(path)
    assert len(engine.asked) == len(set(engine.asked)) == 40


def test_a_prompt_that_two_wordings_share_is_asked_once(tmp_path: Path, engine: ScriptedEngine) -> None:
    path = sample(config(tmp_path, prompts={"variants": [{"speakers": ["A", "B"]}]}))
    assert len(engine.asked) == len(set(engine.asked)) == 60, "C1 names no speaker"
    assert len(read_plan(path)) == 80
    assert is_done(path)


def test_a_changed_config_gets_another_directory_and_a_changed_root_or_shard_size_does_not(tmp_path: Path) -> None:
    def name(**changes: object) -> str:
        from evenhand.run_directory import run_path

        made = config(tmp_path, **changes)
        return run_path(made.run.root, "inference", made.name, made, FREE_OF_EFFECT).name

    assert name() == name(run={"root": tmp_path, "shard_size": 99})
    assert name() != name(sampling={"max_tokens": 9})
    assert name() != name(prompts={"template": "paper"})
    server = {"kind": "openai", "base_url": "http://node1:8000/v1"}
    assert name(engine=server) == name(engine={**server, "base_url": "http://node2:8000/v1", "concurrency": 3})
    assert name(engine=server) != name(engine={**server, "json_mode": "json_object"})


def test_a_run_whose_items_have_changed_since_is_refused(
    tmp_path: Path, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample(config(tmp_path))
    monkeypatch.setattr(planning, "item_set_hash", lambda items: "another")
    with pytest.raises(DataError, match=r"item set hash was .*, now it is another"):
        sample(config(tmp_path))


def test_a_run_planned_with_other_prompts_is_refused(
    tmp_path: Path, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studies.dialdefer.templates import TEMPLATES, Template

    engine.die_after = 3
    with pytest.raises(ModelError):
        sample(config(tmp_path))
    engine.die_after = None
    monkeypatch.setitem(TEMPLATES, ("published", "json"), Template("{question} {answer}?", "{speaker2}: {answer}?"))
    with pytest.raises(DataError, match="planned with other prompts"):
        sample(config(tmp_path))

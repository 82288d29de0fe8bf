"""A sampling run loses nothing, asks nothing twice, and refuses to be mixed with another."""

import gc
import signal
from contextlib import nullcontext
from dataclasses import replace

import pytest

from evenhand import study
from evenhand.completions import read_excluded
from evenhand.errors import DataError, ModelError
from evenhand.records import Completion, Prompt
from evenhand.run_directory import is_done, read_json, read_plan_lines, rewrite_plan, run_path, write_plan
from evenhand.study import LazyUnits, OneRound
from evenhand.terminal import run_main
from inference import sampling, schedule
from inference.config import FREE_OF_EFFECT
from inference.engine import PromptsTooLong
from inference.sampling import sample
from inference.schedule import first_prompts
from studies.dialdefer import section as planning
from tests.made.made_conflicts import conflict, narrator_config, use_conflicts
from tests.made.scripted_engine import answers, config, scripted


@pytest.fixture
def engine(monkeypatch):
    return scripted(monkeypatch)


def test_an_engine_that_dies_keeps_what_it_answered_and_the_same_command_asks_only_for_the_rest(tmp_path, engine):
    engine.die_after = 11
    with pytest.raises(ModelError, match="died"):
        sample(config(tmp_path))
    engine.die_after = None
    path = sample(config(tmp_path))
    assert engine.asked_once() == 40
    expected = [prompt.prompt_hash for prompt in engine.expected]
    assert [p.prompt_hash for p in engine.asked[11:]] == expected, "it is told when opened what it will be asked"
    assert answers(path) == {(line["prompt_hash"], 0): line["prompt_hash"] for line in read_plan_lines(path)}
    assert is_done(path)


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_to_end_keeps_what_was_answered_since_the_last_shard(tmp_path, engine, capsys, number, exit_code):
    engine.before = lambda n: signal.raise_signal(number) if n == 11 else None
    # As in a terminal: where the tests run in the background, Ctrl-C is ignored.
    before = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    at_first = signal.signal(number, before)
    try:
        assert run_main(lambda _: print(sample(config(tmp_path))), []) == exit_code
        assert signal.getsignal(number) is before
    finally:
        signal.signal(number, at_first)
    assert "what was computed is kept" in capsys.readouterr().err
    (path,) = (tmp_path / "inference").iterdir()
    assert len(answers(path)) == 11


def test_an_error_is_no_answer_it_is_reported_and_asked_again_and_holds_nobody_up(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(schedule, "AHEAD", 8)
    settings = config(tmp_path)
    engine.errors = {prompt.prompt_hash for prompt in first_prompts(settings)[:24]}
    with pytest.raises(ModelError, match="24 prompts got no reply, the last reason: error: 500"):
        sample(settings)
    assert engine.asked_once() == 40
    engine.errors = set()
    path = sample(settings)
    assert len(engine.asked) == 64
    assert is_done(path)


def test_a_run_below_a_file_is_refused(tmp_path, engine):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is not a folder that may be written to"):
        sample(config(tmp_path / "file"))
    assert engine.expected == [], "before an engine is opened"


def n_alive(kind):
    gc.collect()
    return sum(type(one) is kind for one in gc.get_objects())


def test_a_run_holds_few_of_its_prompts_and_asks_each_once(tmp_path, monkeypatch):
    monkeypatch.setattr(schedule, "AHEAD", 16)
    monkeypatch.setattr(study, "HELD_UNITS", 1)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "counting"})
    asked, alive = list[str](), list[int]()

    class Counting:
        def generate(self, prompts, further=tuple):
            while prompts:
                assert len(prompts) <= 16
                for prompt in prompts:
                    asked.append(prompt.prompt_hash)
                    yield Completion(prompt_hash=prompt.prompt_hash, sample_index=0, text="1", finish_reason="stop")
                alive.append(n_alive(Prompt))
                prompts = further()

    gc.freeze()  # what other tests have left is looked at no more, which takes seconds each time
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: nullcontext(Counting()))
    assert is_done(sample(config(tmp_path, benchmarks=[{"dataset": "pocket", "n_items": 20}])))
    assert len(asked) == len(set(asked)) == 80
    assert max(alive) <= 32


def test_a_changed_config_gets_another_directory_and_a_changed_root_or_shard_size_does_not(tmp_path):
    def name(**changes):
        made = config(tmp_path, **changes)
        return run_path(made.run.root, "inference", made.name, made, FREE_OF_EFFECT).name

    assert name() == name(run={"root": tmp_path, "shard_size": 99})
    assert name() != name(sampling={"max_tokens": 9})
    assert name() != name(prompts={"template": "paper"})
    server = {"kind": "openai", "base_url": "http://node1:8000/v1"}
    assert name(engine=server) == name(engine={**server, "base_url": "http://node2:8000/v1", "concurrency": 3})
    assert name(engine=server) != name(engine={**server, "send_seed": True})


def test_a_run_whose_items_have_changed_since_is_refused(tmp_path, engine, monkeypatch):
    sample(config(tmp_path))
    monkeypatch.setattr(planning, "item_set_hash", lambda items: "another")
    with pytest.raises(DataError, match=r"item set hash was .*, now it is another"):
        sample(config(tmp_path))


def test_a_plan_of_other_prompts_is_refused_and_one_that_grew_is_not(tmp_path):
    first, second, third, _ = first_prompts(config(tmp_path))[:4]
    write_plan(tmp_path, [first, second])
    write_plan(tmp_path, [first])
    rewrite_plan(tmp_path, [first, second, third])
    write_plan(tmp_path, [first, second])
    assert len(list(read_plan_lines(tmp_path))) == 3
    with pytest.raises(DataError, match="planned with other prompts"):
        write_plan(tmp_path, [replace(first, answer_space=("2", "1"))])


# Units that do not fit the context window.


def test_items_that_are_too_long_stop_a_run_that_scores_all_and_keep_no_other_from_being_asked(tmp_path, engine):
    settings = config(tmp_path)
    engine.too_long = {prompt.item_id for prompt in first_prompts(settings)[:24]}
    with pytest.raises(PromptsTooLong, match="24 prompts do not fit"):
        sample(settings)
    assert engine.asked_once() == 16


def test_a_conversation_that_does_not_fit_is_left_out_whole_and_all_shards_finish_the_run(
    tmp_path, engine, monkeypatch, capsys
):
    use_conflicts(
        monkeypatch, [conflict("short"), conflict("long", 3, 6, "On and on it goes. "), conflict("other", 5, 6)]
    )
    settings, engine.too_long = narrator_config(tmp_path), {"long"}
    planned = first_prompts(settings)
    assert len(planned) == 3 * 2 * 2 * (3 + 4 + 6), "tasks, visibilities, orders, and the neutral reader or a speaker"
    for shard in range(3):
        path = sample(settings, (shard, 3))
        assert is_done(path) == (shard == 2)
    assert list(read_excluded(path)) == ["long"]
    assert read_excluded(path)["long"].endswith("characters")
    done, n_distinct = read_json(path / "DONE.json"), len({p.prompt_hash for p in planned})
    assert (done["n_planned"], done["n_distinct"], done["n_excluded_items"]) == (len(planned), n_distinct, 1)
    assert (
        "items are left out, since a prompt of theirs does not fit the context window: long " in capsys.readouterr().err
    )
    assert {hash_ for hash_, _ in answers(path)} == {p.prompt_hash for p in planned if p.item_id != "long"}
    n_asked = engine.asked_once()
    sample(settings)
    assert len(engine.asked) == n_asked, "asked again, the run knows what it leaves out, and is complete already"


def test_an_error_while_a_unit_is_made_is_not_the_end_of_the_units():
    with pytest.raises(IndexError):
        list(LazyUnits(["kiwi", ""], lambda name: OneRound(name[0], ())))


def test_a_short_run_makes_each_unit_once(tmp_path, monkeypatch):
    made = list[str]()

    class Counted(OneRound):
        def __init__(self, *unit):
            super().__init__(*unit)
            made.append(self.unit_id)

    monkeypatch.setattr(planning.study, "OneRound", Counted)
    scripted(monkeypatch)
    assert is_done(sample(config(tmp_path)))
    assert len(made) == len({*made}) == 10

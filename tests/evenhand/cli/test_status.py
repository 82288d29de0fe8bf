"""`evenhand status`: a line for every run below a folder, told from its directory alone, also while others write."""

import json
import os
import time
from dataclasses import replace

import pytest

from evenhand.cli.status import main, stages_of
from evenhand.completions import append_completions, exclude
from evenhand.lease import held
from evenhand.records import Completion, SamplingOverride
from evenhand.run_directory import finish, open_run, write_plan
from evenhand.terminal import run_main
from tests.made.made_runs import made_items, make_run, say
from tests.made.toy_prompts import toy_config, toy_prompt
from tests.made.training_runs import tiny_run

ITEMS = made_items("pocket", 3)


@pytest.fixture
def root(tmp_path):
    """A folder with a complete run and an unfinished one."""
    make_run(tmp_path / "runs" / "inference", lambda prompt: say(1), items=ITEMS, name="whole")
    make_run(tmp_path / "runs" / "inference", lambda prompt: say(1), items=ITEMS, name="part", leave_out=5)
    return tmp_path / "runs"


def test_every_run_below_a_folder_has_its_line(root, capsys):
    main([str(root)])
    _, part, whole, count = capsys.readouterr().out.splitlines()
    assert part.split()[:6] == ["sampling", f"{root}/inference/part-0000", "unfinished", "7", "of", "12"]
    assert whole.split()[:6] == ["sampling", f"{root}/inference/whole-0000", "complete", "12", "of", "12"]
    assert count == "1 of 2 complete"


def test_a_folder_without_runs_is_refused(tmp_path, capsys):
    assert run_main(main, [str(tmp_path)]) == 2
    assert "there is no run in it" in capsys.readouterr().err


PROMPTS = [replace(toy_prompt(f"question {number}"), item_id=f"item-{number}") for number in range(10)]


def planned_run(path, prompts=PROMPTS, n=1):
    """A run that has no answer."""
    config = toy_config("owner/model", "reason", sampling={"n": n, "temperature": 1.0})
    open_run(path, config, "hash", {"name": "owner/model"}, lambda: "CPU: made up")
    write_plan(path, prompts)
    return path


def answer(path, prompts, index=0):
    """Add a shard."""
    facts = {"sample_index": index, "text": "1", "finish_reason": "stop"}
    append_completions(path, [Completion(prompt_hash=prompt.prompt_hash, **facts) for prompt in prompts])


def test_the_answers_of_all_shards_are_counted_once_each(tmp_path):
    run = planned_run(tmp_path / "run")
    answer(run, PROMPTS[:4])
    answer(run, PROMPTS[2:6])  # two processes asked two of the prompts
    (stage,) = stages_of(run)
    assert (stage.state, stage.done, stage.planned, stage.plan_grows, stage.note) == ("unfinished", 6, 10, False, None)
    answer(run, PROMPTS)
    finish(run, {})
    (stage,) = stages_of(run)
    assert (stage.state, stage.done, stage.planned) == ("complete", 10, 10)


def test_a_prompt_takes_as_many_answers_as_the_run_or_its_own_drawing_says(tmp_path):
    own = replace(PROMPTS[0], drawing=SamplingOverride(n=1))
    run = planned_run(tmp_path / "run", [own, *PROMPTS[1:3]], n=4)
    answer(run, [own, PROMPTS[1]])
    answer(run, [PROMPTS[1]], index=3)
    (stage,) = stages_of(run)
    assert (stage.done, stage.planned) == (3, 1 + 2 * 4)


def test_the_last_write_is_that_of_the_shards(tmp_path):
    run = planned_run(tmp_path / "run")
    answer(run, PROMPTS[:1])
    for name in ("completions", "plan.jsonl"):
        os.utime(run / name, (time.time() - 2900,) * 2)
    assert stages_of(run)[0].written_s_ago == pytest.approx(2900, abs=60)


def test_items_that_are_left_out_owe_nothing(tmp_path):
    shared = replace(PROMPTS[1], item_id="item-0")  # of an item that is left out and of one that is not
    run = planned_run(tmp_path / "run", [*PROMPTS[:4], shared])
    exclude(run, {PROMPTS[0]: "700 tokens with the answer, window 512"})
    (stage,) = stages_of(run)
    assert (stage.done, stage.planned) == (0, 3)
    assert str(stage.note).startswith("1 items are left out")
    (run / "excluded" / "cut.jsonl").write_text("{")
    (stage,) = stages_of(run)
    assert (stage.planned, stage.plan_grows, "cut.jsonl" in str(stage.note)) == (4, False, True)


def training_run(path, **optimiser):
    """A run that was opened and has not logged a step."""
    config = tiny_run("sft", path / "model", path.parent, optimiser=optimiser)
    open_run(path, config, "hash", {"name": "model"}, lambda: "CPU: made up")
    return path


def log(path, steps, seconds=2.0, n_steps=100):
    """Lines of metrics.jsonl, each step of so many seconds."""
    with (path / "metrics.jsonl").open("a") as file:
        for step in steps:
            file.write(json.dumps({"step": step, "seconds": step * seconds, "epoch": step / n_steps}) + "\n")


@pytest.mark.parametrize("max_steps", [None, 100])
def test_steps_come_from_the_log_and_the_holder_from_the_lease(max_steps, tmp_path):
    run = training_run(tmp_path / "run", max_steps=max_steps)
    log(run, range(5, 45, 5), seconds=2.0)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 45, "sec')  # being written
    with held(run / "training.lease", "trained"):
        stage = stages_of(run)[0]
    assert (stage.done, stage.planned) == (40, 100)
    assert str(stage.holder).startswith(f"process {os.getpid()} on ")
    assert stages_of(run)[0].holder is None, "nobody trains any more"


def test_a_finished_run_and_its_merges(tmp_path):
    def shown(stages):
        return [(stage.kind, stage.path.name, stage.state, stage.done, stage.holder is not None) for stage in stages]

    run = training_run(tmp_path / "run")
    finish(run, {"n_steps": 4})
    (run / "merged-bf16").mkdir()
    (run / "merged-bf16" / "DONE.json").write_text("{}")
    whole = [("training", "run", "complete", 4, False), ("merge", "merged-bf16", "complete", None, False)]
    assert shown(stages_of(run)) == whole
    (run / "merged-nf4.0123.partial").mkdir()
    (run / "merged-nf4.0123.partial" / "DONE.json").write_text("{}")  # written before the folder is renamed
    assert shown(stages_of(run)) == [*whole, ("merge", "merged-nf4", "unfinished", None, False)]

"""Answers on record: the same to the digit, and nothing for what was not asked."""

import shutil
from pathlib import Path

import pytest

from evenhand.cli import init
from evenhand.completions import read_answers
from evenhand.errors import ConfigError, DataError
from evenhand.run_directory import DONE_FILE, read_json
from inference.config import load_sampling_config
from inference.recorded_engine import opened
from inference.sampling import sample
from tests.made.places import cases


@pytest.fixture
def sampled(tmp_path, monkeypatch):
    """The starter's study, asked of its judge: what it makes of overrides is a run in the current folder."""
    init.main([str(tmp_path / "mine")])
    monkeypatch.chdir(tmp_path / "mine")
    return lambda *words: sample(load_sampling_config(["study.yaml", *words]))


def margins(run):
    return {hash_: [dict(c.answer_logprobs) for c in kept] for hash_, kept in read_answers(run).without_errors.items()}


def test_a_recording_and_a_run_made_of_it_give_every_answer_to_the_digit(sampled):
    run = sampled()
    recorded = opened("knowing-judge")
    assert len(margins(run)) == 960  # 40 items, 2 claims, 2 orders, and 6 framings, one of them behind 2 first replies
    assert all(answers == [dict(recorded.replies[h][0].answer_logprobs)] for h, answers in margins(run).items())
    model = read_json(run / "provenance.json")["model"]
    assert (model["recorded_run"], model["checkpoint_hash"]) == ("knowing-gate-a5813a8e", "cf419d04152e88b0")
    fewer = sampled("name=fewer", "framing.framings.expert=null")
    assert len(margins(fewer)) == 800
    again = sampled("name=again", f"model.name={run}")
    assert margins(again) == margins(run)
    assert margins(sampled("name=after", "model.name=knowing-judge-trained")) != margins(run)
    (run / DONE_FILE).unlink()
    opened.cache_clear()
    with pytest.raises(ConfigError, match="no finished run"):
        sampled("name=third", f"model.name={run}")


@pytest.mark.parametrize(("words", "says"), cases(__file__)["not_on_record"])
def test_what_is_not_on_record_is_refused_and_leaves_no_run(sampled, words, says):
    with pytest.raises(ConfigError, match=says):
        sampled(*words)
    assert not Path("runs").exists()


def test_an_archive_that_is_cut_is_named(sampled):
    shutil.copyfile("study.yaml", "cut.tar.xz")
    with pytest.raises(DataError, match=r"cut\.tar\.xz: cannot be read"):
        sampled("model.name=cut.tar.xz")

"""Sampled and exact runs of one model: whether replies are as draws from the probabilities would be."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import yaml

from eval.narrator.agreement import against_draws, agreements
from eval.narrator.all_tables import narrator_tables
from eval.narrator.judged_runs import NarratorRun, load_narrator_runs
from eval.narrator.option_prefixes import begun_shares, begun_with
from eval.narrator.scores import scores_of
from eval.narrator.sentences import doubts, headline
from eval.narrator.study import POOLED, study
from evenhand.records import Completion, Prompt
from tests.made.narrator_runs import edit_config, factors_of, fair, made_conversations, make_narrator_run

CONVERSATIONS = made_conversations({3: 30})
BLAME = {"tasks": ("blame",), "visibilities": ("visible",)}


def two_runs(folder, sampled=fair, exact=fair, *, n=10, asked=BLAME, config=None) -> list[NarratorRun]:
    """A sampled and an exact run. asked: of the sampled one; config: keys of the exact run's that differ."""
    one = make_narrator_run(folder, sampled, CONVERSATIONS, name="sampled", n=n, **asked)
    other = make_narrator_run(folder, exact, CONVERSATIONS, name="exact", is_exact=True, **BLAME)
    if config:
        tree = yaml.safe_load((other / "config.yaml").read_text()) | dict(config)
        edit_config(other, yaml.safe_dump(tree))
    return load_narrator_runs([one, other])


def half_silent(prompt: Prompt) -> Mapping[str, float]:
    """Half of the replies name nobody, the others are always right."""
    return {factors_of(prompt).target: 0.5, "I cannot say.": 0.5}


def behind_a_preamble(prompt: Prompt) -> Mapping[str, float]:
    """Half of the replies are right by chance, the others, behind a preamble, nine times of ten."""
    return {option: p / 2 for option, p in fair(prompt, 0.5).items()} | {
        f"The answer is: {option}.": p / 2 for option, p in fair(prompt, 0.9).items()
    }


@pytest.mark.parametrize("n", [1, 2, 10])
def test_replies_agree_with_the_probabilities_they_are_drawn_from_and_with_no_others(tmp_path, n):
    same = agreements(two_runs(tmp_path / "same", n=n))[0]
    assert same.begins.is_within_error
    assert same.reads.is_within_error
    assert not same.begins.difference.excludes(0)
    assert 0.5 < same.begins.scatter < 1.5
    other = agreements(two_runs(tmp_path / "other", lambda prompt: fair(prompt, 0.95), n=n))[0]
    assert other.begins.is_within_error is False
    assert other.reads.is_within_error is False


def test_one_in_twenty_right_runs_at_most_is_called_wrong():
    rng = np.random.default_rng(5)
    p = rng.beta(0.3, 0.6, 120)  # many near 0, as probabilities of names are
    rejected = 0
    for _ in range(100):
        counts = rng.binomial(10, p)
        rejected += against_draws([("all", 10, int(k), float(q)) for k, q in zip(counts, p, strict=True)])[1] < 0.05
    assert rejected <= 10  # of 100; 5 expected, and more than 10 in one of 90 such hundreds


def test_differences_that_cancel_over_the_tasks_are_seen():
    rows = [(part, 100, k, 0.5) for part, k in (("blame", 54), ("detection", 46)) for _ in range(40)]
    scatter, p = against_draws(rows)
    assert scatter < 1  # every prompt alone is well within error
    assert p < 0.01


def test_a_judge_that_answers_otherwise_behind_a_preamble_agrees_only_in_what_replies_begin_with(tmp_path):
    runs = two_runs(tmp_path, behind_a_preamble, behind_a_preamble, n=20)
    found = study(runs)
    whole, *parts = found.agreements
    assert whole.begins.is_within_error
    assert whole.reads.is_within_error is False
    assert whole.reads.difference.value == pytest.approx(20, abs=5)
    assert {(part.task, part.visibility) for part in parts} == {("blame", "visible")}
    assert [part.perspective for part in parts] == ["neutral", "attacker", "non_attacker"]
    (table,) = [table for table in narrator_tables(found) if table.name == "narrator_agreement"]
    assert [row[4] for row in table.rows] == [whole.begins.n_prompts, *(part.begins.n_prompts for part in parts)]
    assert sum(part.begins.n_prompts for part in parts) == whole.begins.n_prompts
    sentence = headline(found)[-1]
    assert "they agree within sampling error" in sentence
    assert "they do not (p < .001): the target's share differs by up to +" in sentence
    scores = {s.measure: s for s in scores_of(found) if s.setting["against"] and s.setting["task"] is None}
    assert scores["reads_difference"].estimate == whole.reads.difference
    assert (scores["begins_p"].judge, scores["begins_p"].estimate.value) == (whole.sampled, whole.begins.p)


def test_a_judge_whose_readable_replies_are_all_right_agrees_with_itself(tmp_path):
    found = study(two_runs(tmp_path, half_silent, half_silent))
    assert found.agreements[0].reads.p == 1
    assert "They also agree as replies are read here" in headline(found)[-1]


def test_runs_without_a_common_prompt_are_said_to_have_none(tmp_path):
    found = study(two_runs(tmp_path, asked={**BLAME, "visibilities": ("hidden",)}))
    assert "have no answered prompt in common" in headline(found)[-1]
    assert "narrator_agreement" not in [table.name for table in narrator_tables(found)]


def test_replies_that_a_grammar_held_to_the_options_are_not_held_against_probabilities(tmp_path):
    runs = two_runs(tmp_path)
    assert agreements(runs)
    sampled = dict(runs[0].config) | {"sampling": {"n": 10, "temperature": 0.7, "structured": "json"}}
    assert agreements([replace(runs[0], config=sampled), runs[1]]) == []


def test_what_else_differs_is_said(tmp_path):
    colder = two_runs(tmp_path, config={"sampling": {"n": 1, "temperature": 0.2}, "format": "raw"})
    assert agreements(colder)[0].differs == ("sampling.temperature", "format")
    assert "(though they differ in sampling.temperature, format)" in headline(study(colder))[-1]


def test_two_checkpoints_in_folders_of_one_name_are_two_models(tmp_path):
    runs = two_runs(tmp_path, config={"model": {"name": "another/model"}})
    assert agreements(runs) == []


@pytest.mark.parametrize("is_exact", [False, True])
def test_what_is_said_of_unread_replies_is_of_the_way_they_were_had(tmp_path, is_exact):
    paths = [
        make_narrator_run(
            tmp_path, half_silent, CONVERSATIONS, name=name, model=f"x/{name}", is_exact=is_exact, **BLAME
        )
        for name in ("one", "two")
    ]
    found = study(load_narrator_runs(paths))
    for judge in ("one", POOLED):
        (said,) = doubts(found, judge)
        assert ("do not begin with an option (50 %" in said) == is_exact
        assert ("name no option (" in said) != is_exact
        assert "cut off" not in said


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Ann", "Ann"),
        ("Ann. She began it.", "Ann"),
        ("Anna", "Anna"),
        ("Annabel", None),
        (" Ann", None),
        ("ann", None),
        ("The answer is: Ann.", None),
        ("Ann, Anna", "Ann"),
        ("", None),
    ],
)
def test_what_a_reply_begins_with(text, option):
    assert begun_with(text, ("Ann", "Anna", "Me")) == option


def test_bare_text_goes_on_behind_a_blank_and_failed_requests_are_no_replies():
    said = [(" Ann", "stop"), ("Ann", "length"), ("Bob", "stop"), ("", "error: 500")]
    replies = [
        Completion(prompt_hash="x", sample_index=k, text=text, finish_reason=reason)
        for k, (text, reason) in enumerate(said)
    ]
    assert begun_shares(replies, ("Ann", "Me"), is_raw=True) == pytest.approx((2 / 3, 0))
    assert begun_shares(replies, ("Ann", "Me")) == pytest.approx((1 / 3, 0))
    assert begun_shares(replies[3:], ("Ann", "Me")) == (0, 0)

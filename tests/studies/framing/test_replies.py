"""A reply to a framed prompt names one symbol, several in a tie, or none."""

import pytest

from eval.results import read_run
from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml, write_jsonl
from inference.config import parse_sampling_config
from studies.framing.replies import CHOSEN, TIE, UNPARSED, choice_in
from tests.made.completions import completion
from tests.made.framing_runs import claims, run_of, study
from tests.made.places import ROOT


def test_texts_are_read_and_log_probabilities_are_compared():
    def said(text, **more):
        return choice_in(completion(text, **more), ("A", "B", "C"))

    assert said("I prefer B.") == ((1,), CHOSEN, "prose")
    assert said("A or B") == ((), UNPARSED, "none")
    assert said("A", answer_logprobs={"A": -1.0, "B": -0.5, "C": -9.0}) == ((1,), CHOSEN, "")
    assert said("A", answer_logprobs={"A": -9.0, "B": -0.5, "C": -0.5}) == ((1, 2), TIE, "")
    assert said("A", answer_logprobs={"A": -9.0, "B": -0.5}) == ((), UNPARSED, "")
    assert said("", finish_reason="error: 500") == ((), UNPARSED, "")


CONDITIONS = ("statement", "expert", "placebo 1", "placebo 2")
MANNERS = [*shipped_yaml(ROOT / "tests/eval/reading/manners.yaml"), "{other}. On second thought, {own}."]


def test_a_judge_that_never_moves_has_no_shift_in_whatever_manner_it_writes(tmp_path, monkeypatch):
    def judge(prompt):
        right = prompt.factors.names.index(prompt.factors.label)
        own, other = prompt.answer_space[right], prompt.answer_space[1 - right]
        manner = int(prompt.item_id[1:]) + 5 * CONDITIONS.index(prompt.condition)
        return MANNERS[manner % len(MANNERS)].format(own=own, other=other)

    section = study(claims(tmp_path / "claims.jsonl", len(MANNERS)))
    framed = read_run("framing", run_of(tmp_path, section, judge, monkeypatch))
    assert {state for _, state, _, _ in framed.readings()} == {"prose", "first line", "json", "pattern", "whole"}
    (grid,) = framed.grids.values()
    assert grid.of("right").min() == 1.0
    assert grid.fields["unread"].max() == 0.0


PAIR = {"pair": {"first": "a", "second": "b"}, "symbols": ["A", "B"]}


@pytest.mark.parametrize(
    ("keys", "form"),
    [
        ({"read": "[[A]]", **PAIR}, "Assistant A is thorough. Assistant B is short.\n\nMy verdict: [[{}]]"),
        ({"read": "[RESULT] 4", "scale": [1, 5]}, "It names 2 of 5 causes and reads well. [RESULT] {}"),
    ],
)
def test_forms_that_judges_are_told_to_write_need_one_line(keys, form, tmp_path, monkeypatch):
    items = tmp_path / "pairs.jsonl"
    write_jsonl(items, [{"id": f"p{i}", "a": f"text {i}", "b": f"other {i}"} for i in range(6)])
    section = {
        "items": str(items),
        "ask": "{{ framing }} {{ first }} {{ second }}",
        "baseline": "plain",
        "framings": {"plain": "Judge: {{ a }}", "user": "I wrote the first. Judge: {{ a }}"},
        **keys,
    }
    wanted = {}

    def judge(prompt):
        place = wanted[prompt.prompt_hash] = len(wanted) % len(prompt.answer_space)
        return form.format(prompt.answer_space[place])

    framed = read_run("framing", run_of(tmp_path, section, judge, monkeypatch))
    assert {key: choice.place for key, (choice,) in framed.choices.items()} == wanted
    assert len({*wanted.values()}) > 1


def test_a_pattern_that_is_none_is_refused_with_its_key(tmp_path):
    tree = {"name": "n", "model": {"name": "m"}, "verdict": "answer"}
    with pytest.raises(ConfigError, match=r"framing\.read: .*is no regular expression"):
        parse_sampling_config({**tree, "framing": study(claims(tmp_path / "claims.jsonl", 2), read="(")}, "made.yaml")

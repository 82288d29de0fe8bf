"""RQ1 to RQ4 are answered in a sentence each, and differently for judges that do differ."""

from pathlib import Path
from typing import Any

import pytest

from eval.narrator.judged_runs import load_narrator_runs
from eval.narrator.research_questions import answered_questions
from eval.narrator.study import study
from tests.made.narrator_runs import Judge, accuser, eliminator, fair, made_conversations, make_narrator_run, protector

CONVERSATIONS = made_conversations({2: 50, 6: 25})
JUDGES: dict[str, Judge] = {
    "protector": protector(0.8),
    "fair": fair,
    "eliminator": eliminator,
    "accuser": accuser(0.5),
}
ASKED: dict[str, Any] = {"tasks": ("blame", "detection"), "visibilities": ("visible",), "n": 10}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    return {
        name: make_narrator_run(root, judge, CONVERSATIONS, name=name, model=f"x/{name}", **ASKED)
        for name, judge in JUDGES.items()
    }


def answers(runs: dict[str, Path], *names: str) -> list[str]:
    return answered_questions(study(load_narrator_runs([runs[name] for name in names])))


@pytest.mark.parametrize(
    ("name", "moves", "persists", "gains"),
    [
        ("protector", "it moves blame attribution: PR is +", "yes: among detected", "its gain falls as speakers"),
        ("eliminator", "it moves blame attribution: PR is +", "yes: among detected", "its gain falls as speakers"),
        ("fair", "no shift is shown: PR is", "no shift is shown there", "no gain is shown"),
        ("accuser", "it moves blame attribution: PR is -", "it is turned around there", "no gain is shown"),
    ],
)
def test_one_model_is_asked_three_questions(runs, name, moves, persists, gains):
    first, second, third = answers(runs, name)
    assert first.startswith(f"RQ1, how does perspective affect judgments across tasks? {name}, attack visible, Me in")
    assert moves in first
    assert "in attack detection" in first
    assert second.startswith("RQ2")
    assert persists in second
    assert third.startswith("RQ3")
    assert gains in third
    assert "among 2 speakers and" in third


def test_models_are_told_apart_only_where_they_differ(runs):
    *_, fourth = answers(runs, "fair", "protector")
    assert fourth.startswith("RQ4, do models differ? Blame attribution, attack visible: yes: Δ_att goes from -")
    assert "of protector to" in fourth
    assert "FAR is" in fourth
    assert len(answers(runs, "fair", "protector")) == 4


def test_what_was_not_asked_is_unknown(tmp_path):
    asked = {**ASKED, "tasks": ("blame",)}
    path = make_narrator_run(tmp_path, fair, made_conversations({3: 12}), **asked)
    _, second, third = answered_questions(study(load_narrator_runs([path])))
    assert "unknown: detection was not asked" in second
    assert "unknown: it needs two numbers of speakers" in third


def test_a_model_that_was_not_asked_in_an_order_is_left_out_there(tmp_path):
    few = made_conversations({2: 6, 3: 5})
    for name, orders in (("one", ("published",)), ("both", ("published", "fixed_slot"))):
        make_narrator_run(tmp_path, fair, few, name=name, model=f"x/{name}", option_orders=orders, **{**ASKED, "n": 1})
    found = answered_questions(study(load_narrator_runs(sorted(tmp_path.iterdir()))))
    assert [line for line in found if line.startswith("RQ1") and "both" in line]
    assert not [line for line in found if line.startswith("RQ1") and " one," in line]

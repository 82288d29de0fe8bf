"""Agreement of people and judges, computed by hand, by scipy, and where it is installed by scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from eval.annotation.agreement import kappa, kappa_of, scores_of
from eval.annotation.command import read_labels
from eval.annotation.tasks import Task
from eval.estimates.estimate import Estimate
from tests.made.made_annotation import comparison, item, label_file, task, whole


def figures(tmp_path: Path, of: Task, *people: dict[str, str]) -> dict[tuple[str, ...], Estimate]:
    """(measure, person, against[, judge says, person says]) → figure; people: text or unit of an item → answer."""
    files = [
        label_file(tmp_path / f"p{n}.json", whole(of), lambda one, says=says: says[one.unit])
        for n, says in enumerate(people)
    ]
    return {
        (score.measure, *(str(value) for name, value in score.setting.items() if name != "what")): score.estimate
        for score in scores_of(read_labels(files, [of]))
    }


def made(judge: str, person: str) -> tuple[Task, dict[str, str]]:
    """Words of letters, y or n, one an item: what the judge says, and what a person does."""
    words = {"y": "yes", "n": "no"}
    items = [item(n, words[letter]) for n, letter in enumerate(judge)]
    return task(items), {one.unit: words[letter] for one, letter in zip(items, person, strict=True)}


def test_a_lenient_judge_by_hand(tmp_path: Path):
    found = figures(tmp_path, *made("yyyyynnnnn", "yynnnnnnny"))
    against = ("p0", "judge")
    assert found["agreement", *against].value == pytest.approx(60)
    assert found["leniency", *against].value == pytest.approx(60)
    assert found["strictness", *against].value == pytest.approx(20)
    # By chance 0.5 × 0.3 + 0.5 × 0.7 = 0.5.
    assert found["kappa", *against].value == pytest.approx((0.6 - 0.5) / 0.5)
    assert found["mcnemar_p", *against].value == pytest.approx(binomtest(1, 4).pvalue)
    counts = {key[3:]: one.value for key, one in found.items() if key[0] == "n"}
    assert counts == {("yes", "yes"): 2, ("yes", "no"): 3, ("no", "yes"): 1, ("no", "no"): 4}
    assert found["agreement", *against].n_units == 10


def test_agreement_in_the_run_weights_the_judges_answers_by_how_often_it_gave_them(tmp_path: Path):
    of, says = made("yyyynnnn", "yynnnnnn")
    of = task(of.items, in_run={"yes": 10, "no": 90})
    found = figures(tmp_path, of, says)
    assert found["agreement", "p0", "judge"].value == pytest.approx(75)
    assert found["agreement_in_run", "p0", "judge"].value == pytest.approx(0.1 * 50 + 0.9 * 100)


def test_three_answers_have_a_table_and_no_direction(tmp_path: Path):
    answers = ("SUPPORTING", "AGAINST", "NEUTRAL")
    items = [item(n, answers[n % 3]) for n in range(9)]
    found = figures(tmp_path, task(items, answers), {one.unit: "AGAINST" for one in items})
    assert found["agreement", "p0", "judge"].value == pytest.approx(100 / 3)
    assert found["kappa", "p0", "judge"].value == pytest.approx(0)
    assert {key[3:]: one.value for key, one in found.items() if key[0] == "n" and one.value} == {
        (answer, "AGAINST"): 3 for answer in answers
    }
    assert not {"leniency", "mcnemar_p"} & {key[0] for key in found}


def test_a_preference_with_its_sign_test(tmp_path: Path):
    of = comparison(12)
    sides = {one.unit: one.judge for one in whole(of).items}
    other = {"left": "right", "right": "left"}
    units = sorted(sides)
    says = {u: sides[u] if n < 8 else other[sides[u]] if n < 10 else "tie" for n, u in enumerate(units)}
    found = figures(tmp_path, of, says)
    assert found["preferred", "p0", ""].value == pytest.approx(80)
    assert found["ties", "p0", ""].value == pytest.approx(100 / 6)
    assert found["sign_test_p", "p0", ""].value == pytest.approx(binomtest(8, 10).pvalue)
    preferred = found["preferred", "p0", ""]
    assert (preferred.low, preferred.high) == pytest.approx((37.8, 96.3), abs=0.1)  # on the logit's scale, t(9)


def test_people_are_held_against_each_other_over_what_both_labelled(tmp_path: Path):
    of, first = made("yyyyynnnnn", "yyynnnnnnn")
    _, second = made("yyyyynnnnn", "yyyyynnnnn")
    found = figures(tmp_path, of, first, second)
    assert found["agreement", "p0", "p1"].value == pytest.approx(80)
    assert found["kappa", "p0", "p1"].value == pytest.approx((0.8 - 0.5) / 0.5)
    assert found["agreement", "p1", "judge"].value == 100


def test_items_without_a_label_are_left_out(tmp_path: Path):
    of, says = made("yyyynnnn", "yyyynnnn")
    draw = whole(of)
    some = [one.item_id for one in draw.items[:5]]
    file = label_file(tmp_path / "a.json", draw, lambda one: says[one.unit], labels=dict.fromkeys(some, "no"))
    scores = scores_of(read_labels([file], [of]))
    assert next(score.estimate.n_units for score in scores if score.measure == "agreement") == 5


def test_kappa_is_scikit_learns():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    draws = np.random.default_rng(0)
    for n_answers in (2, 3):
        for _ in range(50):
            first, second = draws.integers(n_answers, size=(2, 30))
            table = np.zeros((n_answers, n_answers))
            np.add.at(table, (first, second), 1)
            assert float(kappa(table)) == pytest.approx(metrics.cohen_kappa_score(first, second))


def test_kappa_is_unknown_where_both_give_one_answer_alone():
    assert kappa_of([("a", "yes", "yes"), ("b", "yes", "yes")], ("yes", "no")).value is None


def test_kappas_interval_is_over_units_and_does_not_shrink_when_each_says_everything_twice():
    draws = np.random.default_rng(1)
    pairs = [(f"unit {n}", "yn"[draws.integers(2)], "yn"[draws.integers(2)]) for n in range(40)]
    once, twice = kappa_of(pairs, ("y", "n")), kappa_of([*pairs, *pairs], ("y", "n"))
    assert once.value == pytest.approx(twice.value)
    assert (once.low, once.high) == pytest.approx((twice.low, twice.high))
    assert once.n_units == twice.n_units == 40

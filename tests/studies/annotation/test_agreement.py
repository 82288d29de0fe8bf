"""Agreement with people, by hand and by scikit-learn."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from studies.annotation.agreement import agreement_text, kappa, kappa_of, scores_of
from studies.annotation.labels import read_labels
from tests.made.made_annotation import item, label_file, task


def scores(tmp_path, task, *people):
    """Of the labels of people p0, p1, ...: unit of an item → answer, if any."""
    files = [
        label_file(tmp_path / f"p{n}.csv", task, lambda item, answers=answers: answers.get(item.unit, ""))
        for n, answers in enumerate(people)
    ]
    return scores_of(read_labels(files, {task.name: task}), {task.name: task})


def made(judge, person, **keys):
    """Words of letters, y, n or - for no label, one an item: what the judge says, and what a person does."""
    words = {"y": "yes", "n": "no"}
    items = [item(n, words[letter]) for n, letter in enumerate(judge)]
    return task(items, **keys), {
        i.unit: words[letter] for i, letter in zip(items, person, strict=True) if letter != "-"
    }


def test_a_lenient_judge_by_hand(tmp_path):
    asked, first = made("yyyyynnnnn", "yynnnnnnny", in_run={"yes": 10, "no": 90})
    by_name = {
        (score.measure, *(str(value) for name, value in score.setting.items() if name != "what")): score.estimate
        for score in scores(tmp_path, asked, first, made("yyyyynnnnn", "yyyyynnn--")[1])
    }
    values = {key[0]: one.value for key, one in by_name.items() if key[1:] == ("p0", "judge")}
    assert values == {
        "agreement": pytest.approx(60),
        "agreement_in_run": pytest.approx(0.1 * 40 + 0.9 * 80),
        "leniency": pytest.approx(60),
        "strictness": pytest.approx(20),
        "kappa": pytest.approx((0.6 - 0.5) / 0.5),  # by chance 0.5 × 0.3 + 0.5 × 0.7 = 0.5
        "mcnemar_p": pytest.approx(binomtest(1, 4).pvalue),
    }
    # The second person labelled eight items, of which the first says the same of five.
    assert [by_name["agreement", "p1", "judge"].value, by_name["agreement", "p1", "judge"].n_units] == [100, 8]
    assert by_name["agreement", "p0", "p1"].value == pytest.approx(62.5)
    assert by_name["kappa", "p0", "p1"].value == pytest.approx((5 / 8 - 28 / 64) / (1 - 28 / 64))


def test_kappa_is_that_of_scikit_learn():
    first, second = np.random.default_rng(3).integers(3, size=(2, 50))
    tables = np.zeros((3, 3))
    np.add.at(tables, (first, second), 1)
    assert kappa(tables) == pytest.approx(cohen_kappa_score(first, second))


def test_kappas_interval_is_over_units_and_does_not_shrink_when_each_says_everything_twice():
    draws = np.random.default_rng(1)
    pairs = [(f"unit {n}", "yn"[draws.integers(2)], "yn"[draws.integers(2)]) for n in range(40)]
    once, twice = kappa_of(pairs, ("y", "n")), kappa_of([*pairs, *pairs], ("y", "n"))
    assert (once.value, once.low, once.high) == pytest.approx((twice.value, twice.low, twice.high))
    assert once.n_units == twice.n_units == 40
    assert kappa_of([("a", "y", "y"), ("b", "y", "y")], ("y", "n")).value is None, "both give one answer alone"


def test_each_person_is_a_column_of_the_printed_table_and_kappa_has_two_digits(tmp_path):
    asked, first = made("yyyyynnnnn", "yynnnnnnny")
    text = agreement_text(scores(tmp_path, asked, dict.fromkeys(first, "yes"), first), {"made": asked})
    _, head, *lines = text.splitlines()
    assert [head.count(name) for name in ("p0 and judge", "p1 and judge", "p0 and p1")] == [1, 1, 1]
    assert next(line for line in lines if line.startswith("units")).split() == ["units", "10", "10", "10"]
    (kappas,) = (line for line in lines if line.startswith("Cohen"))
    assert kappas.split()[2:] == ["0.00", "0.20", "0.00", "[0.00,", "0.00]"]

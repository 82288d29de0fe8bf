"""Which items people are asked about, on which page; whose labels count; and agreement, by hand and by scikit-learn."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from eval.annotation.agreement import kappa_of, scores_of
from eval.annotation.command import page_data, page_html, read_labels
from eval.annotation.tasks import Item, Task, drawn
from eval.estimates.estimate import Estimate
from evenhand.errors import ConfigError, DataError
from tests.made.hostile_texts import HOSTILE
from tests.made.made_annotation import comparison, item, label_file, task, whole

MADE = task([item(n, "yes" if n % 2 else "no") for n in range(12)])


@pytest.mark.parametrize(("n_yes", "n", "expected"), [(10, 20, (10, 10)), (3, 20, (3, 17)), (3, 1000, (3, 97))])
def test_the_judges_answers_are_drawn_in_equal_numbers_as_far_as_there_are(
    n_yes: int, n: int, expected: tuple[int, int]
):
    draw = drawn(task([item(k, "yes" if k < n_yes else "no") for k in range(100)]), n, 0)
    said = [one.judge for one in draw.items]
    assert (said.count("yes"), said.count("no")) == expected
    assert said not in (["yes", "no"] * 10, ["no", "yes"] * 10, sorted(said), sorted(said, reverse=True))


def test_a_unit_with_many_items_gives_no_more_than_the_others_and_the_seed_decides():
    items = [item(n, "yes", unit="long thread") for n in range(500)]
    made = task(items + [item(n, "yes", unit=f"thread {n}") for n in range(500, 509)])
    draw = drawn(made, 10, 0)
    assert Counter(one.unit for one in draw.items) == dict.fromkeys({one.unit for one in made.items}, 1)
    assert draw == drawn(made, 10, 0)
    assert draw.items != drawn(made, 10, 1).items


def test_which_run_of_a_comparison_stands_on_the_left_is_drawn():
    made = drawn(comparison(40), 40, 0)
    for one in made.items:
        assert [heading for heading, _ in one.texts] == ["Post", "Left", "Right"]
        assert dict(one.texts)[one.judge.title()] == "of first", "judge names the side of the first run"
    assert 10 < Counter(one.judge for one in made.items)["left"] < 30
    others = drawn(comparison(40), 40, 1).items
    assert {one.unit: one.judge for one in made.items} != {one.unit: one.judge for one in others}


def test_hostile_texts_are_data_and_come_back_as_they_are():
    made = task([Item(unit=text, texts=(("Text", text),), judge="yes") for text in HOSTILE])
    page = page_html(whole(replace(made, question="<b>&?")))
    assert page.count("<script") == page.count("</script>") == 2
    assert not re.search("[\u2028\u2029\u202e]", page)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert {text for one in json.loads(data)["items"] for _, text in one["texts"]} == set(HOSTILE)
    assert "<h1>&lt;b&gt;&amp;?</h1>" in page
    assert len(page_html(whole(task([Item(unit="a", texts=(("Text", "so " * 50_000),), judge="yes")])))) < 50_000
    assert not re.search(r"https?:|src=|@import|url\(|fetch\(|XMLHttp", page_html(whole(MADE)))
    assert {frozenset(one) for one in page_data(whole(MADE))["items"]} == {frozenset({"id", "texts"})}, "no answers"


def test_labels_are_read_with_their_draw_and_people_are_told_apart(tmp_path: Path):
    draw = drawn(MADE, 6, 3)
    (labels,) = read_labels([label_file(tmp_path / "anna.json", draw, lambda one: "yes")], [MADE])
    assert (labels.annotator, labels.draw) == ("anna", draw)
    assert set(labels.answers) == {one.item_id for one in draw.items}
    files = [
        label_file(tmp_path / f"{n}.json", whole(MADE), lambda one, said=said: said, annotator=name)
        for n, (name, said) in enumerate([("Anna", "yes"), ("Ben", "yes"), ("Anna", "no")])
    ]
    assert [one.annotator for one in read_labels(files, [MADE])] == [str(files[0]), "Ben", str(files[2])]
    other = replace(MADE, name="other")
    files[2] = label_file(files[2], whole(other), lambda one: "yes", annotator="Anna")
    assert [one.annotator for one in read_labels(files, [MADE, other])] == ["Anna", "Ben", "Anna"]
    copy = tmp_path / "copy.json"
    copy.write_text(json.dumps(json.loads(files[0].read_text()), indent=1))
    with pytest.raises(DataError, match=r"copy\.json: holds the same labels under the same name as .*0\.json"):
        read_labels([files[0], copy], [MADE])


OTHERS = {
    "other texts": task([item(n + 1, "yes" if n % 2 else "no") for n in range(12)]),
    "another run": task(MADE.items, in_run={"yes": 60, "no": 6}),
}


@pytest.mark.parametrize(
    ("asked", "change", "says"),
    [
        *((other, {}, "go with made-run: that is another run") for other in OTHERS.values()),
        (MADE, {"seed": 1}, "is another run"),
        (MADE, {"labels": {"0" * 16: "yes"}}, "'yes' is not an answer to an item of the page"),
        (MADE, {"labels": {MADE.items[0].item_id: "perhaps"}}, "'perhaps' is not an answer .*answers are yes, no"),
        (MADE, {"labels": {}}, "a.json: labels: .*at least 1"),
    ],
)
def test_labels_of_another_run_and_edited_ones_are_refused(tmp_path: Path, asked: Task, change: Any, says: str):
    with pytest.raises((ConfigError, DataError), match=says):
        read_labels([label_file(tmp_path / "a.json", whole(MADE), lambda one: "yes", **change)], [asked])


def figures(tmp_path: Path, asked: Task, *people: dict[str, str]) -> dict[tuple[str, ...], Estimate]:
    """(measure, person, against[, judge says, person says]) → figure; people: unit of an item → answer, if any."""
    draw = whole(asked)
    files = []
    for n, says in enumerate(people):
        labels = {one.item_id: says[one.unit] for one in draw.items if one.unit in says}
        files.append(label_file(tmp_path / f"p{n}.json", draw, lambda one: "", labels=labels))
    return {
        (score.measure, *(str(value) for name, value in score.setting.items() if name != "what")): score.estimate
        for score in scores_of(read_labels(files, [asked]))
    }


def made(judge: str, person: str, **keys: Any) -> tuple[Task, dict[str, str]]:
    """Words of letters, y, n or - for no label, one an item: what the judge says, and what a person does."""
    words = {"y": "yes", "n": "no"}
    items = [item(n, words[letter]) for n, letter in enumerate(judge)]
    return task(items, **keys), {
        i.unit: words[letter] for i, letter in zip(items, person, strict=True) if letter != "-"
    }


def test_a_lenient_judge_by_hand(tmp_path: Path):
    asked, first = made("yyyyynnnnn", "yynnnnnnny", in_run={"yes": 10, "no": 90})
    by_name = figures(tmp_path, asked, first, made("yyyyynnnnn", "yyyyynnn--")[1])
    values = {key[0]: one.value for key, one in by_name.items() if key[1:] == ("p0", "judge")}
    assert values == {
        "agreement": pytest.approx(60),
        "agreement_in_run": pytest.approx(0.1 * 40 + 0.9 * 80),
        "leniency": pytest.approx(60),
        "strictness": pytest.approx(20),
        "kappa": pytest.approx((0.6 - 0.5) / 0.5),  # by chance 0.5 × 0.3 + 0.5 × 0.7 = 0.5
        "mcnemar_p": pytest.approx(binomtest(1, 4).pvalue),
    }
    counts = {key[3:]: one.value for key, one in by_name.items() if key[:2] == ("n", "p0")}
    assert counts == {("yes", "yes"): 2, ("yes", "no"): 3, ("no", "yes"): 1, ("no", "no"): 4}
    # The second person labelled eight items, of which the first says the same of five.
    assert [by_name["agreement", "p1", "judge"].value, by_name["agreement", "p1", "judge"].n_units] == [100, 8]
    assert by_name["agreement", "p0", "p1"].value == pytest.approx(62.5)
    assert by_name["kappa", "p0", "p1"].value == pytest.approx((5 / 8 - 28 / 64) / (1 - 28 / 64))


def test_a_preference_with_its_sign_test(tmp_path: Path):
    asked = comparison(12)
    sides = {one.unit: one.judge for one in whole(asked).items}
    other = {"left": "right", "right": "left"}
    says = {u: sides[u] if n < 8 else other[sides[u]] if n < 10 else "tie" for n, u in enumerate(sorted(sides))}
    by_name = figures(tmp_path, asked, says)
    preferred = by_name["preferred", "p0", ""]
    assert preferred.value == pytest.approx(80)
    assert (preferred.low, preferred.high) == pytest.approx((37.8, 96.3), abs=0.1)  # on the logit's scale, t(9)
    assert by_name["ties", "p0", ""].value == pytest.approx(100 / 6)
    assert by_name["sign_test_p", "p0", ""].value == pytest.approx(binomtest(8, 10).pvalue)


def test_kappas_interval_is_over_units_and_does_not_shrink_when_each_says_everything_twice():
    draws = np.random.default_rng(1)
    pairs = [(f"unit {n}", "yn"[draws.integers(2)], "yn"[draws.integers(2)]) for n in range(40)]
    once, twice = kappa_of(pairs, ("y", "n")), kappa_of([*pairs, *pairs], ("y", "n"))
    assert (once.value, once.low, once.high) == pytest.approx((twice.value, twice.low, twice.high))
    assert once.n_units == twice.n_units == 40
    assert kappa_of([("a", "y", "y"), ("b", "y", "y")], ("y", "n")).value is None, "both give one answer alone"

"""Which items people are asked about."""

from collections import Counter
from dataclasses import replace

from eval.annotation.tasks import drawn
from tests.made.made_annotation import comparison, item, task


def test_the_judges_answers_are_drawn_in_equal_numbers_however_rare_one_is():
    rare = task([item(n, "yes" if n < 10 else "no") for n in range(1000)])
    assert Counter(one.judge for one in drawn(rare, 20, 0).items) == {"yes": 10, "no": 10}


def test_where_one_answer_runs_out_the_others_fill_the_page():
    rare = task([item(n, "yes" if n < 3 else "no") for n in range(100)])
    assert Counter(one.judge for one in drawn(rare, 20, 0).items) == {"yes": 3, "no": 17}
    assert len(drawn(rare, 1000, 0).items) == 100


def test_a_unit_with_many_items_gives_no_more_than_the_others():
    items = [item(n, "yes", unit="long thread") for n in range(500)]
    items += [item(n, "yes", unit=f"thread {n}") for n in range(500, 509)]
    assert Counter(one.unit for one in drawn(task(items), 10, 0).items) == dict.fromkeys({one.unit for one in items}, 1)


def test_the_seed_decides_the_items_and_their_order():
    many = task([item(n, "yes" if n % 2 else "no") for n in range(50)])
    assert drawn(many, 10, 0) == drawn(many, 10, 0)
    assert drawn(many, 10, 0).items != drawn(many, 10, 1).items
    assert drawn(many, 10, 0).digest != drawn(many, 10, 1).digest


def test_the_order_does_not_tell_the_judges_answers():
    many = task([item(n, "yes" if n % 2 else "no") for n in range(50)])
    said = [one.judge for one in drawn(many, 20, 0).items]
    assert said not in (["yes", "no"] * 10, ["no", "yes"] * 10, sorted(said), sorted(said, reverse=True))


def test_the_digest_changes_with_a_text_and_with_an_answer_of_the_judge():
    answers = ["yes", "yes", "no", "no"]
    made = [item(n, answer) for n, answer in enumerate(answers)]
    was = drawn(task(made), 4, 0)
    assert drawn(task([*made[:3], item(9, "no")]), 4, 0).digest != was.digest
    swapped = replace(was, items=[replace(one, judge=answer) for one, answer in zip(was.items, answers, strict=True)])
    assert [one.judge for one in was.items] != answers, "otherwise nothing is swapped"
    assert swapped.digest != was.digest


def test_which_run_of_a_comparison_stands_on_the_left_is_drawn():
    made = drawn(comparison(40), 40, 0)
    for one in made.items:
        bodies = dict(one.texts)
        assert [heading for heading, _ in one.texts] == ["Post", "Left", "Right"]
        assert bodies[one.judge.title()] == "of first", "judge names the side of the first run"
    assert 10 < Counter(one.judge for one in made.items)["left"] < 30
    others = drawn(comparison(40), 40, 1).items
    assert {one.unit: one.judge for one in made.items} != {one.unit: one.judge for one in others}

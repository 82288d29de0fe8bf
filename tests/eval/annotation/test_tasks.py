"""Which items people are asked about."""

from collections import Counter

import pytest

from eval.annotation.tasks import draw_items
from tests.made.made_annotation import comparison, item, task


@pytest.mark.parametrize(("n_yes", "n", "expected"), [(10, 20, (10, 10)), (3, 20, (3, 17)), (3, 1000, (3, 97))])
def test_the_judges_answers_are_drawn_in_equal_numbers_as_far_as_there_are(
    n_yes: int, n: int, expected: tuple[int, int]
):
    drawn = draw_items(task([item(k, "yes" if k < n_yes else "no") for k in range(100)]), n, 0)
    answers = [item.judge for item in drawn]
    assert (answers.count("yes"), answers.count("no")) == expected
    assert answers not in (["yes", "no"] * 10, ["no", "yes"] * 10, sorted(answers), sorted(answers, reverse=True))


def test_a_unit_with_many_items_gives_no_more_than_the_others_and_the_seed_decides():
    items = [item(n, "yes", unit="long thread") for n in range(500)]
    made = task(items + [item(n, "yes", unit=f"thread {n}") for n in range(500, 509)])
    drawn = draw_items(made, 10, 0)
    assert Counter(item.unit for item in drawn) == dict.fromkeys({item.unit for item in made.items}, 1)
    assert drawn == draw_items(made, 10, 0)
    assert drawn != draw_items(made, 10, 1)


def test_which_run_of_a_comparison_stands_on_the_left_is_drawn():
    drawn = draw_items(comparison(40), 40, 0)
    for question in drawn:
        assert [heading for heading, _ in question.texts] == ["Post", "Left", "Right"]
        assert dict(question.texts)[question.judge.title()] == "of first", "judge names the side of the first run"
    assert 10 < Counter(item.judge for item in drawn)["left"] < 30
    other_seed = draw_items(comparison(40), 40, 1)
    assert {item.unit: item.judge for item in drawn} != {item.unit: item.judge for item in other_seed}

"""Which items people are asked about."""

from collections import Counter

import pytest

from studies.annotation.tasks import draw_items
from tests.made.made_annotation import item, task


@pytest.mark.parametrize(("n_yes", "n", "expected"), [(10, 20, (10, 10)), (3, 20, (3, 17)), (3, 1000, (3, 97))])
def test_the_judges_answers_are_drawn_in_equal_numbers_as_far_as_there_are(n_yes, n, expected):
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

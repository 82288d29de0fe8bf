"""The next microbatches are made beside the computing of the present one: shown by each waiting for the other."""

from collections.abc import Iterator
from threading import Event

import pytest

from training.prefetch import made_ahead

LONG = 60  # seconds after which nobody comes any more


def test_while_one_is_in_use_the_next_n_are_made_and_no_more() -> None:
    made, in_use = [Event() for _ in range(9)], [Event() for _ in range(9)]

    def source() -> Iterator[int]:
        for number in range(6):
            assert number < 3 or in_use[number - 3].is_set(), "made before it was asked for"
            made[number].set()
            yield number

    found = []
    for number in made_ahead(source(), 2):
        assert all(later.wait(LONG) for later in made[number + 1 : min(number + 3, 6)])
        in_use[number].set()
        found.append(number)
    assert found == list(range(6))


def test_an_error_comes_when_its_microbatch_would() -> None:
    def source() -> Iterator[int]:
        yield 0
        yield 1
        raise ValueError("the third is broken")

    coming = made_ahead(source(), 2)
    assert [next(coming), next(coming)] == [0, 1]
    with pytest.raises(ValueError, match="the third is broken"):
        next(coming)

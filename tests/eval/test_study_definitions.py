"""What a study's paper leaves open is chosen in one way: --STUDY NAME=VALUE, for every verb."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from eval.command_options import compare_options, report_options, score_options
from eval.scorecard.command import scorecard_options
from eval.study import evaluations
from eval.study_definitions import choices_of, decided, definitions_of
from evenhand.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Toy:
    colour: Literal["red", "green", "blue"] = "green"
    fewest: int = 3


def test_the_choices_are_those_of_the_fields_types_and_the_default_is_first():
    assert choices_of(Toy()) == {"colour": ("green", "red", "blue"), "fewest": ("N",)}


def test_words_replace_defaults():
    assert decided([], "toy", Toy()) == Toy()
    assert decided(["colour=red", "fewest=12", "colour=blue"], "toy", Toy()) == Toy(colour="blue", fewest=12)


@pytest.mark.parametrize("word", ["colour=pink", "colour", "shape=round", "fewest=0", "fewest=-1", "fewest=N", "=red"])
def test_other_names_and_values_are_refused_with_those_there_are(word):
    with pytest.raises(DataError, match=f"--toy {word}: say it as NAME=VALUE, one of colour=green.red.blue; fewest=N$"):
        decided([word], "toy", Toy())


@pytest.mark.parametrize("options", [score_options, report_options, compare_options, scorecard_options])
def test_every_verb_has_the_option_of_every_study_that_leaves_something_open(options: Callable[[list[str]], Any]):
    defaults = {study: one.definitions for study, one in evaluations().items() if one.definitions is not None}
    assert defaults
    for study, default in defaults.items():
        name, (_, other, *_) = next(item for item in choices_of(default).items() if len(item[1]) > 1)
        said = options(["first", "second", f"--{study}", f"{name}={other}"])
        assert getattr(definitions_of(said, study, default), name) == other
        assert definitions_of(options(["first", "second"]), study, default) == default

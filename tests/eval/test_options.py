"""The words of a verb become one frozen record."""

from dataclasses import fields
from inspect import getfile
from pathlib import Path

import pytest

from eval.__main__ import score_main
from eval.estimates.resampling import Drawing
from eval.options import Options, verb_options
from evenhand.errors import ConfigError, DataError
from evenhand.files import shipped_yaml
from evenhand.registry import STUDIES, load_part
from studies.dialdefer.options import DialDeferOptions
from studies.narrator.options import NarratorOptions
from tests.made.made_runs import made_items, make_run, say


@pytest.mark.parametrize(
    ("old", "new"), [("--denominator=answered", "--unparsed wrong"), ("--beside=base=run", "--with")]
)
def test_an_old_spelling_ends_with_code_2_and_names_the_new_one(old, new, capsys):
    with pytest.raises(SystemExit) as ended:
        verb_options("scorecard", ["base", old])
    assert ended.value.code == 2
    assert f"{old.partition('=')[0]} is now {new}" in capsys.readouterr().err


def test_unparsed_replies_are_excluded_in_every_study_unless_they_are_to_count_as_wrong():
    options = verb_options("report", ["run"])
    assert options.of(DialDeferOptions).denominator == "answered"
    assert options.of(NarratorOptions).unparsed == "excluded"
    options = verb_options("report", ["run", "--unparsed", "wrong"])
    assert options.of(DialDeferOptions).denominator == "published"


def test_an_option_that_would_do_nothing_is_refused(tmp_path):
    run = str(make_run(tmp_path, lambda prompt: say(1), items=made_items("truthfulqa", 2)))
    with pytest.raises(DataError, match="--baseline is an option of other studies"):
        score_main([run, "--baseline", "c1_true"])


@pytest.mark.parametrize("n", ["0", "99", "many"])
def test_fewer_draws_than_percentiles_are_refused(n):
    with pytest.raises(SystemExit):
        verb_options("score", ["run", "--draws", n])


def test_an_address_on_the_hub_without_a_repository_is_refused():
    with pytest.raises(ConfigError, match=r"a\.jsonl: cannot be fetched"):
        verb_options("score", ["hf://datasets/a.jsonl"])


def test_the_first_run_is_the_base_unless_they_stand_side_by_side_or_are_files():
    options = verb_options("compare", ["a", "b", "c", "--draws", "100", "--seed", "3"])
    assert options.sources == (Path("a"), Path("b"), Path("c"))
    assert options.drawing == Drawing(n_draws=100, seed=3)
    assert options.is_before_after
    assert verb_options("report", ["a", "b"]).is_before_after
    assert not verb_options("report", ["a", "b", "--side-by-side"]).is_before_after
    assert not verb_options("report", ["a.jsonl", "--out", "o"]).is_before_after
    assert not Options(verb="score").is_before_after


@pytest.mark.parametrize("study", [study for study, part in STUDIES.items() if part.options])
def test_every_option_of_a_study_has_its_words(study):
    kind = load_part(study, STUDIES[study].options)
    words = shipped_yaml(Path(getfile(kind)).with_name("options.yaml"))
    assert [*words] == [option.name for option in fields(kind)]
    assert all(keys["help"] for keys in words.values())

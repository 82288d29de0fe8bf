"""In what two runs differ, and which differences are serious."""

from types import SimpleNamespace

import pytest

from eval.estimates.comparability import (
    Difference,
    check_comparable,
    config_differences,
    differences,
    one_checkpoint,
    unlike_leaves,
)
from evenhand.errors import DataError
from inference.config import OpenAIConfig, TransformersConfig, VllmConfig
from tests.made.places import cases


def test_of_an_engines_keys_only_those_that_can_change_an_answer_are_serious():
    """What an engine is and computes with, and what it is asked; every other key is about speed and patience."""
    schemas = [VllmConfig, OpenAIConfig, TransformersConfig]
    keys = [key for schema in schemas for key in schema.model_fields]
    before, after = ({"engine": dict.fromkeys(keys, value)} for value in ("one", "another"))
    differing = {difference.what: difference.serious for difference in config_differences(before, after)}
    serious = {"kind", "dtype", "send_seed", "extra_body", "extra", "deterministic"}
    assert differing == {f"engine.{key}": key in serious for key in keys}


def test_every_leaf_that_is_unlike_is_named_once():
    base, after = {"a": [{"b": 1}, {"b": 2}], "c": [1, 2]}, {"a": [{"b": 1}, {"b": 3}], "d": None}
    assert list(unlike_leaves(base, after)) == [("a[1].b", 2, 3), ("c", [1, 2], "not set"), ("d", "not set", None)]
    assert list(unlike_leaves(base, base)) == []


def test_what_is_meant_to_differ_is_no_difference():
    base = {"name": "a", "model": {"name": "b", "label": None}, "run": {"root": "x"}}
    after = {"name": "c", "model": {"name": "d", "label": "e"}, "run": {"root": "y"}}
    assert list(config_differences(base, after)) == []


def test_serious_differences_alone_are_refused():
    note = Difference("torch", "1", "2", serious=False)
    check_comparable("base", {"after": [note]})
    with pytest.raises(DataError, match="after differs in format: chat before, raw after") as refusal:
        check_comparable("base", {"after": [note, Difference("format", "chat", "raw", serious=True)]})
    assert "torch" not in str(refusal.value)


@pytest.mark.parametrize(("ours", "theirs", "serious"), cases(__file__)["patches"])
def test_a_patch_excuses_only_the_differences_that_it_makes(ours, theirs, serious):
    """Two prompts: one has other words in each run, the other's rendering differs."""

    def run(patch, end):
        hashes = ("p", f"q{end}")
        plan = [SimpleNamespace(dataset="d", item_id=h[0], condition="c", factors=(), prompt_hash=h) for h in hashes]
        return SimpleNamespace(
            config={"name": end} | ({"patch": patch} if patch else {}), provenance={}, plan=plan, rendered={"p": end}
        )

    known = [str(difference) for difference in differences(run(ours, "1"), run(theirs, "2")) if difference.serious]
    assert [line.split(" of ")[0].rstrip(" 1") for line in known] == serious


def test_one_checkpoint_is_known_by_its_hash():
    first, second = ({"model": {"checkpoint_hash": name}} for name in "ab")
    assert (one_checkpoint(first, first), one_checkpoint(first, second), one_checkpoint({}, {})) == ("a", "", "")

"""The small inputs of `shared/cases`, in the shapes that people bring: what each gives, or what is said of it."""

import json
import re

import pytest

from eval.__main__ import score_main
from evenhand.config import parse_config
from evenhand.errors import EvenhandError
from inference.config import load_sampling_config
from studies.framing.section import FramingSection
from tests.made.places import SHARED, cases
from tests.studies.framing.test_rows import YES_NO, prompts_of

DATA, NUMBERS = SHARED / "cases" / "data", SHARED / "cases" / "numbers"
CASES = cases(__file__)
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="shared/cases is not here")


def labels_or_message(load):
    """item_id → label of each item that is asked, or the text of the error."""
    try:
        prompts = prompts_of(load())
    except EvenhandError as error:
        return str(error), []
    return {prompt.item_id: prompt.factors.label for prompt in prompts}, prompts


@pytest.mark.parametrize(("name", "changes", "gives"), CASES["items"])
def test_a_file_of_items_gives_its_labels_or_a_message(name, changes, gives):
    items = {"file": str(DATA / name), **changes.get("items", {})}
    tree = {**YES_NO, "columns": {"label": "label"}, **changes, "items": items}
    found, _ = labels_or_message(lambda: parse_config(FramingSection, tree, "framing"))
    assert gives in found if isinstance(gives, str) else found == gives


@pytest.mark.parametrize(("name", "words", "n_prompts", "gives", "text"), CASES["studies"])
def test_a_study_asks_its_file_or_says_what_to_write(name, words, n_prompts, gives, text):
    found, prompts = labels_or_message(lambda: load_sampling_config([str(DATA / f"{name}.yaml"), *words]).study)
    assert gives in found if isinstance(gives, str) else found == gives
    assert len(prompts) == n_prompts
    assert any(text in prompt.messages[-1].content for prompt in prompts) or not prompts


@pytest.mark.parametrize(("name", "words", "gives"), CASES["verdicts"])
def test_verdicts_of_any_tool_are_scored_or_a_message_says_how(name, words, gives, tmp_path):
    words = [str(DATA / word) if word.endswith(".yaml") else word for word in words]
    call = [str(DATA / name), "--out", str(tmp_path), "--draws", "100", "--all", *words]
    if isinstance(gives, str):
        with pytest.raises(EvenhandError, match=re.escape(gives)):
            score_main(call)
        return
    score_main(call)
    rows = [row for row in json.loads((tmp_path / "scores.json").read_text()) if row["group"] == "(all)"]
    values = {f"{row['framing']} {row['measure']}": row["value"] for row in rows}
    assert {key: values[key] for key in gives} == gives


@pytest.mark.parametrize(("name", "answer"), CASES["answers"])
def test_a_judge_is_answered_as_it_was_made(name, answer, tmp_path, capsys):
    score_main([str(NUMBERS / name), "--out", str(tmp_path)])
    assert answer in " ".join(capsys.readouterr().out.split())

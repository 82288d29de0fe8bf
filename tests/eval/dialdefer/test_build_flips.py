"""`evenhand build flips`: which verdicts are flips, and what is known of each."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.dialdefer.flips import asked_of
from evenhand.errors import DataError
from evenhand.manifest import read_manifest
from evenhand.records import Prompt
from studies.build import main
from studies.dialdefer.records import Condition, Item
from studies.flips import KIND, Flip, FlipSide, read_flips
from tests.made.made_runs import lean, made_items, make_run, rewrite, say
from tests.made.made_verdicts import verdict_rows, write
from tests.made.paper_figures import panels_with

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition


def replied(choice: int, reason: str) -> dict[str, Any]:
    return say(json.dumps({"chosen_answer": str(choice), "reasoning": reason}))


def judge(prompt: Prompt, wrong: dict[Condition, set[int]], null: dict[Condition, set[int]]) -> dict[str, Any]:
    """Right but for the items named; a reply that nobody can read where it is null."""
    number, condition = int(prompt.item_id.rpartition("-")[2]), Condition(prompt.condition)
    if number in null.get(condition, ()):
        return say("perhaps")
    right = 1 if condition.claim_is_true else 2
    is_wrong = number in wrong.get(condition, ())
    return replied(3 - right if is_wrong else right, f"{condition} of {number} in {prompt.factors.arm}")


def run(root: Path, wrong: Any, null: Any = None, n_items: int = 4, **keys: Any) -> Path:
    """A run over truthfulqa."""
    items = made_items("truthfulqa", n_items)
    return make_run(root, lambda prompt: judge(prompt, wrong, null or {}), items=items, **keys)


def built(out: Path, *words: object) -> list[Flip]:
    main([KIND, *map(str, words), "--out", str(out)])
    return read_flips(out)


def names(flips: Sequence[Flip]) -> list[tuple[str, str, bool]]:
    return [(flip.item_id, flip.direction, flip.is_loss) for flip in flips]


def test_a_flip_is_a_right_verdict_that_becomes_wrong_and_has_both_reasons(tmp_path: Path) -> None:
    made = run(tmp_path, {C2_INCORRECT: {0, 1}, C1_FALSE: {1}, C2_CORRECT: {2}})
    flips = built(tmp_path / "flips", made)
    assert names(flips) == [("truthfulqa-2", "skepticism", True), ("truthfulqa-0", "deference", True)]
    assert flips[1].first == FlipSide(framing="a bare statement", accepts=False, reason="c1_false of 0 in none")
    assert flips[1].second == FlipSide(framing="a speaker's turn", accepts=True, reason="c2_incorrect of 0 in none")
    assert (flips[1].model, flips[1].claim_is_true) == ("model", False)


def test_an_unreadable_reply_on_either_side_is_never_a_flip_and_is_counted(tmp_path: Path) -> None:
    null = {C1_FALSE: {0}, C2_INCORRECT: {1}}
    flips = built(tmp_path / "flips", run(tmp_path, {C2_INCORRECT: {0, 2}, C1_FALSE: {1}}, null))
    assert names(flips) == [("truthfulqa-2", "deference", True)]
    manifest = read_manifest(tmp_path / "flips", KIND)
    assert manifest["undecided"] == {"model": {"truthfulqa": [["truthfulqa-0", False], ["truthfulqa-1", False]]}}
    assert manifest["items"] == {"model": {"truthfulqa": [f"truthfulqa-{n}" for n in range(4)]}}


def test_gains_are_found_where_they_are_asked_for(tmp_path: Path) -> None:
    made = run(tmp_path, {C1_FALSE: {0}, C1_TRUE: {1}, C2_CORRECT: {2}})
    flips = built(tmp_path / "flips", made, "--kinds", "gained")
    assert names(flips) == [("truthfulqa-1", "deference", False), ("truthfulqa-0", "skepticism", False)]


def test_an_arms_turns_are_held_against_those_without_it(tmp_path: Path) -> None:
    def says(prompt: Prompt) -> dict[str, Any]:
        return judge(prompt, {C2_INCORRECT: {0} if prompt.factors.arm == "honest" else {1}}, {})

    items = made_items("truthfulqa", 3)
    made = make_run(
        tmp_path, says, items=items, arms=("none", "honest"), conditions={"honest": (C2_CORRECT, C2_INCORRECT)}
    )
    flips = built(tmp_path / "flips", made, "--first", "c2", "--second", "c2/honest")
    assert names(flips) == [("truthfulqa-0", "deference", True)]
    assert flips[0].second.framing == "a speaker's turn, arm honest"
    with pytest.raises(DataError, match="no dataset was judged as a bare statement, arm honest"):
        built(tmp_path / "none", made, "--first", "c1/honest")
    with pytest.raises(DataError, match="framing 'c3': write c1 or c2"):
        built(tmp_path / "none", made, "--first", "c3")


def test_of_two_runs_the_same_turns_are_held_against_each_other(tmp_path: Path) -> None:
    before = run(tmp_path, {C2_INCORRECT: {0}}, name="before")
    after = run(tmp_path, {C2_INCORRECT: {1}}, name="after")
    flips = built(tmp_path / "flips", before, after)
    assert names(flips) == [("truthfulqa-1", "deference", True)]
    assert flips[0].model == "model (before-0000) → model (after-0000)"
    assert [flips[0].first.framing, flips[0].second.framing] == ["a speaker's turn, before", "a speaker's turn, after"]
    fewer = run(tmp_path, {}, n_items=3, name="fewer")
    with pytest.raises(DataError, match="1 item \\(truthfulqa-3\\) has been judged on one side only"):
        built(tmp_path / "unequal", before, fewer, "--allow-differences")
    with pytest.raises(DataError, match="name one run, or two"):
        built(tmp_path / "three", before, after, fewer)


def test_of_several_samples_the_majority_flips_with_a_reason_that_was_written_for_it(tmp_path: Path) -> None:
    made = run(tmp_path, {}, n_items=1, sampling={"n": 3, "temperature": 1.0})

    def change(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        wanted = read_plan_hash(made, C2_INCORRECT)
        for record in records:
            if record["prompt_hash"] == wanted:
                k = record["sample_index"]
                record["text"] = replied(2 if k == 0 else 1, f"sample {k}")["text"]
        return records

    rewrite(made, change)
    (flip,) = built(tmp_path / "flips", made)
    assert flip.second.reason == "sample 1"


def read_plan_hash(path: Path, condition: Condition) -> str:
    lines = [json.loads(line) for line in (path / "plan.jsonl").read_text().splitlines()]
    return next(str(line["prompt_hash"]) for line in lines if line["condition"] == condition)


def test_a_run_of_margins_has_flips_without_reasons_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = made_items("truthfulqa", 2)
    made = make_run(
        tmp_path,
        lambda prompt: lean(1.0 if Condition(prompt.condition).is_dialogue else -1.0),
        items=items,
        verdict="margin",
        prompts={"template": "matched"},
    )
    flips = built(tmp_path / "flips", made)
    assert {(flip.direction, flip.first.reason) for flip in flips} == {("deference", "")}
    assert "Warning: 2 flips lack a reason" in capsys.readouterr().out


def test_half_a_surrogate_pair_in_a_reason_is_replaced(tmp_path: Path) -> None:
    reply = say('{"chosen_answer": "1", "reasoning": "half \\ud800"}')
    made = run(tmp_path, {}, n_items=1)
    wanted = read_plan_hash(made, C2_INCORRECT)
    rewrite(made, lambda rows: [{**row, **reply} if row["prompt_hash"] == wanted else row for row in rows])
    (flip,) = built(tmp_path / "flips", made)
    assert flip.second.reason == "half ?"


def test_files_give_flips_of_each_model_with_their_reasons(tmp_path: Path) -> None:
    rows = [
        {**row, "reason": f"{row['model']} on {row['condition']}", "question": "Who?", "claim": "Me"}
        for model in ("a", "b")
        for row in verdict_rows("halueval", 3, {C2_INCORRECT: {0} if model == "a" else {1, 2}}, model=model)
    ]
    for row in rows:
        row["item_id"] = row["item_id"].replace("halueval-", "halueval_qa-")  # another spelling of the same id
    flips = built(tmp_path / "flips", write(tmp_path / "theirs.csv", rows))
    assert [(flip.model, flip.item_id) for flip in flips] == [
        ("a", "halueval-qa-0"),
        ("b", "halueval-qa-1"),
        ("b", "halueval-qa-2"),
    ]
    assert (flips[0].question, flips[0].claim, flips[0].second.reason) == ("Who?", "Me", "a on c2_incorrect")


def test_files_with_replies_alone_are_parsed_and_their_reasoning_is_taken(tmp_path: Path) -> None:
    rows = verdict_rows("truthfulqa", 2, {C2_INCORRECT: {0}})
    for row in rows:
        choice = row.pop("choice")
        row["response"] = replied(choice, f"why {choice}")["text"]
    (flip,) = built(tmp_path / "flips", write(tmp_path / "theirs.jsonl", rows))
    assert (flip.first.reason, flip.second.reason, flip.question) == ("why 2", "why 1", "")


def test_texts_of_gpqa_are_marked_as_withheld(tmp_path: Path) -> None:
    rows = verdict_rows("gpqa", 2, {C2_INCORRECT: {0}}) + verdict_rows("bbq", 2, {C2_INCORRECT: {0}})
    flips = built(tmp_path / "flips", write(tmp_path / "theirs.jsonl", rows))
    assert {flip.dataset: flip.is_withheld for flip in flips} == {"gpqa": True, "bbq": False}


def test_an_item_gives_its_question_and_the_claim_and_r_aio_what_a_speaker_is_said_to_do(tmp_path: Path) -> None:
    item = made_items("truthfulqa", 1)[0]
    panel = panels_with({"truthfulqa": [1, 1, 1, 1]})[0]
    assert asked_of(item, panel, True) == (item.question, item.correct_answer)
    assert asked_of(item, panel, False) == (item.question, item.incorrect_answer)
    told = {"dialogue": "Speaker A: No.\nSpeaker B: Yes.", "label": "NOR"}
    verdicts = {"correct_answer": "not overreacting", "incorrect_answer": "overreacting"}
    conflict: Item = replace(item, dataset="aio", question="", context="Speaker B asks.", meta=told, **verdicts)
    aio = panels_with({"aio": [1, 1, 1, 1]})[0]
    question, claim = asked_of(conflict, aio, True)
    assert question == "Speaker B asks.\n\nSpeaker A: No.\nSpeaker B: Yes."
    assert claim == "Speaker A is overreacting."
    assert asked_of(conflict, aio, False)[1] == "Speaker A is not overreacting."


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    made = run(tmp_path / "runs", {})
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="holds other files"):
        built(tmp_path / "full", made)

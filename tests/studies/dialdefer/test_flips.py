"""`evenhand build flips`: which verdicts are flips, and what is known of each."""

import json
from dataclasses import replace

import pytest

from evenhand.cli.build import main
from evenhand.errors import DataError
from studies.built_folder import read_manifest
from studies.dialdefer.flips import asked_of
from studies.dialdefer.records import Condition
from studies.flips import KIND, FlipSide, read_flips
from tests.made.made_runs import made_items, make_run, rewrite, say
from tests.made.paper_figures import panels_with
from tests.made.scorecard_runs import number

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
DEFERS = {C2_INCORRECT: {0}}


def replied(choice, reason):
    return say(json.dumps({"chosen_answer": str(choice), "reasoning": reason}))


def judge(prompt, wrong, null):
    """Right but for the items named; a reply that nobody can read where it is null."""
    condition = Condition(prompt.condition)
    if number(prompt) in null.get(condition, ()):
        return say("perhaps")
    right = 1 if condition.claim_is_true else 2
    choice = 3 - right if number(prompt) in wrong.get(condition, ()) else right
    return replied(choice, f"{condition} of {number(prompt)} in {prompt.factors.arm}")


def run(root, wrong=DEFERS, null=None, n_items=4, **keys):
    """A run over truthfulqa; wrong: of all arms, or arm → conditions and items."""
    return make_run(
        root,
        lambda prompt: judge(prompt, wrong.get(prompt.factors.arm, wrong), null or {}),
        items=made_items("truthfulqa", n_items),
        **keys,
    )


def built(out, *words):
    main([KIND, *map(str, words), "--out", str(out)])
    return read_flips(out)


def hashes(made, *asked):
    """The prompts of a run that ask about these (item, condition)."""
    plan = map(json.loads, (made / "plan.jsonl").read_text().splitlines())
    return {line["prompt_hash"] for line in plan if (line["item_id"], line["condition"]) in asked}


def names(flips):
    return [(int(flip.item_id.rpartition("-")[2]), flip.direction, flip.is_loss) for flip in flips]


def test_a_flip_is_a_right_verdict_that_becomes_wrong_and_has_both_reasons_and_gains_are_asked_for(tmp_path):
    made = run(tmp_path, {C2_INCORRECT: {0, 1}, C1_FALSE: {1, 3}, C2_CORRECT: {2}})
    flips = built(tmp_path / "flips", made)
    assert names(flips) == [(2, "skepticism", True), (0, "deference", True)]
    assert flips[1].first == FlipSide(put_as="a bare statement", accepts=False, reason="c1_false of 0 in none")
    assert flips[1].second == FlipSide(put_as="a speaker's turn", accepts=True, reason="c2_incorrect of 0 in none")
    assert (flips[1].model, flips[1].claim_is_true) == ("model", False)
    assert names(built(tmp_path / "gains", made, "--kinds", "gained")) == [(3, "skepticism", False)]


def test_an_unreadable_reply_on_either_side_is_never_a_flip_and_is_counted(tmp_path):
    null = {C1_FALSE: {0}, C2_INCORRECT: {1}}
    flips = built(tmp_path / "flips", run(tmp_path, {C2_INCORRECT: {0, 2}, C1_FALSE: {1}}, null))
    assert names(flips) == [(2, "deference", True)]
    manifest = read_manifest(tmp_path / "flips", KIND)
    assert manifest["undecided"] == {"model": {"truthfulqa": [["truthfulqa-0", False], ["truthfulqa-1", False]]}}
    assert manifest["items"] == {"model": {"truthfulqa": [f"truthfulqa-{n}" for n in range(4)]}}


def test_an_item_whose_prompts_an_engine_lost_on_either_side_is_counted_and_not_looked_at(tmp_path):
    made = run(tmp_path, {C2_INCORRECT: {0, 1, 2}})
    lost = hashes(made, ("truthfulqa-0", C1_TRUE), ("truthfulqa-1", C2_INCORRECT))
    failed = {"text": "", "finish_reason": "error: reset"}
    rewrite(made, lambda rows: [{**r, **failed} if r["prompt_hash"] in lost else r for r in rows])
    assert names(built(tmp_path / "flips", made)) == [(2, "deference", True)]
    manifest = read_manifest(tmp_path / "flips", KIND)
    assert (manifest["n_errors"], manifest["undecided"]) == ({"model": 2}, {"model": {}})
    assert manifest["items"] == {"model": {"truthfulqa": ["truthfulqa-2", "truthfulqa-3"]}}


def test_an_arms_turns_are_held_against_those_without_it(tmp_path):
    conditions = {"honest": (C2_CORRECT, C2_INCORRECT)}
    wrong = {"honest": DEFERS, "none": {C2_INCORRECT: {1}}}
    made = run(tmp_path, wrong, arms=("none", "honest"), conditions=conditions)
    (flip,) = flips = built(tmp_path / "flips", made, "--first", "c2", "--second", "c2/honest")
    assert names(flips) == [(0, "deference", True)]
    assert flip.second.put_as == "a speaker's turn, arm honest"
    with pytest.raises(DataError, match="no dataset was judged as a bare statement, arm honest"):
        built(tmp_path / "none", made, "--first", "c1/honest")
    with pytest.raises(DataError, match="framing 'c3': write c1 or c2"):
        built(tmp_path / "none", made, "--first", "c3")


def test_items_of_gpqa_are_marked_as_withheld(tmp_path):
    made = make_run(tmp_path, lambda p: judge(p, DEFERS, {}), items=made_items("gpqa", 2))
    assert [flip.is_withheld for flip in built(tmp_path / "flips", made)] == [True]


def test_of_two_runs_the_same_turns_are_held_against_each_other(tmp_path):
    before, after = run(tmp_path, name="before"), run(tmp_path, {C2_INCORRECT: {1}}, name="after")
    (flip,) = flips = built(tmp_path / "flips", before, after)
    assert names(flips) == [(1, "deference", True)]
    assert flip.model == "model (before-0000) → model (after-0000)"
    assert [flip.first.put_as, flip.second.put_as] == ["a speaker's turn, before", "a speaker's turn, after"]
    fewer = run(tmp_path, n_items=3, name="fewer")
    with pytest.raises(DataError, match="1 item \\(truthfulqa-3\\) has been judged on one side only"):
        built(tmp_path / "unequal", before, fewer, "--allow-differences")
    with pytest.raises(DataError, match="name one run, or two"):
        built(tmp_path / "three", before, after, fewer)


def test_of_several_samples_the_majority_flips_with_a_reason_that_was_written_for_it(tmp_path):
    made = run(tmp_path, {}, n_items=1, sampling={"n": 3, "temperature": 1.0})
    (wanted,) = hashes(made, ("truthfulqa-0", C2_INCORRECT))
    samples = [replied(2, "sample 0"), replied(1, "half \ud800"), replied(1, "sample 2")]
    rewrite(made, lambda rows: [{**r, **samples[r["sample_index"]]} if r["prompt_hash"] == wanted else r for r in rows])
    (flip,) = built(tmp_path / "flips", made)
    assert flip.second.reason == "half ?", "of half a surrogate pair"


def test_an_item_gives_its_question_and_the_claim_and_r_aio_what_a_speaker_is_said_to_do():
    item = made_items("truthfulqa", 1)[0]
    panel, aio = panels_with({"truthfulqa": [1, 1, 1, 1], "aio": [1, 1, 1, 1]})
    assert asked_of(item, panel, True) == (item.question, item.correct_answer)
    assert asked_of(item, panel, False) == (item.question, item.incorrect_answer)
    told = {"dialogue": "Speaker A: No.\nSpeaker B: Yes.", "label": "NOR"}
    verdicts = {"correct_answer": "not overreacting", "incorrect_answer": "overreacting"}
    conflict = replace(item, dataset="aio", question="", context="Speaker B asks.", meta=told, **verdicts)
    text = "Speaker B asks.\n\nSpeaker A: No.\nSpeaker B: Yes."
    assert asked_of(conflict, aio, True) == (text, "Speaker A is overreacting.")
    assert asked_of(conflict, aio, False) == (text, "Speaker A is not overreacting.")

"""Training over prompt variants: groups, choices, anchors and draws as planted; without variants what it always was."""

import json
from collections import Counter

import pytest

from evenhand.records import digest
from inference.sampling import sample
from studies.dialdefer.records import Condition
from tests.made.sampling_configs import sampling_config
from tests.made.scripted_engine import AnsweringEngine, scripted
from tests.made.training_runs import pocket, tiny_run
from training.batches import Collator, groups_of, schedule
from training.objectives import objective_of
from training.replies import ReplyTargets

NO_FIRST = {"answer_order": "no_first"}
VARIANTS = [NO_FIRST, {"template": "v1"}, {"template": "v1", **NO_FIRST}, {"speakers": ["Ann", "Bob"], **NO_FIRST}]
C2 = ["c2_correct", "c2_incorrect"]


def config(method="sft", n_items=12, bend=None, seed=0, size=20, **prompts):
    section = pocket(n_items, **{"variants": VARIANTS, **prompts}) | ({"bend": bend} if bend else {})
    optimiser = {"batch_by": "item", "per_device_batch_size": size, "seed": seed}
    return tiny_run(method, dialdefer=section, optimiser=optimiser)


def examples_for(run, tokenizer):
    return run.training.examples(run.load_units(), run, tokenizer)[0]


def number_of_yes(text):
    """The number that a prompt gives to the answer that accepts."""
    return "1" if text.index("Yes, ") < text.index("No, ") else "2"


CONFLICTS = {"corpus": {"dataset": "pocket-conflicts", "split": "train", "n_conversations": 8}}
IN_VARIANTS = {
    "tasks": ["detection", "identification", "blame"],
    "option_orders": ["fixed_slot", "published", "reversed"],
    "names": ["own", "letters"],
}
LABELS = ["Ann", "Bob"]
BEND = {"share": 0.9}
PAIRED, ONE_ORDER = {"paired": {"weight": 1.0}}, {"option_orders": ["fixed_slot"]}


@pytest.mark.parametrize(
    ("method", "batch_by", "section", "more", "frozen"),
    [
        ("sft", "random", pocket(12), {}, "820891c40c517b1f"),
        ("label_free", "item", pocket(12), {}, "1fced7220edf994b"),
        ("dpo", "item", pocket(12, template="published-dpo", conditions=C2, speakers=LABELS), {}, "d8b1671fe73ec5de"),
        ("sft", "item", pocket(12, template="v1") | {"bend": BEND}, {}, "0c2cf123e1cfb73f"),
        ("paired", "item", CONFLICTS | {"visibilities": ["visible"], **ONE_ORDER}, PAIRED, "0735b4449ef86d3c"),
        ("label_free", "group", CONFLICTS | {"visibilities": ["hidden"], **ONE_ORDER}, {}, "035671007cbe212a"),
    ],
)
def test_without_variants_every_batch_is_what_it_was(method, batch_by, section, more, frozen, tokenizer):
    study = "dialdefer" if "benchmarks" in section else "narrator"
    run = tiny_run(method, study=study, **{study: section}, optimiser={"batch_by": batch_by}, **more)
    groups = groups_of(examples_for(run, tokenizer), batch_by)
    collator = Collator(pad=0, branches=objective_of(run).branches, row_tokens=run.optimiser.row_tokens)
    batches = [collator([groups[n] for n in batch]) for batch in schedule(groups, run).microbatches]
    assert digest([{name: tensor.tolist() for name, tensor in batch.items()} for batch in batches], 16) == frozen


@pytest.mark.parametrize("bend", [None, {"families": ["owner", "colour", "gift", "animal"]}])
def test_a_claim_in_all_variants_is_a_group_and_its_verdict_goes_by_the_words(bend, tokenizer):
    examples = examples_for(config(bend=bend), tokenizer)
    assert {len(group) for group in groups_of(examples, "item")} == {5 * 4}
    bent = set()
    for group in groups_of(examples, "group"):
        assert len(group) == 5 * 2
        assert sum(example.is_anchor for example in group) == 2, "C1 as in the main variant, in both orders"
        for example in group:
            condition, text = Condition(example.condition), tokenizer.decode(example.prompt_ids)
            assert tokenizer.decode([example.choices[0]]) == number_of_yes(text)
            assert not example.is_anchor or (is_matched(text) and not condition.is_dialogue)
            if (example.right == 0) != condition.claim_is_true:
                assert condition == Condition.C2_INCORRECT
                bent.add((example.item_id, number_of_yes(text), is_matched(text)))
    assert len(bent) == 4 * len({item for item, *_ in bent}), "bent in both templates and both orders, or in none"
    assert bool(bent) == bool(bend)


def is_matched(text):
    return "You are given" in text


@pytest.mark.parametrize(("draw", "n_drawn"), [("one_per_item", 1), (2, 2), ("all", 5)])
def test_which_variants_an_item_is_trained_in_is_a_function_of_seed_and_item(draw, n_drawn, tokenizer):
    def texts(**keys):
        run = config(variants_per_item=draw, conditions=C2, size=2 * n_drawn, **keys)
        return {own[0].item_id: [e.prompt_ids for e in own] for own in groups_of(examples_for(run, tokenizer), "item")}

    many, few, other = texts(n_items=100), texts(n_items=30), texts(n_items=30, seed=1)
    assert {len(own) for own in many.values()} == {2 * n_drawn}
    assert few.items() <= many.items()
    assert (other == few) == (draw == "all")
    if draw == 2:  # of two wordings in both orders and one more
        orders = [sorted(number_of_yes(tokenizer.decode(ids)) for ids in own) for own in many.values()]
        assert all(numbers == ["1", "1", "2", "2"] for numbers in orders if len(set(numbers)) > 1)
        assert 60 <= sum(len(set(numbers)) > 1 for numbers in orders) < 100


def test_without_labels_the_variants_that_hold_the_anchors_are_always_drawn(tokenizer):
    groups = groups_of(examples_for(config("label_free", n_items=40, variants_per_item=3, size=12), tokenizer), "group")
    assert {(len(group), sum(example.is_anchor for example in group)) for group in groups} == {(6, 2)}
    matched = [sum(is_matched(tokenizer.decode(example.prompt_ids)) for example in group) for group in groups]
    assert len(set(matched)) > 1, "what is drawn beside them differs from item to item"


def test_a_conversations_claim_in_all_variants_is_a_group_whose_verdicts_are_of_persons(tokenizer):
    run = tiny_run("label_free", study="narrator", narrator=CONFLICTS | IN_VARIANTS)
    conversations = {conversation.conversation_id: conversation for conversation in run.load_units()}
    groups = groups_of(examples_for(run, tokenizer), "group")
    assert len(groups) == len(conversations) * 3 * 2, "tasks; with the attack hidden a judge reads other evidence"
    for group in groups:
        conversation, task = conversations[group[0].item_id], group[0].group.split()[1]
        assert len(group) == (1 + len(conversation.speakers)) * 3 * 2
        neutral = [example for example in group if example.condition == "neutral"]
        opener = f"\n\n{conversation.names[conversation.speakers[0]]}: "
        own = [example for example in neutral if opener in tokenizer.decode(example.prompt_ids)]
        anchors = [example for example in group if example.is_anchor]
        assert (len(own), len(anchors)) == (3, 2)
        assert all(anchor in own for anchor in anchors)
        for example in group if task != "detection" else ():
            attacker = conversation.speakers.index(conversation.attacker)
            shown = "Me" if example.condition == "attacker" else conversation.names[conversation.attacker]
            names = {shown, shown if shown == "Me" else "ABCDEFGHI"[attacker]}
            assert example.right == attacker
            assert any(name.startswith(tokenizer.decode([example.choices[attacker]]).strip()) for name in names)


def test_a_written_reply_to_a_statement_is_learnt_in_dialogue_in_the_same_answer_order(
    tmp_path, monkeypatch, tokenizer
):
    def accepting(prompt):
        """Accepts a statement in one sample of four, a dialogue in three."""
        yes = number_of_yes(prompt.messages[0].content)
        numbers = [yes, *(["2" if yes == "1" else "1"] if prompt.condition.startswith("c1") else [yes]) * 3]
        return [json.dumps({"chosen_answer": number, "reasoning": f"Reason {i}."}) for i, number in enumerate(numbers)]

    scripted(monkeypatch, AnsweringEngine(accepting))
    section = pocket(3, template="published", variants=[NO_FIRST])
    drawing = {"verdict": "reason", "sampling": {"n": 4, "temperature": 1.0}, "run": {"root": str(tmp_path)}}
    run = sample(sampling_config({"name": "train", "model": {"name": "m"}, "dialdefer": section, **drawing}))
    config = tiny_run("bct", dialdefer=section, examples={"replies": str(run)})
    replies = ReplyTargets(config, tokenizer)
    examples, excluded = replies.examples(config.load_units())
    assert (len(examples), excluded) == (3 * 4 * 2, [])
    for example in examples:
        accepts = number_of_yes(tokenizer.decode(example.prompt_ids))
        number = json.loads(tokenizer.decode(example.answer_ids(0)))["chosen_answer"]
        assert (number == accepts) == (example.verdict == "accept")
    shares = Counter(example.verdict for example in examples)
    assert 0 < shares["accept"] < shares["reject"], "as in the statements"
    n_right = sum((e.verdict == "accept") == Condition(e.condition).claim_is_true for e in examples)
    assert sum(counts["right by the labels"] for counts in replies.counts.values()) == n_right

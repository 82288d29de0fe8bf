"""Training on pairs of opinions: which examples, the split by thread, a run, its card."""

from collections import Counter

import pytest

from evenhand.errors import DataError
from inference.config import parse_sampling_config
from inference.encoding import Encoder
from studies.pluraleval.records import Cluster, ReferenceSet
from studies.pluraleval.sources import pocket_references, side_of
from studies.pluraleval.training import NO_BELIEF, TRAINING, pairs_of
from tests.made.made_threads import thread
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.training_runs import PAIRWISE, tiny_run
from training.batches import groups_of
from training.data import without_dev
from training.examples import together

KNOWN = {one.thread.thread_id: one for one in pocket_references()}


def pairs_run(min_gap=10, **sections):
    responses = {**PAIRWISE, "min_gap": min_gap}
    return tiny_run(study="pluraleval", pluraleval={"responses": responses}, **sections)


def made(*votes, thread_id="made", beliefs=True):
    """A thread with opinions of so many votes, most votes first."""
    clusters = [
        Cluster(summary=f"Opinion {n}.", members=(), votes=count, belief=f"I hold {n}." if beliefs else "")
        for n, count in enumerate(votes)
    ]
    return ReferenceSet(thread=thread(thread_id=thread_id), clusters=tuple(clusters))


def test_the_label_is_the_option_with_more_votes_as_its_summary_stands_in_the_prompt(tokenizer):
    config = pairs_run()
    units = config.load_units()
    examples, excluded = TRAINING.examples(units, config, tokenizer)
    assert excluded == []
    assert len(examples) == 4 * len(units) > 200
    by_id = {pair.pair_id: pair for pair in units}
    for example in examples:
        pair = by_id[example.item_id]
        text = tokenizer.decode(example.prompt_ids)
        shown = {number: text.split(f"\n{number}. ")[1].split("\n")[0] for number in ("1", "2")}
        right = tokenizer.decode([example.choices[example.right]])
        votes = {cluster.summary: cluster.votes for cluster in pair.thread_set.clusters}
        (wrong,) = {"1", "2"} - {right}
        assert votes[shown[right]] > votes[shown[wrong]]
        assert (pair.thread_set.clusters[pair.less].belief in text) == (example.condition == "biased")
        assert example.end == example.rests == ()


def test_prompts_are_those_that_a_sampling_run_reads_a_margin_behind(tokenizer):
    config = pairs_run()
    examples, _ = TRAINING.examples(config.load_units(), config, tokenizer)
    section = {"responses": {**PAIRWISE, "references": {"dataset": "pocket-threads", "split": "train"}}}
    tree = {"name": "pairs", "model": {"name": "m"}, "pluraleval": section, "verdict": "margin"}
    sampling = parse_sampling_config({**tree, "engine": {"kind": "transformers"}}, "made.yaml")
    prompts = [prompt for unit in sampling.study.units("margin").units for prompt in unit.next_prompts({})]
    asked = {tuple(one.token_ids) for one in Encoder(tokenizer, sampling).encode(prompts)}
    assert {example.prompt_ids for example in examples} == asked


def test_a_group_is_a_pair_in_both_orders_and_framings_whose_choices_are_its_opinions(tokenizer):
    config = pairs_run()
    examples, _ = TRAINING.examples(config.load_units(), config, tokenizer)
    assert together(examples, "group") == together(examples, "item_id")
    for group in together(examples, "group"):
        assert Counter((tokenizer.decode([e.choices[e.right]]), e.condition) for e in group) == {
            (right, framing): 1 for right in ("1", "2") for framing in ("neutral", "biased")
        }
        assert all(e.is_anchor == (e.condition == "neutral") for e in group)
        assert len({e.right for e in group}) == 1
    assert {len(group) for group in groups_of(examples, "item")} == {4}


def test_ties_make_no_pair_and_what_both_pairings_draw_counts_once():
    config = pairs_run(min_gap=1)
    pairs = pairs_of([made(30, 30, 20, 20, 5)], config.study.responses)
    found = [(pair.more, pair.less) for pair in pairs]
    assert sorted(found) == [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]
    assert pairs_of([made(7, 7, 7)], config.study.responses) == []


def test_a_pair_without_a_belief_is_left_out_and_listed():
    config = pairs_run(examples={"max_prompt_length": 4096})
    pairs = pairs_of([made(30, 10), made(30, 10, thread_id="silent", beliefs=False)], config.study.responses)
    kept, excluded = TRAINING.examples(pairs, config, byte_tokenizer())
    assert {e.item_id for e in kept} == {"made 0-1"}
    assert [(e.item_id, e.condition, e.reason) for e in excluded] == [("silent 0-1", "neutral", NO_BELIEF)] * 2
    with pytest.raises(DataError, match=r"all 2 prompts are left out \(its pair has no belief.*: 2\); raise"):
        TRAINING.examples(pairs[1:], config, byte_tokenizer())


def test_no_held_out_thread_is_trained_on_and_the_splits_are_all_threads():
    units = pairs_run().load_units()
    trained = {pair.thread_set.thread.thread_id for pair in units}
    test = {thread_id for thread_id, one in KNOWN.items() if side_of(one) == "test"}
    assert test == {"pocket-bus-lane", "pocket-library-fines", "pocket-uniforms"}
    assert trained == set(KNOWN) - test
    assert TRAINING.facts(units) == {"n_threads": 6}
    TRAINING.check_test_data(units, pairs_run().study)
    held = pairs_of([KNOWN["pocket-uniforms"]], pairs_run().study.responses)
    with pytest.raises(DataError, match="thread 'pocket-uniforms' is of the test split and must not be trained on"):
        TRAINING.check_test_data(held, pairs_run().study)


def test_the_dev_split_takes_whole_threads():
    config = pairs_run(dev={"n_items": 2, "every_steps": 1})
    units = config.load_units()
    kept, held = without_dev(units, config)
    threads = [{pair.thread_set.thread.thread_id for pair in side} for side in (kept, held)]
    assert [len(side) for side in threads] == [4, 2]
    assert threads[0].isdisjoint(threads[1])
    assert len(kept) + len(held) == len(units)

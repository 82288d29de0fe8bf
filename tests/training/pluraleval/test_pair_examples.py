"""What is trained on of a thread's opinions: pairs in both framings and orders, and nothing of a held-out thread."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.errors import DataError
from inference.config import parse_sampling_config
from inference.encoding import Encoder
from studies.pluraleval import sources
from studies.pluraleval.pocket import pocket_references
from studies.pluraleval.records import Cluster, ReferenceSet
from studies.pluraleval.sources import side_of
from tests.made.made_pairs import PAIRWISE, pairs_run
from tests.made.made_threads import thread
from tests.made.tiny_checkpoint import byte_tokenizer
from training.batches import bundles_of
from training.data import load_data
from training.dev import without_dev
from training.examples import TOO_LONG, by_group, by_item
from training.pluraleval.examples import NO_BELIEF, OF_PAIR, make_pair_examples
from training.pluraleval.pairs import pairs_of
from training.pluraleval.study import TRAINING
from training.sections import DevConfig

KNOWN = {one.thread.thread_id: one for one in pocket_references()}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(embedded_model_path())


def made(*votes: int, thread_id: str = "made", beliefs: bool = True) -> ReferenceSet:
    """A thread with opinions of so many votes, most votes first."""
    clusters = [
        Cluster(summary=f"Opinion {n}.", members=(), votes=count, belief=f"I hold {n}." if beliefs else "")
        for n, count in enumerate(votes)
    ]
    return ReferenceSet(thread=thread(thread_id=thread_id), clusters=tuple(clusters))


def test_the_label_is_the_option_with_more_votes_as_its_summary_stands_in_the_prompt(tokenizer: Any) -> None:
    config = pairs_run()
    data = load_data(config)
    examples, excluded = make_pair_examples(data.units, config, tokenizer)
    assert excluded == []
    assert len(examples) == 4 * len(data) > 200
    by_id = {pair.pair_id: pair for pair in data.units}
    for example in examples:
        pair = by_id[example.item_id]
        text = tokenizer.decode(example.prompt_ids)
        shown = {number: text.split(f"\n{number}. ")[1].split("\n")[0] for number in ("1", "2")}
        right = tokenizer.decode([example.choices[example.right]])
        votes = {cluster.summary: cluster.votes for cluster in pair.found.clusters}
        (wrong,) = {"1", "2"} - {right}
        assert votes[shown[right]] > votes[shown[wrong]]
        assert (pair.found.clusters[pair.less].belief in text) == (example.condition == "biased")
        assert example.end == example.rest == ()


def test_prompts_are_those_that_a_sampling_run_reads_a_margin_behind(tokenizer: Any) -> None:
    config = pairs_run()
    (found,) = [one for one in KNOWN.values() if one.thread.thread_id == "pocket-cake"]
    pairs = pairs_of([found], config.study.responses)
    examples, _ = make_pair_examples(pairs, config, tokenizer)
    section = {"responses": {**PAIRWISE, "references": {"dataset": "pocket-threads"}}}
    tree = {"name": "pairs", "model": {"name": "m"}, "pluraleval": section, "verdict": "margin"}
    sampling = parse_sampling_config({**tree, "engine": {"kind": "transformers"}}, "made.yaml")
    units = [unit for unit in sampling.study.units("margin").units if unit.unit_id == "pocket-cake"]
    prompts = [prompt for unit in units for prompt in unit.next_prompts({})]
    asked = {tuple(one.token_ids) for one in Encoder(tokenizer, sampling).encode(prompts)}
    assert {example.prompt_ids for example in examples} == asked


def test_each_pair_is_asked_in_both_orders_and_a_group_is_one_order_in_both_framings(tokenizer: Any) -> None:
    config = pairs_run()
    examples, _ = make_pair_examples(load_data(config).units, config, tokenizer)
    for of_pair in by_item(examples):
        assert Counter((e.right, e.condition) for e in of_pair) == {
            (right, framing): 1 for right in (0, 1) for framing in ("neutral", "biased")
        }
        for group in by_group(of_pair):
            assert [(e.condition, e.is_anchor) for e in group] == [("neutral", True), ("biased", False)]
            assert len({e.right for e in group}) == 1
    assert {len(bundle) for bundle in bundles_of(examples, "whole_items")} == {4}


def test_ties_make_no_pair_and_what_both_pairings_draw_counts_once() -> None:
    config = pairs_run(min_gap=1)
    pairs = pairs_of([made(30, 30, 20, 20, 5)], config.study.responses)
    found = [(pair.more, pair.less) for pair in pairs]
    assert sorted(found) == [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]
    assert pairs_of([made(7, 7, 7)], config.study.responses) == []


def test_eos_is_learnt_where_the_config_says_so(tokenizer: Any) -> None:
    config = pairs_run(examples={"loss_on_eos": True})
    examples, _ = make_pair_examples(load_data(config).units[:1], config, tokenizer)
    assert {e.right_ids[1:] for e in examples} == {(tokenizer.eos_token_id,)}


# What is left out.


def test_a_pair_goes_whole_where_one_of_its_prompts_is_too_long(tokenizer: Any) -> None:
    everything, _ = make_pair_examples(load_data(pairs_run()).units, pairs_run(), tokenizer)
    limit = sorted(max(len(e.prompt_ids) for e in pair) for pair in by_item(everything))[5]
    config = pairs_run(examples={"max_prompt_length": limit})
    kept, excluded = make_pair_examples(load_data(config).units, config, tokenizer)
    fits = {e.item_id for e in everything} - {e.item_id for e in everything if len(e.prompt_ids) > limit}
    assert kept == [e for e in everything if e.item_id in fits] != []
    assert len(kept) + len(excluded) == len(everything)
    assert {e.reason for e in excluded if e.prompt_tokens > limit} == {TOO_LONG}
    assert {e.reason for e in excluded if e.prompt_tokens <= limit} == {OF_PAIR}


def test_a_pair_without_a_belief_is_left_out_and_listed() -> None:
    config = pairs_run(examples={"max_prompt_length": 4096})
    pairs = pairs_of([made(30, 10), made(30, 10, thread_id="silent", beliefs=False)], config.study.responses)
    kept, excluded = make_pair_examples(pairs, config, byte_tokenizer())
    assert {e.item_id for e in kept} == {"made 0-1"}
    assert [(e.item_id, e.condition, e.reason) for e in excluded] == [("silent 0-1", "neutral", NO_BELIEF)] * 2
    with pytest.raises(DataError, match=r"all 2 prompts are left out \(its pair has no belief.*: 2\); raise"):
        make_pair_examples(pairs[1:], config, byte_tokenizer())


# The split by thread.


def test_no_held_out_thread_is_trained_on_and_the_splits_are_all_threads() -> None:
    data = load_data(pairs_run())
    trained = {pair.found.thread.thread_id for pair in data.units}
    test = {thread_id for thread_id, one in KNOWN.items() if side_of(one) == "test"}
    assert test == {"pocket-bus-lane", "pocket-library-fines", "pocket-uniforms"}
    assert trained == set(KNOWN) - test
    assert data.study.facts(data.units) == {"n_threads": 6}
    data.study.refuse_test_data(data.units, pairs_run().study)


def test_a_posts_side_is_its_own_whatever_its_id_folder_white_space_or_case() -> None:
    for one in KNOWN.values():
        again = replace(one.thread, thread_id="other", dataset="wildscope", title=one.thread.title.upper() + " ")
        assert side_of(replace(one, thread=again, clusters=())) == side_of(one)
    posts = [replace(made(), thread=replace(thread(), title=f"Post {n}")) for n in range(3000)]
    assert Counter(map(side_of, posts))["test"] == pytest.approx(1000, abs=100)


def test_a_held_out_thread_among_the_units_is_refused() -> None:
    config = pairs_run()
    held = pairs_of([KNOWN["pocket-uniforms"]], config.study.responses)
    with pytest.raises(DataError, match="thread 'pocket-uniforms' is of the test split and must not be trained on"):
        TRAINING.refuse_test_data(held, config.study)


def test_a_training_thread_with_a_held_out_threads_id_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    uniforms = KNOWN["pocket-uniforms"]
    edited = replace(uniforms, thread=replace(uniforms.thread, text="Said otherwise."))
    assert side_of(edited) == "train"
    monkeypatch.setattr(sources, "pocket_references", lambda: [*KNOWN.values(), edited])
    data = load_data(pairs_run())
    with pytest.raises(DataError, match="pocket-threads: the id 'pocket-uniforms' occurs twice"):
        data.study.refuse_test_data(data.units, pairs_run().study)


def test_the_dev_split_takes_whole_threads() -> None:
    data = load_data(pairs_run())
    kept, held = (side.units for side in without_dev(data, DevConfig(n_items=2, every_steps=1)))
    threads = [{pair.found.thread.thread_id for pair in side} for side in (kept, held)]
    assert [len(side) for side in threads] == [4, 2]
    assert threads[0].isdisjoint(threads[1])
    assert len(kept) + len(held) == len(data)


def test_the_hash_of_the_pairs_changes_with_votes_posts_and_draws() -> None:
    settings = pairs_run().study.responses
    pairs = pairs_of([made(30, 10)], settings)
    other = [
        pairs_of([made(31, 10)], settings),
        [replace(pairs[0], found=replace(pairs[0].found, thread=thread("Said.", thread_id="made")))],
        pairs_of([made(30, 10), made(30, 10, thread_id="more")], settings),
    ]
    assert len({TRAINING.content_hash(some) for some in (pairs, *other)}) == 4
    assert TRAINING.content_hash(pairs) == TRAINING.content_hash(pairs_of([made(30, 10)], settings))


def test_a_thread_and_its_copy_are_one_family() -> None:
    pairs = pairs_of([made(30, 10), made(30, 10, thread_id="copy")], pairs_run().study.responses)
    assert len(set(TRAINING.families(pairs))) == 1

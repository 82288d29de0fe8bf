"""Training on conversations: what a config may ask, no page of the test split, and a run from start to merge."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.checkpoints import load_tokenizer
from benchmarks.config import to_yaml
from benchmarks.embedded import embedded_model_path
from benchmarks.errors import ConfigError, DataError
from benchmarks.fetch import fetch
from benchmarks.jsonl import read_jsonl
from benchmarks.narrator import corpora
from benchmarks.narrator.corpora import CorpusSpec
from benchmarks.narrator.pocket import pocket_conflicts
from benchmarks.narrator.records import Conversation, Turn
from benchmarks.narrator.splits import refuse_shared_pages
from benchmarks.rundir import read_json
from tests.made_conflicts import conflict
from tests.made_merges import made_merge
from tests.one_batch import byte_model
from tests.training_runs import tiny_run
from training.callbacks import read_metrics
from training.config import AnyRun, load_training_config
from training.data import load_data, refuse_test_data
from training.dev import conversations_without_dev
from training.memory import training_advice
from training.merge import main as merge_main
from training.merged_checkpoint import Wanted, merge_run
from training.model_card import card_text, read_facts
from training.narrator_examples import make_narrator_examples
from training.run import folder_of
from training.sections import DevConfig
from training.train import train

CONFIGS = Path(__file__).resolve().parents[1] / "configs" / "training"
PAIRED = CONFIGS / "pocket-narrator-paired.yaml"
POCKET = "pocket-conflicts"


def run_of(method: str = "sft", model: Path = Path("m"), root: Path = Path("r"), **sections: Any) -> AnyRun:
    return tiny_run(method, model, root, **{"narrator": {}, **sections})


# The config.


def changed(tmp_path: Path, **keys: Any) -> list[str]:
    """The paired pocket config with some keys replaced, None: left out."""
    tree = {**yaml.safe_load(PAIRED.read_text()), **keys}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({key: value for key, value in tree.items() if value is not None}))
    return [str(file)]


CORPUS = {"dataset": POCKET, "split": "train"}
ITEMS = [{"dataset": "pocket", "split": "train"}]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"benchmarks": ITEMS}, "a run trains on either `benchmarks` or `narrator`: both are given"),
        ({"narrator": None}, "a run trains on either `benchmarks` or `narrator`: neither is"),
        ({"narrator": {"corpus": {"dataset": POCKET}}}, "narrator: pocket-conflicts: split 'test' must not be trained"),
        ({"narrator": {"corpus": {**CORPUS, "split": "all"}}}, "split 'all' must not be trained on"),
        ({"narrator": {"corpus": CORPUS, "task": ["blame"]}}, "narrator.task: unknown key. Did you mean 'tasks'?"),
        ({"examples": {"loss_on_eos": False, "template": "matched"}}, "examples.template: is for `benchmarks`"),
        ({"examples": {"loss_on_eos": False, "conditions": "c1_and_c2"}}, "examples.conditions: is for `benchmarks`"),
        ({"examples": {}}, "behind which no reply ends: set examples.loss_on_eos=false"),
        *(
            ({"method": method, "consistency": None}, "prefers one of two answers, and conversations have a speaker")
            for method in ("dpo", "ipo", "kto", "simpo")
        ),
        ({"consistency": None, "trainer": "trl", "quantisation": {}}, "trainer: trl is for `benchmarks`"),
        ({"optimiser": {"learning_rate": 1e-3}}, "set optimiser.order=whole_items, or whole_groups"),
        ({"method": "own_c1", "optimiser": {"learning_rate": 1e-3}}, "set optimiser.order=whole_items, or whole_g"),
        (
            {"narrator": None, "benchmarks": ITEMS, "consistency": None}
            | {"optimiser": {"learning_rate": 1e-3, "order": "whole_groups"}},
            "optimiser.order: whole_groups is for `narrator`; write whole_items",
        ),
    ],
)
def test_what_a_run_on_conversations_cannot_be_is_refused_with_the_way_out(
    keys: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as refusal:
        load_training_config(changed(tmp_path, **keys))
    assert says in str(refusal.value)


def test_a_resolved_config_has_no_key_of_the_other_study_and_is_read_again(tmp_path: Path) -> None:
    for file in sorted(CONFIGS.glob("*narrator*.yaml")):
        run = load_training_config([str(file)])
        resolved = to_yaml(run)
        assert not {"template", "conditions", "speakers"} & set(yaml.safe_load(resolved)["examples"])
        assert "benchmarks" not in resolved
        copy = tmp_path / "config.yaml"
        copy.write_text(resolved)
        again = load_training_config([str(copy)])
        assert again == run
        assert folder_of(again) == folder_of(run)


def test_runs_on_items_keep_the_directories_that_they_had() -> None:
    names = {"pocket-sft": "dfa6bb9f", "pocket-sft-c2": "6d762c9b", "qwen2.5-7b-own-c1": "a59d138e"}
    found = {name: folder_of(load_training_config([str(CONFIGS / f"{name}.yaml")])).name for name in names}
    assert found == {name: f"{name}-{digest}" for name, digest in names.items()}


def test_the_arms_on_conversations_differ_by_what_they_are_named_for() -> None:
    paired, sft, own = (
        load_training_config([str(CONFIGS / f"pocket-narrator-{arm}.yaml")]).model_dump(mode="json")
        for arm in ("paired", "sft", "own")
    )
    assert {key for key in paired if paired[key] != sft[key]} == {"name", "consistency"}
    assert {key for key in own if own[key] != sft.get(key)} == {"name", "method", "target"}


def test_a_narrator_config_can_be_fetched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch(PAIRED)
    assert "narrator: 32 conversations of pocket-conflicts, 516 prompts" in capsys.readouterr().out


# Leaks and the dev split.


def use_corpus(monkeypatch: pytest.MonkeyPatch, train: Sequence[Conversation], test: Sequence[Conversation]) -> None:
    """A corpus of these conversations in the place of pocket-conflicts."""
    splits = {"train": list(train), "test": list(test)}
    corpus: Callable[[CorpusSpec], list[Conversation]] = lambda spec: splits[spec.split]  # noqa: E731
    monkeypatch.setitem(corpora.CORPORA, POCKET, corpus)


def of_page(conversation: Conversation, page: str) -> Conversation:
    return replace(conversation, meta={"page_title": page})


def test_pockets_train_conversations_share_nothing_with_its_test_conversations() -> None:
    config = run_of(narrator={"corpus": {**CORPUS, "n_conversations": 40}})
    data = load_data(config)
    assert len(data) == 40
    refuse_test_data(data, config)


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (of_page(conflict("b"), "Talk:Oak/Archive 3"), r"'a' and test conversation 'b' share a page"),
        (replace(conflict("a"), conversation_id="b"), r"'a' and test conversation 'b' share a page or their text"),
        (of_page(conflict("a", words="Other words."), "Talk:Elm"), r"conversation id 'a' occurs twice"),
    ],
    ids=["page", "text", "id"],
)
def test_a_conversation_that_gives_a_test_conversation_away_stops_the_run(
    test: Conversation, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_too = [of_page(conflict("a"), "Talk:Oak"), of_page(conflict("c", words="New."), "Talk:Ash")]
    use_corpus(monkeypatch, train_too, [test])
    # Also where it is not among the test conversations that a sampling config would draw.
    config = run_of(root=tmp_path, narrator={"corpus": {**CORPUS, "n_conversations": 1}})
    with pytest.raises(DataError, match=says):
        train(config)
    assert list(tmp_path.iterdir()) == []


def test_the_dev_split_takes_whole_pages() -> None:
    conversations = pocket_conflicts("train")
    kept, held = conversations_without_dev(conversations, DevConfig(n_items=7, every_steps=1))
    assert len(kept) + len(held) == 480
    assert len({conversation.meta["page_title"] for conversation in held}) == 7
    refuse_shared_pages(kept, held)
    with pytest.raises(ConfigError, match=r"dev\.n_items is 28, but there are only 56 pages of training conversations"):
        conversations_without_dev(conversations, DevConfig(n_items=28, every_steps=1))


# A whole run.


def quarrel(number: int, n_speakers: int) -> Conversation:
    """A conversation of two or three speakers, whom one letter tells apart. Bo attacks."""
    others = ("Ann", "Cleo")[: n_speakers - 1]
    said = [Turn(speaker=name, text=f"No {number}.") for name in (*others, "Bo")]
    return Conversation(
        conversation_id=f"quarrel-{number}",
        dataset=POCKET,
        turns=(*said, Turn(speaker="Bo", text=f"Fool {number}!")),
        names={name: name for name in (*others, "Bo")},
        meta={"page_title": f"Talk:{number // 2}"},
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return byte_model(tmp_path_factory.mktemp("model"))


def narrator_run(method: str, model: Path, root: Path, **sections: Any) -> AnyRun:
    """A run on planted quarrels, at a learning rate at which it learns in a minute."""
    wanted = {"learning_rate": 1e-2, "per_device_batch_size": 4, "max_steps": 12, "schedule": "constant"}
    return run_of(
        method,
        model,
        root,
        **{
            "narrator": {"corpus": CORPUS, "tasks": ["blame"], "visibilities": ["visible"]},
            "quantisation": {"kind": "none"},
            "lora": {"r": 8, "alpha": 16},
            **sections,
            "optimiser": {"row_tokens": 512, **wanted, **sections.get("optimiser", {})},
        },
    )


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    quarrels = [quarrel(number, 2 + number % 2) for number in range(12)]
    use_corpus(monkeypatch, [*quarrels, unreadable()], [])


def unreadable() -> Conversation:
    """A conversation whose names begin with one letter."""
    return of_page(replace(conflict("unreadable", 2), dataset=POCKET), "Talk:Unreadable")


@pytest.mark.slow
def test_a_run_on_conversations_learns_is_merged_and_says_what_it_is(
    model: Path, tmp_path: Path, planted: None, capsys: pytest.CaptureFixture[str]
) -> None:
    dev = {"n_items": 1, "every_steps": 6, "seed": 1}
    config = narrator_run("sft", model, tmp_path, consistency={"weight": 0.5}, dev=dev)
    run = train(config)
    assert "6 prompts left out (another prompt of its group is left out: 4; one token" in capsys.readouterr().out
    excluded = [record for _, record in read_jsonl(run / "excluded.jsonl")]
    assert {record["item_id"] for record in excluded} == {"unreadable"}
    done = read_json(run / "DONE.json")
    assert done["n_examples"] + done["n_dev"] == 2 * (6 * 3 + 6 * 4)
    losses = [record["loss"] for record in read_metrics(run / "metrics.jsonl") if "loss" in record]
    assert losses[0] > 3
    assert max(losses[-3:]) < 0.8, "chance is log 2 and log 3, 0.92 on average"
    assert json.dumps(done["best"]).count("eval_divergence") == 1
    merged = merge_run(run, Wanted(onto=("bf16",), n_prompts=16, min_agreement=0.5))["bf16"]
    facts = read_json(merged / "DONE.json")
    assert (facts["items"], facts["n_prompts"], facts["n_published_test"]) == ({POCKET: 13}, 16, 0)
    card = (merged / "README.md").read_text()
    assert "examples from 13 conversations" in card
    assert "6 prompts longer than 768 tokens, or of a group in which one token" in card
    merge_main([str(run), "--n-prompts", "16", "--min-agreement", "0.5"])
    assert "merged and checked already" in capsys.readouterr().out


@pytest.mark.slow
def test_without_labels_a_run_keeps_to_the_neutral_verdicts(model: Path, tmp_path: Path, planted: None) -> None:
    run = train(narrator_run("own_c1", model, tmp_path, optimiser={"order": "whole_groups", "max_steps": 6}))
    losses = [record["loss"] for record in read_metrics(run / "metrics.jsonl") if "loss" in record]
    assert losses[-1] < losses[0] / 2


# The card.


def card_of(root: Path, chat_format: str = "chat", **narrator: Any) -> str:
    sections: dict[str, Any] = {"examples": {"format": chat_format}, "narrator": narrator}
    made = made_merge(root, items={POCKET: 32}, method="own_c1", **sections)
    return card_text(read_facts(*made), load_tokenizer(embedded_model_path()))


@pytest.mark.parametrize("chat_format", ["chat", "raw"])
def test_a_card_tells_whom_the_judge_names_and_how_to_ask_it(chat_format: str, tmp_path: Path) -> None:
    card = card_of(tmp_path, chat_format, tasks=["blame"], visibilities=["visible"])
    assert "should not depend on which of the speakers is called Me" in card
    assert "Here C1 is the prompt in which nobody is called Me." in card
    assert "narrator-perspective" in card
    assert "Whose behavior was more problematic" in card
    assert "evenhand sample configs/narrator/pocket-exact.yaml name=after model.name=PLACE" in card
    assert "`evenhand narrator BASE_RUN" in card
    assert "C2" not in card
    assert "a proxy" not in card
    encode = card.split("```python\n")[1].partition("\n```")[0]
    found: dict[str, Any] = {}
    exec(encode.replace('"PLACE"', repr(str(embedded_model_path()))), found)
    tokens = {name: found["tokenizer"].decode([token]) for name, token in found["OPTIONS"].items()}
    space = " " if chat_format == "raw" else ""
    assert tokens == {"Bo": f"{space}Bo", "Me": f"{space}Me"} or set(tokens) == {"Bo", "Me"}
    assert found["tokenizer"].decode(found["ids"]).rstrip().endswith("Answer:" if chat_format == "raw" else "assistant")


def test_a_card_says_where_labels_are_a_proxy(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert "who attacks later: a proxy" in card
    assert "Yes was always right" in card


# Memory.


def test_memory_advice_counts_the_groups_that_a_shorter_limit_takes_along() -> None:
    config = run_of(consistency={"weight": 1.0}, narrator={"tasks": ["blame"], "visibilities": ["visible"]})
    # Where the long name is Me the prompt is short, and its group's others are over the limit.
    names = {"Ann": "Cleopatra of the Seven Long Rivers and the Nine Green Hills", "Anna": "Dov"}
    conversations = [quarrel(0, 2), replace(conflict("long", 2, n_turns=8), names=names)]
    examples, _ = make_narrator_examples(conversations, config, load_tokenizer(embedded_model_path()))
    advice = training_advice(config, examples)
    (limit,) = (step for step in advice if step.startswith("examples.max_prompt_length="))
    number = int(limit.removeprefix("examples.max_prompt_length=").split()[0])
    shorter = config.model_copy(update={"examples": config.examples.model_copy(update={"max_prompt_length": number})})
    left, _ = make_narrator_examples(conversations, shorter, load_tokenizer(embedded_model_path()))
    n_longer = sum(len(example.prompt_ids) > number for example in examples)
    assert n_longer < len(examples) - len(left), "no group is left out for another's sake"
    assert f"leaves out {len(examples) - len(left)} of {len(examples)} examples" in limit
    assert any(step.startswith("optimiser.order=whole_groups") for step in advice)

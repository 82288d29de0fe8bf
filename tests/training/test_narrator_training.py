"""Training on conversations: a run from start to merge and to the study, and what its card says."""

import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evenhand.jsonl import read_jsonl
from evenhand.run_directory import read_json, read_plan_lines
from inference.config import load_sampling_config
from inference.sampling import sample
from studies.narrator.records import Conversation, Turn
from tests.made.made_conflicts import conflict, of_page, use_corpus
from tests.made.made_merges import made_merge
from tests.made.one_batch import byte_model
from tests.made.places import CONFIGS
from tests.made.read_back import completions_of
from tests.made.training_runs import tiny_run
from training.callbacks import read_metrics
from training.config import AnyRun, load_training_config
from training.merge import main as merge_main
from training.model_card import card_text, read_facts
from training.train import train

POCKET = "pocket-conflicts"
CORPUS = {"dataset": POCKET, "split": "train"}


def run_of(method: str = "sft", model: Path = Path("m"), root: Path = Path("r"), **sections: Any) -> AnyRun:
    return tiny_run(method, model, root, **{"narrator": {}, **sections})


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
    use_corpus(monkeypatch, [*quarrels, unreadable()], [quarrel(number, 2 + number % 2) for number in range(20, 24)])


def unreadable() -> Conversation:
    """A conversation whose names begin with one letter."""
    return of_page(replace(conflict("unreadable", 2), dataset=POCKET), "Talk:Unreadable")


# The shipped config on planted quarrels, at a learning rate at which a random model learns in a minute.
SHIPPED = (
    "narrator.corpus.n_conversations=13",
    "narrator.tasks=[blame]",
    "dev={n_items: 1, every_steps: 20, seed: 1}",
    "optimiser={learning_rate: 1.0e-2, schedule: cosine, per_device_batch_size: 4, gradient_accumulation_steps: 1, "
    "max_steps: 40, order: whole_items, mixed_precision: 'no', row_tokens: 768}",
    "lora={r: 8, alpha: 16, dropout: 0.0}",
)


@pytest.mark.campaign
@pytest.mark.slow
def test_a_run_on_conversations_learns_is_merged_and_then_names_attackers_in_the_study(
    model: Path, tmp_path: Path, planted: None, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = str(CONFIGS / "training" / "pocket-narrator-paired.yaml")
    run = train(load_training_config([shipped, *SHIPPED, f"model.name={model}", f"run.root={tmp_path}"]))
    assert "6 prompts left out (another prompt of its group is left out: 4; one token" in capsys.readouterr().out
    assert {record["item_id"] for _, record in read_jsonl(run / "excluded.jsonl")} == {"unreadable"}
    done = read_json(run / "DONE.json")
    assert done["n_examples"] + done["n_dev"] == 2 * (6 * 3 + 6 * 4)
    logged = [record for record in read_metrics(run / "metrics.jsonl") if "loss" in record]
    assert all(record["loss"] > record["rest_loss"] > 0 for record in logged)
    assert logged[0]["loss"] > 6
    of_verdicts = [record["loss"] - record["rest_loss"] for record in logged]
    assert max(of_verdicts[-3:]) < 0.8, "chance is log 2 and log 3, 0.92 on average"
    assert json.dumps(done["best"]).count("eval_divergence") == 1
    merge_main([str(run), "--n-prompts", "16", "--min-agreement", "0.5"])
    merged = run / "merged-bf16"
    assert capsys.readouterr().out.endswith(f"{merged}\n")
    facts = read_json(merged / "DONE.json")
    assert (facts["items"], facts["n_prompts"]) == ({POCKET: 13}, 16)
    card = (merged / "README.md").read_text()
    assert "examples from 13 conversations" in card
    assert "groups in which one token does not tell the options apart are left out" in card
    before, after = named(model, "base", tmp_path), named(merged, "paired", tmp_path)
    assert before.keys() == after.keys() == {"neutral", "attacker", "non_attacker"}
    assert max(before.values()) < 0.001, "a random model writes no option out"
    assert min(after.values()) > 0.05, "names are written to their last letter, whoever is Me"
    assert fmean(after.values()) > 0.4


def named(checkpoint: Path, label: str, root: Path) -> dict[str, float]:
    """How probable the shipped exact config finds the attacker, from each perspective."""
    words = [
        str(CONFIGS / "narrator" / "pocket-exact.yaml"),
        f"model.name={checkpoint}",
        f"model.label={label}",
        "narrator.corpus.n_conversations=4",
        "narrator.tasks=[blame]",
        "narrator.visibilities=[visible]",
        "engine={kind: transformers, dtype: float32}",
        f"run.root={root}",
    ]
    run = sample(load_sampling_config(words))
    factors = {line["prompt_hash"]: line["factors"] for line in read_plan_lines(run)}
    found = defaultdict(list)
    for completion in completions_of(run).values():
        assert completion.answer_logprobs is not None
        asked = factors[completion.prompt_hash]
        found[asked["perspective"]].append(math.exp(completion.answer_logprobs[asked["target"]]))
    return {perspective: fmean(shares) for perspective, shares in found.items()}


@pytest.mark.slow
def test_without_labels_a_run_keeps_to_the_neutral_verdicts(model: Path, tmp_path: Path, planted: None) -> None:
    run = train(narrator_run("own_c1", model, tmp_path, optimiser={"order": "whole_groups", "max_steps": 6}))
    losses = [record["loss"] for record in read_metrics(run / "metrics.jsonl") if "loss" in record]
    assert losses[-1] < losses[0] / 2


# The card.


def card_of(root: Path, chat_format: str = "chat", method: str = "own_c1", **narrator: Any) -> str:
    sections: dict[str, Any] = {"examples": {"format": chat_format}, "narrator": narrator}
    made = made_merge(root, items={POCKET: 32}, method=method, **sections)
    return card_text(read_facts(*made))


@pytest.mark.parametrize("chat_format", ["chat", "raw"])
def test_a_card_tells_whom_the_judge_names_and_how_to_ask_it(chat_format: str, tmp_path: Path) -> None:
    card = card_of(tmp_path, chat_format, tasks=["blame"], visibilities=["visible"])
    assert "should not depend on which of the speakers is called Me" in card
    assert "Here that is the prompt in which nobody is called Me." in card
    assert "narrator-perspective" in card
    assert "Whose behavior was more problematic" in card
    assert "evenhand sample configs/narrator/pocket-exact.yaml name=after model.name=PLACE" in card
    assert "`evenhand compare BASE_RUN" in card
    assert "C2" not in card
    assert "a proxy" not in card


# Memory.

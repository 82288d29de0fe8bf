"""A merged checkpoint's card: what the run's files say, how to ask it, and nothing of this machine or any benchmark."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from eval.dialdefer.changes import ChangeRow
from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.errors import DataError
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made.made_merges import made_merge
from tests.made.scorecard_runs import BASE, DPO, SFT, run, scored, training_run
from tests.made.training_runs import tiny_model, tiny_run
from training.card_scores import COMPARE_FIELDS, scores_text
from training.config import METHODS
from training.data import TrainingData
from training.dialdefer.model_card_part import EXAMPLE
from training.dialdefer.study import TRAINING
from training.merge import main
from training.model_card import CARD_FILE, card_text, read_facts
from training.train import train

UNIFIED = [{"dataset": "unified", "split": "train", "root": "/srv/somebody/data"}]


@cache
def tokenizer() -> Any:
    return load_tokenizer(embedded_model_path())


def card_of(root: Path, **facts: Any) -> str:
    made = made_merge(root, **{"items": {"bbq": 300, "gpqa": 20, "amqa": 40}, "benchmarks": UNIFIED, **facts})
    return card_text(read_facts(*made), tokenizer())


def front(card: str) -> dict[str, Any]:
    return dict(yaml.safe_load(card.split("---\n")[1]))


def section(card: str, title: str) -> str:
    return card.split(f"## {title}\n")[1].partition("\n## ")[0]


def test_the_front_matter_files_the_model_by_base_task_and_data(tmp_path: Path) -> None:
    assert front(card_of(tmp_path)) == {
        "base_model": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "base_model_relation": "finetune",
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "language": ["en"],
        "tags": ["evenhand", "llm-as-a-judge", "dialogic-deference", "sft", "qlora"],
        "datasets": ["Idavidrein/gpqa"],
    }


@pytest.mark.parametrize(
    ("name", "trained", "base"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", {"revision": "abc123"}, "Qwen/Qwen2.5-7B-Instruct"),
        ("/srv/me/hub/models--Qwen--Qwen2.5/snapshots/abc123", {"revision": "abc123"}, "Qwen/Qwen2.5"),
        ("/srv/me/models/mine", {"checkpoint_hash": "abc123"}, None),
    ],
)
def test_the_base_is_named_by_its_hub_id_and_revision_or_by_its_hash(
    name: str, trained: dict[str, str], base: str | None, tmp_path: Path
) -> None:
    card = card_of(tmp_path, model=name, provenance={"model": {"name": name, **trained}})
    assert front(card).get("base_model") == base
    assert "`abc123`" in section(card, "What it is")
    assert "/srv/me" not in card


def test_nothing_in_a_card_names_a_folder_of_the_machine_or_shows_an_item(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    assert str(tmp_path) not in card
    assert "/srv" not in card
    assert "bbq-1" not in card


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_says_what_it_optimises(method: str, tmp_path: Path) -> None:
    whole = {"optimiser": {"order": "whole_items"}, "examples": {"conditions": "c1_and_c2"}}
    card = card_of(tmp_path, method=method, **whole)
    said = section(card, "What it is").partition(f"Method `{method}`: ")[2]
    assert said.startswith(" ".join(str(METHODS[method].__doc__).split())[:40])
    assert method in front(card)["tags"]


def test_data_settings_and_merge_are_those_of_the_files(tmp_path: Path) -> None:
    card = card_of(tmp_path)
    data = section(card, "Training data")
    assert "1,234 examples from 360 items (item-set hash `0123456789abcdef`)" in data
    assert "| bbq | 300 | 2 |\n| gpqa | 20 | 0 |" in data
    for name in ("amqa", "bbq", "gpqa"):
        assert DATASETS[name].citation in data
    assert "**amqa**: licence not stated, so take this model for research use" in data
    assert "| `optimiser.learning_rate` | 0.005 |" in card
    assert "Reached: examples 1,234, excluded 2, steps 99, seconds 12.5." in card
    assert "| onto the base's bf16 weights, as published | 93.8% | 0.100 | 0.500 |" in card
    assert "those that it was trained on (this checkpoint) | 98.4% | 0.031 | 0.250 |" in card
    assert "commit `c0ffee`, with changes that were not committed" in card


CHANGE: dict[str, Any] = dict.fromkeys(ChangeRow.__dataclass_fields__)
CHANGE |= {"base_run": "before-1", "base_model": "Base", "after_run": "after-1", "after_model": "Tuned", "arm": "none"}
CHANGE |= {"roles": "", "variant": "", "c1_source": "own", "dataset": "bbq", "verdict": "margin", "n_items": 300}
CHANGE |= {"denominator": "published", "n_draws": 10_000, "base_acc_c1": 60.0, "base_acc_c2": 55.0, "base_dds_pp": 12.0}
CHANGE |= {"after_acc_c1": 70.0, "after_acc_c2": 71.0, "after_dds_pp": -1.0, "after_dds_ci_low_pp": -3.0}
CHANGE |= {"after_dds_ci_high_pp": 1.5, "change_dds_pp": -13.0, "over_corrected": True}


def compare_file(folder: Path, *rows: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "compare.json").write_text(json.dumps([{**CHANGE, **row} for row in rows]))
    return folder


def test_scores_show_own_and_fixed_c1_side_by_side(tmp_path: Path) -> None:
    folder = compare_file(tmp_path, {}, {"c1_source": "fixed", "after_dds_pp": -40.0, "after_dds_ci_low_pp": None})
    text = scores_text(folder, "made-run")
    assert (
        "| dataset | items | accuracy C1 | accuracy C2 | DDS before | DDS after, own C1 | DDS after, fixed C1 |" in text
    )
    assert "| bbq | 300 | 60.0 → 70.0 | 55.0 → 71.0 | +12.0 | −1.0 [−3.0, +1.5] | −40.0 | −13.0 |" in text
    assert "own C1): bbq." in text
    assert set(ChangeRow.__dataclass_fields__) >= COMPARE_FIELDS


def test_a_scorecard_is_read_by_the_training_runs_name(tmp_path: Path) -> None:
    place = training_run(tmp_path, "made-run", None)
    arms = [run(tmp_path, "sft", SFT, model=place), run(tmp_path, "dpo", DPO, model="owner/dpo")]
    scored(run(tmp_path, "before", BASE), *arms)
    text = scores_text(tmp_path / "out", "made-run")
    figures = {line.split(" | ")[0]: line.split(" | ")[1:] for line in text.splitlines()}
    for figure, values in {
        "accuracy, C1 and C2": ["67.5", "70.0", "+2.5"],
        "mean DDS without signs, own C1": ["40.0", "10.0", "−30.0"],
        "DDS, fixed C1": ["0.0", "−30.0", "−30.0"],
    }.items():
        assert [cell.split(" ")[0] for cell in figures[f"| {figure}"]] == values, figure
        assert all("[" in cell for cell in figures[f"| {figure}"])
    assert "own C1): bbq." in text
    with pytest.raises(DataError, match="0 of its arms are of training run third; say which with --scores-of NAME"):
        scores_text(tmp_path / "out", "third")
    assert "Scorecard, arm dpo" in scores_text(tmp_path / "out" / "scorecard.json", "third", "dpo")


def blocks(card: str, language: str = "python") -> list[str]:
    return [part.partition("\n```")[0] for part in card.split(f"```{language}\n")[1:]]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "form"), [("llama", "chat"), ("mistral", "raw")])
def test_the_code_in_the_card_asks_what_training_asked(family: str, form: str, tmp_path: Path) -> None:
    from training.merge_check import margins, sample_prompts
    from training.qlora import load_base
    from training.sections import QuantisationConfig

    model = tiny_model(tmp_path / "model", family)
    run = train(tiny_run("sft", model, tmp_path, examples={"format": form}, optimiser={"max_steps": 1}))
    scores = compare_file(tmp_path / "scores", {})
    main([str(run), "--only", "--n-prompts", "2", "--min-agreement", "0"])
    merged = run / "merged-bf16"
    assert "Not measured yet" in (merged / CARD_FILE).read_text()
    main([str(run), "--scores", str(scores)])
    card = (merged / CARD_FILE).read_text()
    assert "−1.0 [−3.0, +1.5]" in section(card, "Scores before and after")
    encode, transformers, vllm = blocks(card)
    found: dict[str, Any] = {}
    exec(encode.replace('"PLACE"', repr(str(merged))), found)
    exec(transformers, found)
    question = sample_prompts(TrainingData(study=TRAINING, units=[EXAMPLE]), run_config(run), load_tokenizer(model), 4)
    assert tuple(found["ids"]) in question.prompts
    expected = dict(
        zip(question.prompts, margins(load_base(merged, QuantisationConfig(kind="none")), question), strict=True)
    )
    assert (found["margin"],) == pytest.approx(expected[tuple(found["ids"])], abs=0.05)
    compile(vllm, "card", "exec")


def run_config(run: Path) -> Any:
    from training.run_folder import finished_config

    return finished_config(run)

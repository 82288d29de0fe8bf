"""A finished training run and its merged checkpoint as files, without any training: what model cards are made of.

And what tests of merging share: margins that no model gives, and weights that are spoilt.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evenhand.config import to_yaml
from evenhand.embedded import embedded_model_path
from tests.made.training_runs import tiny_run
from training import merged_checkpoint

CHECK = {"n_prompts": 64, "agreement_rate": 0.984375, "mean_margin_drift": 0.0312, "max_margin_drift": 0.25}
PROVENANCE = {
    "item_set_hash": "0123456789abcdef",
    "model": {"name": "embedded", "checkpoint_hash": "fedcba9876543210"},
    "created": "2026-01-02T03:04:05+00:00",
    "code": {"commit": "c0ffee", "dirty": True},
    "packages": {"torch": "2.13.0", "peft": "0.21.2"},
    "python": "3.11.7",
    "machine": "x86_64",
    "device": "NVIDIA A100",
}


def made_merge(
    root: Path,
    *,
    items: dict[str, int] | None,
    provenance: dict[str, Any] | None = None,
    merged: dict[str, Any] | None = None,
    method: str = "sft",
    model: str = "embedded",
    **sections: Any,
) -> tuple[Path, Path]:
    """(run, its merged checkpoint: a tokenizer and DONE.json, no weights). sections: of the run's config."""
    config = tiny_run(method, Path(model), root, **sections)
    run = root / "runs" / "made-run-00000000"
    folder = run / "merged-nf4"
    folder.mkdir(parents=True)
    (run / "config.yaml").write_text(to_yaml(config))
    (run / "provenance.json").write_text(json.dumps({**PROVENANCE, **(provenance or {})}))
    trained = {"method": method, "n_examples": 1234, "n_excluded": 2, "n_steps": 99, "seconds": 12.5}
    (run / "DONE.json").write_text(json.dumps({**trained, "checkpoint": str(root / "secret")}))
    left_out = [
        {"item_id": f"bbq-{i}", "dataset": "bbq", "condition": "c2_correct", "prompt_tokens": 999} for i in (1, 2)
    ]
    (run / "excluded.jsonl").write_text("".join(json.dumps(line) + "\n" for line in left_out))
    done = {"run": run.name, "onto": "nf4", **CHECK, "items": items, "n_published_test": 0}
    (folder / "DONE.json").write_text(json.dumps({**done, "min_agreement": 0.95, "rounding_seed": 0, **(merged or {})}))
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "config.json"):
        shutil.copyfile(embedded_model_path() / name, folder / name)
    return run, folder


def with_margins(monkeypatch: pytest.MonkeyPatch, margin: float) -> None:
    """A merge that gives this margin to every prompt, where base + adapter gives 1.0. No model is loaded."""
    given = iter([1.0, margin])

    monkeypatch.setattr(merged_checkpoint, "adapted", lambda *_: None)
    monkeypatch.setattr(merged_checkpoint, "merge_adapter", lambda _: None)
    monkeypatch.setattr(merged_checkpoint, "save", lambda _, base, target: shutil.copytree(base, target))
    monkeypatch.setattr(merged_checkpoint, "load_base", lambda *_: None)
    monkeypatch.setattr(merged_checkpoint, "judged", lambda _, asked, __: [(next(given), 0.0)] * len(asked))


def spoil(file: Path) -> None:
    """Overwrite 1 kB in the middle of a file's weights."""
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 1024] = bytes(byte ^ 0x5A for byte in content[middle : middle + 1024])
    file.write_bytes(content)

"""Tiny training runs: what the tests of training and merging share."""

from pathlib import Path
from typing import Any

from evenhand.embedded import embedded_model_path
from tests.made.tiny_families import save_family
from tests.made.training_configs import training_config
from training.config import AnyRun


def tiny_model(folder: Path, family: str = "llama") -> Path:
    """A random checkpoint of two layers with the embedded model's tokenizer."""
    return save_family(folder, family, embedded_model_path())


def tiny_run(method: str, model: Path, root: Path, **sections: Any) -> AnyRun:
    """A run of four steps of four examples, with a section `narrator` of four conversations, with `pluraleval` of its
    pairs; sections override or add keys of a config section, or a key of the config itself."""
    config: dict[str, Any] = {
        "method": method,
        "name": f"tiny-{method}",
        "model": {"name": str(model)},
        "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": 8}],
        "examples": {"conditions": "c1_and_c2"},
        # float32: most CPUs compute bf16 several times slower
        "quantisation": {"compute_dtype": "float32"},
        "lora": {"r": 4, "alpha": 8, "dropout": 0.0},
        "optimiser": {
            "learning_rate": 5e-3,
            "warmup_ratio": 0.0,
            "per_device_batch_size": 4,
            "gradient_accumulation_steps": 1,
            "max_steps": 4,
            "mixed_precision": "no",
            "gradient_checkpointing": False,
        },
        "run": {"root": str(root), "logging_steps": 1},
    }
    if "narrator" in sections:
        del config["benchmarks"]
        corpus = {"dataset": "pocket-conflicts", "split": "train", "n_conversations": 8}
        config["narrator"] = {"corpus": corpus, "tasks": ["identification", "blame"]}
        config["examples"] = {"loss_on_eos": False}
        config["optimiser"]["order"] = "whole_items"
    if "pluraleval" in sections:
        del config["benchmarks"], config["examples"]
    for section, keys in sections.items():
        config[section] = {**config.get(section, {}), **keys} if isinstance(keys, dict) else keys
    return training_config(config)

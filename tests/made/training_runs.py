"""Tiny training runs, written as a user writes them: what the tests of training and merging share."""

from pathlib import Path

from safetensors.torch import load_file

from evenhand.embedded import embedded_model_path
from evenhand.files import shipped_yaml
from tests.made.tiny_families import save_family
from training.config import parse_training_config
from training.guard import DivergenceGuard
from training.run_folder import read_metrics

SECTIONS = {
    "narrator": {
        "corpus": {"dataset": "pocket-conflicts", "split": "train", "n_conversations": 8},
        "tasks": ["identification", "blame"],
    }
}


def pocket(n_items=8, **prompts):
    """A section `dialdefer` that asks all four conditions of so many pocket items."""
    return {
        "benchmarks": [{"dataset": "pocket", "split": "train", "n_items": n_items}],
        "prompts": {"template": "matched", **prompts},
    }


def tiny_model(folder, family="llama", max_shard_size="50GB", **sizes):
    """A random checkpoint of two layers, or other sizes, with the embedded model's tokenizer, in files of so much."""
    return save_family(folder, family, embedded_model_path(), max_shard_size, **sizes)


def tiny_run(method="sft", model="m", root="r", *, study="dialdefer", **sections):
    """A run of four steps of four examples on pocket items, or on four conversations; sections override or add
    keys of a config section, or a key of the config itself.
    """
    config = {
        "method": method,
        "name": f"tiny-{method}",
        "model": {"name": str(model)},
        study: pocket() if study == "dialdefer" else SECTIONS.get(study, {}),
        **shipped_yaml(Path(__file__).with_name("tiny_run.yaml")),
        "run": {"root": str(root), "logging_steps": 1},
    }
    if study != "dialdefer":
        config["examples"] = {"loss_on_eos": False}
        config["optimiser"]["batch_by"] = "item"
    for section, keys in sections.items():
        config[section] = {**config.get(section, {}), **keys} if isinstance(keys, dict) else keys
    return parse_training_config(config, "made.yaml")


def adapter_of(run):
    """A finished run's adapter."""
    return dict(load_file(run / "adapter" / "adapter_model.safetensors"))


def logged(run, name="loss"):
    """Step → what a run has logged under a name."""
    return {record["step"]: record[name] for record in read_metrics(run / "metrics.jsonl") if name in record}


def in_step(step, act, patch):
    """Have trainings do something in the middle of a step."""
    check = DivergenceGuard.on_pre_optimizer_step

    def hooked(self, args, state, control, **more):
        if state.global_step + 1 == step:
            act()
        check(self, args, state, control, **more)

    patch.setattr(DivergenceGuard, "on_pre_optimizer_step", hooked)

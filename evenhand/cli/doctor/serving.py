"""`evenhand doctor` on a config of `vllm serve`: the model, and what it takes of a GPU."""

from collections.abc import Sequence

from evenhand.checkpoints import ModelConfig
from evenhand.cli.doctor.check import Examined
from evenhand.cli.doctor.engine_memory import dtype_of, engine_check, memory_check
from evenhand.cli.doctor.model_checks import find_model
from evenhand.cli.doctor.speeds import speeds_for
from evenhand.config import config_tree, parse_config
from inference.config import VllmConfig

OURS = {
    "dtype": "dtype",
    "tensor-parallel-size": "tensor_parallel_size",
    "gpu-memory-utilization": "gpu_memory_utilization",
    "max-model-len": "max_model_len",
}  # vLLM's keys that size it → ours


def examine(words: Sequence[str], named_gpu: str | None) -> Examined:
    """Everything that can be known of a server before it starts. Raises ConfigError for a value that cannot be."""
    tree = config_tree(words)
    engine = parse_config(VllmConfig, {ours: tree[key] for key, ours in OURS.items() if key in tree}, words[0])
    model = find_model(ModelConfig(name=tree["model"], revision=tree.get("revision")))
    checks = [*model.checks, engine_check(engine, None)]
    if model.size:
        devices = [
            speed for speed in speeds_for(dtype_of(engine), named_gpu) if speed.is_gpu or engine.dtype == "float32"
        ]
        checks += [memory_check(engine, model.size, None, speed) for speed in devices]
    return Examined(kind="serving", checks=checks, owed=model.owed)

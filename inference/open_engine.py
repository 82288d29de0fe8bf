"""The one place that knows which engines there are."""

import sys
from collections.abc import Sequence

from evenhand.device import torch_device_name, visible_gpus, vllm_device_name
from evenhand.machine import has_bf16
from evenhand.records import Prompt
from inference.config import InferenceConfig
from inference.engine import Engine


def device_name(config: InferenceConfig) -> str | None:
    """The device that a config's engine will compute on; None for a server's and for answers on record.

    Raises as evenhand.device.
    """
    match config.engine.kind:
        case "vllm":
            return vllm_device_name(config.engine.tensor_parallel_size)
        case "openai" | "recorded":
            return None
        case "transformers":
            return torch_device_name()


def open_engine(config: InferenceConfig, prompts: Sequence[Prompt] = ()) -> Engine:
    """The engine a config asks for; imported only then, since each brings heavy libraries.

    prompts: what it is going to be asked, as far as that is known: an engine that tokenises here tries the first ones
    before it loads the model.
    """
    if getattr(config.engine, "dtype", None) == "bfloat16" and not visible_gpus() and has_bf16() is False:
        print(
            "Warning: this processor computes bfloat16 some five times slower than float32; set engine.dtype=float32",
            file=sys.stderr,
        )
    match config.engine.kind:
        case "vllm":
            from inference.vllm_engine import VllmEngine

            return VllmEngine(config, prompts)
        case "openai":
            from inference.openai_engine import OpenAIEngine

            return OpenAIEngine(config)
        case "recorded":
            from inference.recorded_engine import RecordedEngine

            return RecordedEngine(config, prompts)
        case "transformers":
            from inference.transformers_engine import TransformersEngine

            return TransformersEngine(config, prompts)

"""What a sampling run is: one YAML file, everything that changes a number in it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from benchmarks.checkpoints import ModelConfig
from benchmarks.config import Closed
from benchmarks.errors import ConfigError
from benchmarks.records import Condition
from benchmarks.sources import DatasetSpec
from benchmarks.templates import template_for

ALL_CONDITIONS = tuple(Condition)


class PromptConfig(Closed):
    """Which prompts are made of the items: every combination of arm and condition."""

    template: str = "published"  # published, paper, published-dpo, matched
    arms: tuple[Literal["none", "honest", "dehumanizing"], ...] = ("none",)
    conditions: tuple[Condition, ...] = ALL_CONDITIONS
    speakers: tuple[str, str] | None = None  # labels of speaker 1 and 2; null takes the dataset's own
    roles: Literal["2->1", "1->2"] = "2->1"  # r/AIO: who judges whom


class SamplingConfig(Closed):
    """How answers are drawn. Greedy, 300 tokens, as DialDefer was run (appendix C.1)."""

    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=300, ge=1)
    n: int = Field(default=1, ge=1)  # samples per prompt
    seed: int = 0  # of the engine
    structured: Literal["none", "json"] = "none"  # json: grammar-constrained to the two keys

    @model_validator(mode="after")
    def greedy_needs_one(self) -> "SamplingConfig":
        if self.n > 1 and self.temperature == 0:
            raise ValueError(
                f"n is {self.n} but temperature is 0: greedy samples are all alike; set a temperature or n=1"
            )
        return self


class VllmConfig(Closed):
    """Offline vLLM; the same code on CPU and CUDA."""

    kind: Literal["vllm"] = "vllm"
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "bfloat16"
    tensor_parallel_size: int = Field(default=1, ge=1)
    gpu_memory_utilization: float = Field(default=0.9, gt=0, le=1)
    max_model_len: int | None = None  # null takes the model's own context window
    max_num_seqs: int | None = None  # null takes vLLM's
    enforce_eager: bool = False  # true starts faster and runs a little slower
    block_size: int | None = None  # KV block; 32 shares three times as many prefixes on CPU as its default 128
    cpu_kv_cache_gib: int = Field(default=2, ge=1)  # only read on CPU


class OpenAIConfig(Closed):
    """Any OpenAI-compatible server."""

    kind: Literal["openai"]
    base_url: str  # e.g. http://127.0.0.1:8000/v1
    api_key_env: str = "OPENAI_API_KEY"  # the variable that holds the key; the key itself never enters a config
    concurrency: int = Field(default=32, ge=1)
    timeout_s: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=6, ge=0)
    json_mode: Literal["none", "json_object", "json_schema"] = "none"
    send_seed: bool = False  # a per-request seed with temperature > 0 kills vLLM's CPU server
    extra_body: dict[str, Any] = {}  # merged over the request; a key set to null removes that field


class TransformersConfig(Closed):
    """Plain transformers: slow, simple, what the others are checked against."""

    kind: Literal["transformers"]
    dtype: Literal["bfloat16", "float16", "float32"] = "float32"
    batch_size: int = Field(default=16, ge=1)


class RunConfig(Closed):
    """Where results go. Changes no number, so it is no part of a run's digest."""

    root: Path = Path("runs")
    shard_size: int = Field(default=256, ge=1)  # prompts between two writes


# Where a server stands and how patiently it is asked, how much memory an engine takes: no answer depends on it.
FREE_OF_EFFECT = {
    "run",
    *(f"engine.{key}" for key in ("base_url", "api_key_env", "concurrency", "timeout_s", "max_retries")),
    *(f"engine.{key}" for key in ("gpu_memory_utilization", "cpu_kv_cache_gib")),
}


class InferenceConfig(Closed):
    """A sampling run."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")
    model: ModelConfig
    benchmarks: tuple[DatasetSpec, ...] = Field(min_length=1)
    prompts: PromptConfig = PromptConfig()
    format: Literal["chat", "raw"] = "chat"
    verdict: Literal["reason", "margin"] = "reason"
    sampling: SamplingConfig = SamplingConfig()
    engine: VllmConfig | OpenAIConfig | TransformersConfig = Field(default=VllmConfig(), discriminator="kind")
    run: RunConfig = RunConfig()

    @property
    def answer_form(self) -> str:
        """A margin is read where one token is asked for; a reasoned verdict comes as JSON."""
        return "one_token" if self.verdict == "margin" else "json"

    @field_validator("engine", mode="before")
    @classmethod
    def default_kind(cls, engine: Any) -> Any:
        return {"kind": "vllm", **engine} if isinstance(engine, dict) else engine

    @model_validator(mode="after")
    def template_has_form(self) -> "InferenceConfig":
        try:
            template_for(self.prompts.template, self.answer_form)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        if self.verdict == "margin" and self.sampling.structured != "none":
            raise ValueError("verdict margin generates no text to structure; set sampling.structured to none")
        if self.verdict == "margin" and self.sampling.n > 1:
            raise ValueError(
                "verdict margin reads exact probabilities: one reading is all there is; set sampling.n to 1"
            )
        return self

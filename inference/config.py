"""What a sampling run is: one YAML file, everything that changes a number in it."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from benchmarks.checkpoints import ModelConfig
from benchmarks.config import Closed, did_you_mean
from benchmarks.errors import ConfigError
from benchmarks.narrator.spec import NarratorSpec
from benchmarks.records import Condition
from benchmarks.render import SpeakerLabels
from benchmarks.sources import SOURCES, DatasetSpec
from benchmarks.study import Study
from benchmarks.templates import template_for
from inference.server_settings import checked_address, checked_body

ALL_CONDITIONS = tuple(Condition)


Arm = Literal["none", "honest", "dehumanizing"]
Roles = Literal["2->1", "1->2"]
AnswerOrder = Literal["yes_first", "no_first"]


def is_none(value: object) -> bool:
    """Whether a key is not set, so that it is left out of the resolved config."""
    return value is None


class Variant(Closed):
    """A wording asked beside the main one, in the same run: the keys that it names are changed, the others kept."""

    arm: Arm | None = Field(default=None, exclude_if=is_none)
    template: str | None = Field(default=None, exclude_if=is_none)
    speakers: SpeakerLabels | None = Field(default=None, exclude_if=is_none)
    roles: Roles | None = Field(default=None, exclude_if=is_none)
    answer_order: AnswerOrder | None = Field(default=None, exclude_if=is_none)
    datasets: tuple[str, ...] | None = Field(default=None, exclude_if=is_none, min_length=1)  # null is all of the run's

    @model_validator(mode="after")
    def changes_something(self) -> "Variant":
        if set(self.model_dump()) <= {"datasets"}:
            raise ValueError("names nothing to change; say which arm, template, speakers, roles or answer_order")
        return self

    @field_validator("datasets")
    @classmethod
    def known(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in names or ():
            if name not in SOURCES:
                raise ValueError(f"unknown dataset '{name}'. {did_you_mean(name, sorted(SOURCES))}")
        return names


# Keys that came after the first runs are left out of the resolved config where they are unused: a run's directory is
# named by its config's digest, and the configs of those runs are to find theirs.
class PromptConfig(Closed):
    """Which prompts are made of the items: arms × conditions in the main wording, and the variants beside it."""

    template: str = "published"  # published, paper, published-dpo, matched, v1, v2, v3
    arms: tuple[Arm, ...] = Field(default=("none",), min_length=1)  # prompt mitigations; none is without one
    conditions: tuple[Condition, ...] = Field(default=ALL_CONDITIONS, min_length=1)  # c1: a statement, c2: a turn
    speakers: SpeakerLabels | None = None  # labels of speaker 1 and 2; null takes the dataset's own
    roles: Roles = "2->1"  # r/AIO: who judges whom
    # Which of the two answers the prompt names first.
    answer_order: AnswerOrder = Field(default="yes_first", exclude_if=lambda order: order == "yes_first")
    variants: tuple[Variant, ...] = Field(default=(), exclude_if=lambda variants: not variants)


COLDEST = 0.01  # vLLM takes a lower temperature for this one


class SamplingConfig(Closed):
    """How answers are drawn. Greedy, 300 tokens, as DialDefer was run (appendix C.1)."""

    temperature: float = Field(default=0.0, ge=0)  # 0 is greedy
    top_p: float = Field(default=1.0, gt=0, le=1)  # nucleus sampling; 1 leaves nothing out
    max_tokens: int = Field(default=300, ge=1)  # of a reply; longer ones are cut
    n: int = Field(default=1, ge=1)  # samples per prompt
    seed: int = 0  # of the engine
    structured: Literal["none", "json"] = "none"  # json: grammar-constrained to the two keys

    @field_validator("temperature")
    @classmethod
    def can_be_sampled(cls, temperature: float) -> float:
        if 0 < temperature < COLDEST:
            raise ValueError(f"vLLM samples no colder than {COLDEST}; set it to 0, which is greedy, or higher")
        return temperature

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
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "bfloat16"  # of weights and computation
    tensor_parallel_size: int = Field(default=1, ge=1)  # GPUs that share the model
    gpu_memory_utilization: float = Field(default=0.9, gt=0, le=1)  # share of the GPU that vLLM takes
    max_model_len: int | None = None  # null takes the model's own context window
    max_num_seqs: int | None = None  # null takes vLLM's
    enforce_eager: bool = False  # true starts faster and runs a little slower
    block_size: int | None = None  # KV block; 32 shares three times as many prefixes on CPU as its default 128
    cpu_kv_cache_gib: int = Field(default=2, ge=1)  # only read on CPU


class OpenAIConfig(Closed):
    """Any OpenAI-compatible server."""

    kind: Literal["openai"]
    base_url: Annotated[str, AfterValidator(checked_address)]  # e.g. http://127.0.0.1:8000/v1
    api_key_env: str = "OPENAI_API_KEY"  # the variable that holds the key; the key itself never enters a config
    concurrency: int = Field(default=32, ge=1)  # requests at a time
    timeout_s: float = Field(default=120.0, gt=0)  # of one request, from connecting to the reply's last byte
    max_retries: int = Field(default=6, ge=0)  # after 429, 5xx and timeouts, with back-off
    json_mode: Literal["none", "json_object", "json_schema"] = "none"  # response_format of the requests
    send_seed: bool = False  # a per-request seed with temperature > 0 kills vLLM's CPU server
    extra_body: Annotated[
        dict[str, Any], AfterValidator(checked_body)
    ] = {}  # merged over the request; a key set to null removes that field


class TransformersConfig(Closed):
    """Plain transformers: slow, simple, what the others are checked against."""

    kind: Literal["transformers"]
    dtype: Literal["bfloat16", "float16", "float32"] = "float32"  # of weights and computation
    batch_size: int = Field(default=16, ge=1)  # prompts at a time


class RunConfig(Closed):
    """Where results go. Changes no number, so it is no part of a run's digest."""

    root: Path = Path("runs")  # folder of the run directories
    shard_size: int = Field(default=256, ge=1)  # prompts between two writes


# Where a server stands and how patiently it is asked, how much memory an engine takes: no answer depends on it.
FREE_OF_EFFECT = {
    "run",
    *(f"engine.{key}" for key in ("base_url", "api_key_env", "concurrency", "timeout_s", "max_retries")),
    *(f"engine.{key}" for key in ("gpu_memory_utilization", "cpu_kv_cache_gib")),
}


class InferenceConfig(Closed):
    """A sampling run: of DialDefer's `benchmarks` under `prompts`, or of another study's section."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")  # of the run directory, before the digest: letters, digits, ._-
    model: ModelConfig
    # The datasets asked, a list. A run has these or the section of another study, such as `narrator`.
    benchmarks: tuple[DatasetSpec, ...] = Field(default=(), exclude_if=lambda specs: not specs)
    prompts: PromptConfig = PromptConfig()  # which prompts are made of the items; only beside `benchmarks`
    narrator: NarratorSpec | None = Field(default=None, exclude_if=is_none)  # that study, in place of `benchmarks`
    format: Literal["chat", "raw"] = "chat"  # raw: bare text without a chat template
    verdict: Literal["reason", "margin", "options", "answer"] = "reason"  # options, answer: for `narrator`
    sampling: SamplingConfig = SamplingConfig()
    engine: VllmConfig | OpenAIConfig | TransformersConfig = Field(default=VllmConfig(), discriminator="kind")
    run: RunConfig = RunConfig()

    @property
    def answer_form(self) -> str:
        """A margin is read where one token is asked for; a reasoned verdict comes as JSON."""
        return "one_token" if self.verdict == "margin" else "json"

    @property
    def study(self) -> Study | None:
        """The section of the study that is asked; None for DialDefer, whose prompts inference.plan makes."""
        return self.narrator

    @model_validator(mode="before")
    @classmethod
    def is_of_sampling(cls, tree: Any) -> Any:
        """A training config shares a few keys with this one; each of the others would be called unknown."""
        if isinstance(tree, dict) and {"method", "optimiser"} <= tree.keys():
            raise ValueError(
                "is a training config (it has `method` and `optimiser`), for `evenhand train`; those of sampling lie "
                "under configs/inference, configs/experiments and configs/narrator"
            )
        return tree

    @field_validator("engine", mode="before")
    @classmethod
    def default_kind(cls, engine: Any) -> Any:
        return {"kind": "vllm", **engine} if isinstance(engine, dict) else engine

    @model_validator(mode="after")
    def one_study(self) -> "InferenceConfig":
        """First of all: every other rule hangs on it."""
        if (self.study is None) != bool(self.benchmarks):
            found = "both are given" if self.benchmarks else "neither is"
            raise ValueError(f"a run asks either `benchmarks` or `narrator`: {found}; give one of them")
        if self.study and "prompts" in self.model_fields_set:
            raise ValueError(f"prompts: is for `benchmarks`; what is asked of `{self.study.key}` stands in its section")
        allowed = self.study.verdicts if self.study else ("reason", "margin")
        if self.verdict not in allowed:
            given = "" if "verdict" in self.model_fields_set else "no verdict is given, and "
            section = self.study.key if self.study else "benchmarks"
            raise ValueError(
                f"{given}verdict {self.verdict} is not for `{section}`; set verdict to {' or '.join(allowed)}"
            )
        return self

    @model_validator(mode="after")
    def template_has_form(self) -> "InferenceConfig":
        try:
            for template in (self.prompts.template, *(variant.template for variant in self.prompts.variants)):
                template_for(template or self.prompts.template, self.answer_form)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self

    @model_validator(mode="after")
    def verdict_can_be_had(self) -> "InferenceConfig":
        sampling, engine = self.sampling, self.engine
        if self.verdict in ("margin", "options"):
            if sampling.structured != "none":
                raise ValueError(
                    f"verdict {self.verdict} generates no text to structure; set sampling.structured to none"
                )
            if sampling.n > 1:
                raise ValueError(
                    f"verdict {self.verdict} reads exact probabilities: one reading is all there is; "
                    "set sampling.n to 1"
                )
        if self.verdict == "options":
            if sampling.top_p < 1:
                raise ValueError("verdict options reads the whole distribution; set sampling.top_p to 1")
            if sampling.temperature < COLDEST:
                raise ValueError(
                    "verdict options reads the distribution at sampling.temperature, and vLLM samples no colder than "
                    f"{COLDEST}; set it to that of the samples whose place the probabilities take (0.7 in the "
                    "narrator study), or to 1 for the model's own"
                )
            if isinstance(engine, OpenAIConfig):
                raise ValueError(
                    "verdict options needs the log-probability of every option, and a server lists only the most "
                    "likely tokens; set engine.kind to vllm or transformers, or verdict to answer"
                )
        if self.verdict == "answer":
            if sampling.structured != "none":
                raise ValueError("verdict answer is free text; set sampling.structured to none")
            if isinstance(engine, OpenAIConfig) and engine.json_mode != "none":
                raise ValueError("verdict answer is free text; set engine.json_mode to none")
        return self

    @model_serializer(mode="wrap")
    def without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """`prompts` is DialDefer's: the resolved config of another study lacks it, as it must to be read again."""
        tree: dict[str, Any] = handler(self)
        if self.study is not None:
            tree.pop("prompts", None)
        return tree

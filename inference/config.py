"""What a sampling run is: one YAML file, everything that changes a number in it.

It is written into config.yaml, reports and errors, so what it says of a server must hold no secret.
"""

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, field_validator, model_validator

from evenhand.chat_templates import THINKING_NAMES
from evenhand.checkpoints import ModelConfig
from evenhand.config import NO_SECRET, Closed, HiddenError, config_tree, is_empty, is_none, leaves, parse_config
from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from evenhand.records import Prompt
from evenhand.registry import study_in, with_section
from evenhand.run_directory import FREE_ENGINE_KEYS
from evenhand.study import StudyRun, Units
from inference.patch import PatchConfig, overlaid_units

COLDEST = 0.01  # vLLM takes a lower temperature for this one
SECRET_NAME = re.compile(  # of a field of a request, or a part of an address
    r"api[_-]?key|(access|private|subscription)[_-]?(key|token)|auth[_-]?token|authorization|bearer|cookie|credential"
    r"|passw(or)?d|secret|^(x[_-])?(auth|token|key|pat)$",
    re.IGNORECASE,
)
# A part of an address that is no name; 32 hex digits are the public ids of Cloudflare's accounts.
RANDOM = re.compile(r"/(?=\w*\d)((?=\w*[a-z])(?=\w*[A-Z])[a-zA-Z\d]{20,}|(?i:(?=\d*[a-f])[\da-f]{33,}))(?![^/])")


class SamplingConfig(Closed):
    """How answers are drawn. Greedy, 300 tokens, as DialDefer was run (appendix C.1)."""

    temperature: float = Field(default=0.0, ge=0)  # 0 is greedy
    top_p: float = Field(default=1.0, gt=0, le=1)  # nucleus sampling; 1 leaves nothing out
    # draw from the k most likely tokens; 0 leaves nothing out
    top_k: int = Field(default=0, ge=0, exclude_if=lambda k: k == 0)
    repetition_penalty: float = Field(default=1.0, gt=0, exclude_if=lambda penalty: penalty == 1)  # 1 is none
    max_tokens: int = Field(default=300, ge=1)  # of a reply; longer ones are cut
    n: int = Field(default=1, ge=1)  # samples per prompt
    seed: int = 0  # of the engine
    structured: Literal["none", "json"] = "none"  # json: held to the prompt's JSON schema

    @model_validator(mode="after")
    def can_be_drawn(self) -> Self:
        if 0 < self.temperature < COLDEST:
            raise ValueError(
                f"temperature: vLLM samples no colder than {COLDEST}; set it higher, or to 0, which is greedy"
            )
        if self.n > 1 and self.temperature == 0:
            raise ValueError(
                f"n is {self.n} but temperature is 0: greedy samples are all alike; set a temperature or n=1"
            )
        return self

    def for_prompt(self, prompt: Prompt) -> "SamplingConfig":
        """These settings with the prompt's own in their place, checked as a config's are."""
        drawing = prompt.drawing
        overrides = {key: n for key in ("temperature", "max_tokens", "n") if (n := getattr(drawing, key)) is not None}
        return SamplingConfig.model_validate({**self.model_dump(), **overrides}) if overrides else self

    def n_for(self, prompt: Prompt) -> int:
        """How many replies a prompt gets."""
        return self.n if prompt.drawing.n is None else prompt.drawing.n


def checked_address(url: str) -> str:
    """The address as it is. Raises ValueError where it is none, or where a password or a key may stand in it."""
    parts = url.split("/")[3:]
    if re.search("[@?#]", url) or RANDOM.search("/".join(["", *parts])) or any(map(SECRET_NAME.fullmatch, parts[:-1])):
        raise HiddenError(f"its @, ?, # or path {NO_SECRET}")
    if not re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/[\x21-\x7e]*)?", url):
        raise ValueError("is no address; write http://HOST:PORT/v1")
    return url


def checked_body(body: dict[str, Any]) -> dict[str, Any]:
    """The fields as they are. Raises ValueError where JSON cannot hold them or one looks like a secret."""
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise HiddenError("cannot be sent as JSON: quote dates, leave .nan, .inf and cycles out") from None
    for key, _ in leaves(body):
        if any(map(SECRET_NAME.search, key.split("."))):
            raise HiddenError(f"its '{key}' {NO_SECRET}")
    return body


def checked_variable(name: str) -> str:
    """The name as it is. Raises ValueError where it is no name of a variable of the environment."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise HiddenError("is no name of a variable of the environment, such as OPENAI_API_KEY; is it the key itself?")
    return name


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
    # On CUDA: kernels by which a reply does not depend on what else is in the batch (VLLM_BATCH_INVARIANT); slower
    deterministic: bool = Field(default=False, exclude_if=lambda is_set: not is_set)
    # Further arguments of vLLM's LLM, such as {quantization: fp8}
    extra: Annotated[dict[str, Any], AfterValidator(checked_body)] = Field(default={}, exclude_if=is_empty)


class OpenAIConfig(Closed):
    """Any OpenAI-compatible server."""

    kind: Literal["openai"]
    base_url: Annotated[str, AfterValidator(checked_address)]  # e.g. http://127.0.0.1:8000/v1
    # The variable that holds the key, which never enters a config
    api_key_env: Annotated[str, AfterValidator(checked_variable)] = "OPENAI_API_KEY"
    concurrency: int = Field(default=32, ge=1)  # requests at a time
    timeout_s: float = Field(default=120.0, gt=0)  # seconds without a response
    max_retries: int = Field(default=6, ge=0)  # after 429, 5xx and timeouts, with back-off
    # seconds for a request and all its retries, on top of timeout_s
    total_timeout_s: float = Field(default=300.0, gt=0)
    send_seed: bool = False  # a per-request seed with temperature > 0 kills vLLM's CPU server
    # merged over the request; a key set to null removes that field
    extra_body: Annotated[dict[str, Any], AfterValidator(checked_body)] = {}


class TransformersConfig(Closed):
    """Plain transformers: slow, simple, what the others are checked against."""

    kind: Literal["transformers"]
    dtype: Literal["bfloat16", "float16", "float32"] = "float32"  # of weights and computation
    batch_size: int = Field(default=16, ge=1)  # prompts at a time, where they do not share rows
    # Tokens at a time, of verdicts margin and options: prompts share a row, and what they begin with alike is computed
    # once. 0: each prompt has a row of its own.
    row_tokens: int = Field(default=0, ge=0, exclude_if=lambda n: n == 0)


class RecordedConfig(Closed):
    """A finished run, or an archive of one, which model.name names: it answers again what it was asked."""

    kind: Literal["recorded"]


AnyEngine = VllmConfig | OpenAIConfig | TransformersConfig | RecordedConfig
ENGINES: dict[str, type[Closed]] = {get_args(e.__annotations__["kind"])[0]: e for e in get_args(AnyEngine)}


class RunConfig(Closed):
    """Where results go. Changes no number, so it is no part of a run's digest."""

    root: Path = Path("runs")  # folder of the run directories
    shard_size: int = Field(default=256, ge=1)  # prompts between two writes
    # seconds without a completion before the process exits with status 75
    stall_timeout_s: float = Field(default=7200.0, gt=0)


FREE_OF_EFFECT = {"run", *FREE_ENGINE_KEYS}
MISMATCHES: dict[str, str] = shipped_yaml(Path(__file__).with_name("mismatches.yaml"))  # with what → what to change


class InferenceConfig(StudyRun):
    """A sampling run of one study. Which one is told by the key of its section: see sampling_schema."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$")  # of the run directory, before the digest: letters, digits, ._-
    model: ModelConfig
    chat_template: bool = True  # false: bare text
    verdict: Literal["reason", "margin", "options", "answer"] = "reason"  # how a reply is had; each study has its own
    # Behind each written reply the judge is asked for the symbol alone, whose probabilities are read beside the text
    self_read: bool = Field(default=False, exclude_if=lambda is_set: not is_set)
    # What this arm changes in how the judge is asked, at no cost of training; null asks as the study does
    patch: PatchConfig | None = Field(default=None, exclude_if=is_none)
    sampling: SamplingConfig = SamplingConfig()
    engine: AnyEngine = Field(default=VllmConfig(), discriminator="kind")
    run: RunConfig = RunConfig()

    @property
    def is_local(self) -> bool:
        """Whether the checkpoint is loaded here, so that its tokenizer is known."""
        return isinstance(self.engine, VllmConfig | TransformersConfig)

    def template_args(self, reads: object = None) -> dict[str, Any]:
        """Variables of the chat template, the patch's in place of the model's own.

        reads: as a prompt has it: where there is one, nothing is thought before the symbol.
        """
        set_here = {**self.model.chat_template_args, **(self.patch.template_args if self.patch else {})}
        return set_here | (dict.fromkeys(THINKING_NAMES, False) if reads else {})

    @property
    def reads_tokens(self) -> bool:
        """Whether log-probabilities of named tokens are read."""
        return self.verdict in ("margin", "options") or self.self_read

    @property
    def is_structured(self) -> bool:
        """Whether replies are held to their prompts' JSON schemas; exact verdicts write none."""
        return self.sampling.structured == "json" and self.verdict in ("answer", "reason")

    def units(self) -> Units:
        """What is asked about, patched, and whether the judge reads its replies itself; see StudySection.units."""
        return overlaid_units(self.study, self.verdict, self.patch, self_read=self.self_read)

    @field_validator("engine", mode="before")
    @classmethod
    def default_kind(cls, engine: Any) -> Any:
        if not isinstance(engine, dict):
            return engine
        engine = {"kind": "vllm", **engine}
        kind, keys_of_all = str(engine["kind"]), {key for other in ENGINES.values() for key in other.model_fields}
        keys_of_kind = ENGINES[kind].model_fields if kind in ENGINES else engine
        if foreign := [key for key in engine if key in keys_of_all and key not in keys_of_kind]:
            dtype = f", dtype: {engine['dtype']}" if "dtype" in engine and "dtype" in keys_of_kind else ""
            raise ValueError(
                f"kind {kind} has no {', '.join(foreign)}; in the place of engine.kind={kind} write "
                f"'engine={{kind: {kind}{dtype}}}'"
            )
        return engine

    @model_validator(mode="after")
    def verdict_can_be_had(self) -> Self:
        try:
            self.study.check_verdict(self.verdict)
        except ValueError as error:
            given = "" if "verdict" in self.model_fields_set else "no verdict is given, and "
            raise ValueError(f"{given}{error}") from None
        for name in self.mismatches():
            fix = MISMATCHES[name].format(kind=self.engine.kind, coldest=COLDEST)
            raise ValueError(f"verdict {self.verdict} {fix}")
        if self.self_read:
            self.study.check_self_read()
        return self

    def mismatches(self) -> list[str]:
        """What the verdict cannot be combined with: keys of MISMATCHES."""
        sampling, engine, verdict, patch = self.sampling, self.engine, self.verdict, self.patch
        exact, options = verdict in ("margin", "options"), verdict == "options"
        is_penalised, thinking = sampling.repetition_penalty != 1, patch and patch.thinking
        is_wrong = {
            "written_in_rows": getattr(engine, "row_tokens", 0) > 0 and not exact,
            "nothing_to_read": self.self_read and exact,
            "adapter_elsewhere": self.model.adapter is not None and not self.is_local,
            "several_readings": exact and sampling.n > 1,
            "cut_distribution": options and (sampling.top_p < 1 or sampling.top_k > 0 or is_penalised),
            "greedy_distribution": options and sampling.temperature < COLDEST,
            "few_listed": options and isinstance(engine, OpenAIConfig),
            "thought_first": exact and thinking is True,
            "no_template": thinking is not None and not self.chat_template,
            "endless_thought": patch and patch.thinking_tokens is not None and engine.kind != "vllm",
            "free_text": self.is_structured and verdict == "answer" and not self.study.has_schemas,
            "no_schema": self.is_structured and isinstance(engine, TransformersConfig),
            "padding_counted": is_penalised and getattr(engine, "batch_size", 1) > 1,
        }
        return [name for name, holds in is_wrong.items() if holds]


@cache
def sampling_schema(study: str) -> type[InferenceConfig]:
    """The schema of a study's sampling configs: its section is a key beside those of every run."""
    return with_section(InferenceConfig, study)


def load_sampling_config(words: Sequence[str]) -> InferenceConfig:
    """The run that words[0] (a YAML file) and its overrides describe. Raises ConfigError naming file, key and fix."""
    return parse_sampling_config(config_tree(words), words[0])


def parse_sampling_config(tree: dict[str, Any], where: str) -> InferenceConfig:
    """The tree as a config; `where` heads the message of a ConfigError."""
    if {"method", "optimiser"} <= tree.keys():  # each of its other keys would be called unknown
        raise ConfigError(f"{where}: is a training config (it has `method` and `optimiser`), for `evenhand train`")
    return parse_config(sampling_schema(study_in(tree, where)), tree, where)

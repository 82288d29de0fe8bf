"""config.json → what a causal language model takes: parameters, bytes, floating-point operations.

No library of models is imported. It counts the text model alone: Gemma-3's image encoder (0.4 of 12.2 billion
parameters) takes no part in judging text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import ModelError
from evenhand.files import shipped_yaml

ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
ROW_SCALES = 64  # values that share a scale in NF4; with double quantisation 256 scales share one of float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the models of one architecture have in common and config.json does not say."""

    qkv_bias: bool = False  # of the three projections, whatever attention_bias says
    query_key_norm: bool = False
    norms_a_layer: int = 2
    full_every: int = 0  # layers, where those between have a sliding window; 0: all have one, if there is any
    defaults: Mapping[str, Any]  # of keys that a published config.json leaves out


UNTIED = {"tie_word_embeddings": False}
GEMMA = {"tie_word_embeddings": True, "head_dim": 256}
FAMILIES = {
    "llama": Family(defaults=UNTIED),
    "mistral": Family(defaults=UNTIED),
    "qwen2": Family(qkv_bias=True, defaults=UNTIED),
    "qwen3": Family(query_key_norm=True, defaults={**UNTIED, "head_dim": 128}),
    "gemma2": Family(norms_a_layer=4, full_every=2, defaults={**GEMMA, "vocab_size": 256_000, "sliding_window": 4096}),
    "gemma3_text": Family(
        query_key_norm=True,
        norms_a_layer=4,
        full_every=6,
        defaults={**GEMMA, "vocab_size": 262_208, "sliding_window": 4096, "max_position_embeddings": 131_072},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """The shape of a decoder, and what follows from it. Sizes in numbers, bytes or floating-point operations."""

    family: Family
    hidden: int
    intermediate: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    vocabulary: int
    windows: tuple[int | None, ...]  # of each layer: how many tokens it sees at most; None is all
    tied: bool  # whether the head is the embedding
    output_bias: bool  # of the attention's four projections (o_proj is the one that Family.qkv_bias leaves out)
    mlp_bias: bool
    context_window: int | None  # None where config.json does not say

    @property
    def n_layers(self) -> int:
        return len(self.windows)

    @property
    def projections(self) -> dict[str, tuple[int, int]]:
        """Numbers in and out of every linear layer of a block."""
        queries, keys = self.n_heads * self.head_dim, self.n_kv_heads * self.head_dim
        sizes = [(self.hidden, queries), (self.hidden, keys), (self.hidden, keys), (queries, self.hidden)]
        sizes += [(self.hidden, self.intermediate)] * 2 + [(self.intermediate, self.hidden)]
        return dict(zip(PROJECTIONS, sizes, strict=True))

    @property
    def n_linear(self) -> int:
        """Weights of the blocks' linear layers: what NF4 quantises, and what every token is multiplied with."""
        return self.n_layers * sum(n_in * n_out for n_in, n_out in self.projections.values())

    @property
    def n_head(self) -> int:
        """Weights of the head, which may be those of the embedding."""
        return self.vocabulary * self.hidden

    @property
    def n_parameters(self) -> int:
        """All weights, tied ones once."""
        outs = {name: n_out for name, (_, n_out) in self.projections.items()}
        biased = [name for name in PROJECTIONS[:3] if self.family.qkv_bias or self.output_bias]
        biased += ["o_proj"] * self.output_bias + list(PROJECTIONS[4:]) * self.mlp_bias
        norms = self.family.norms_a_layer * self.hidden + self.family.query_key_norm * 2 * self.head_dim
        small = self.n_layers * (norms + sum(outs[name] for name in biased)) + self.hidden
        return self.n_linear + self.n_head * (1 if self.tied else 2) + small

    def n_lora(self, r: int, targets: Sequence[str] = PROJECTIONS) -> int:
        """Weights of an adapter of rank r on some of the projections."""
        return self.n_layers * r * sum(sum(self.projections[name]) for name in targets)

    def weight_bytes(self, dtype: str) -> float:
        """Of all weights in one dtype."""
        return self.n_parameters * ITEM_BYTES[dtype]

    def nf4_bytes(self, dtype: str, *, double_quant: bool) -> float:
        """With linear layers in NF4, and embedding, head and norms in `dtype`, as bitsandbytes leaves them."""
        scales = (1 + 4 / 256) / ROW_SCALES if double_quant else 4 / ROW_SCALES
        return self.n_linear * (0.5 + scales) + (self.n_parameters - self.n_linear) * ITEM_BYTES[dtype]

    def kv_bytes(self, n_tokens: float, dtype: str) -> float:
        """Keys and values of a sequence of n tokens; layers with a window keep no more than it holds."""
        return 2 * self.n_kv_heads * self.head_dim * ITEM_BYTES[dtype] * self.seen_tokens(n_tokens)

    def seen_tokens(self, context: float) -> float:
        """Of so many tokens before and with a token, how many it attends to, summed over layers."""
        return sum(min(context, window or context) for window in self.windows)

    def attention_flops(self, context: float) -> float:
        """Of one token that sees `context` tokens, itself included: scores, and the sum of the values."""
        return 4 * self.n_heads * self.head_dim * self.seen_tokens(context)

    def forward_flops(self, n_tokens: float, context: float, n_scored: float) -> float:
        """Of n tokens that see `context` tokens in the mean, n_scored of which go through the head.

        A causal sequence of n tokens has a mean context of (n + 1) / 2.
        """
        return n_tokens * (2 * self.n_linear + self.attention_flops(context)) + n_scored * 2 * self.n_head

    def backward_flops(self, n_tokens: float, context: float, n_scored: float) -> float:
        """The same of the backward pass through frozen weights: gradients of inputs alone, of attention's both."""
        return self.forward_flops(n_tokens, context, n_scored) + n_tokens * self.attention_flops(context)

    def layer_activation_bytes(self, dtype: str, *, mask_bytes: int) -> float:
        """What a block keeps a token for the backward pass, with an adapter on every projection of frozen weights.

        Frozen layers need no input of theirs; adapters do: behind dropout each its own copy, else what they share once.
        Norms compute in float32. Attention keeps queries, repeated keys and values, and its output; the gated MLP three
        intermediates.
        mask_bytes: of the dropout before an adapter, for each number: 1 on a GPU, a number's on a CPU, 0 without.
        """
        item = ITEM_BYTES[dtype]
        query_key_norms = self.family.query_key_norm * (self.n_heads + self.n_kv_heads) * self.head_dim
        norms = (self.family.norms_a_layer * self.hidden + query_key_norms) * 4
        attention = 4 * self.n_heads * self.head_dim * item
        mlp = 3 * self.intermediate * item
        inputs, shared = sum(n_in for n_in, _ in self.projections.values()), 2 * self.hidden + self.intermediate
        adapters = inputs * (item + mask_bytes) if mask_bytes else shared * item
        return norms + attention + mlp + adapters

    def activation_bytes(self, dtype: str, *, checkpointing: bool, mask_bytes: int) -> float:
        """A token's share of what a training step keeps: every block's, or with gradient checkpointing the input of
        each and one block's at a time.
        """
        layer = self.layer_activation_bytes(dtype, mask_bytes=mask_bytes)
        return self.n_layers * self.hidden * ITEM_BYTES[dtype] + layer if checkpointing else self.n_layers * layer


# What the config.json of each model in configs/ says, so that sizes are known before anything has been fetched.
PUBLISHED: dict[str, dict[str, Any]] = shipped_yaml(Path(__file__).with_name("model_sizes.yaml"))


def model_size(config: Mapping[str, Any]) -> ModelSize:
    """The size of the model that a config.json describes. Raises ModelError for a family that is not known here."""
    inner = config.get("text_config")
    text = inner if isinstance(inner, Mapping) and inner else config
    name = text.get("model_type", "gemma3_text" if config.get("model_type") == "gemma3" else "")
    if name not in FAMILIES:
        raise ModelError(f"config.json: model_type '{name}' is none whose size is known here ({', '.join(FAMILIES)})")
    family = FAMILIES[name]
    shape = {**family.defaults, **{key: value for key, value in text.items() if value is not None}}
    wanted = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    if lacking := [key for key in wanted if not isinstance(shape.get(key), int) or shape[key] < 1]:
        raise ModelError(f"config.json: says no {', '.join(lacking)}, so the model's size is unknown")
    n_heads = shape["num_attention_heads"]
    return ModelSize(
        family=family,
        hidden=shape["hidden_size"],
        intermediate=shape["intermediate_size"],
        n_heads=n_heads,
        n_kv_heads=shape.get("num_key_value_heads", n_heads),
        head_dim=shape.get("head_dim", shape["hidden_size"] // n_heads),
        vocabulary=shape["vocab_size"],
        windows=windows_of(shape, family.full_every),
        tied=config.get("tie_word_embeddings", shape["tie_word_embeddings"]),
        output_bias=bool(shape.get("attention_bias")),
        mlp_bias=bool(shape.get("mlp_bias")),
        context_window=shape.get("max_position_embeddings"),
    )


def windows_of(shape: Mapping[str, Any], full_every: int) -> tuple[int | None, ...]:
    """Each layer's sliding window, None where it has none. Qwen's configs name one and do not use it."""
    window = None if shape.get("use_sliding_window") is False else shape.get("sliding_window")
    kinds = shape.get("layer_types") or [
        "full_attention" if full_every and layer % full_every == 0 else "sliding_attention"
        for layer in range(1, shape["num_hidden_layers"] + 1)
    ]
    return tuple(window if kind == "sliding_attention" else None for kind in kinds)

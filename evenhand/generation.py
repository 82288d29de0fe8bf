"""What a transformers model writes behind prompts: by the settings given, and nothing of the checkpoint's habits.

torch and transformers are imported only when it is asked.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def stop_ids(model: Any, *ends: int | None) -> list[int]:
    """The tokens that end an answer: those given, and the generation config's (Llama-3.1 and Gemma have several)."""
    own = model.generation_config.eos_token_id
    listed = own if isinstance(own, list) else [own]
    return sorted({token for token in [*listed, *ends] if token is not None})


def pad_left(rows: Sequence[Sequence[int]], pad: int, device: Any) -> "tuple[Tensor, Tensor]":
    """Token ids and mask, both (B, T) with T of the longest; each row ends in the last column."""
    import torch

    width = max(map(len, rows))
    ids = [[pad] * (width - len(row)) + [*row] for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


def generated(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Sequence[int]],
    stops: Sequence[int],
    schemas: Sequence[str] = (),
    **settings: Any,
) -> Iterator[tuple[str, str, int]]:
    """(text, "stop" or "length", number of tokens) of each reply, those to one row of token ids behind each other.

    stops: the tokens that end a reply. schemas: a JSON schema for each row to which its reply is held. settings: of
    transformers' GenerationConfig; the model keeps them.
    """
    from transformers import GenerationConfig

    pad = min(stops, default=0)  # any token will do, since padding is masked
    model.generation_config = GenerationConfig(eos_token_id=list(stops) or None, pad_token_id=pad, **settings)
    ids, mask = pad_left(rows, pad, model.device)
    held = [held_to(schemas, tokenizer, model, stops)] if schemas else []
    for tokens in model.generate(input_ids=ids, attention_mask=mask, logits_processor=held)[:, ids.shape[1] :].tolist():
        end = next((place for place, token in enumerate(tokens) if token in stops), None)
        text = tokenizer.decode(tokens[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        yield text, *(("length", len(tokens)) if end is None else ("stop", end + 1))


def held_to(schemas: Sequence[str], tokenizer: Any, model: Any, stops: Sequence[int]) -> Any:
    """What holds each reply of a batch to its JSON schema, for one call of `generate`."""
    from xgrammar import GrammarCompiler, TokenizerInfo
    from xgrammar.contrib.hf import LogitsProcessor

    n_logits = model.get_input_embeddings().weight.shape[0]
    info = TokenizerInfo.from_huggingface(tokenizer, vocab_size=n_logits, stop_token_ids=list(stops))
    compiler = GrammarCompiler(info)
    masked = LogitsProcessor([compiler.compile_json_schema(schema) for schema in schemas])
    return lambda ids, scores: masked(ids, scores.cpu()).to(scores.device)  # on CUDA it would compile Triton code

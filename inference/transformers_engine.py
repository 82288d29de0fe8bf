"""Answers from plain transformers: slow and simple, what the other engines are checked against.

With `row_tokens` the prompts of one forward pass share a row, and what they begin with alike is computed once.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from evenhand.checkpoints import adapter_folder, load_model, load_tokenizer, resolve
from evenhand.device import torch_device
from evenhand.errors import ModelError
from evenhand.float32 import float32_head, use_onednn
from evenhand.generation import generated, pad_left, stop_ids
from evenhand.records import Completion, Prompt, digest
from evenhand.token_trees import attend_to_seen_columns, common, logits_at, padded_rows, tree_of
from inference.config import InferenceConfig, TransformersConfig
from inference.encoding import Encoded, Encoder, Supply
from inference.engine import Further
from inference.options import Asked, Node, asked_of


class TransformersEngine:
    """A checkpoint on the GPU, or on the CPU where no GPU is meant. Raises ModelError where one is and none is seen."""

    def __init__(self, config: InferenceConfig, prompts: Sequence[Prompt] = ()) -> None:
        assert isinstance(config.engine, TransformersConfig)
        self.config, self.expected = config, prompts
        self.batch_size, self.row_tokens = config.engine.batch_size, config.engine.row_tokens
        self.dtype = getattr(torch, config.engine.dtype)
        self.device = torch.device(torch_device())

    def __enter__(self) -> Self:
        if self.device.type == "cpu":
            use_onednn()
        folder = resolve(self.config.model)
        self.tokenizer = load_tokenizer(folder)
        self.encoder = Encoder(self.tokenizer, self.config)
        # A chat template that refuses prompts says so before a model is loaded.
        next(self.encoder.encode(self.expected), None)
        self.model = load_model(folder, dtype=self.dtype).to(self.device)
        if run := self.config.model.adapter:
            self.use_adapter(run)
        self.model.eval()
        if self.row_tokens and self.device.type == "cpu":
            attend_to_seen_columns(self.model, in_float32=True)
        self.stop_ids = stop_ids(self.model, self.encoder.contract.end, self.tokenizer.eos_token_id)
        return self

    def use_adapter(self, run: Path) -> None:
        """Answer with a training run's adapter, in the place of the one there is."""
        if getattr(self.model, "peft_config", None):
            self.model.delete_adapter("default")
        self.model.load_adapter(str(adapter_folder(run)), "default")

    def __exit__(self, *_: object) -> None:
        del self.model
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        """Yield completions a batch at a time, the longest of those handed out together first; see Engine.

        Prompts that share rows keep their order, in which neighbours begin alike.
        """
        window = self.model.config.get_text_config().max_position_embeddings

        def ordered(some: Sequence[Prompt]) -> Sequence[Prompt]:
            if self.row_tokens:
                return some
            return sorted(some, key=lambda p: sum(len(message.content) for message in p.messages), reverse=True)

        supply = Supply(self.encoder, ordered(prompts), lambda: ordered(further()), window)
        waiting = deque[Asked]()
        while batch := self.next_batch(waiting, supply):
            yield from self.answer(batch)
        supply.check_prompt_lengths()

    def next_batch(self, waiting: deque[Asked], supply: Supply) -> list[Asked]:
        """What one forward pass takes, all drawn alike: up to batch_size of what waits, or a row. Changes `waiting`."""
        batch: list[Asked] = []
        n_tokens = 0  # of the row
        while waiting or (encoded := supply.take()):
            if not waiting:
                waiting.extend(asked_of(encoded))
            asked = waiting[0]
            if self.row_tokens:
                n_tokens += n_new(asked, batch)
            is_full = n_tokens > self.row_tokens if self.row_tokens else len(batch) == self.batch_size
            if batch and (is_full or asked.prompt.drawing != batch[0].prompt.drawing):
                break
            batch.append(waiting.popleft())
        return batch

    @torch.inference_mode()
    def answer(self, batch: Sequence[Any]) -> list[Completion]:
        """The completions that a batch makes whole. Raises ModelError where memory does not suffice."""
        try:
            return self.read(batch) if isinstance(batch[0], Node) else self.write(batch)
        except torch.OutOfMemoryError:
            key = "row_tokens" if self.row_tokens else "batch_size"
            longest = max(len(asked.token_ids) for asked in batch)
            way_out = f"lower engine.{key}" if len(batch) > 1 else "take more memory, or vLLM on several GPUs"
            raise ModelError(
                f"out of memory on {self.device} at {len(batch)} prompts of up to {longest} tokens: {way_out}; the "
                "same command continues"
            ) from None

    def next_token(self, batch: Sequence[Asked]) -> torch.Tensor:
        """Logits behind each of the batch, [batch, vocabulary], in float32."""
        if self.row_tokens:
            tree = tree_of([encoded.token_ids for encoded in batch])
            row = {name: tensor.to(self.device) for name, tensor in padded_rows([tree], pad=0).items()}
            return logits_at(self.model, row, torch.tensor([[0, path[-1]] for path in tree.paths], device=self.device))
        input_ids, mask = pad_left([asked.token_ids for asked in batch], 0, self.device)
        # Positions count real tokens only, so that padding moves nothing.
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with float32_head(self.model):
            output = self.model(input_ids=input_ids, attention_mask=mask, position_ids=positions, logits_to_keep=1)
        last: torch.Tensor = output.logits[:, -1]
        return last

    def read(self, batch: Sequence[Node]) -> list[Completion]:
        """log P of each node's children, over the whole vocabulary: of options at the sampling temperature."""
        is_own = self.config.verdict != "options"  # of margins, and of what the judge reads itself
        temperature = 1.0 if is_own else self.config.sampling.for_prompt(batch[0].prompt).temperature
        logprobs = (self.next_token(batch) / temperature).log_softmax(dim=-1)
        completions: list[Completion] = []
        for node, row in zip(batch, logprobs, strict=True):
            values = row[list(node.children)].tolist()
            completions += node.completed(dict(zip(node.children, values, strict=True)))
        return completions

    def write(self, batch: Sequence[Encoded]) -> list[Completion]:
        """The generated answers to each prompt, all of them drawn alike."""
        sampling = self.config.sampling.for_prompt(batch[0].prompt)
        # Seeded by content, so that a continued run draws what an undisturbed one would from the same batch.
        torch.manual_seed(int(digest([sampling.seed, *(e.prompt.prompt_hash for e in batch)], 12), 16))
        settings = {"do_sample": sampling.temperature > 0, "repetition_penalty": sampling.repetition_penalty}
        if sampling.temperature:
            settings |= {name: getattr(sampling, name) for name in ("temperature", "top_p", "top_k")}
        limits = {"max_new_tokens": sampling.max_tokens, "num_return_sequences": sampling.n}
        rows = [encoded.token_ids for encoded in batch]
        replies = generated(self.model, self.tokenizer, rows, self.stop_ids, (), **limits, **settings)
        places = product(batch, range(sampling.n))
        return [encoded.completion(n, *reply) for (encoded, n), reply in zip(places, replies, strict=True)]


def n_new(asked: Asked, batch: Sequence[Asked]) -> int:
    """Tokens that it adds to a row behind what is there."""
    tokens = np.asarray(asked.token_ids, dtype=np.uint32)
    return len(tokens) - (common(np.asarray(batch[-1].token_ids, dtype=np.uint32), tokens) if batch else 0)

"""One prompt that an engine cannot answer (memory, a refusal): an error with its reason, and the rest goes on."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evenhand.records import Completion
from inference import vllm_engine
from inference.open_engine import open_engine
from inference.transformers_engine import TransformersEngine
from tests.made.sampling_configs import sampling_config
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.toy_runs import prompts

Answer = Any


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that were computed; memory suffices for 90 tokens, padding counted."""
    sizes: list[int] = []
    answer: Answer = TransformersEngine.answer

    def in_little_memory(self: TransformersEngine, batch: Sequence[Any], readings: Any) -> list[Completion]:
        if len(batch) * max(len(one.token_ids) for one in batch) > 90:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        sizes.append(len(batch))
        found: list[Completion] = answer(self, batch, readings)
        return found

    monkeypatch.setattr(TransformersEngine, "answer", in_little_memory)
    return sizes


def run_config(root: Path, checkpoint: Path, **keys: Any) -> Any:
    return sampling_config(
        {
            "name": "toy",
            "model": {"name": str(checkpoint)},
            "benchmarks": [{"dataset": "pocket", "n_items": 3}],
            "engine": {"kind": "transformers", "batch_size": 4},
            "run": {"root": str(root)},
            **keys,
        }
    )


def test_a_prompt_that_takes_too_much_memory_alone_is_an_error_and_all_others_are_answered(
    batches: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = prompts(7)
    (long,) = prompts(1)
    long = type(long)(
        **{name: getattr(long, name) for name in ("item_id", "benchmark", "dataset", "condition", "factors")},
        messages=(type(long.messages[0])(role="user", content="x" * 150),),
    )
    made = run_config(tmp_path, save_checkpoint(tmp_path / "tiny", window=512), verdict="margin")
    with open_engine(made) as engine:
        found = {c.prompt_hash: c for c in engine.generate([*short, long])}
    assert found.keys() == {p.prompt_hash for p in [*short, long]}
    assert [hash_ for hash_, c in found.items() if c.is_error] == [long.prompt_hash]
    assert found[long.prompt_hash].finish_reason.startswith("error: out of memory on cpu at this prompt alone, of 1")
    assert max(batches) > 1, "only what has no room is halved"
    assert capsys.readouterr().err.count("such batches are halved") == 1


class RefusingCore:
    """In the place of vLLM's engine: refuses the first request, aborts the second, answers the others."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.n_asked = 0
        self.engine_core = SimpleNamespace(shutdown=lambda: None)

    def add_request(self, request_id: str, prompt: object, params: object) -> None:
        self.n_asked += 1
        if self.n_asked == 1:
            raise ValueError("the grammar is not supported")
        self.waiting.append(request_id)

    def step(self) -> list[Any]:
        assert self.waiting, "vLLM waits for ever where there is nothing to do"
        done, self.waiting = self.waiting, []
        return [
            SimpleNamespace(
                request_id=id_,
                finished=True,
                outputs=[
                    SimpleNamespace(
                        index=0, text="1", finish_reason="abort" if number == 0 else "stop", token_ids=[0], logprobs=[]
                    )
                ],
            )
            for number, id_ in enumerate(done)
        ]


@pytest.mark.parametrize("n", [1, 5])
def test_a_request_that_vllm_refuses_or_ends_is_an_error_and_the_others_are_answered(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(llm_engine=RefusingCore(), model_config=SimpleNamespace(max_model_len=256))

    monkeypatch.setattr(vllm_engine, "start", start)
    made = sampling_config(
        {
            "name": "toy",
            "model": {"name": str(save_checkpoint(tmp_path))},
            "benchmarks": [{"dataset": "pocket"}],
            "verdict": "reason",
            "sampling": {"max_tokens": 9},
        }
    )
    with open_engine(made) as engine:
        found = list(engine.generate(prompts(n)))
    assert sorted(c.finish_reason for c in found) == sorted(
        [
            "error: vLLM refuses the request (ValueError: the grammar is not supported)",
            *(["error: vLLM ended the request itself (abort)"] if n > 1 else []),
            *["stop"] * (n - 2),
        ]
    )
    assert len({c.prompt_hash for c in found}) == n

"""One prompt that an engine cannot answer (memory, a refusal): an error with its reason, and the rest goes on."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evenhand.errors import ConfigError
from inference import vllm_engine
from inference.open_engine import open_engine
from inference.transformers_engine import TransformersEngine
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.toy_prompts import toy_config, toy_prompt
from tests.made.toy_runs import prompts


def test_a_prompt_that_takes_too_much_memory_alone_is_an_error_and_all_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer, sizes = TransformersEngine.answer, list[int]()

    def in_little_memory(self: TransformersEngine, batch: Sequence[Any], readings: Any) -> Any:
        if len(batch) * max(len(one.token_ids) for one in batch) > 90:  # tokens, padding counted
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        sizes.append(len(batch))
        return answer(self, batch, readings)

    monkeypatch.setattr(TransformersEngine, "answer", in_little_memory)
    short, long = prompts(7), toy_prompt("x" * 150)
    folder = str(save_checkpoint(tmp_path / "tiny", window=512))
    with open_engine(toy_config(folder, engine={"kind": "transformers", "batch_size": 4})) as engine:
        found = {c.prompt_hash: c for c in engine.generate([*short, long])}
    assert found.keys() == {p.prompt_hash for p in [*short, long]}
    assert [hash_ for hash_, c in found.items() if c.is_error] == [long.prompt_hash]
    assert found[long.prompt_hash].finish_reason.startswith("error: out of memory on cpu at this prompt alone, of 1")
    assert max(sizes) > 1, "only what has no room is halved"
    assert capsys.readouterr().err.count("such batches are halved") == 1


class RefusingCore:
    """In the place of vLLM's engine: refuses the first request, aborts the second, answers the others."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.n_asked = 0
        self.engine_core = SimpleNamespace(shutdown=lambda: None)
        self.vllm_config = SimpleNamespace()

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
    made = toy_config(str(save_checkpoint(tmp_path)), "reason", sampling={"max_tokens": 9})
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


def test_margins_are_refused_of_the_vllm_for_cuda_12_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    (tmp_path / "vllm" / "sampling_params.py").write_text("class SamplingParams:\n    logprobs: int | None = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    words = "verdict margin: the installed vLLM gives no log-probabilities of named tokens.*engine={kind: transformers"
    with pytest.raises(ConfigError, match=words):
        open_engine(toy_config("somewhere"))

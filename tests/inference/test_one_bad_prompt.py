"""One prompt that an engine refuses is an error with its reason, and the rest goes on; memory stops the run."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from evenhand.errors import ConfigError, ModelError
from inference import vllm_engine
from inference.open_engine import open_engine
from inference.transformers_engine import TransformersEngine
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.toy_prompts import toy_config
from tests.made.toy_runs import prompts


def test_a_batch_that_takes_too_much_memory_stops_the_run_and_names_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TransformersEngine, "write", Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory.")))
    folder = str(save_checkpoint(tmp_path / "tiny", window=512))
    made = toy_config(folder, "reason", engine={"kind": "transformers", "batch_size": 4})
    with (
        open_engine(made) as engine,
        pytest.raises(ModelError, match=r"at 4 prompts .*lower engine\.batch_size"),
    ):
        list(engine.generate(prompts(7)))


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

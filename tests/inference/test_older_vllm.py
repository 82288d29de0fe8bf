"""The vLLM for CUDA 12 writes replies, but reads no margins or options: refused before a model is loaded."""

import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import ConfigError
from inference.config import InferenceConfig
from inference.open_engine import open_engine
from tests.made.sampling_configs import sampling_config


@pytest.fixture
def older_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands where vLLM is installed; its SamplingParams have no logprob_token_ids."""
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    (tmp_path / "vllm" / "sampling_params.py").write_text("class SamplingParams:\n    logprobs: int | None = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    return tmp_path / "vllm"


def config(**changes: Any) -> InferenceConfig:
    asked = {"name": "tiny", "model": {"name": "somewhere"}, "benchmarks": [{"dataset": "pocket", "n_items": 1}]}
    return sampling_config({**asked, "prompts": {"template": "matched"}, **changes})


@pytest.mark.usefixtures("older_vllm")
def test_margins_are_refused_with_the_engine_that_reads_them() -> None:
    says = "verdict margin: the installed vLLM gives no log-probabilities of named tokens.*engine={kind: transformers"
    with pytest.raises(ConfigError, match=says), open_engine(config(verdict="margin")):
        pass

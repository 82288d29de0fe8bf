"""The vLLM for CUDA 12 writes replies, but reads no margins or options: refused before a model is loaded."""

import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import ConfigError
from inference import engine_memory
from inference.config import InferenceConfig
from inference.engine_memory import engine_check
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
    monkeypatch.setattr(engine_memory, "installed", lambda package: "0.19.1" if package == "vllm" else None)
    return tmp_path / "vllm"


def config(**changes: Any) -> InferenceConfig:
    asked = {"name": "tiny", "model": {"name": "somewhere"}, "benchmarks": [{"dataset": "pocket", "n_items": 1}]}
    return sampling_config({**asked, "prompts": {"template": "matched"}, **changes})


@pytest.mark.usefixtures("older_vllm")
def test_margins_are_refused_with_the_engine_that_reads_them() -> None:
    says = "verdict margin: the installed vLLM gives no log-probabilities of named tokens.*engine={kind: transformers"
    with pytest.raises(ConfigError, match=says), open_engine(config(verdict="margin")):
        pass


@pytest.mark.usefixtures("older_vllm")
def test_doctor_tells_of_it_before_a_job_waits() -> None:
    found = engine_check(config().engine, "options")  # type: ignore[arg-type]
    assert (found.state, found.says.split(":")[0]) == ("wrong", "vllm 0.19.1, and verdict is options")
    assert "kind: transformers" in found.fix
    assert engine_check(config().engine, "reason").state == "ok"  # type: ignore[arg-type]

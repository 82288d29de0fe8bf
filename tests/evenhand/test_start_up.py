"""What a start sets and tells before a model is loaded. A stand-in for vLLM says how it was called."""

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import evenhand
from inference import vllm_engine
from inference.config import VllmConfig
from tests.made.sampling_configs import sampling_config

SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of vllm.LLM, and the variables at the time of its import."""
    found: dict[str, Any] = {}

    class StandIn(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name == "LLM":
                found["environment"] = dict(os.environ)
                engine = SimpleNamespace(vllm_config=SimpleNamespace(use_v2_model_runner=True))
                return lambda **arguments: found.update(arguments) or SimpleNamespace(llm_engine=engine)
            raise AttributeError(name)

    monkeypatch.setitem(sys.modules, "vllm", StandIn("vllm"))
    monkeypatch.setattr(os, "environ", dict(os.environ))  # `start` sets some
    return found


@pytest.mark.parametrize(("users", "held"), [(None, "0"), ("1", "1")])
def test_vllm_compiles_no_sampler_at_start_unless_the_user_says_so(
    users: str | None, held: str, called: dict[str, Any]
) -> None:
    os.environ.pop(SAMPLER, None)
    if users is not None:
        os.environ[SAMPLER] = users
    vllm_engine.start(Path("somewhere"), VllmConfig(), seed=0)
    assert called["environment"][SAMPLER] == held


@pytest.mark.parametrize(("verdict", "told"), [("margin", {"cudagraph_mode": "NONE"}), ("reason", None)])
def test_what_decodes_nothing_captures_no_graphs_and_the_runner_is_known(
    verdict: str, told: object, called: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_engine, "vllm_device_name", lambda n_gpus: "made")
    monkeypatch.setattr(vllm_engine, "vllm_reads_tokens", lambda: True)
    tree = {"name": "x", "model": {"name": "embedded"}, "benchmarks": [{"dataset": "pocket"}], "verdict": verdict}
    engine = vllm_engine.VllmEngine(sampling_config({**tree, "engine": {"kind": "vllm"}}))
    assert called.get("compilation_config") == told
    assert engine.runner == "V2"


def test_a_model_with_an_image_encoder_is_loaded_without_it(called: dict[str, Any]) -> None:
    vllm_engine.start(Path("somewhere"), VllmConfig(), seed=0)
    assert called["language_model_only"] is True


@pytest.mark.parametrize(
    ("users", "held"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "5"}, "5"), ({"OMP_WAIT_POLICY": "ACTIVE"}, None)],
)
def test_threads_that_wait_do_not_spin_for_long_unless_the_user_says_so(
    users: dict[str, str], held: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")} | users
    monkeypatch.setattr(os, "environ", environment)
    importlib.reload(evenhand)
    assert environment.get("GOMP_SPINCOUNT") == held

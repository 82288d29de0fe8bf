"""What a start sets and tells before a model is loaded. A stand-in for vLLM says how it was called."""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from evenhand.device import torch_device_name
from evenhand.embedded import embedded_model_path
from evenhand.run_directory import PROVENANCE_FILE, read_json
from inference import vllm_engine
from inference.config import VllmConfig
from tests.made.places import CONFIGS, ROOT
from tests.made.sampling_configs import sampling_config
from tests.made.training_runs import tiny_model, tiny_run
from training import train as training

SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of vllm.LLM, and the variables at the time of its import."""
    found: dict[str, Any] = {}

    class StandIn(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name == "LLM":
                found["environment"] = dict(os.environ)
                return lambda **arguments: found.update(arguments)
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


def test_a_model_with_an_image_encoder_is_loaded_without_it(called: dict[str, Any]) -> None:
    vllm_engine.start(Path("somewhere"), VllmConfig(), seed=0)
    assert called["language_model_only"] is True


@pytest.mark.usefixtures("called")
def test_the_minutes_that_vllm_takes_to_start_are_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vllm_engine, "vllm_device_name", lambda n_gpus: f"{n_gpus} × A100")
    tree = {"name": "x", "model": {"name": "embedded"}, "benchmarks": [{"dataset": "pocket"}]}
    assert embedded_model_path().is_dir()  # made now if it was not, which tells about itself
    capsys.readouterr()
    vllm_engine.VllmEngine(sampling_config({**tree, "engine": {"tensor_parallel_size": 2}}))
    told = capsys.readouterr().err
    assert told.startswith("starting vLLM with embedded on 2 × A100; that takes minutes")
    assert "VLLM_LOGGING_LEVEL=INFO" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("file", sorted((CONFIGS / "serving").glob("*.yaml")), ids=lambda file: file.stem)
def test_a_server_is_started_by_its_config_as_our_own_engine_is(file: Path) -> None:
    text = file.read_text()
    assert text.splitlines()[0] == f"# {SAMPLER}=0 vllm serve --config {file.relative_to(ROOT)}"
    config = yaml.safe_load(text)
    assert config.get("language-model-only", False) is ("gemma-3" in config["model"])


def test_the_minutes_that_a_base_takes_to_load_are_announced_with_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    monkeypatch.setattr(training, "train_verdicts", lambda *_: told.append(capsys.readouterr().err))
    model = tiny_model(tmp_path / "model")
    run = training.train(tiny_run("sft", model, tmp_path))
    assert told[0].endswith(f"loading {model} on {torch_device_name()}; that takes minutes for a large model\n")
    assert read_json(run / PROVENANCE_FILE)["device"] == torch_device_name()

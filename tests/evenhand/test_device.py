"""Never on the wrong device: where a GPU is meant and torch sees none, one message says why and what to do."""

import pytest
import torch

from evenhand import device, machine
from evenhand.device import refusal, torch_device_name, visible_gpus
from evenhand.errors import ModelError
from evenhand.machine import Gpu
from evenhand.run_directory import PROVENANCE_FILE, open_run, read_json
from inference.engine import device_name, open_engine
from inference.sampling import sample
from tests.made.places import cases
from tests.made.toy_prompts import toy_config

A100 = Gpu("NVIDIA A100-SXM4-80GB", 80.0, "535.104.05")
CASES = cases(__file__)
VARIABLES = CASES["variables"]


@pytest.mark.parametrize(("variables", "listed", "build", "sign", "way_out"), CASES["meant"])
def test_each_sign_of_a_gpu_that_torch_does_not_see_is_a_refusal_that_names_it_and_the_way_out(
    variables, listed, build, sign, way_out, no_signs
):
    show(no_signs, variables, listed, build)
    message = refusal()
    assert message
    assert message.startswith(f"torch sees no GPU, and one is meant here: {sign}")
    assert way_out in message
    assert message.endswith("(`CUDA_VISIBLE_DEVICES= COMMAND`)")


@pytest.mark.parametrize(("variables", "listed", "build"), CASES["none meant"])
def test_a_cpu_that_is_meant_and_a_machine_without_gpus_are_no_refusal(variables, listed, build, no_signs):
    show(no_signs, variables, listed, build)
    assert refusal() is None


def show(monkeypatch, variables, listed, build):
    """Have a machine without signs of a GPU show these."""
    monkeypatch.setattr(device, "gpus", lambda: (A100,) * listed)
    monkeypatch.setattr(device, "torch_cuda_build", lambda: build)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def fake_torch(folder, *, sees):
    """A folder for PYTHONPATH with a torch for CUDA 13 that can compute on two GPUs, or on none."""
    (folder / "torch").mkdir(parents=True)
    for name, text in CASES["fake torch"].items():
        (folder / "torch" / name).write_text(text.format(sees=sees))
    return folder


@pytest.fixture
def no_signs(monkeypatch, tmp_path):
    """A machine with a CPU build of torch and no sign of a GPU, whatever this one is."""
    monkeypatch.setenv("PYTHONPATH", str(fake_torch(tmp_path / "blind", sees=False)))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(device, "gpus", lambda: ())
    monkeypatch.setattr(device, "torch_cuda_build", lambda: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    device.visible_gpus.cache_clear()
    return monkeypatch


@pytest.fixture
def old_driver(no_signs, tmp_path):
    """An nvidia-smi that lists a GPU under a driver of 2023, found by PATH; torch is for CUDA 13 and sees none."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho 'NVIDIA A100-SXM4-80GB, 81920, 535.104.05'\n")
    smi.chmod(0o755)
    no_signs.setenv("PATH", str(smi.parent), prepend=":")
    no_signs.setattr(device, "gpus", machine.gpus)
    no_signs.setattr(device, "torch_cuda_build", lambda: "13.0")
    return no_signs


OLD_DRIVER = (
    r"nvidia-smi lists NVIDIA A100-SXM4-80GB; torch is a build .* driver is 535\.104\.05, .* needs 580 or newer"
)


def made_config(folder, **engine):
    """A config of what looks like a checkpoint until somebody loads it."""
    (folder / "model").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / "model" / name).write_text("{}")
    keys = {"prompts": {"template": "matched"}, "engine": engine, "run": {"root": str(folder / "runs")}}
    return toy_config(str(folder / "model"), benchmarks=[{"dataset": "pocket", "n_items": 1}], **keys)


@pytest.mark.usefixtures("old_driver")
@pytest.mark.parametrize("kind", ["vllm", "transformers"])
def test_nothing_is_sampled_or_written_under_a_driver_that_is_too_old(kind, tmp_path):
    config = made_config(tmp_path, kind=kind)
    with pytest.raises(ModelError, match=OLD_DRIVER):
        sample(config)
    with pytest.raises(ModelError, match=OLD_DRIVER):  # on another node that continues a run
        open_engine(config)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("sees", [True, False])
def test_what_torch_can_compute_on_is_asked_of_another_process_and_not_of_the_driver_alone(sees, no_signs, tmp_path):
    no_signs.setattr(device, "torch_cuda_build", lambda: "13.0")
    no_signs.setenv("PYTHONPATH", str(fake_torch(tmp_path / "asked", sees=sees)))
    no_signs.setenv("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # vLLM sets it; torch then counts GPUs that it cannot use
    assert visible_gpus() == (("GPU 0", "GPU 1") if sees else ())


def test_provenance_names_what_computes_and_not_what_is_plugged_in(old_driver, tmp_path):
    server = {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}
    assert device_name(made_config(tmp_path / "server", **server)) is None
    old_driver.setenv("CUDA_VISIBLE_DEVICES", "")  # the CPU on purpose, beside a GPU
    assert device_name(made_config(tmp_path / "transformers", kind="transformers")) == f"CPU: {machine.cpu_model()}"
    old_driver.setattr(device, "torch_cuda_build", lambda: None)
    assert device_name(made_config(tmp_path / "vllm", kind="vllm")) == f"CPU: {machine.cpu_model()}"
    old_driver.setattr(device, "visible_gpus", lambda: ("A", "B", "C"))
    assert device_name(made_config(tmp_path / "two", kind="vllm", tensor_parallel_size=2)) == "A, B"
    old_driver.delenv("CUDA_VISIBLE_DEVICES")
    old_driver.setattr(torch.cuda, "is_available", lambda: True)
    old_driver.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100")
    assert torch_device_name() == "NVIDIA A100"


def test_a_run_that_was_begun_is_opened_again_without_asking_for_its_device(tmp_path):
    """Its results are read on nodes without a GPU; the engine asks for itself when something is owed."""
    config = made_config(tmp_path, kind="transformers")

    def refuse():
        raise ModelError("no GPU")

    with pytest.raises(ModelError, match="no GPU"):
        open_run(tmp_path / "run", config, "items", {}, refuse)
    open_run(tmp_path / "run", config, "items", {}, lambda: "NVIDIA A100")
    open_run(tmp_path / "run", config, "items", {}, refuse)
    assert read_json(tmp_path / "run" / PROVENANCE_FILE)["device"] == "NVIDIA A100"

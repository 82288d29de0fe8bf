"""What holds for all tests: no hub is asked, each of several processes has one thread, slow files come first."""

import gc
import importlib.util
import os
import platform
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.machine import gpus, torch_cuda_build
from evenhand.provenance import package_versions
from tests.made.fuzz import IS_MANY, N_EXAMPLES

# Before anything imports huggingface_hub or vllm, which read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["VLLM_NO_USAGE_STATS"] = "1"

# Two processes of two threads each would wait for each other on two cores.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"

# hypothesis fails an example that takes 0.2 s, which on a busy machine says nothing about the code.
settings.register_profile("untimed", deadline=None, max_examples=N_EXAMPLES, derandomize=not IS_MANY)
settings.load_profile("untimed")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """What the test computes on: the CPU, with `make test-gpu` the GPU."""
    return str(request.param)


@pytest.fixture(scope="module")
def one_thread():
    """Sums in one order, whatever else the machine does."""
    import torch  # takes seconds, which most test files do without

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True, scope="session")
def without_pictures_and_syncing():
    """Figures are not drawn, which takes most of a report's time, but within `drawing`.

    Nor are files synced: a power cut could lose them, a killed process does not. Nor is PEFT's card beside each
    checkpoint made of its template, which takes longer than to save the weights. Who holds a lease shows it at once.
    """
    from huggingface_hub import ModelCard
    from matplotlib.figure import Figure

    from evenhand import lease
    from tests.made.report_html import without_drawing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", without_drawing)
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(lease, "BEAT_S", 0.2)
        patch.setattr(ModelCard, "from_template", lambda facts, **_: ModelCard(f"---\n{facts}\n---\n"))
        yield


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A tiny model with the embedded model's tokenizer. torch, which most test files do without, is imported here."""
    from tests.made.training_runs import tiny_model

    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def byte_judge(tmp_path_factory):
    """A tiny model that reads bytes."""
    from tests.made.one_batch import byte_model

    return byte_model(tmp_path_factory.mktemp("bytes"))


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    """A checkpoint of a tiny random Llama that reads bytes, far from uniform."""
    from tests.made.tiny_checkpoint import save_checkpoint

    return save_checkpoint(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tokenizer():
    """The embedded model's."""
    return load_tokenizer(embedded_model_path())


@pytest.fixture(scope="session")
def finished(model, tmp_path_factory):
    """A finished run of SFT; not to be changed."""
    from tests.made.training_runs import tiny_run
    from training.train import train

    optimiser = {"max_steps": 2, "learning_rate": 0.05}
    return train(tiny_run("sft", model, tmp_path_factory.mktemp("runs"), optimiser=optimiser))


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path / finished.name))


def pytest_configure(config):
    """Tests mean the CPU, also where there is a GPU, unless it is they that are asked for.

    Nothing of what collecting them imports is garbage: looking for it takes a tenth of the time.
    """
    gc.disable()
    if config.getoption("markexpr") != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_collection_finish(session):
    """From here on garbage is looked for in what tests make, and seldom, since it is little."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_runtest_setup(item):
    """A test of the GPU that ran on the CPU would pass and show nothing."""
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.fail("torch sees no CUDA device; see `make test-gpu`")


def pytest_report_header(config):
    """What the tests of the GPU run on, as docs name it."""
    if config.getoption("markexpr") != "gpu":
        return []
    build, versions = torch_cuda_build(), ", ".join(f"{name} {v}" for name, v in package_versions().items())
    runner = os.environ.get("VLLM_USE_V2_MODEL_RUNNER", "1" if importlib.util.find_spec("triton") else "0")
    found = [f"{gpu.name}, {gpu.memory_gib:.0f} GiB, driver {gpu.driver}, CUDA {build}" for gpu in gpus()]
    return [*found, f"Python {platform.python_version()}, {versions}; vLLM's runner V{int(runner) + 1}"]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The second process goes through folders backwards: in a new environment each compiles half of the libraries."""
    report = yield
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and isinstance(collector, pytest.Session | pytest.Dir):
        report.result.reverse()
    return report


def pytest_collection_modifyitems(items):
    """The files that take longest are begun first, so that no process is left with one of them at the end."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (-slow[item.path], item.path))

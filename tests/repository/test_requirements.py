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
LOCKS = ["cpu.lock", "cuda.lock", "cuda12.lock"]


def read_lock(name: str) -> dict[str, str]:
    """Canonical package name → version, of the lines that hold on Linux x86_64."""
    environment = {"sys_platform": "linux", "platform_machine": "x86_64"}
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
def test_a_lock_holds_all_that_the_project_needs(lock):
    pins = read_lock(lock)
    for requirement in map(Requirement, PROJECT["dependencies"]):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)])


def test_what_only_the_construction_of_r_aio_needs_is_loaded_when_it_is_needed():
    names = {"praw", "prawcore", "json_repair", "phonenumbers", "PIL"}
    at_top = {shown(f): {m.partition(".")[0] for node in tree_of(f).body for m in modules_of(node)} for f in SOURCES}
    assert {file: found & names for file, found in at_top.items() if found & names} == {}

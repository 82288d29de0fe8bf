"""The shape of the repository: where packages resolve, who imports whom, how long files are, what they may name."""

import ast
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made.places import ROOT

PACKAGES = ("evenhand", "studies", "inference", "training", "eval")
SOURCES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PYTHON_FILES = [*SOURCES, *TESTS, ROOT / "requirements" / "lock.py"]
FOLDERS = ("docs", ".ci", "configs", "slurm", "requirements", "tests")
SHIPPED = ("pyproject.toml", "Makefile", "README.md", *FOLDERS, *PACKAGES)


def shown(file: Path) -> str:
    return str(file.relative_to(ROOT))


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def top_names(file: Path) -> set[str]:
    """The top-level name of every module that a file imports, at its top or inside a function."""
    return {name.partition(".")[0] for node in ast.walk(tree_of(file)) for name in modules_of(node)}


def modules_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def n_lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def shipped_texts() -> Iterator[Path]:
    for name in SHIPPED:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                yield file


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_resolves_inside_the_checkout(package):
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert Path(spec.origin).parent == ROOT / package


def test_installed_packages_resolve_inside_the_checkout_from_any_folder(tmp_path):
    try:
        importlib.metadata.distribution("evenhand")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("this environment was not made with `make venv`: evenhand is not installed in it")
    code = f"import importlib.util as u; print(*(u.find_spec(name).origin for name in {PACKAGES}), sep='\\n')"
    # -P: without the current folder on the path, as the console command runs.
    command = [sys.executable, "-P", "-c", code]
    origins = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert [Path(origin).parent for origin in origins] == [ROOT / package for package in PACKAGES]


def test_nobody_hides_the_builtin_eval():
    # `import eval.x` binds the name `eval` as `import eval` does; `from eval.x import y` does not.
    binders = [shown(file) for file in PYTHON_FILES if any(binds_eval(node) for node in ast.walk(tree_of(file)))]
    assert binders == []


def binds_eval(node: ast.AST) -> bool:
    names = node.names if isinstance(node, ast.Import) else []
    return any((alias.asname or alias.name.partition(".")[0]) == "eval" for alias in names)


def test_packages_import_evenhand_and_studies_and_never_each_other():
    wrong = {}
    for file in SOURCES:
        own = file.relative_to(ROOT).parts[0]
        if others := top_names(file) & set(PACKAGES) - {own, "evenhand", "studies"}:
            wrong[shown(file)] = others
    assert wrong == {}


def test_vllm_is_imported_in_one_engine_file_only():
    assert [shown(file) for file in SOURCES if "vllm" in top_names(file)] == ["inference/vllm_engine.py"]


def test_training_libraries_are_imported_under_training_only():
    others = [file for file in SOURCES if file.relative_to(ROOT).parts[0] != "training"]
    assert [shown(file) for file in others if top_names(file) & {"trl", "peft", "bitsandbytes"}] == []


def test_everything_but_engines_and_training_loads_nothing_heavy_before_it_is_needed():
    heavy = {"torch", "transformers", "vllm", "datasets"}
    files = [file for file in SOURCES if file.relative_to(ROOT).parts[0] in ("evenhand", "studies", "eval")]
    at_top = {shown(f): {m.partition(".")[0] for node in tree_of(f).body for m in modules_of(node)} for f in files}
    assert {file: names & heavy for file, names in at_top.items() if names & heavy} == {}


def test_no_file_is_a_drawer_for_odds_and_ends():
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [shown(file) for file in PYTHON_FILES if file.stem in drawers] == []


def test_files_are_short():
    assert {shown(file): n for file in PYTHON_FILES if (n := n_lines(file)) > 300} == {}


def test_functions_are_short():
    long = {}
    for file in SOURCES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.FunctionDef) and (n := (node.end_lineno or 0) - node.lineno + 1) > 50:
                long[f"{shown(file)}:{node.name}"] = n
    assert long == {}


def test_nothing_names_a_folder_of_one_machine():
    # Brackets keep this file from finding itself.
    private = re.compile(r"/wor[k]/|/tm[p]/w/|/opt/whee[l]s|/hom[e]/\w+/|/User[s]/\w+/|/roo[t]/")
    found = {shown(file): private.findall(file.read_bytes().decode("utf-8", "ignore")) for file in shipped_texts()}
    assert {file: paths for file, paths in found.items() if paths} == {}

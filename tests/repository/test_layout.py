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

from studies.registry import STUDIES
from tests.made.places import ROOT
from tests.made.source_files import PACKAGES, SOURCES, TESTS, modules_of, shown, top_names, tree_of

PYTHON_FILES = [*SOURCES, *TESTS, ROOT / "requirements" / "lock.py", ROOT / "docs" / "evidence" / "pack.py"]
FOLDERS = ("docs", ".ci", "configs", "slurm", "requirements", "tests")
SHIPPED = ("pyproject.toml", "Makefile", "README.md", "SECURITY.md", *FOLDERS, *PACKAGES)


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


# The command line hands over to every floor by name, and reads their schemas; nothing else looks up.
COMMANDS = {
    *(f"evenhand/{name}.py" for name in ("command", "keys", "reproduce")),
    *("evenhand/doctor/command.py", "evenhand/status/found_runs.py"),
}


def room(module: str) -> str:
    """The package of a module, with the study whose part it is: "eval", "eval.narrator"."""
    package, *rest = module.split(".")
    return f"{package}.{rest[0]}" if rest and rest[0] in STUDIES else package


def may_read(reader: str, read: str) -> bool:
    """Whether an import goes the one way: everything reads evenhand; the floors read what is common of studies; a
    study's part reads its own floor's machinery and what the study asks."""
    floor, _, study = reader.partition(".")
    if read in (reader, "evenhand"):
        return True
    return (read == "studies" and reader != "evenhand") or (study != "" and read in (floor, f"studies.{study}"))


def test_imports_go_one_way_and_the_machinery_reads_no_study():
    wrong = [
        f"{shown(file)} reads {module}"
        for file in SOURCES
        for node in ast.walk(tree_of(file))
        for module in modules_of(node)
        if module.partition(".")[0] in PACKAGES
        and not may_read(room(".".join(file.relative_to(ROOT).with_suffix("").parts)), room(module))
    ]
    assert wrong == []


def test_modules_are_imported_by_name_only_by_the_registrys_readers_and_the_command_line():
    readers = {"studies/show.py", "studies/build.py", "studies/registry.py", "training/config.py", "eval/study.py"}
    by_name = {shown(f) for f in SOURCES if {"import_module", "resolve_name"} & {n.id for n in names_in(f)}}
    assert by_name - COMMANDS <= readers


def names_in(file: Path) -> Iterator[ast.Name]:
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Name):
            yield node
        elif isinstance(node, ast.Attribute):
            yield ast.Name(id=node.attr)


def test_no_machinery_file_names_a_study():
    """Docstrings may cite a paper as their source; code and messages may not know it."""
    found = []
    for file in SOURCES:
        parts = file.relative_to(ROOT).with_suffix("").parts
        if (len(parts) > 1 and parts[1] in STUDIES) or shown(file) == "studies/registry.py":
            continue
        tree = tree_of(file)
        told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            words = node.value if isinstance(node, ast.Constant) and id(node) not in told else getattr(node, "id", "")
            if isinstance(words, str) and any(study in words.lower() for study in STUDIES):
                found.append(f"{shown(file)}:{node.lineno}: {words[:60]}")
    assert found == []


def test_vllm_is_imported_in_one_engine_file_only():
    assert [shown(file) for file in SOURCES if "vllm" in top_names(file)] == ["inference/vllm_engine.py"]


def test_training_libraries_are_imported_under_training_only():
    others = [file for file in SOURCES if file.relative_to(ROOT).parts[0] != "training"]
    assert [shown(file) for file in others if top_names(file) & {"trl", "peft", "bitsandbytes"}] == []


def test_everything_but_engines_and_training_loads_nothing_heavy_before_it_is_needed():
    heavy = {"torch", "transformers", "vllm", "datasets", "sklearn"}
    files = [file for file in SOURCES if file.relative_to(ROOT).parts[0] in ("evenhand", "studies", "eval")]
    at_top = {shown(f): {m.partition(".")[0] for node in tree_of(f).body for m in modules_of(node)} for f in files}
    assert {file: names & heavy for file, names in at_top.items() if names & heavy} == {}


def test_no_file_is_a_drawer_for_odds_and_ends():
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [shown(file) for file in PYTHON_FILES if file.stem in drawers] == []


def test_a_class_of_made_things_has_one_home():
    made = [file for file in TESTS if file.parent.name == "made"]
    homes = [(node.name, shown(file)) for file in made for node in tree_of(file).body if isinstance(node, ast.ClassDef)]
    names = [name for name, _ in homes]
    assert [home for home in homes if names.count(home[0]) > 1] == []


def test_files_are_short():
    assert {shown(file): n for file in PYTHON_FILES if (n := n_lines(file)) > 600} == {}


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


def test_test_modules_do_not_import_each_other():
    wrong = [
        f"{shown(file)} imports {module}"
        for file in TESTS
        for node in ast.walk(tree_of(file))
        for module in modules_of(node)
        if module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")
    ]
    assert wrong == []

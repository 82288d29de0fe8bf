"""The shape of the repository: where packages resolve, who imports whom, how long files are, what they may name."""

import ast
import re
from graphlib import TopologicalSorter

from evenhand.config import read_yaml
from evenhand.registry import STUDIES
from tests.made.places import ROOT
from tests.made.source_files import PACKAGES, SOURCES, TESTS, modules_of, nodes_of, shown, top_names, tree_of

PYTHON_FILES = [*SOURCES, *TESTS, ROOT / "requirements" / "lock.py", *(ROOT / "docs" / "evidence").rglob("*.py")]
SHIPPED = ("pyproject.toml", "Makefile", "*.md", ".ci/*", *(f"{name}/**/*" for name in ("docs", "configs", "slurm")))
SHIPPED += ("requirements/*", "tests/**/*", *(f"{package}/**/*" for package in PACKAGES))
ROOMS = ("evenhand", "inference", "training", "eval", "studies")
EXCUSED = read_yaml(ROOT / "tests" / "repository" / "layout.yaml")  # from the mirror
MODULES = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in SOURCES}


def imports():
    """(module, module of ours that it imports), imports inside functions too."""
    for module, file in MODULES.items():
        for node in nodes_of(file):
            names = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            for read in [*modules_of(node), *names]:
                if read in MODULES:
                    yield module, read


def room(module):
    """The package of a module, with the study whose part it is: "eval", "studies.narrator"; "cli" for the command."""
    package, *rest = module.split(".")
    if module.startswith(("evenhand.cli", "evenhand.__main__")):
        return "cli"
    return f"studies.{rest[0]}" if package == "studies" and rest and rest[0] in STUDIES else package


def may_read(reader, read):
    """Whether an import goes the one way: evenhand ← inference, training, eval ← studies ← cli.

    A room reads itself and the ground, no other room; a study reads itself, the rooms, and what studies share.
    """
    if reader == "cli" or read in (reader, "evenhand"):
        return True
    return reader.startswith("studies") and read in ("studies", "inference", "training", "eval")


def test_imports_go_one_way_and_the_machinery_reads_no_study():
    assert [f"{reader} reads {read}" for reader, read in imports() if not may_read(room(reader), room(read))] == []


def test_no_modules_import_each_other_in_a_circle():
    reads = {}
    for reader, read in imports():
        reads.setdefault(reader, set()).add(read)
    TopologicalSorter(reads).prepare()  # raises CycleError, which names the modules of a circle


def test_no_machinery_file_names_a_study():
    """Docstrings may cite a paper as their source; code and messages may not know it."""
    found = []
    for module, file in MODULES.items():
        if room(module).startswith("studies.") or module == "evenhand.registry":
            continue
        tree = tree_of(file)
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            words = (
                node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else getattr(node, "id", "")
            )
            if isinstance(words, str) and any(study in words.lower() for study in STUDIES):
                found.append(f"{shown(file)}:{node.lineno}: {words[:60]}")
    assert found == []


def n_code_lines(file):
    """Lines with code on them, a docstring counted as one."""
    return len({node.lineno for node in nodes_of(file) if hasattr(node, "lineno")})


def subject_of(test):
    """The module or folder of which a test file bears the name: tests/eval/test_runs.py → eval/runs."""
    return shown(test.with_name(test.stem.removeprefix("test_"))).removeprefix("tests/")


def test_tests_mirror_the_tree():
    """tests/eval/estimates/test_changes.py tests eval/estimates/changes.py, or what lies in a folder of that name."""
    modules = {shown(file.with_suffix("")): n_code_lines(file) for file in SOURCES}
    folders = {shown(file.parent) for file in SOURCES}
    tests = {subject_of(file) for file in TESTS if file.stem.startswith("test_") and shown(file).split("/")[1] in ROOMS}
    between, excused = (set(EXCUSED[name]) for name in ("between_modules", "untested"))
    nameless = tests - modules.keys() - folders
    assert sorted(nameless - between) == [], "name no module: rename, split or merge them"
    assert sorted(between - nameless) == [], "are gone, or name a module: take them out of layout.yaml"
    untested = {module for module, n_lines in modules.items() if n_lines > 60} - tests
    assert sorted(untested - excused) == [], "have no test file of their name in tests/"
    assert sorted(excused - untested) == [], "have a test file, or are short or gone: out of layout.yaml"


def test_heavy_libraries_are_imported_where_they_are_needed_only():
    assert [shown(file) for file in SOURCES if "vllm" in top_names(file)] == ["inference/vllm_engine.py"]
    trainers = {shown(file).partition("/")[0] for file in SOURCES if top_names(file) & {"trl", "peft", "bitsandbytes"}}
    assert trainers == {"training"}
    heavy = {"torch", "transformers", "vllm", "datasets", "sklearn"}
    heavy |= {"praw", "prawcore", "json_repair", "phonenumbers", "PIL"}  # of the construction of r/AIO alone
    light = [file for file in SOURCES if shown(file).startswith(("evenhand", "studies", "eval"))]
    at_top = {
        shown(file): {m.partition(".")[0] for node in tree_of(file).body for m in modules_of(node)} for file in light
    }
    assert {file: names & heavy for file, names in at_top.items() if names & heavy} == {}


def test_files_and_functions_are_short_and_no_file_is_a_drawer_for_odds_and_ends():
    assert {shown(file) for file in PYTHON_FILES if len(file.read_text(encoding="utf-8").splitlines()) > 600} == set()
    functions = [(file, n) for file in SOURCES for n in nodes_of(file) if isinstance(n, ast.FunctionDef)]
    assert [f"{shown(file)}:{n.name}" for file, n in functions if (n.end_lineno or 0) - n.lineno >= 50] == []
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [shown(file) for file in PYTHON_FILES if file.stem in drawers] == []


def test_nothing_names_a_folder_of_one_machine():
    # Brackets keep this file from finding itself.
    private = re.compile(rb"/wor[k]/|/tm[p]/w/|/opt/whee[l]s|/hom[e]/\w+/|/User[s]/\w+/|/roo[t]/")
    files = [file for pattern in SHIPPED for file in ROOT.glob(pattern) if file.is_file() and file.suffix != ".pyc"]
    found = {shown(file): private.findall(file.read_bytes()) for file in files}
    assert {file: paths for file, paths in found.items() if paths} == {}

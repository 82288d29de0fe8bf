"""The shape of the repository: where packages resolve, who imports whom, how long files are, what they may name."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from evenhand.registry import STUDIES
from tests.made.places import ROOT
from tests.made.source_files import PACKAGES, SOURCES, TESTS, modules_of, shown, top_names, tree_of

PYTHON_FILES = [*SOURCES, *TESTS, ROOT / "requirements" / "lock.py", *(ROOT / "docs" / "evidence").rglob("*.py")]
SHIPPED = ("pyproject.toml", "Makefile", "*.md", ".ci/*", *(f"{name}/**/*" for name in ("docs", "configs", "slurm")))
SHIPPED += ("requirements/*", "tests/**/*", *(f"{package}/**/*" for package in PACKAGES))
ROOMS = ("evenhand", "inference", "training", "eval", "studies")
# Tests of several modules at once, or of what lies between them.
BETWEEN_MODULES = {
    "eval/real_harnesses",
    "eval/report/report",
    "eval/scorecard/scorecard",
    "eval/snapshots",
    "evenhand/answer_doubts",
    "evenhand/chat",
    "evenhand/cli/doctor_estimates",
    "evenhand/disk_full",
    "evenhand/fingerprint",
    "evenhand/float32_head",
    "evenhand/hostile_checkpoint",
    "evenhand/hub",
    "evenhand/late_files",
    "evenhand/run_files",
    "evenhand/seen_columns",
    "evenhand/special_tokens",
    "evenhand/start_up",
    "inference/answer_order",
    "inference/experiments",
    "inference/growing_faults",
    "inference/narrator_batches",
    "inference/one_bad_prompt",
    "inference/openai_requests",
    "inference/options_engines",
    "inference/planted_key",
    "inference/shared_rows",
    "inference/vllm_server",
    "studies/dialdefer/aio/aio_killed",
    "studies/framing/against_dialdefer",
    "studies/framing/batteries",
    "studies/framing/batteries_scored",
    "studies/narrator/table_4_definitions",
    "studies/narrator/verdict_files",
    "studies/pluraleval/algorithm_1",
    "studies/pluraleval/clustering_methods",
    "studies/pluraleval/hostile_comments",
    "studies/pluraleval/published_prompts",
    "studies/pluraleval/stages",
    "studies/strict_schemas",
    "training/equality",
    "training/interruptions",
    "training/selection",
}
# Modules of more than 60 code lines that another module's test file covers, or that are to get their own.
UNTESTED = {
    "eval/__main__",
    "eval/calibration",
    "eval/report/page",
    "eval/results",
    "eval/runs",
    "eval/scorecard/command",
    "eval/verdict_files",
    "evenhand/chat_templates",
    "evenhand/checkpoints",
    "evenhand/cli/doctor/device",
    "evenhand/cli/doctor/machine",
    "evenhand/cli/doctor/model",
    "evenhand/cli/doctor/sampling",
    "evenhand/cli/doctor/training",
    "evenhand/cli/export",
    "evenhand/completions",
    "evenhand/files",
    "evenhand/float32",
    "evenhand/item_files",
    "evenhand/machine",
    "evenhand/records",
    "evenhand/registry",
    "evenhand/run_directory",
    "evenhand/sources/http_get",
    "evenhand/sources/record_fields",
    "evenhand/study",
    "inference/schedule",
    "inference/server_messages",
    "inference/vllm_engine",
    "studies/dialdefer/aio/folder",
    "studies/dialdefer/aio/items",
    "studies/dialdefer/aio/models",
    "studies/dialdefer/aio/pii",
    "studies/dialdefer/item_table",
    "studies/dialdefer/release",
    "studies/dialdefer/scorecard",
    "studies/dialdefer/section",
    "studies/dialdefer/templates",
    "studies/dialdefer/unified/card",
    "studies/framing/evaluation",
    "studies/framing/grids",
    "studies/framing/section",
    "studies/framing/verdict_files",
    "studies/narrator/clauses",
    "studies/narrator/corpora",
    "studies/narrator/evaluation",
    "studies/narrator/names_in_text",
    "studies/pluraleval/build_references",
    "studies/pluraleval/facts",
    "studies/pluraleval/observe",
    "studies/pluraleval/records",
    "studies/pluraleval/reference_sets",
    "studies/pluraleval/reply_reading",
    "studies/pluraleval/response_lists",
    "studies/pluraleval/runs",
    "studies/pluraleval/section",
    "studies/pluraleval/sources",
    "studies/pluraleval/tables",
    "studies/taxonomy/codebook",
    "studies/taxonomy/coded_flips",
    "studies/taxonomy/section",
    "training/callbacks",
    "training/merged_checkpoint",
    "training/qlora",
    "training/reference",
    "training/run_folder",
    "training/sections",
    "training/train",
}
MODULES = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in SOURCES}


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


def imports() -> Iterator[tuple[str, str]]:
    """(module, module of ours that it imports), imports inside functions too."""
    for module, file in MODULES.items():
        for node in ast.walk(tree_of(file)):
            names = [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            for read in [*modules_of(node), *names]:
                if read in MODULES:
                    yield module, read


def room(module: str) -> str:
    """The package of a module, with the study whose part it is: "eval", "studies.narrator"; "cli" for the command."""
    package, *rest = module.split(".")
    if module.startswith(("evenhand.cli", "evenhand.__main__")):
        return "cli"
    return f"studies.{rest[0]}" if package == "studies" and rest and rest[0] in STUDIES else package


def may_read(reader: str, read: str) -> bool:
    """Whether an import goes the one way: evenhand ← inference, training, eval ← studies ← cli.

    A room reads itself and the ground, no other room; a study reads itself, the rooms, and what studies share.
    """
    if reader == "cli" or read in (reader, "evenhand"):
        return True
    return reader.startswith("studies") and read in ("studies", "inference", "training", "eval")


def test_imports_go_one_way_and_the_machinery_reads_no_study():
    assert [f"{reader} reads {read}" for reader, read in imports() if not may_read(room(reader), room(read))] == []


def test_no_modules_import_each_other_in_a_circle():
    reads: dict[str, set[str]] = {}
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


def n_code_lines(file: Path) -> int:
    """Lines with code on them, a docstring counted as one."""
    return len({node.lineno for node in ast.walk(tree_of(file)) if hasattr(node, "lineno")})


def subject_of(test: Path) -> str:
    """The module or folder of which a test file bears the name: tests/eval/test_runs.py → eval/runs."""
    return shown(test.with_name(test.stem.removeprefix("test_"))).removeprefix("tests/")


def test_tests_mirror_the_tree():
    """tests/eval/estimates/test_changes.py tests eval/estimates/changes.py, or what lies in a folder of that name."""
    modules = {shown(file.with_suffix("")): n_code_lines(file) for file in SOURCES}
    folders = {shown(file.parent) for file in SOURCES}
    tests = {subject_of(file) for file in TESTS if file.stem.startswith("test_") and shown(file).split("/")[1] in ROOMS}
    nameless = tests - modules.keys() - folders
    assert sorted(nameless - BETWEEN_MODULES) == [], "name no module: rename, split or merge them"
    assert sorted(BETWEEN_MODULES - nameless) == [], "are gone, or name a module: take them out of BETWEEN_MODULES"
    untested = {module for module, n_lines in modules.items() if n_lines > 60} - tests
    assert sorted(untested - UNTESTED) == [], "have no test file of their name in tests/"
    assert sorted(UNTESTED - untested) == [], "are gone, short or have a test file: take them out of UNTESTED"


def test_heavy_libraries_are_imported_where_they_are_needed_only():
    assert [shown(file) for file in SOURCES if "vllm" in top_names(file)] == ["inference/vllm_engine.py"]
    trainers = {shown(file).partition("/")[0] for file in SOURCES if top_names(file) & {"trl", "peft", "bitsandbytes"}}
    assert trainers == {"training"}
    heavy = {"torch", "transformers", "vllm", "datasets", "sklearn"}
    light = [file for file in SOURCES if shown(file).startswith(("evenhand", "studies", "eval"))]
    at_top = {
        shown(file): {m.partition(".")[0] for node in tree_of(file).body for m in modules_of(node)} for file in light
    }
    assert {file: names & heavy for file, names in at_top.items() if names & heavy} == {}


def test_files_and_functions_are_short_and_no_file_is_a_drawer_for_odds_and_ends():
    assert {shown(file) for file in PYTHON_FILES if len(file.read_text(encoding="utf-8").splitlines()) > 600} == set()
    functions = [(file, n) for file in SOURCES for n in ast.walk(tree_of(file)) if isinstance(n, ast.FunctionDef)]
    assert [f"{shown(file)}:{n.name}" for file, n in functions if (n.end_lineno or 0) - n.lineno >= 50] == []
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [shown(file) for file in PYTHON_FILES if file.stem in drawers] == []


def test_nothing_names_a_folder_of_one_machine():
    # Brackets keep this file from finding itself.
    private = re.compile(rb"/wor[k]/|/tm[p]/w/|/opt/whee[l]s|/hom[e]/\w+/|/User[s]/\w+/|/roo[t]/")
    files = [file for pattern in SHIPPED for file in ROOT.glob(pattern) if file.is_file() and file.suffix != ".pyc"]
    found = {shown(file): private.findall(file.read_bytes()) for file in files}
    assert {file: paths for file, paths in found.items() if paths} == {}

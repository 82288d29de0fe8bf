"""SECURITY.md: each promise names tests, and these exist."""

import ast
import re

from evenhand.config import read_yaml
from tests.made.places import ROOT
from tests.made.source_files import tree_of

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_promise_names_a_test():
    assert len(ROWS) >= 6
    assert [row for row in ROWS if not NAMED.search(row)] == []


def test_every_test_that_is_named_exists_and_runs_with_make_test():
    for file, name in NAMED.findall(PAGE):
        functions = {node.name: node for node in tree_of(ROOT / file).body if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{file} has no {name}"
        marks = [ast.unparse(mark) for mark in functions[name].decorator_list]
        assert not [mark for mark in marks if re.search("campaign|gpu|slurm|skip", mark)], name


def test_servers_listen_on_loopback():
    configs = {file.name: read_yaml(file) for file in (ROOT / "configs" / "serving").glob("*.yaml")}
    assert configs
    assert {name for name, config in configs.items() if config.get("host") != "127.0.0.1"} == set()

"""The project's source files, and what they import."""

import ast
from functools import cache

from tests.made.places import ROOT

PACKAGES = ("evenhand", "studies", "inference", "training", "eval")


SOURCES = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))


TESTS = sorted((ROOT / "tests").rglob("*.py"))


def shown(file):
    return str(file.relative_to(ROOT))


@cache
def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def nodes_of(file):
    return tuple(ast.walk(tree_of(file)))


def top_names(file):
    """The top-level name of every module that a file imports, at its top or inside a function."""
    return {name.partition(".")[0] for node in nodes_of(file) for name in modules_of(node)}


def modules_of(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []

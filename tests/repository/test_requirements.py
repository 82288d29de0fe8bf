"""pyproject.toml declares what the code imports."""

import sys
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.made.places import ROOT
from tests.made.source_files import PACKAGES, SOURCES, TESTS, top_names

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = {"PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}  # where the import has another name


def names_of(lines):
    return {canonicalize_name(Requirement(line).name) for line in lines}


def third_party(files):
    """The distributions that files import."""
    imported = {name for file in files for name in top_names(file)}
    own = {*PACKAGES, "requirements", "tests", "bench", "", *sys.stdlib_module_names}
    return {canonicalize_name(DISTRIBUTIONS.get(name, name)) for name in imported - own}


def test_what_is_imported_is_declared():
    extras = PROJECT["optional-dependencies"]
    used = [*PROJECT["dependencies"], *(need for name, needs in extras.items() if name != "dev" for need in needs)]
    declared = names_of(used)
    assert third_party(SOURCES) - declared == set()
    # The harnesses have an environment of their own: `make test-harnesses`.
    tests = third_party(TESTS) - {"inspect-ai", "inspect-evals"}
    assert tests - declared - names_of(PROJECT["optional-dependencies"]["dev"]) == set()

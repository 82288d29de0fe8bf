"""A shell completes verbs, the options of a verb, and configs."""

import subprocess
import sys

import pytest

from evenhand.cli.completion import main
from tests.made.places import ROOT, cases

TAB = """evenhand() { "$PYTHON" -m evenhand "$@"; }
COMP_WORDS=(evenhand "$@"); COMP_CWORD=$#; _evenhand; echo "${COMPREPLY[*]}"
"""


@pytest.mark.parametrize(("words", "completed"), cases(__file__)["tabs"])
def test_tab_gives_what_the_command_knows(words, completed, capsys):
    main([])
    script = capsys.readouterr().out + TAB
    shell = ["bash", "-c", script, "bash", *words]
    done = subprocess.run(
        shell, cwd=ROOT, env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.stdout.split() == completed.split(), done.stderr

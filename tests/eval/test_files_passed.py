"""How many files of eval/ a reader of one number passes: those of which a function is called, once all are imported.

Counted by sys.settrace in a process of its own. What runs while a module is imported (class bodies, tables, decorators)
does not count. So counted, and before the redesign of eval/, reasoned verdicts over four datasets passed 34, 86, 85, 52
files and the margins here 33, 85, 84, 51; an earlier count over more datasets was 34, 91, 88, 52.
"""

import subprocess
import sys
from pathlib import Path

from tests.made.places import ROOT
from tests.made.planted_sets import margin_runs

COUNT = """
import importlib, io, sys
from matplotlib.figure import Figure
Figure.savefig = lambda self, file, **keys: file.write("<svg/>" if isinstance(file, io.TextIOBase) else b"")
module, verb, root, *words = sys.argv[1:]
main = getattr(importlib.import_module(module), verb)
files, importing = set(), 0

def passed(frame, event, arg):
    global importing
    if frame.f_code.co_name == "<module>":
        importing += event == "call" or -(event == "return")
        frame.f_trace_lines = False
        return passed
    if not importing and frame.f_code.co_filename.startswith(root):
        files.add(frame.f_code.co_filename[len(root):])

sys.settrace(passed)
main(words)
sys.settrace(None)
print("files passed:", *sorted(files))
"""
VERBS = {
    "score": ("eval.__main__", "score_main", 20),
    "compare": ("eval.__main__", "compare_main", 26),  # with the report and its browser of items
    "report": ("eval.__main__", "report_main", 30),
    "scorecard": ("eval.__main__", "scorecard_main", 25),
}


def files_passed(verb: str, *words: object) -> list[str]:
    """The files under eval/ of which a verb calls a function, as paths below it."""
    module, name, _ = VERBS[verb]
    command = [sys.executable, "-c", COUNT, module, name, f"{ROOT / 'eval'}/", *map(str, words)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return printed.splitlines()[-1].removeprefix("files passed: ").split()


def test_a_verb_passes_few_files(tmp_path: Path) -> None:
    base, after, _ = margin_runs(tmp_path)
    counts = {}
    for verb in VERBS:
        runs = [base, after] if verb in ("compare", "scorecard") else [base]
        counts[verb] = len(files_passed(verb, *runs, "--draws", 2, "--out", tmp_path / verb))
    assert {verb: n for verb, n in counts.items() if n > VERBS[verb][2]} == {}

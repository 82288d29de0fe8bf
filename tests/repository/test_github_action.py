"""The GitHub Action's steps, run by bash as the runner runs them, with GitHub's own command in their way."""

import json
import os
import subprocess
import sys
from xml.etree.ElementTree import parse

import pytest
import yaml

from tests.made.fake_cluster import put_program
from tests.made.places import ROOT

ACTION = yaml.safe_load((ROOT / "integrations" / "github" / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
# Answers GET by what FOUND holds, and notes every call.
GH = """echo "$*" >> "$CALLS"
case "$*" in *--paginate*) echo "$FOUND" ;; esac
"""


@pytest.fixture
def run(tmp_path):
    """Step and inputs → exit code. The inputs stand in the step's own variables, as the runner fills them in."""
    verdicts = [
        {"item_id": f"i{i}", "framing": framing, "answers": "yes|no", "answer": "yes" if i < n else "no"}
        for framing, n in {"statement": 30, "expert": 8}.items()
        for i in range(40)
    ]
    (tmp_path / "verdicts.jsonl").write_text("\n".join(map(json.dumps, verdicts)))
    (tmp_path / "bin").mkdir()
    put_program({"VENV": tmp_path}, "evenhand", f'exec "{sys.executable}" -P -m evenhand "$@"')
    put_program({"VENV": tmp_path}, "gh", GH)

    def step(name, found="", **inputs):
        filled = {key: value for key, value in STEPS[name].get("env", {}).items() if "${{" not in str(value)}
        names = {key.replace("-", "_").upper(): value for key, value in inputs.items()}
        env = {
            **os.environ, **filled, "OPTIONS": "--draws 200", "CONFIG": "", "FAIL_IF": "", "OUT": "out", **names,
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "CALLS": str(tmp_path / "calls"), "FOUND": found,
            "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_REPOSITORY": "us/ours", "NUMBER": "7", "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        return subprocess.run(["bash", "-c", STEPS[name]["run"]], env=env, cwd=tmp_path, check=False).returncode

    return step


def test_the_action_scores_comments_once_and_ends_with_the_code_of_the_conditions(run, tmp_path):
    assert run("Score", source="verdicts.jsonl", fail_if="framing=expert shift < -5\n") == 0
    assert (tmp_path / "output").read_text() == "code=4\n"
    assert run("End", code="4") == 4
    assert (tmp_path / "out" / "report.html").is_file()
    (case,) = parse(tmp_path / "out" / "junit.xml").getroot()
    assert [child.tag for child in case] == ["failure"]
    comment = (tmp_path / "out" / "comment.md").read_text()
    assert comment.startswith("<!-- evenhand -->")
    assert "-55.0" in comment
    assert (run("Comment"), run("Comment", found="31")) == (0, 0)
    posted, patched = [line for line in (tmp_path / "calls").read_text().splitlines() if "--method" in line]
    assert posted.startswith("api --method POST repos/us/ours/issues/7/comments -F body=@out/comment.md")
    assert patched.startswith("api --method PATCH repos/us/ours/issues/comments/31 -F body=@out/comment.md")


def test_the_code_of_score_is_handed_on_and_said(run, tmp_path):
    put_program({"VENV": tmp_path}, "evenhand", "exit $CODE")
    heads = [
        run("Score", source="x", code=code) or (tmp_path / "out" / "comment.md").read_text()[:80] for code in "025"
    ]
    assert (tmp_path / "output").read_text() == "code=0\ncode=2\ncode=5\n"
    assert len({*heads}) == 3


def test_inputs_reach_scripts_as_variables_alone():
    assert not [name for name, step in STEPS.items() if "${{" in step.get("run", "")]

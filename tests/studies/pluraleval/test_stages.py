"""Our own threads through all three stages: references, a built folder, responses, judgements."""

import json

import pytest

from eval.__main__ import score_main
from evenhand.errors import DataError
from studies.pluraleval.build_references import build
from studies.pluraleval.build_references import main as build_main
from studies.pluraleval.sources import pocket_references
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run

POCKET = {"references": {"threads": {"dataset": "pocket-threads"}}}


def ten_responses(prompt):
    if prompt.factors.task == "generation":
        return "\n".join(f"{number}. Response {number} on the matter." for number in range(1, 11))
    if prompt.factors.task == "ranking":
        return ", ".join(str(n + 1) for n in range(len(prompt.factors.shown)))
    return "1"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A references run by the judge without fault."""
    with pytest.MonkeyPatch.context() as patch:
        yield stage_run(tmp_path_factory.mktemp("run"), patch, POCKET, AnsweringEngine(perfect))


def test_an_opinion_whose_assignment_is_malformed_is_counted_where_the_build_reports(
    run, tmp_path, monkeypatch, capsys
):
    def judge(prompt):
        return "cluster?" if prompt.factors.step == "assignment" and prompt.factors.number == 3 else perfect(prompt)

    whole, odd = build(run, tmp_path / "whole"), stage_run(tmp_path, monkeypatch, POCKET, AnsweringEngine(judge))
    build_main([str(odd), "--out", str(tmp_path / "built")])
    manifest = json.loads((tmp_path / "built" / "manifest.json").read_text())
    n = manifest["states"]["assignment"]["malformed"]
    assert (whole["n_dropped"], manifest["n_dropped"]) == (0, n)
    assert manifest["n_opinions"] == whole["n_opinions"] - n > 0
    assert f"{n} opinions are in no cluster" in capsys.readouterr().out
    with pytest.raises(DataError, match="is not a run of this study"):
        build_main([str(tmp_path / "built"), "--out", str(tmp_path / "out")])


def test_responses_and_judgements_run_over_the_folder_and_name_their_inputs(run, tmp_path, monkeypatch):
    manifest = build(run, tmp_path / "folder")
    section = {"responses": {"references": {"root": str(tmp_path / "folder")}}}
    responses = stage_run(tmp_path, monkeypatch, section, AnsweringEngine(ten_responses), name="responses")
    inputs = json.loads((responses / "provenance.json").read_text())["inputs"]
    assert inputs == {str(tmp_path / "folder"): manifest["files"]["references.jsonl"]}
    judge = AnsweringEngine(lambda _: "no")
    judged = {"judgements": {"responses": str(responses)}}
    path = stage_run(tmp_path, monkeypatch, judged, judge, name="judgements")
    # 7 feasible threads x 3 framings x 10 responses, each one stance and one entailment a cluster (47 in all)
    n_clusters = sum(len(one.clusters) for one in pocket_references() if one.is_feasible)
    assert len((path / "plan.jsonl").read_text().splitlines()) == 3 * 10 * (7 + n_clusters)
    assert len(judge.asked) == 10 * (7 + n_clusters), "the framings' responses are the same texts"


def test_score_counts_the_states_of_references(run):
    score_main([str(run)])
    rows = json.loads((run / "scores" / "scores.json").read_text())
    (none,) = [row for row in rows if (row["step"], row["state"]) == ("extraction", "none")]
    assert (round(none["value"] * none["n_units"]), none["measure"], none["unit"]) == (1, "state_rate", "rate")

"""Our own threads through all three stages: references, a built folder, responses, judgements."""

import json
from pathlib import Path

import pytest

from eval.__main__ import report_main, score_main
from evenhand.errors import DataError
from evenhand.records import Prompt
from studies.pluraleval.build_references import build
from studies.pluraleval.build_references import main as build_main
from studies.pluraleval.records import ReferenceSet
from studies.pluraleval.sources import ReferenceSpec, load_references, pocket_references
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run

POCKET = {"references": {"threads": {"dataset": "pocket-threads"}}}


def viewpoints(found: ReferenceSet) -> set[tuple[str, int, frozenset[str]]]:
    return {(c.summary, c.votes, frozenset(member.text for member in c.members)) for c in found.clusters}


def ten_responses(prompt: Prompt) -> str:
    if prompt.factors.task == "generation":
        return "\n".join(f"{number}. Response {number} on the matter." for number in range(1, 11))
    if prompt.factors.task == "ranking":
        return ", ".join(str(n + 1) for n in range(len(prompt.factors.shown)))
    return "1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Reference sets by the judge without fault."""
    run = stage_run(tmp_path, monkeypatch, POCKET, AnsweringEngine(perfect))
    build(run, tmp_path / "references")
    return tmp_path / "references"


def test_a_judge_without_fault_finds_the_known_reference_sets(folder: Path) -> None:
    found = {one.thread.thread_id: one for one in load_references(ReferenceSpec(root=folder))}
    for known in pocket_references():
        one = found[known.thread.thread_id]
        assert viewpoints(one) == viewpoints(known)
        assert one.is_feasible == known.is_feasible
        assert [c.votes for c in one.clusters] == [c.votes for c in known.clusters]
        if known.reference is not None and one.reference is not None:
            assert one.clusters[one.reference].summary == known.clusters[known.reference].summary
            assert one.opposing == known.opposing
            assert sorted(one.stances) == sorted(known.stances)


def test_a_judge_with_one_stance_for_all_is_named_as_the_reason_that_no_thread_is_feasible(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Warning" not in (folder / "README.md").read_text()
    judge = AnsweringEngine(lambda prompt: "AGAINST" if prompt.factors.step == "stance" else perfect(prompt))
    manifest = build(stage_run(tmp_path, monkeypatch, POCKET, judge, name="one-sided"), tmp_path / "one-sided")
    (n,) = manifest["states"]["stance"].values()
    said = f"Warning: the judge answered AGAINST to 100% of {n} stance prompts"
    assert manifest["n_feasible"] == 0
    assert said in (tmp_path / "one-sided" / "README.md").read_text()


def test_an_opinion_whose_assignment_is_malformed_is_counted_where_the_build_reports(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(prompt: Prompt) -> str:
        return "cluster?" if prompt.factors.step == "assignment" and prompt.factors.number == 3 else perfect(prompt)

    whole = json.loads((folder / "manifest.json").read_text())
    run = stage_run(tmp_path, monkeypatch, POCKET, AnsweringEngine(judge), name="malformed")
    build_main([str(run), "--out", str(tmp_path / "built")])
    manifest = json.loads((tmp_path / "built" / "manifest.json").read_text())
    n = manifest["states"]["assignment"]["malformed"]
    assert (whole["n_dropped"], manifest["n_dropped"]) == (0, n)
    assert manifest["n_opinions"] == whole["n_opinions"] - n > 0
    assert f"{n} opinions are in no cluster" in capsys.readouterr().out
    assert f"{n} opinions are in no cluster" in (tmp_path / "built" / "README.md").read_text()


def test_without_opinions_on_either_side_asked_for_every_thread_has_a_reference_opinion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = AnsweringEngine(lambda prompt: "AGAINST" if prompt.factors.step == "stance" else perfect(prompt))
    for each_side, n_feasible in ((1, 0), (0, 9)):
        section = {"references": {**POCKET["references"], "each_side": each_side}}
        run = stage_run(tmp_path, monkeypatch, section, judge, name=f"side-{each_side}")
        assert build(run, tmp_path / f"built-{each_side}")["n_feasible"] == n_feasible


def test_responses_and_judgements_run_over_the_folder_and_name_their_inputs(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = {"responses": {"references": {"root": str(folder)}, "pairings": ["most_popular", "random"]}}
    responses = stage_run(tmp_path, monkeypatch, section, AnsweringEngine(ten_responses), name="responses")
    manifest = json.loads((folder / "manifest.json").read_text())
    inputs = json.loads((responses / "provenance.json").read_text())["inputs"]
    assert inputs == {str(folder): manifest["files"]["references.jsonl"]}
    judged = {"judgements": {"responses": str(responses)}}
    judge = AnsweringEngine(lambda prompt: "NEUTRAL" if prompt.factors.judgement == "stance" else "no")
    judgements = stage_run(tmp_path, monkeypatch, judged, judge, name="judgements")
    plan = [json.loads(line) for line in (judgements / "plan.jsonl").read_text().splitlines()]
    # 7 feasible threads x 3 framings x 10 responses, each one stance and one entailment a cluster (47 in all)
    n_clusters = sum(len(one.clusters) for one in pocket_references() if one.is_feasible)
    assert len(plan) == 3 * 10 * (7 + n_clusters)
    score_main([str(responses), str(judgements)])
    printed = " ".join(capsys.readouterr().out.split())
    assert "generation ok 21 100.0%" in printed
    assert "Opinions that are named, by prompt (Tables 4 to 6)" in printed
    assert "Which of two opinions is more popular (Figure 4, Table 12)" in printed


@pytest.mark.parametrize("kind", ["responses", "judgements"])
def test_a_run_over_several_processes_is_taken_up_again(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections = {"responses": {"references": {"dataset": "pocket-threads"}}, "judgements": {"responses": None}}
    replies = {"responses": ten_responses, "judgements": lambda _: "no"}
    first = AnsweringEngine(replies[kind])
    stage_run(tmp_path, monkeypatch, {kind: sections[kind]}, first, name=kind, shards=2)
    assert first.asked
    again = AnsweringEngine(replies[kind])
    path = stage_run(tmp_path, monkeypatch, {kind: sections[kind]}, again, name=kind)
    assert (path / "DONE.json").exists()
    assert not again.asked


def test_score_and_report_show_the_states_of_references(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = tmp_path.glob("inference/run-*")
    score_main([str(run)])
    assert "extraction ok 60 96.8%" in " ".join(capsys.readouterr().out.split())
    (none,) = [
        row
        for row in json.loads((run / "scores" / "scores.json").read_text())
        if (row["step"], row["state"]) == ("extraction", "none")
    ]
    assert (round(none["value"] * none["n_units"]), none["measure"], none["unit"]) == (1, "state_rate", "rate")

    report_main([str(run), "--out", str(tmp_path / "report")])
    assert "States of the replies" in (tmp_path / "report" / "report.html").read_text()


def test_a_stage_is_not_taken_for_another(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = tmp_path.glob("inference/run-*")
    judged = {"judgements": {"responses": str(run)}}
    with pytest.raises(DataError, match="is a run of the stage `references`; wanted is one of `responses`"):
        stage_run(tmp_path, monkeypatch, judged, AnsweringEngine(perfect), name="judgements")


def test_reference_sets_of_which_nothing_can_be_asked_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says_nothing = AnsweringEngine(lambda prompt: '{"opinions": []}')
    build(stage_run(tmp_path, monkeypatch, POCKET, says_nothing), tmp_path / "references")
    section = {"responses": {"references": {"root": str(tmp_path / "references")}}}
    with pytest.raises(DataError, match="responses: no thread has what is asked about"):
        stage_run(tmp_path, monkeypatch, section, AnsweringEngine(ten_responses), name="responses")

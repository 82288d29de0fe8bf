"""What people are asked about the judge of PluralEval."""

from pathlib import Path

import pytest

from eval.annotation.command import main
from eval.annotation.tasks import Task
from eval.pluraleval.annotation import ANNOTATION
from evenhand.errors import DataError
from evenhand.records import Prompt
from studies.pluraleval.build_references import build
from studies.pluraleval.pocket import known_threads, pocket_references
from tests.made.made_runs import made_items, make_run, say
from tests.made.pluraleval_models import KNOWN, both_runs, model, sycophant
from tests.made.pocket_judge import AnsweringEngine, Answers, perfect, stage_run


def all_in_one(prompt: Prompt) -> str:
    """A clusterer that puts every opinion into the first cluster."""
    told = {"assignment": '{"cluster": 1}', "summary": "They say things.", "stance": "NEUTRAL", "belief": "I think so."}
    return told.get(prompt.factors.step) or perfect(prompt)


def references(root: Path, monkeypatch: pytest.MonkeyPatch, name: str, judge: Answers = perfect) -> Path:
    section = {"references": {"threads": {"dataset": "pocket-threads"}}}
    return stage_run(root, monkeypatch, section, AnsweringEngine(judge), name=name)


def only(path: Path, name: str) -> Task:
    return next(task for task in ANNOTATION.tasks([path]) if task.name == name)


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return both_runs(tmp_path, monkeypatch, model(sycophant), "made")[1]


def test_a_match_is_of_a_response_and_a_summary_with_what_the_judge_said(judged: Path):
    of = only(judged, "matches")
    for item in of.items:
        assert [heading for heading, _ in item.texts] == ["Response", "Opinion"]
        response, opinion = (text for _, text in item.texts)
        assert item.judge == ("yes" if response == opinion else "no")
    assert {item.judge for item in of.items} == {"yes", "no"}
    assert sum(of.in_run.values()) == len(of.items)


def test_a_stance_is_toward_the_reference_opinion_of_the_thread(judged: Path):
    for item in only(judged, "stances").items:
        found, texts = KNOWN[item.unit], dict(item.texts)
        position = found.reference
        assert position is not None
        assert (texts["Post"], texts["Opinion"]) == (found.thread.post, found.clusters[position].summary)
        said = dict(zip((cluster.summary for cluster in found.clusters), found.stances, strict=True))
        assert item.judge == (said[texts["Response"]] or "SUPPORTING")


def test_what_the_judge_left_unread_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mute = both_runs(tmp_path, monkeypatch, model(sycophant), "mute", judge=lambda prompt: "perhaps")[1]
    assert ANNOTATION.tasks([mute]) == []
    with pytest.raises(DataError, match="holds nothing that people could label"):
        main([str(mute), "--out", str(tmp_path / "page.html")])


def test_pairs_of_opinions_are_those_that_the_clusterer_joined_and_parted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = references(tmp_path, monkeypatch, "made")
    (of,) = ANNOTATION.tasks([run])
    key = {
        (known.thread_id, text): key
        for known in known_threads()
        for comment in known.comments
        for key, text in comment.says.items()
    }
    for item in of.items:
        first, second = (key[item.unit, text] for _, text in item.texts)
        assert item.judge == ("yes" if first == second else "no")
    sizes = [[len(cluster.members) for cluster in found.clusters] for found in pocket_references()]
    joined = sum(size * (size - 1) // 2 for of_thread in sizes for size in of_thread)
    assert of.in_run == {"yes": joined, "no": sum(sum(s) * (sum(s) - 1) // 2 for s in sizes) - joined}
    build(run, tmp_path / "built")
    (of_folder,) = ANNOTATION.tasks([tmp_path / "built"])
    assert (of_folder.items, of_folder.in_run) == (of.items, of.in_run), "a built folder does as well as its run"


def test_two_clusterings_of_a_thread_stand_side_by_side_without_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fine, coarse = references(tmp_path, monkeypatch, "fine"), references(tmp_path, monkeypatch, "coarse", all_in_one)
    (of,) = ANNOTATION.tasks([fine, coarse])
    assert of.is_comparison
    assert {item.unit for item in of.items} == {known.thread_id for known in known_threads()}
    for item in of.items:
        texts = dict(item.texts)
        assert texts["Right"].startswith("They say things.\n  • ")
        assert "They say things." not in texts["Left"]
        assert sorted(line for line in texts["Left"].splitlines() if "•" in line) == sorted(
            line for line in texts["Right"].splitlines() if "•" in line
        )
    (same,) = ANNOTATION.tasks([fine, fine])
    assert not same.items, "there is nothing to prefer where both are alike"


def test_a_run_that_people_cannot_label_is_refused_by_name(tmp_path: Path, judged: Path):
    words = ["--out", str(tmp_path / "page.html")]
    responses = next((tmp_path / "inference").glob("made-responses-*"))
    with pytest.raises(DataError, match=r"made-responses-.*: is of the stage `responses`; name the judgements run"):
        main([str(responses), *words])
    with pytest.raises(DataError, match=r"nowhere: holds nothing for people to label"):
        main([str(tmp_path / "nowhere"), *words])
    other = make_run(tmp_path, lambda prompt: say(1), items=made_items("truthfulqa", 2), name="other")
    with pytest.raises(DataError, match=r"other-.*: holds nothing for people to label"):
        main([str(other), *words])
    with pytest.raises(DataError, match=r"--what match: .*Did you mean 'matches'"):
        main([str(judged), *words, "--what", "match"])

"""What people are asked about the judge of PluralEval."""

import pytest

from evenhand.cli.annotate import main
from evenhand.errors import DataError
from studies.pluraleval import annotation
from studies.pluraleval.sources import pocket_references
from tests.made.pluraleval_models import KNOWN, both_runs, model, sycophant
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run


def test_matches_and_stances_hold_what_the_judge_read_and_answered(tmp_path, monkeypatch):
    responses, judged = both_runs(tmp_path, monkeypatch, model(sycophant), "made")
    tasks = {task.name: task for task in annotation.tasks(judged)}
    for item in tasks["matches"].items:
        assert [heading for heading, _ in item.texts] == ["Response", "Opinion"]
        response, opinion = (text for _, text in item.texts)
        assert item.judge == ("yes" if response == opinion else "no")
    assert set(tasks["matches"].in_run) == {"yes", "no"}
    for item in tasks["stances"].items:
        known, texts = KNOWN[item.unit], dict(item.texts)
        assert known.reference is not None
        assert (texts["Post"], texts["Opinion"]) == (known.thread.post, known.clusters[known.reference].summary)
        stances = dict(zip((cluster.summary for cluster in known.clusters), known.stances, strict=True))
        assert item.judge == (stances[texts["Response"]] or "SUPPORTING")
    with pytest.raises(DataError, match=r"made-responses-.*: is of the stage `responses`; name the judgements run"):
        main([str(responses), "--out", str(tmp_path / "labels.csv")])
    mute = both_runs(tmp_path, monkeypatch, model(sycophant), "mute", judge=lambda prompt: "perhaps")[1]
    assert annotation.tasks(mute) == []


def test_pairs_of_opinions_are_those_that_the_clusterer_joined_and_parted(tmp_path, monkeypatch):
    section = {"references": {"threads": {"dataset": "pocket-threads"}}}
    (task,) = annotation.tasks(stage_run(tmp_path, monkeypatch, section, AnsweringEngine(perfect)))
    key = {
        (known.thread.thread_id, member.text): key
        for known in pocket_references()
        for key, cluster in enumerate(known.clusters)
        for member in cluster.members
    }
    for item in task.items:
        first, second = (key[item.unit, text] for _, text in item.texts)
        assert item.judge == ("yes" if first == second else "no")
    sizes = [[len(cluster.members) for cluster in known.clusters] for known in pocket_references()]
    joined = sum(size * (size - 1) // 2 for of_thread in sizes for size in of_thread)
    assert task.in_run == {"yes": joined, "no": sum(sum(s) * (sum(s) - 1) // 2 for s in sizes) - joined}

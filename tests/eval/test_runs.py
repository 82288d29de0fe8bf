"""Finished runs, as scoring reads them: a damaged one is refused, and `evenhand status` says so too."""

import shutil
from dataclasses import replace

import pytest

from eval.runs import PlannedPrompt, clusters_of, copy_doubts, load_finished
from evenhand.cli.status import stages_of
from evenhand.errors import DataError
from evenhand.run_directory import finish
from tests.made.made_runs import made_items, make_run, say
from tests.made.places import cases

ITEMS = made_items("pocket", 3)


def changed(file, change):
    file.write_text(change(file.read_text()))


def with_another_plan(run):
    """The plan and DONE.json of a smaller run, whose every prompt this one has answered."""
    other = make_run(run.parent / "other", lambda prompt: say(1), items=ITEMS[:2])
    for name in ("plan.jsonl", "DONE.json"):
        shutil.copy(other / name, run / name)


DAMAGES = {  # what was done → the file that is named
    "no DONE.json": (lambda run: (run / "DONE.json").unlink(), "damaged-0000"),
    "half a plan": (lambda run: changed(run / "plan.jsonl", lambda text: text[: len(text) // 2]), "plan.jsonl"),
    "another run's plan": (with_another_plan, "provenance.json"),
    "other items": (
        lambda run: changed(run / "provenance.json", lambda text: text.replace('set_hash": "', 'set_hash": "0')),
        "provenance.json",
    ),
    "an edited shard": (
        lambda run: [changed(shard, lambda text: text.replace("because", "since")) for shard in run.glob("c*/*.jsonl")],
        "completions",
    ),
    "a shard less": (lambda run: [shard.unlink() for shard in run.glob("completions/*.jsonl")], "damaged-0000"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_not_scored_nor_called_complete_and_hides_no_other(damage, tmp_path):
    whole, run = (make_run(tmp_path, lambda _: say(1), items=ITEMS, name=name) for name in ("whole", "damaged"))
    change, names = DAMAGES[damage]
    change(run)
    with pytest.raises(DataError, match=names):
        load_finished(run)
    (stage,), (other,) = stages_of(run), stages_of(whole)
    assert (stage.state, other.state) == ("unfinished", "complete")
    assert names in f"{run} {stage.note}"


@pytest.mark.parametrize(("found", "instead", "problem"), cases(__file__)["plans"])
def test_a_plan_of_another_form_names_file_and_field(found, instead, problem, tmp_path):
    run = make_run(tmp_path, lambda _: say(1), items=ITEMS)
    changed(run / "plan.jsonl", lambda text: text.replace(found, instead))
    finish(run, {})  # as a tool that writes such plans would
    with pytest.raises(DataError, match=f"plan.jsonl: {problem}"):
        load_finished(run)


def test_units_of_one_cluster_and_units_that_share_a_prompt_are_one_cluster():
    asked = [("a", "p1", None), ("b", "p2", "twins"), ("c", "p3", "twins"), ("d", "p3", None), ("e", "p5", None)]
    plan = [
        PlannedPrompt(prompt_hash=hash_, item_id=item, dataset="d", condition="c", factors=(), cluster=cluster)
        for item, hash_, cluster in asked
    ]
    wanted = {"a": "a", "b": "b", "c": "b", "d": "b", "e": "e"}
    assert clusters_of(plan[::-1]) == clusters_of(plan) == {("d", item): name for item, name in wanted.items()}
    elsewhere = [replace(plan[1], dataset="D", item_id="a"), replace(plan[0], dataset="D", item_id="b", cluster="b")]
    assert {*clusters_of([*plan, *elsewhere]).items()} >= {(("d", "a"), "a"), (("D", "a"), "a"), (("D", "b"), "b")}
    assert copy_doubts(plan)[0].startswith("1 of its 5 items")
    assert copy_doubts(plan[:3]) == []

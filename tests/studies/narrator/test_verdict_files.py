"""Narrator verdicts from files are scored and reported as if they had been sampled here."""

import json

import pytest

from eval.__main__ import report_main, score_main
from evenhand.completions import every_completion
from evenhand.errors import DataError
from evenhand.run_directory import read_plan_lines
from studies.narrator.corpus import CorpusSpec, load_conversations
from tests.made.made_verdicts import write
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector

CONVERSATIONS = made_conversations({2: 6, 3: 5})
SETTING = ("task", "visibility", "option_order", "group", "n_speakers", "perspective")


def rows_of(run, conversations):
    """A run's replies as another pipeline might write them."""
    by_id = {conversation.conversation_id: conversation for conversation in conversations}
    texts = {}
    for reply in every_completion(run):
        texts.setdefault(reply.prompt_hash, []).append(reply.text)
    rows = []
    for line in read_plan_lines(run):  # several lines may have one prompt
        conversation, factors = by_id[line["item_id"]], line["factors"]
        row = {name: factors[name] for name in ("task", "visibility", "option_order")} | {"model": "Theirs"}
        row |= {"conversation": conversation.conversation_id, "attacker": conversation.names[conversation.attacker]}
        row["narrator"] = conversation.names.get(factors["narrator"], "")
        rows += [{**row, "answer": text} for text in texts[line["prompt_hash"]]]
    return rows


def scores(*sources, out, words=()):
    """What `score` writes, without the names of the sources."""
    score_main([*map(str, sources), "--all", "--out", str(out), *words])
    rows = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    return [{name: row[name] for name in (*SETTING, "measure", "unit", "value", "low")} for row in rows]


def test_a_file_gives_the_scores_of_the_run_that_it_was_written_from(tmp_path, capsys):
    run = make_narrator_run(tmp_path, protector(0.6), CONVERSATIONS, n=4)
    theirs = scores(write(tmp_path / "theirs.csv", rows_of(run, CONVERSATIONS)), out=tmp_path / "files")
    assert "Theirs" in capsys.readouterr().out
    ours = scores(run, out=tmp_path / "run")
    unseen = [row for row in ours if row["group"] != "all" and row["n_speakers"] is None]  # a file does not tell these
    assert theirs == [row for row in ours if row not in unseen]
    assert len(theirs) > 200


def test_a_corpus_says_who_the_attacker_is_and_ids_may_lack_its_name(tmp_path):
    conflicts = load_conversations(CorpusSpec(dataset="pocket-conflicts", n_conversations=8))
    run = make_narrator_run(tmp_path, fair, conflicts, n=2, tasks=("blame", "detection"))
    rows = [{k: v for k, v in row.items() if k != "attacker"} for row in rows_of(run, conflicts)]
    for row in rows[::3]:
        row["conversation"] = row["conversation"].removeprefix("pocket-conflicts-")
    file, words = write(tmp_path / "theirs.jsonl", rows), ("--conversations", "pocket-conflicts")
    with pytest.raises(DataError, match=r"theirs.jsonl:1: the attacker of .* is not named; .* --conversations"):
        scores(file, out=tmp_path / "files")
    assert scores(file, out=tmp_path / "files", words=words) == scores(run, out=tmp_path / "run")
    with pytest.raises(DataError, match=r"made.jsonl:1: conversation 'c1' is not in the corpus"):
        scores(write(tmp_path / "made.jsonl", [{**rows[0], "conversation": "c1"}]), out=tmp_path / "out", words=words)
    with pytest.raises(DataError, match="--conversations: is for files of verdicts"):
        report_main([str(run), "--out", str(tmp_path / "report"), *words])


def test_nobody_is_written_in_several_ways_and_an_order_may_be_missing(tmp_path):
    run = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=1, tasks=("blame",))
    rows = [r for r in rows_of(run, CONVERSATIONS) if (r["visibility"], r["option_order"]) != ("hidden", "fixed_slot")]
    ways = [float("nan"), "Neutral", None, ""]
    other = [{**row, "narrator": row["narrator"] or ways[n % 4]} for n, row in enumerate(rows)]
    one, two = (scores(write(tmp_path / f"{i}.jsonl", r), out=tmp_path / str(i)) for i, r in enumerate((rows, other)))
    assert one == two

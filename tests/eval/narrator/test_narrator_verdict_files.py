"""Narrator verdicts from files are scored and reported as if they had been sampled here."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import report_main, score_main
from evenhand.completion_shards import every_completion
from evenhand.errors import DataError
from evenhand.run_directory import read_plan_lines
from studies.narrator.pocket import pocket_conflicts
from studies.narrator.records import Conversation
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector

CONVERSATIONS = made_conversations({2: 6, 3: 5})
NUMBERS = (
    "measure",
    "unit",
    "task",
    "visibility",
    "option_order",
    "group",
    "n_speakers",
    "perspective",
    "value",
    "low",
)


def rows_of(run: Path, conversations: Sequence[Conversation], *, says_attacker: bool = True) -> list[dict[str, Any]]:
    """A run's replies as another pipeline might write them."""
    plan = list(read_plan_lines(run))
    by_id = {one.conversation_id: one for one in conversations}
    texts: dict[str, list[str]] = {}
    for reply in every_completion(run):
        texts.setdefault(reply.prompt_hash, []).append(reply.text)
    return [
        row_of(by_id[line["item_id"]], line["factors"], text, says_attacker=says_attacker)
        for line in plan
        for text in texts[line["prompt_hash"]]
    ]


def row_of(conversation: Conversation, factors: dict[str, Any], text: str, *, says_attacker: bool) -> dict[str, Any]:
    return {
        "conversation": conversation.conversation_id,
        "task": factors["task"],
        "narrator": conversation.names.get(factors["narrator"], ""),
        "visibility": factors["visibility"],
        "option_order": factors["option_order"],
        "answer": text,
        "model": "Theirs",
    } | ({"attacker": conversation.names[conversation.attacker]} if says_attacker else {})


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def scores(folder: Path) -> list[dict[str, Any]]:
    rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return [{name: row[name] for name in NUMBERS} for row in rows]


@pytest.mark.parametrize("write", [write_jsonl, write_csv])
def test_a_file_gives_the_scores_of_the_run_that_it_was_written_from(tmp_path, write, capsys):
    run = make_narrator_run(tmp_path, protector(0.6), CONVERSATIONS, n=4)
    file = write(tmp_path / f"theirs.{write.__name__.removeprefix('write_')}", rows_of(run, CONVERSATIONS))
    score_main([str(file), "--out", str(tmp_path / "files")])
    assert "Theirs" in capsys.readouterr().out
    score_main([str(run), "--out", str(tmp_path / "run")])
    theirs, ours = scores(tmp_path / "files"), scores(tmp_path / "run")
    unseen = [row for row in ours if row["group"] != "all" and row["n_speakers"] is None]  # a file does not tell these
    assert theirs == [row for row in ours if row not in unseen]
    assert len(theirs) > 200


def test_a_corpus_says_who_the_attacker_is(tmp_path):
    conflicts = pocket_conflicts("test")[:8]
    run = make_narrator_run(tmp_path, fair, conflicts, n=2, tasks=("blame",))
    file = write_jsonl(tmp_path / "theirs.jsonl", rows_of(run, conflicts, says_attacker=False))
    with pytest.raises(DataError, match=r"theirs.jsonl:1: nothing says who the attacker .* --conversations"):
        score_main([str(file), "--out", str(tmp_path / "files")])
    score_main([str(file), "--conversations", "pocket-conflicts", "--out", str(tmp_path / "files")])
    score_main([str(run), "--out", str(tmp_path / "run")])
    assert scores(tmp_path / "files") == scores(tmp_path / "run")


def test_an_id_counts_as_one_with_and_without_the_corpuss_name(tmp_path):
    conflicts = pocket_conflicts("test")[:4]
    run = make_narrator_run(tmp_path, fair, conflicts, n=1, tasks=("blame", "detection"))
    rows = rows_of(run, conflicts)
    short = [
        {**row, "conversation": row["conversation"].removeprefix("pocket-conflicts-")}
        if row["task"] == "blame"
        else row
        for row in rows
    ]
    for name, written in (("long", rows), ("mixed", short)):
        file = write_jsonl(tmp_path / f"{name}.jsonl", written)
        score_main([str(file), "--conversations", "pocket-conflicts", "--out", str(tmp_path / name)])
    assert scores(tmp_path / "long") == scores(tmp_path / "mixed")


@pytest.mark.parametrize("nobody", [float("nan"), "Neutral", None, ""])
def test_nobody_is_written_in_several_ways(nobody, tmp_path):
    run = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=1, tasks=("blame",))
    rows = rows_of(run, CONVERSATIONS)
    file = write_jsonl(tmp_path / "theirs.jsonl", rows)
    other = write_jsonl(tmp_path / "other.jsonl", [{**row, "narrator": row["narrator"] or nobody} for row in rows])
    score_main([str(file), "--out", str(tmp_path / "one")])
    score_main([str(other), "--out", str(tmp_path / "two")])
    assert scores(tmp_path / "one") == scores(tmp_path / "two")


def test_a_side_that_was_asked_in_one_order_alone_has_blank_cells(tmp_path):
    run = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=1, option_orders=("published", "fixed_slot"))
    rows = [
        row
        for row in rows_of(run, CONVERSATIONS)
        if row["visibility"] == "visible" or row["option_order"] == "published"
    ]
    file = write_jsonl(tmp_path / "theirs.jsonl", rows)
    report_main([str(file), "--draws", "50", "--out", str(tmp_path / "report")])
    assert "Table 4" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_models_in_files_are_reported_side_by_side_with_definitions(tmp_path):
    run = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, tasks=("blame",), visibilities=("visible",))
    rows = rows_of(run, CONVERSATIONS)
    first = write_jsonl(tmp_path / "one.jsonl", rows)
    second = write_csv(tmp_path / "two.csv", [{**row, "model": "Other"} for row in rows])
    words = [str(first), str(second), "--narrator-denominator", "all", "--draws", "50"]
    report_main([*words, "--out", str(tmp_path / "report")])
    html = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert all(name in html for name in ("Theirs", "Other", "all models"))
    assert "not recorded" in html
    assert "Shares are of all replies." in html


GOOD = {
    "conversation": "c1",
    "task": "blame",
    "narrator": "Bob",
    "visibility": "visible",
    "answer": "Ann",
    "attacker": "Ann",
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task": "blaming"}, r":2: task is .*blaming.*, expected one of detection, identification, blame"),
        ({"visibility": None}, r":2: visibility is .*, expected one of"),
        ({"conversation": ""}, r":2: conversation is empty"),
        ({"answer": 3}, r":2: answer is 3, expected the reply's text"),
        ({"attacker": "Bob"}, r":2: the attacker of 'c1' is 'Bob', elsewhere 'Ann'"),
        ({"option_order": "last"}, r":2: option_order is .*last"),
        ({"narrator": "Me"}, r":2: the narrator and the attacker are speakers, by their own names, not 'Me'"),
    ],
)
def test_a_wrong_row_is_named_with_its_line(tmp_path, change, says):
    file = write_jsonl(tmp_path / "made.jsonl", [GOOD, {**GOOD, "narrator": None, **change}])
    with pytest.raises(DataError, match=says):
        score_main([str(file), "--out", str(tmp_path / "out")])


def answered(times: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Answers to the same three prompts in each of four conversations; times: narrator → its prompt's answers."""
    return [
        {**GOOD, "conversation": f"c{i}", "narrator": narrator, "answer": answer}
        for i in range(4)
        for narrator, answers in times.items()
        for answer in answers
    ]


# By answers as written the attacker as Me is named in a half (PR +50); by repeated rows in a quarter (PR +75).
ONCE = {"": ["Ann", "Ann"], "Ann": ["Me", "Bob"], "Bob": ["Ann", "Ann"]}


def test_repeated_rows_do_not_become_samples(tmp_path, capsys):
    once = write_jsonl(tmp_path / "once.jsonl", answered(ONCE))
    more = write_jsonl(tmp_path / "more.jsonl", answered({**ONCE, "Ann": ["Me", "Bob", "Bob", "Bob"]}))
    out = ["--out", str(tmp_path / "out")]
    with pytest.raises(DataError, match=r"more.jsonl:5: is answer 3 to a prompt .* first at .*more.jsonl:3.* have 2"):
        score_main([str(more), *out])
    unlike = {"": ["Ann", "Bob"], "Ann": ["Me", "Bob"], "Bob": ["Ann", "Me", "Me"]}
    with pytest.raises(DataError, match="is answer 3 to a prompt"):
        score_main([str(write_jsonl(tmp_path / "unlike.jsonl", answered(unlike))), *out])
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(once.read_bytes())
    for words in ([once, once], [once, copy]):
        with pytest.raises(DataError, match=rf"{words[1].name}: holds the same bytes as {once}"):
            score_main([*map(str, words), *out])
    said = {
        "every answer stands 2 times": answered({who: [*answers, *answers] for who, answers in ONCE.items()}),
        "1 of 12 prompts has fewer answers than the others (2)": answered(ONCE)[:-1],
        "4 of 12 prompts have more answers than the others (2)": answered({**ONCE, "Ann": ["Me", "Bob", "Bob"]}),
    }
    for words, rows in said.items():
        score_main([str(write_jsonl(tmp_path / "said.jsonl", rows)), *out])
        assert words in " ".join(capsys.readouterr().out.split())
    batch = [{**row, "conversation": f"more-{row['conversation']}"} for row in answered({"Ann": ["Me", *["Bob"] * 3]})]
    score_main([str(once), str(write_jsonl(tmp_path / "batch.jsonl", batch)), *out])  # 2 samples here, 4 there
    assert "answers than" not in capsys.readouterr().out
    score_main([str(once), *out])
    assert "answers stand" not in capsys.readouterr().out


def test_a_missing_field_and_a_missing_column_are_named(tmp_path):
    lacking = write_jsonl(tmp_path / "made.jsonl", [GOOD, {k: v for k, v in GOOD.items() if k != "answer"}])
    with pytest.raises(DataError, match=r"made.jsonl:2: has no field 'answer'"):
        score_main([str(lacking), "--out", str(tmp_path / "out")])
    table = write_csv(tmp_path / "made.csv", [{k: v for k, v in GOOD.items() if k != "answer"}])
    with pytest.raises(DataError, match=r"made.csv:1: there is no column 'answer'"):
        score_main([str(table), "--out", str(tmp_path / "out")])


def test_a_conversation_that_is_not_of_the_corpus_is_refused(tmp_path):
    file = write_jsonl(tmp_path / "made.jsonl", [GOOD])
    with pytest.raises(DataError, match=r"made.jsonl:1: conversation 'c1' is none of the corpus"):
        score_main([str(file), "--conversations", "pocket-conflicts", "--out", str(tmp_path / "out")])


def test_options_that_would_change_nothing_are_refused(tmp_path: Path):
    run = make_narrator_run(tmp_path / "run", fair, CONVERSATIONS[:2])
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows_of(run, CONVERSATIONS)))
    out = ["--out", str(tmp_path / "out")]
    for words in (["--denominator", "answered"], ["--parser", "lenient"], ["--pluraleval", "precision=responses"]):
        for source in ([str(file), *out], [str(run), *out]):
            with pytest.raises(DataError, match=f"{words[0]}: is of the .* study, of which nothing was named here"):
                score_main([*source, *words])
    with pytest.raises(DataError, match="--conversations: is for files of verdicts"):
        report_main([str(run), *out, "--conversations", "pocket-conflicts"])

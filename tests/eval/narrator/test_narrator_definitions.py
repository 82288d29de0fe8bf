"""The narrator study's definitions hold for every verb, and stand in the notes of what they changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import compare_main, report_main, score_main
from eval.narrator.all_tables import narrator_tables
from eval.narrator.command import main
from eval.narrator.definition_words import answer_note, definition_words
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.judged_runs import load_narrator_runs
from eval.narrator.measures import find_effect
from eval.narrator.study import study
from eval.scorecard.command import main as scorecard_main
from eval.study_definitions import choices_of, decided
from evenhand.records import Prompt
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector

CONVERSATIONS = made_conversations({2: 5, 3: 5})
ASKED: dict[str, Any] = {"tasks": ("blame", "detection"), "visibilities": ("visible",), "n": 4}
ALL_REPLIES = ("--narrator", "denominator=all", "--draws", "100")


def reticent(prompt: Prompt) -> dict[str, float]:
    """A protector of which a third of the replies names nobody, so that shares of all replies are others."""
    return {option: p * 2 / 3 for option, p in protector(0.8)(prompt).items()} | {"I cannot tell.": 1 / 3}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    judges = {"before": reticent, "after": lambda prompt: fair(prompt) | {"I cannot tell.": 0.4}}
    first, second = (
        make_narrator_run(root, judge, CONVERSATIONS, name=name, model=f"x/{name}", **ASKED)  # type: ignore[arg-type]
        for name, judge in judges.items()
    )
    return first, second


def json_rows(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def neutral_of(rows: list[dict[str, Any]], field: str = "value") -> float:
    wanted = {"measure": "neutral", "task": "blame", "option_order": "published"}
    (row,) = [r for r in rows if wanted.items() <= r.items() and r.get("n_speakers") is None and not r.get("second")]
    return row[field]  # type: ignore[no-any-return]


def test_score_takes_them(runs, tmp_path):
    for name, words in (("default", ()), ("all", ALL_REPLIES)):
        score_main([str(runs[0]), *words, "--out", str(tmp_path / name)])
    default, every = (json_rows(tmp_path / name / "scores.json") for name in ("default", "all"))
    assert neutral_of(every) < neutral_of(default) - 10
    assert {row["denominator"] for row in every} == {"all"}


def test_compare_takes_them(runs, tmp_path, capsys):
    compare_main([*map(str, runs), *ALL_REPLIES, "--out", str(tmp_path)])
    assert "Shares are of all replies." in capsys.readouterr().out.replace("\n", " ")
    rows = [r for r in json_rows(tmp_path / "compare.json") if (r["measure"], r["task"]) == ("neutral", "blame")]
    assert {(row["denominator"], row["clusters"]) for row in rows} == {("all", "conversation")}
    found = study(load_narrator_runs([runs[0]]), Definitions(denominator="all"))
    before = find_effect(found.effects, "before", "blame", "visible")
    assert before is not None
    assert rows[0]["before"] == pytest.approx(before.neutral.value)
    assert "Shares are of all replies." in (tmp_path / "tables" / "narrator_changes.md").read_text(encoding="utf-8")


def test_the_scorecard_takes_them(runs, tmp_path, capsys):
    for name, words in (("default", ()), ("all", ALL_REPLIES)):
        scorecard_main([*map(str, runs), *words, "--out", str(tmp_path / name)])
    assert "Shares are of all replies." in capsys.readouterr().out.replace("\n", " ")
    levels = [
        json_rows(tmp_path / name / "scorecard.json")[0]["narrator_blame_visible_neutral_pp"]
        for name in ("default", "all")
    ]
    assert levels[1] < levels[0] - 10
    assert "of all replies" in (tmp_path / "all" / "scorecard_narrator.md").read_text(encoding="utf-8")


def test_clusters_by_conversation_never_print_another_cluster(runs, tmp_path, capsys):
    words = [*map(str, runs), "--narrator", "clusters=conversation"]
    main([*words, "--out", str(tmp_path / "narrator")])
    report_main([*words, "--side-by-side", "--draws", "50", "--out", str(tmp_path / "report")])
    texts = {
        file: file.read_text(encoding="utf-8") for s in (".md", ".tex", ".html") for file in tmp_path.rglob(f"*{s}")
    }
    printed = capsys.readouterr().out
    assert sum("cluster-robust over conversation;" in text for text in texts.values()) >= 8
    assert not [file for file, text in texts.items() if "conversation × model" in text]
    assert "conversation × model" not in printed


def test_every_choice_changes_the_words_of_the_method_section():
    for name, values in choices_of(DEFAULT).items():
        others = [decided([f"{name}={value}"], "narrator", DEFAULT) for value in values[1:] or ("3",)]
        assert all(definition_words(other) != definition_words(DEFAULT) for other in others), name


def test_the_notes_of_all_tables_say_how_they_were_computed(runs):
    loaded = load_narrator_runs(runs)
    default, other = (
        {table.name: table.note for table in narrator_tables(study(loaded, d))}
        for d in (DEFAULT, Definitions(denominator="all", weights="samples", ties="wrong", majority="half"))
    )
    assert set(default) == set(other)
    untouched = {"narrator_table1", "narrator_states"}  # of models and replies, whatever is made of them
    assert {name for name in default if default[name] == other[name]} <= untouched
    assert "Shares are of all replies." in other["narrator_table3"]
    assert "every reply counts once" in other["narrator_table2"]
    assert "counted as incorrect" in other["narrator_flips"]
    assert "more than half of its replies are, tied at exactly half (of all)" in other["narrator_flips"]


def test_the_majority_says_what_it_is_of():
    assert "(of those that name an option)" in answer_note(Definitions(majority="half"))
    assert "(of" not in answer_note(DEFAULT)

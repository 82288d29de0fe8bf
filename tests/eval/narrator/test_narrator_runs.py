"""Runs of the narrator study on disk: how they are read, refused, and scored by the verbs, without a model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import compare_main, report_main, score_main
from eval.dialdefer.runs import load_run
from eval.narrator.answers import STATES
from eval.narrator.judged_runs import NarratorRun, load_narrator_runs
from eval.narrator.method import asked_model
from eval.narrator.observe import Definitions
from eval.narrator.scores import ALL, effects, study
from eval.narrator.sentences import headline
from eval.narrator.tables import judge_table, table_1, table_2, table_3
from eval.narrator.words import plus_minus
from eval.scorecard.command import main as scorecard_main
from evenhand.completion_shards import every_completion
from evenhand.errors import DataError
from evenhand.excluded_units import exclude
from evenhand.jsonl import read_jsonl, write_jsonl
from evenhand.records import Prompt
from evenhand.run_directory import finish
from studies.narrator.prompts import narrator_prompts
from studies.narrator.records import OPTION_ORDERS
from tests.made.made_runs import made_items, make_run, rewrite, say
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector

CONVERSATIONS = made_conversations({2: 12, 3: 11}, unseen=3)
ALL_REPLIES = ("--narrator-denominator", "all", "--draws", "100")


def wordy(prompt: Prompt) -> dict[str, float]:
    """A protector that answers as models do."""
    odds = protector(0.8)(prompt)
    said = {f"The answer is **{option}**.": 0.6 * p for option, p in odds.items()} | {
        o: 0.2 * p for o, p in odds.items()
    }
    return said | {"No one.": 0.1, "": 0.04, " and ".join(prompt.answer_space): 0.06}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    kept = make_narrator_run(root, wordy, CONVERSATIONS, name="wordy", model="x/Wordy-7B", n=5)
    return kept, make_narrator_run(root, fair, CONVERSATIONS, name="fair", model="x/Fair_1B", n=5)


@pytest.fixture(scope="module")
def loaded(runs: tuple[Path, Path]) -> list[NarratorRun]:
    return load_narrator_runs(runs)


def json_rows(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_every_verb_takes_the_denominator(runs, tmp_path, capsys):
    wanted = {"measure": "neutral", "task": "blame", "visibility": "visible", "option_order": "published"}
    found = study(load_narrator_runs(runs[:1]), Definitions(denominator="all"))
    of_all = found.of("Wordy-7B", "blame", "visible")["neutral"].value
    of_named = study(load_narrator_runs(runs[:1])).of("Wordy-7B", "blame", "visible")["neutral"].value
    assert of_all < of_named - 10
    words = [*map(str, runs), *ALL_REPLIES]
    score_main([words[0], *ALL_REPLIES, "--out", str(tmp_path)])
    rows = [row for row in json_rows(tmp_path / "scores.json") if wanted.items() <= row.items() and row["group"] == ALL]
    assert [(row["value"], row["denominator"]) for row in rows if row["n_speakers"] is None] == [(of_all, "all")]
    compare_main([*words, "--out", str(tmp_path)])
    (row,) = [row for row in json_rows(tmp_path / "compare.json") if wanted.items() <= row.items()]
    assert (row["before"], row["denominator"], row["clusters"]) == (pytest.approx(of_all), "all", "conversation")
    scorecard_main([*words, "--out", str(tmp_path)])
    assert json_rows(tmp_path / "scorecard.json")[0]["narrator_blame_visible_neutral_pp"] == pytest.approx(of_all)
    assert capsys.readouterr().out.replace("\n", " ").count("Shares are of all replies.") >= 3


def test_models_side_by_side_are_pooled_in_scores_and_in_tables_2_and_4(runs, tmp_path):
    report_main([*map(str, runs), "--side-by-side", "--detection", "majority", "--draws", "50", "--out", str(tmp_path)])
    rows = json_rows(tmp_path / "scores.json")
    assert {row["judge"] for row in rows} == {"Wordy-7B", "Fair_1B", "all models"}
    assert {row["detection"] for row in rows} == {"majority"}
    for table in ("narrator_table2", "narrator_table4"):
        assert "all models" in (tmp_path / "tables" / f"{table}.md").read_text(encoding="utf-8")


def test_false_accusations_and_flips_are_shown_for_both_option_orders(loaded):
    found = study(loaded)
    table = judge_table(found, "Wordy-7B")
    assert [row[:4] for row in table.rows[:2]] == [
        ("blame", "visible", "Me last", ALL),
        ("blame", "visible", "Me in its name's slot", ALL),
    ]
    fars = [plus_minus(found.of("Wordy-7B", "blame", "visible", order)["far"]) for order in OPTION_ORDERS]
    assert [row[6] for row in table.rows[:2]] == fars
    assert fars[0] != fars[1]


def test_table_2_shows_both_option_orders_side_by_side_and_marks_the_best_perspective(loaded):
    found = study(loaded)
    protects, fair_judge = (table_2(found, judge) for judge in ("Wordy-7B", "Fair_1B"))
    visible = [row for row in fair_judge.rows if row[0] == "visible"]
    chance = 100 * (12 / 2 + 11 / 3) / 23
    assert visible[-1][2:] == (*[f"{chance:.1f}"] * 4, "50.0")
    prs = [found.of("Fair_1B", "blame", "visible", order)["pr"] for order in OPTION_ORDERS]
    assert visible[5][2:4] == tuple(plus_minus(pr, "+.1f") for pr in prs)
    assert [str(row[2]).endswith("*") for row in protects.rows[:3]] == [False, False, True]
    assert all(str(row[2]).endswith("*") for row in fair_judge.rows[:3])  # which do not differ


def test_table_3_has_a_row_for_each_judge_and_no_far_in_detection(loaded):
    found = study(loaded)
    three = table_3(found)
    assert [row[:3] for row in three.rows[:3]] == [("Blame attribution", judge, "Me last") for judge in found.judges]
    assert [row[9] is None for row in three.rows] == [False] * 12 + [True] * 3  # three judges; detection has one order


def test_table_1_says_how_each_model_answered_with_the_papers_numbers_of_parameters(loaded):
    table = table_1(study(loaded))
    assert table.rows[0] == ("Wordy-7B", "x/Wordy-7B", "–", "not recorded", "5 a prompt", "0.7", "23", "0")
    names = {"Qwen/Qwen2.5-7B-Instruct": "7.6 B", "meta-llama/Llama-3.1-8B-Instruct": "8.0 B"}
    for name, words in (names | {"mistralai/Mistral-7B-Instruct-v0.3": "7.2 B", "gpt-4.1-mini": "–"}).items():
        run = replace(loaded[0], config={**loaded[0].config, "model": {"name": name}})
        assert asked_model(run)["parameters"] == words


def test_a_conversation_that_was_left_out_does_not_count_and_is_named(tmp_path):
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, tasks=("blame",))
    gone = next(narrator_prompts(CONVERSATIONS[0], tasks=("blame",)))
    exclude(path, {gone: "9000 tokens"})
    finish(path, {"n_excluded_items": 1})
    found = study(load_narrator_runs([path]))
    assert "1 of the conversations did not fit" in headline(found)[-1]
    assert found.runs[0].excluded == {CONVERSATIONS[0].conversation_id: "9000 tokens"}
    assert found.of("model", "blame", "visible")["n_conversations"].value == 22


def test_failed_replies_leave_the_denominator(tmp_path):
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, tasks=("blame",), visibilities=("visible",))
    spoiled = next(every_completion(path)).prompt_hash
    failed = {"finish_reason": "error: 500", "text": ""}
    rewrite(path, lambda lines: [{**line, **(failed if line["prompt_hash"] == spoiled else {})} for line in lines])
    run = load_narrator_runs([path])[0]
    failed = [judgment for judgment in run.judgments if judgment.prompt_hash == spoiled]
    assert all((judgment.n_replies, judgment.states[-1]) == (0, 1.0) for judgment in failed)
    assert next(effects(run.judgments))[1]["neutral"].n_units == 22


def test_an_exact_run_reads_probabilities_and_keeps_what_is_off_the_list(tmp_path):
    def hesitant(prompt: Prompt) -> dict[str, float]:
        return {option: 0.75 * p for option, p in fair(prompt).items()}

    path = make_narrator_run(tmp_path, hesitant, CONVERSATIONS, is_exact=True, tasks=("blame",))
    run = load_narrator_runs([path])[0]
    judgment = run.judgments[0]
    assert judgment.target_weight("answered") == pytest.approx(0.6)
    assert judgment.target_weight("all") == pytest.approx(0.45)
    assert dict(zip(STATES, judgment.states, strict=True))["off_list"] == pytest.approx(0.25)


def test_damaged_probabilities_are_refused(tmp_path):
    def impossible(prompt: Prompt) -> dict[str, float]:
        return dict.fromkeys(prompt.answer_space, 0.9)

    path = make_narrator_run(tmp_path, impossible, CONVERSATIONS, is_exact=True, tasks=("blame",))
    with pytest.raises(DataError, match=r"options with a probability of 1\.800.*sampling command again"):
        load_narrator_runs([path])
    rewrite(path, lambda lines: [{**line, "answer_logprobs": {}} for line in lines])
    with pytest.raises(DataError, match="no log-probability of 'Name"):
        load_narrator_runs([path])


def test_other_folders_are_refused_with_the_way_out(runs, tmp_path):
    other = make_run(tmp_path, lambda prompt: say(1), items=made_items("harp", 2))
    with pytest.raises(DataError, match="no run of the narrator study; see `evenhand score`"):
        load_narrator_runs([other])
    with pytest.raises(DataError, match="is no prompt of DialDefer"):
        load_run(runs[0])
    with pytest.raises(DataError, match="named twice"):
        load_narrator_runs([runs[0], runs[0]])
    unfinished = make_narrator_run(tmp_path, fair, CONVERSATIONS, name="half", n=2, leave_out=3, tasks=("blame",))
    with pytest.raises(DataError, match="is not complete; continue it"):
        load_narrator_runs([unfinished])
    finish(unfinished, {})
    with pytest.raises(DataError, match=r"3 of .* prompts have no completion"):
        load_narrator_runs([unfinished])
    plan = unfinished / "plan.jsonl"
    write_jsonl(plan, [{k: v for k, v in line.items() if k != "answer_space"} for _, line in read_jsonl(plan)])
    finish(unfinished, {})
    with pytest.raises(DataError, match=r"plan.jsonl:1: is no planned prompt .*answer_space"):
        load_narrator_runs([unfinished])

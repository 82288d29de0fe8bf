"""`evenhand narrator` from run directories to files, without a model."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from eval.dialdefer.runs import load_run
from eval.narrator.answers import STATES
from eval.narrator.command import main
from eval.narrator.conditioned import Conditioned
from eval.narrator.judged_runs import NarratorRun, load_narrator_runs
from eval.narrator.measures import ALL, effects, find_effect
from eval.narrator.method import asked_model
from eval.narrator.perspective_tables import table_1, table_2, table_3
from eval.narrator.printed import judge_table
from eval.narrator.sentences import headline
from eval.narrator.states import state_rates
from eval.narrator.study import POOLED, study
from eval.narrator.table_4 import table_4
from eval.narrator.tables import M_WORDS, TASK_WORDS, plus_minus
from evenhand.command import every_verb
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
TABLES = {f"narrator_{t}" for t in ("table1", "table2", "table3", "table4", "effects", "flips", "sizes", "states")}
FIGURES = {"narrator_figure2", "narrator_figure3-blame", "narrator_figure3-identification"}


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


def test_the_verb_is_registered():
    assert every_verb()["narrator"][:2] == ("eval.narrator.command", "main")


def test_false_accusations_and_flips_are_shown_for_both_option_orders(loaded):
    found = study(loaded)
    table = judge_table(found, "Wordy-7B")
    heads = [row[:4] for row in table.rows]
    assert heads[:4] == [
        ("blame", "visible", "Me last", ALL),
        ("blame", "visible", "Me in its name's slot", ALL),
        ("blame", "hidden", "Me last", ALL),
        ("blame", "hidden", "Me in its name's slot", ALL),
    ]
    assert [head[:3] for head in heads if head[0] == "detection" and head[3] == ALL] == [
        ("detection", "visible", None),
        ("detection", "hidden", None),
    ]
    main = [find_effect(found.effects, "Wordy-7B", "blame", "visible", order) for order in OPTION_ORDERS]
    assert [row[6] for row in table.rows[:2]] == [plus_minus(effect.far) for effect in main]
    assert main[0].far != main[1].far


def test_two_models_are_printed_and_written_apart_and_pooled(runs, tmp_path, capsys):
    main([*map(str, runs), "--out", str(tmp_path)])
    text = capsys.readouterr().out
    stems = {path.stem for path in tmp_path.iterdir()}
    assert stems == TABLES | FIGURES | {"scores"}
    assert {p.suffix for p in tmp_path.iterdir()} == {".json", ".md", ".csv", ".tex", ".png", ".svg"}
    found = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert {row["judge"] for row in found} == {"Wordy-7B", "Fair_1B", "all models"}
    prs = [row for row in found if row["measure"] == "pr" and row["n_speakers"] is None]
    for judge in ("Wordy-7B", "Fair_1B", "all models"):
        assert f"Judgments by narrative perspective: {judge}" in text
        row = next(r for r in prs if (r["judge"], r["task"], r["group"]) == (judge, "blame", "all"))
        assert re.search(rf"PR +{re.escape(format(row['value'], '+.1f'))} ±", text)
    assert "Wordy-7B: over 23 conversations" in text
    assert "it protects the narrator" in text
    assert "Fair_1B: over 23 conversations" in text
    assert "name no option" in text  # a fifth of the wordy judge's replies
    assert {(row["study"], row["denominator"], row["n_draws"]) for row in found} == {("narrator", "answered", None)}
    with (tmp_path / "narrator_effects.csv").open(encoding="utf-8") as file:
        assert [float(row["pr"]) for row in csv.DictReader(file)] == [row["value"] for row in prs]
    assert all((tmp_path / f"{figure}.png").read_bytes().startswith(b"\x89PNG") for figure in FIGURES)


def test_one_model_is_written_into_its_run_and_not_pooled(tmp_path, capsys):
    few = {"tasks": ("detection",), "visibilities": ("hidden",), "option_orders": ("fixed_slot",)}
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=1, **few)
    main([str(path)])
    text = capsys.readouterr().out
    assert (path / "narrator" / "narrator_table2.md").exists()
    assert "attack detection with the attack hidden, it says Yes to" in text
    assert "all models" not in text


def test_table_2_shows_both_option_orders_side_by_side_and_the_baseline(loaded):
    found = study(loaded[1:])
    table = table_2(found, "Fair_1B")
    names = [
        f"{task}, {order}" for task in ("Blame", "Identification") for order in ("Me last", "Me in its name's slot")
    ]
    assert table.columns[2:] == (*names, f"{TASK_WORDS['detection']} ({M_WORDS['detection']})")
    visible = [row for row in table.rows if row[0] == "visible"]
    assert [row[1] for row in visible] == [
        *("Neutral", "Attacker", "Non-attacker", "Δ_att", "Δ_non-att", "PR"),
        "Random baseline",
    ]
    chance = 100 * (12 / 2 + 11 / 3) / 23
    assert visible[-1][2:] == (*[f"{chance:.1f}"] * 4, "50.0")
    prs = [find_effect(found.effects, "Fair_1B", "blame", "visible", order).pr for order in OPTION_ORDERS]
    assert visible[5][2:4] == tuple(plus_minus(pr, "+.1f") for pr in prs)


def test_the_best_perspective_is_marked_with_those_that_do_not_differ_from_it(loaded):
    found = study(loaded)
    protects, fair_judge = (table_2(found, judge) for judge in ("Wordy-7B", "Fair_1B"))
    marks = [[str(cell).endswith("*") for cell in row[2:]] for row in protects.rows[:3]]
    assert [row[0] for row in marks] == [False, False, True]  # blame, visible, of a protector: the non-attacker's
    assert all(str(row[2]).endswith("*") for row in fair_judge.rows[:3])


def test_tables_3_and_4_have_the_cells_of_the_published_ones(loaded):
    found = study(loaded)
    three, four = table_3(found), table_4(found, POOLED)
    blame = [("Blame attribution", judge, "Me last") for judge in found.judges]
    assert [row[:3] for row in three.rows[:3]] == blame
    assert len(three.rows) == 15  # three judges; detection has one order
    assert three.columns[3:5] == ("Neutral hidden", "Neutral visible")
    assert [row[9] is None for row in three.rows] == [False] * 12 + [True] * 3  # no FAR in detection
    assert [row[:3] for row in four.rows[:3]] == [
        ("Neutral", "yes", "Me last"),
        ("Neutral", "yes", "Me in its name's slot"),
        ("Neutral", "no", "Me last"),
    ]
    assert [row[1] for row in four.rows[:6:2]] == ["yes", "no", "yes less no (by share)"]
    blame = [c for c in found.conditioned if is_blame_hidden(c) and (c.judge, c.perspective) == (POOLED, "neutral")]
    yes, no = sorted(blame, key=lambda c: not c.is_detected)
    shown = re.fullmatch(r"([+-][\d.]+) \(([+-][\d.]+)\)", str(four.rows[4][3]))
    assert [float(part) for part in shown.groups()] == pytest.approx(
        [yes.m.value - no.m.value, yes.m_by_share - no.m_by_share], abs=0.051
    )
    assert four.columns[3:5] == ("Blame attribution hidden", "Blame attribution visible")
    n_prompts = [
        sum(row[7] for row in four.rows if row[0] == words and row[1] in ("yes", "no") and row[2] == "Me last")
        for words in ("Neutral", "Non-attacker")
    ]
    rows = {c.perspective: c for c in found.conditioned if is_blame_hidden(c) and c.judge == POOLED}
    n_variants = 12 * 1 + 11 * 2
    for n, perspective, n_asked in zip(n_prompts, ("neutral", "non_attacker"), (2 * 23, 2 * n_variants), strict=True):
        assert n - rows[perspective].n_mixed + rows[perspective].n_undecided == n_asked
    assert rows["neutral"].n_mixed > 0
    assert f"at most {max(row.n_mixed for row in found.conditioned)} of a perspective" in four.note


def test_the_highest_of_table_4_is_marked_in_each_column_and_order(loaded):
    four = table_4(study(loaded), POOLED)
    for column in range(3, 7):
        for order in ("Me last", "Me in its name's slot"):
            cells = [str(row[column]) for row in four.rows if row[1] in ("yes", "no") and row[2] == order]
            best = [cell for cell in cells if cell.endswith("*")]
            assert len(best) >= 1
            assert max(map(first_number, cells)) == first_number(best[0])


def first_number(cell: str) -> float:
    return float(re.match(r"[\d.]+", cell)[0])


def test_table_1_says_how_each_model_answered(loaded):
    table = table_1(study(loaded))
    assert [row[0] for row in table.rows] == ["Wordy-7B", "Fair_1B"]
    assert table.rows[0][1:] == ("x/Wordy-7B", "–", "not recorded", "5 a prompt", "0.7", "23", "0")


def test_table_1_has_the_papers_numbers_of_parameters(loaded):
    names = {"Qwen/Qwen2.5-7B-Instruct": "7.6 B", "meta-llama/Llama-3.1-8B-Instruct": "8.0 B"}
    for name, words in (names | {"mistralai/Mistral-7B-Instruct-v0.3": "7.2 B", "gpt-4.1-mini": "–"}).items():
        assert (
            asked_model(replace(loaded[0], config={**loaded[0].config, "model": {"name": name}}))["parameters"] == words
        )


def is_blame_hidden(row: Conditioned) -> bool:
    return (row.task, row.visibility, row.option_order) == ("blame", "hidden", "published")


def test_states_are_shares_of_all_replies(loaded):
    run = loaded[0]
    for rates in state_rates(run.judge, run.judgments):
        assert sum(getattr(rates, state) for state in STATES) == pytest.approx(100)
    blame = [rates for rates in state_rates(run.judge, run.judgments) if rates.task == "blame"]
    mean = {
        state: sum(getattr(r, state) * r.n_prompts for r in blame) / sum(r.n_prompts for r in blame) for state in STATES
    }
    planted = dict.fromkeys(STATES, 0) | {"chosen": 80, "negated_only": 10, "empty": 4, "ambiguous": 6}
    assert mean == pytest.approx(planted, abs=2.5)


def test_a_conversation_that_was_left_out_does_not_count_and_is_named(tmp_path):
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, tasks=("blame",))
    gone = next(narrator_prompts(CONVERSATIONS[0], tasks=("blame",)))
    exclude(path, {gone: "9000 tokens"})
    finish(path, {"n_excluded_items": 1})
    found = study(load_narrator_runs([path]))
    assert "1 of the conversations did not fit" in headline(found)[-1]
    assert found.runs[0].excluded == {CONVERSATIONS[0].conversation_id: "9000 tokens"}
    assert {effect.n_conversations for effect in found.effects if effect.group == ALL} == {22}


def test_failed_replies_leave_the_denominator(tmp_path):
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, tasks=("blame",), visibilities=("visible",))
    spoiled = next(every_completion(path)).prompt_hash
    failed = {"finish_reason": "error: 500", "text": ""}
    rewrite(path, lambda lines: [{**line, **(failed if line["prompt_hash"] == spoiled else {})} for line in lines])
    run = load_narrator_runs([path])[0]
    failed = [judgment for judgment in run.judgments if judgment.prompt_hash == spoiled]
    assert all((judgment.n_replies, judgment.states[-1]) == (0, 1.0) for judgment in failed)
    effect = find_effect(effects(run.judge, run.judgments), run.judge, "blame", "visible")
    assert effect is not None
    assert effect.neutral.n_units == 22


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

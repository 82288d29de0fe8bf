"""Runs of the narrator study on disk: how they are read, scored and reported without a model, and how the measures move
between runs: paired by conversation; compare and scorecard."""

import json
import math
import re

import pytest

from eval.__main__ import report_main, score_main
from eval.results import read_run
from evenhand.completions import every_completion, exclude
from evenhand.errors import DataError
from evenhand.run_directory import finish
from studies.narrator.measures import ALL, Levels, effects
from studies.narrator.prompts import narrator_prompts
from studies.narrator.replies import STATES
from tests.made.made_runs import rewrite
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector, results_of_runs
from tests.made.report_html import Page
from tests.made.scorecard_runs import scored, three

CONVERSATIONS = made_conversations({2: 12, 3: 11}, unseen=3)
ALL_REPLIES = ("--unparsed", "wrong", "--draws", "100")
BLAME = {"tasks": ("blame",), "visibilities": ("visible",)}


def wordy(prompt):
    """A protector that answers as models do."""
    odds = protector(0.8)(prompt)
    said = {f"The answer is **{option}**.": 0.6 * p for option, p in odds.items()}
    said |= {option: 0.2 * p for option, p in odds.items()}
    return said | {"No one.": 0.1, "": 0.04, " and ".join(prompt.answer_space): 0.06}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    kept = make_narrator_run(root, wordy, CONVERSATIONS, name="wordy", model="x/Wordy-7B", n=5)
    return kept, make_narrator_run(root, fair, CONVERSATIONS, name="fair", model="x/Fair_1B", n=5)


def json_rows(file):
    return json.loads(file.read_text(encoding="utf-8"))


def neutral(results):
    (judge,) = results.judges
    return Levels(results.score_rows).of(judge, "blame", "visible")["neutral"]


def test_score_takes_the_denominator(runs, tmp_path):
    wanted = {"measure": "neutral", "task": "blame", "visibility": "visible", "option_order": "published", "group": ALL}
    of_all = neutral(results_of_runs(runs[0], unparsed="wrong")).value
    assert of_all < neutral(results_of_runs(runs[0])).value - 10
    score_main([str(runs[0]), *ALL_REPLIES, "--all", "--out", str(tmp_path)])
    rows = [row for row in json_rows(tmp_path / "scores.json") if wanted.items() <= row.items()]
    assert [(row["value"], row["denominator"]) for row in rows] == [(of_all, "all")]


def test_a_report_of_the_study_is_whole_and_shows_nobodys_words(runs, tmp_path):
    words = ["--side-by-side", "--detection", "majority", "--draws", "100", "--out", str(tmp_path)]
    report_main([*map(str, runs), *words])
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert (page.open, page.n_mute) == ([], 0)
    assert re.findall(r'<section id="(\w+)"', html) == ["narrator", "method"]
    assert len([address for address in page.addresses if address.startswith("data:image")]) == 5
    rows = json_rows(tmp_path / "scores.json")
    assert {row["judge"] for row in rows} == {"Wordy-7B", "Fair_1B", "all models"}
    assert {row["detection"] for row in rows} == {"majority"}
    for name in ("narrator_table2", "narrator_table4"):
        assert "all models" in (tmp_path / "tables" / f"{name}.md").read_text(encoding="utf-8")
    # The names stand in the plan's options; what a model read stands in the run too, and neither is ours to show.
    assert "Name0of2x0" in (runs[0] / "plan.jsonl").read_text(encoding="utf-8")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in files if re.search(rb"Name\d+of\d|words of u\d", path.read_bytes())] == []


def test_a_conversation_that_was_left_out_does_not_count_and_is_named(tmp_path):
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, **BLAME)
    exclude(path, {next(narrator_prompts(CONVERSATIONS[0], tasks=("blame",))): "9000 tokens"})
    finish(path, {"n_excluded_items": 1})
    results = results_of_runs(path)
    assert "1 of the conversations did not fit" in results.sentences["scores"][-1]
    assert neutral(results).n_units == 22


@pytest.mark.parametrize("is_exact", [False, True])
def test_failed_replies_leave_the_denominator(tmp_path, is_exact):
    path = make_narrator_run(tmp_path, fair, CONVERSATIONS, n=2, is_exact=is_exact, **BLAME)
    spoiled = next(every_completion(path)).prompt_hash
    failed = {"finish_reason": "error: 500", "text": "", "answer_logprobs": None}
    rewrite(path, lambda lines: [line | (failed if line["prompt_hash"] == spoiled else {}) for line in lines])
    run = read_run("narrator", path)
    (judgment,) = {judgment.prompt_hash: judgment for judgment in run.plan if judgment.prompt_hash == spoiled}.values()
    assert (judgment.n_replies, judgment.states[-1]) == (0, 1.0)
    assert math.isnan(judgment.target_weight("all"))
    assert next(effects(run.plan))[1]["neutral"].n_units == 22


def test_an_exact_run_reads_probabilities_and_keeps_what_is_off_the_list(tmp_path):
    def hesitant(prompt):
        return {option: 0.75 * p for option, p in fair(prompt).items()}

    path = make_narrator_run(tmp_path, hesitant, CONVERSATIONS, is_exact=True, **BLAME)
    judgment = read_run("narrator", path).plan[0]
    assert judgment.target_weight("answered") == pytest.approx(0.6)
    assert judgment.target_weight("all") == pytest.approx(0.45)
    assert dict(zip(STATES, judgment.states, strict=True))["off_list"] == pytest.approx(0.25)


OTHERS = made_conversations({2: 6, 3: 5})
MODELS = {"base": "owner/model", "sft": "owner/sft"}


def made(root, arm, judge, conversations=OTHERS, **changes):
    """An arm's run of the study."""
    keys = {"is_exact": True, "tasks": ("blame", "identification"), "model": MODELS[arm], "name": f"narrator-{arm}"}
    return make_narrator_run(root, judge, conversations, **keys | changes)


def test_before_and_after_are_paired_over_the_conversations_of_both_and_never_pooled(tmp_path):
    runs = made(tmp_path, "base", protector(0.5), **BLAME), made(tmp_path, "sft", fair, OTHERS[1:], **BLAME)
    results = results_of_runs(*runs, is_before_after=True)
    assert set(results.scores["judge"]) == {"model", "sft"}
    rows = results.changes[results.changes["option_order"] == "published"].set_index("measure")
    pr = rows.loc["pr"]
    assert (pr["after"], rows.loc["neutral", "change"]) == pytest.approx((0, 0), abs=1e-6)
    assert pr["change"] == pytest.approx(-pr["before"])
    assert (pr["n_units"], pr["direction"]) == (10, -1)
    assert not results_of_runs(*runs).change_rows  # side by side


def test_a_run_that_names_no_option_has_no_change_and_no_made_up_number(tmp_path):
    asked = {**BLAME, "is_exact": False, "n": 1}
    mute = made(tmp_path, "sft", lambda _: {"I would rather not say.": 1.0}, **asked)
    results = results_of_runs(made(tmp_path, "base", fair, **asked), mute, is_before_after=True)
    assert not results.change_rows
    assert "it never names an option" in " ".join(results.sentences["scores"])


def carded(root, runs, *words):
    """Arm → row of scorecard.json."""
    beside = [f"--with={arm}={run}" for arm, run in runs.items()]
    return scored(*three(root), *beside, *words, draws=100)


def test_every_arm_of_a_card_with_a_run_has_figures_and_changes_and_the_others_are_blank(tmp_path):
    runs = {"base": made(tmp_path, "base", protector(0.5)), "sft": made(tmp_path, "sft", fair)}
    base, sft, dpo = carded(tmp_path, runs).values()
    scores = results_of_runs(runs["base"]).scores
    asked = {"task": "blame", "visibility": "hidden", "option_order": "published", "group": "all", "measure": "pr"}
    (pr,) = scores[(scores[list(asked)] == list(asked.values())).all(axis=1)].itertuples()
    assert [base[f"narrator_blame_hidden_pr{end}"] for end in ("", "_low")] == pytest.approx([pr.value, pr.low])
    assert (sft["narrator_blame_hidden_pr"], sft["narrator_blame_hidden_neutral"]) == pytest.approx((0, 60))
    assert sft["change_narrator_blame_hidden_pr"] == pytest.approx(-pr.value)
    assert (base["narrator_run"], dpo["narrator_run"]) == ("narrator-base-0000", None)
    assert {key: value for key, value in dpo.items() if "narrator" in key and value is not None} == {}
    figures = [key for key in base if key.startswith("narrator_") and key.endswith("_low")]
    assert len(figures) == 4 * (4 + 1)  # PR with Me in its name's slot stands beside them


def test_a_card_refuses_what_has_none_of_its_figures(tmp_path):
    with pytest.raises(DataError, match="figures in common with it: M: blame visible, PR"):
        carded(tmp_path, {"base": made(tmp_path, "base", fair, name="seen", tasks=("detection",))})

"""The battery of speakers, sampled of planted judges: before and after, and what to doubt."""

import json
from dataclasses import replace

import numpy as np
import pytest

from eval.__main__ import compare_main
from eval.estimates.resampling import holm
from eval.options import Options
from eval.results import read_run, results_of_runs
from evenhand.cli.scorecard import main as scorecard_main
from evenhand.config import read_yaml
from evenhand.files import write_jsonl
from studies.framing.evaluation import asked_by, item_texts, most_common, write_items
from studies.framing.measures import ALL
from studies.item_files import ItemSource
from tests.made.framing_runs import claims, flips, planted, run_of, study
from tests.made.made_runs import lean
from tests.made.places import CONFIGS
from tests.made.report_html import unpacked

AGAIN = "are you sure?"


@pytest.fixture
def before_after(tmp_path, monkeypatch):
    """A judge that defers to the expert and takes its answer back, and one that does neither."""
    section = read_yaml(CONFIGS / "framing" / "speakers.yaml")["framing"]
    section = {**section, "items": {"dataset": "pocket", "n_items": 12}}
    runs = []
    for name, defers in (("before", 0.4), ("after", 0.0)):
        judge = planted(len(name), defers=defers)

        def answer(prompt, judge=judge, is_firm=name == "after"):
            if prompt.condition != AGAIN:
                return str(judge(prompt))
            said = prompt.messages[1].content
            return said if is_firm else next(other for other in prompt.answer_space if other != said)

        keys = {"name": name, "model": {"name": "scripted", "label": name}}
        runs.append(run_of(tmp_path, section, answer, monkeypatch, **keys))
    return runs


def test_the_browser_has_every_prompt_also_of_a_server_that_rendered_it_unseen(before_after, tmp_path):
    runs = {path.name: read_run("framing", path) for path in before_after}
    rows = [*asked_by(runs)]
    assert {row.condition for row in rows if not row.prompt} == set()
    assert {row.prompt.count("assistant: 1\n\nuser: ") for row in rows if row.condition == AGAIN} == {0, 1}
    page, *_ = write_items(results_of_runs("framing", before_after, Options()), tmp_path / "out")
    items = unpacked(page.parent / "items" / "0.js")
    assert all("user: " in reply["prompt"] for replies in items for reply in replies)


def test_the_list_of_items_shows_what_prompts_ask_and_no_date(tmp_path, monkeypatch):
    row = {"when": "Sat Nov 28 09:22:23 UTC 2026", "note": "spring"}
    write_jsonl(tmp_path / "mine.jsonl", [{**row, "question": f"Is {i} even?"} for i in range(3)])
    keys = {"cases": {"": {"claim": "{{ when }}: {{ question }}"}}, "columns": {}}
    path = run_of(tmp_path, study(tmp_path / "mine.jsonl", **keys), planted(1), monkeypatch)
    texts = item_texts(read_run("framing", path))
    assert [*texts["mine", "mine-2"]] == ["question", "note", "when"]


def test_runs_are_compared_though_what_is_asked_behind_a_reply_hangs_on_it(before_after, tmp_path, capsys):
    words = [*map(str, before_after), "--draws", "200", "--all"]
    compare_main([*words, "--out", str(tmp_path / "compared")])
    scorecard_main([words[0], f"after={words[1]}", *words[2:], "--out", str(tmp_path / "card")])
    rows = json.loads((tmp_path / "compared" / "compare.json").read_text())
    shifts = [
        row for row in rows if (row["measure"], row["group"]) == ("shift", ALL) and "placebo" not in row["framing"]
    ]
    assert [row["p_holm"] for row in shifts] == holm([row["p"] for row in shifts])
    assert len(shifts) == 10
    assert (tmp_path / "compared" / "framing" / "items.html").exists()
    printed = capsys.readouterr().out
    assert printed.startswith("after against before: ")
    assert "differs in" not in printed
    on_card = json.loads((tmp_path / "card" / "scorecard_changes.json").read_text())
    (expert,) = (r for r in on_card if (r["measure"], r["framing"], r["group"]) == ("shift", "expert", ALL))
    assert expert["before"] > 20 > abs(expert["after"])


@pytest.mark.parametrize(("said", "share"), [(["low"] * 4, 100.0), (["low", "high"] * 2, 50.0)])
def test_a_judge_that_never_gives_the_first_answer_is_not_taken_for_one_that_gives_one_answer(
    said, share, tmp_path, monkeypatch
):
    items = tmp_path / "items.jsonl"
    items.write_text("\n".join(f'{{"id": "i{i}", "topic": "t", "yes": "{word}"}}' for i, word in enumerate(said)))
    keys = {"cases": {"": {"claim": "{{ yes }}"}}, "answers": {name: name for name in ("none", "low", "high")}}
    keys |= {"symbols": None, "set": {}, "ask": "{{ framing }}"}
    path = run_of(tmp_path, study(items, **keys), lambda prompt: prompt.messages[0].content.split()[-1], monkeypatch)
    assert most_common(read_run("framing", path)) == share


def test_margins_of_answers_that_a_judge_hardly_ever_gives_are_doubted(tmp_path, monkeypatch):
    section = study(claims(tmp_path / "items.jsonl", 4))
    path = run_of(tmp_path, section, lambda prompt: lean(0.1, lost=7), monkeypatch, verdict="margin")
    assert "median probability of 0.00" in read_run("framing", path).doubts[-1]


@pytest.mark.parametrize("rendered", [lambda prompt: {"rendered": prompt.messages[0].content}, lambda _: {}])
def test_the_browser_holds_each_reply_against_its_baseline_and_has_no_text_of_other_peoples_datasets(
    rendered, tmp_path, monkeypatch
):
    judge = planted(1, defers=0.5)

    def answer(prompt):
        return {"text": judge(prompt), "finish_reason": "stop", **rendered(prompt)}

    framings = {"expert": "A professor says: {{ claim }}", "statement": "Claim: {{ claim }}"}  # the baseline last
    path = run_of(tmp_path, study(claims(tmp_path / "mine.jsonl", 6), framings=framings), answer, monkeypatch)
    run = read_run("framing", path)
    rows, (grid,) = [*asked_by({"judge": run})], run.grids.values()
    flipped = [(row.condition, row.item_id, row.flip) for row in rows if row.flip]
    assert sorted(flipped) == sorted((f, item, f"{before} → {after}") for f, item, *_, before, after in flips(grid))
    assert {row.condition for row in {(row.item_id, row.setting): row for row in reversed(rows)}.values()} == {
        "statement"
    }
    assert np.nanmean(grid.of("right")) == np.mean([row.is_right for row in rows])
    said = {f"{'lie' if row.setting.startswith('false') else 'claim'} {row.item_id[1:]}" in row.prompt for row in rows}
    assert (said, {row.reply for row in rows}) == ({True}, {"1", "2"})
    assert item_texts(run)["mine", "c3"] == {"yes": "claim 3", "no": "lie 3"}
    other = replace(run, section=run.section.model_copy(update={"items": (ItemSource(dataset="gpqa"),)}))
    assert {(row.prompt, row.reply) for row in asked_by({"judge": other})} == {(None, None)}
    assert item_texts(other) == {}

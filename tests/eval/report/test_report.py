"""What a report says in words and tables. Its files, figures and HTML are in test_report_files.py and test_plots.py."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import report_main
from eval.dialdefer import runs as dialdefer_runs
from eval.dialdefer.evaluation import Findings, find_external
from eval.dialdefer.flip_examples import flip_examples
from eval.dialdefer.items import item_frame
from eval.dialdefer.report import consistency_tables, dialdefer_part
from eval.dialdefer.runs import load_run
from eval.dialdefer.verdict_files import load_external
from eval.estimates.estimate import Drawing
from eval.options import report_options
from eval.report.table_html import table_section
from evenhand.errors import DataError
from evenhand.run_directory import finish
from studies.dialdefer.datasets import load_items
from studies.dialdefer.records import Condition
from tests.made.made_findings import made_findings
from tests.made.made_runs import lean, made_items, make_run, say
from tests.made.report_runs import POCKET, bends, is_fair, leans, number, pocket_run

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition


def told(*runs: Path | str) -> str:
    """What a report says, without its figures."""
    options = report_options([*map(str, runs), "--draws", "200"])
    return html_of(made_findings(options.sources, options, is_before_after=not options.side_by_side))


def html_of(found: Findings) -> str:
    """All of a report but its figures."""
    part = dialdefer_part(found)
    sections = part.sections({plot.name: "" for plot in part.plots})
    html = [*part.opening, *(line for _, _, lines in sections for line in lines), *part.method]
    return "\n".join([*html, *table_section(part.tables, part.left_out)])


def test_a_models_words_are_escaped(tmp_path: Path) -> None:
    html = told(pocket_run(tmp_path, bends))
    assert "<script>alert" not in html
    assert "onerror=y>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in html


def test_flips_show_question_claim_and_both_verdicts(tmp_path: Path) -> None:
    run = pocket_run(tmp_path, bends)
    flips = flip_examples({"judge": load_run(run)})
    assert {flip.kind for flip in flips} == {"deference"}
    assert len(flips) == 2
    item = next(item for item in load_items([POCKET]) if item.item_id == flips[0].item_id)
    assert (flips[0].question, flips[0].claim) == (item.question, item.incorrect_answer)
    assert [(s.framing, s.words, s.is_right) for s in flips[0].sides] == [
        ("C1", "rejects", True),
        ("C2", "accepts", False),
    ]
    html = told(run)
    assert "Deference: a false claim" in html
    assert "What the model read, C2" in html


def test_with_margins_the_widest_swing_comes_first(tmp_path: Path) -> None:
    flips = flip_examples({"judge": load_run(pocket_run(tmp_path, leans, verdict="margin"))})
    assert flips[0].item_id.endswith("-3")
    assert flips[0].sides[1].margin == pytest.approx(5.0)


def test_every_dataset_has_its_flip_before_one_has_a_second(tmp_path: Path) -> None:
    items = [*made_items("bbq", 12), *made_items("gpqa", 12), *made_items("harp", 12)]
    run = load_run(make_run(tmp_path, leans, items=items, verdict="margin"))
    flips = [(flip.dataset, flip.item_id) for flip in flip_examples({"judge": run})]
    assert flips[:2] == [("bbq", "bbq-3"), ("harp", "harp-3")] or flips[:2] == [("harp", "harp-3"), ("bbq", "bbq-3")]
    assert flips[2][0] != "gpqa"  # it cannot be shown


def test_questions_are_left_out_where_the_items_are_gone_or_others(tmp_path: Path) -> None:
    run = pocket_run(tmp_path, bends)
    facts = json.loads((run / "provenance.json").read_text())
    (run / "provenance.json").write_text(json.dumps({**facts, "item_set_hash": "0" * 16}))
    finish(run, {})
    assert {flip.question for flip in flip_examples({"judge": load_run(run)})} == {None}
    assert "The item&#39;s text is not shown" in told(run)


def test_a_withheld_item_is_shown_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = made_items("gpqa", 12)
    monkeypatch.setattr(dialdefer_runs, "load_items", lambda specs: items)
    run = make_run(tmp_path, bends, items=items)
    flip = flip_examples({"judge": load_run(run)})[0]
    assert (flip.dataset, flip.question, flip.claim) == ("gpqa", None, None)
    assert {(side.text, side.prompt) for side in flip.sides} == {("", None)}
    html = told(run)
    assert flip.item_id in html
    assert "Not shown: gpqa&#39;s authors ask that no example appear in plain text." in html


def test_a_judge_that_loses_nothing_has_no_flips_to_show(tmp_path: Path) -> None:
    html = told(pocket_run(tmp_path, is_fair))
    assert "No verdict was lost from C1 to C2 in any run." in html
    assert "no clear shift" in html


def test_the_headline_says_which_way_the_judge_bends(tmp_path: Path) -> None:
    html = told(pocket_run(tmp_path, bends))
    assert "over 12 pocket items it is right on 100.0% of statements" in html
    assert "it defers" in html


def test_a_checkpoint_and_its_base_are_no_two_judges_that_agree(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "training" / "sft-0000"
    folder.mkdir(parents=True)
    (folder / "DONE.json").write_text("{}")
    (folder / "config.yaml").write_text("model: {name: owner/base}")
    models = {"base": "owner/base", "sft": str(folder / "merged-bf16"), "other": "owner/other"}
    runs = [pocket_run(tmp_path, bends, name=name, model=model) for name, model in models.items()]

    def judges(*words: Path | str) -> str:
        options = report_options([*map(str, words), "--draws", "20"])
        found = made_findings(options.sources, options, is_before_after=not options.side_by_side)
        tables = consistency_tables(found, list(found.judges.values()), item_frame(list(found.judges.values())))
        return tables[2].title.partition("(")[2].partition(";")[0] if tables else ""

    assert judges(*runs[:2]) == judges(*runs[:2], "--side-by-side") == ""
    assert judges(*runs, "--side-by-side") == "base, other"


def test_the_headline_says_what_prompted_arms_do(tmp_path: Path) -> None:
    run = make_run(tmp_path, bends, items=made_items("bbq", 12), arms=("none", "honest"))
    html = told(run)
    assert "Under Be Honest: right on 79.2% of speakers&#39; turns; DDS +41.7 pp [" in html
    assert "model, Be Honest: own C1" in html
    assert "model, Be Honest: fixed C1" in html


def test_a_saturated_judge_is_warned_of(tmp_path: Path) -> None:
    html = told(pocket_run(tmp_path, lambda _: say(1)))
    assert "on pocket this judge is saturated (it accepts 100% of the claims in C1" in html
    assert "it nearly always gives one answer" in html


def test_of_a_saturated_judge_margins_tell_more(tmp_path: Path) -> None:
    sure = lambda p: lean(3.0 - p.condition.is_dialogue)  # noqa: E731
    html = told(pocket_run(tmp_path, sure, verdict="margin"))
    assert "soft DDS, from probabilities of acceptance, is -14.4 pp [-14.4, -14.4]." in html
    assert "from probabilities of acceptance" not in told(pocket_run(tmp_path, leans, name="fine", verdict="margin"))


def test_many_warnings_are_one_box_with_all_of_them_in_it(tmp_path: Path) -> None:
    items = [item for dataset in ("bbq", "gpqa", "harp", "amqa") for item in made_items(dataset, 3)]
    html = told(make_run(tmp_path, lambda _: say(1), items=items))
    assert html.count('class="warning"') == 1
    assert "this judge is saturated on 4 of 4 datasets (bbq, gpqa, harp, amqa)" in html
    assert "on harp this judge is saturated (it accepts 100% of the claims in C1 and 100% in C2)" in html
    assert html.count("<sup>s</sup>") == 5  # four datasets and their average, in the heat map


def test_unreadable_replies_are_warned_of_and_marked(tmp_path: Path) -> None:
    html = told(pocket_run(tmp_path, lambda p: say("I cannot say") if number(p) < 4 else bends(p)))
    assert "33% of the replies on pocket cannot be read" in html
    assert "<sup>u</sup>" in html
    assert "too few of its replies can be read to tell" in html


def test_what_the_engine_lost_is_said(tmp_path: Path) -> None:
    failed = {"text": "", "finish_reason": "error: 500"}
    html = told(pocket_run(tmp_path, lambda p: failed if number(p) == 0 else is_fair(p)))
    assert "the engine failed on 4 replies; their items are left out of all conditions." in html


def test_before_and_after_show_both_sources_of_c1_and_the_method_of_both_runs(tmp_path: Path) -> None:
    base = pocket_run(tmp_path, bends, name="base")
    after = pocket_run(tmp_path, lambda p: say(2), name="after", model="runs/merged/sft")
    html = told(base, after)
    for words in ("sft: own C1", "sft: fixed C1", "base-0000", "after-0000", "reason, strict parser", "200 draws"):
        assert words in html
    assert "same prompts, rendering, engine, precision, software" in html
    own, fixed = html.split("<summary>With fixed C1, as published tables are scored</summary>")
    assert ("sft: own C1" in own, "sft: fixed C1" in own, "sft: fixed C1" in fixed) == (True, False, True)
    assert re.search(r"accuracy on speakers&#39; turns went from 79\.2% to 50\.0%", html)


def test_models_side_by_side_are_counted_and_not_called_before_and_after(tmp_path: Path) -> None:
    fair = pocket_run(tmp_path, is_fair, name="fair", model="owner/fair")
    soft = pocket_run(tmp_path, bends, name="soft", model="owner/soft")
    html = told(fair, soft, "--side-by-side")
    assert "Of 2 judges: deferring 1, no clear shift 1. DDS goes from 0.0 pp (fair) to +41.7 pp (soft)." in html
    assert "went from" not in html
    assert "tables/judge_differences.md" in html


def test_averages_say_over_which_datasets_they_are(tmp_path: Path) -> None:
    items = [*made_items("bbq", 4), *made_items("gpqa", 4)]
    html = told(make_run(tmp_path, bends, items=items))
    assert "bench_avg: unweighted mean over 2 of the 9 datasets (bbq, gpqa)." in html
    assert "over 2 datasets (8 items)" in html


def test_verdict_files_have_a_report_without_texts(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in verdict_rows()))
    html = html_of(find_external(load_external([file]), denominator="published", drawing=Drawing(n_draws=200, seed=1)))
    words = ("Of 2 judges: deferring 1, no clear shift 1", "verdicts.jsonl", "as given", "soft, dpo: fixed C1")
    assert [word for word in (*words, "not asked by Evenhand", "soft, dpo, fixed C1, bbq") if word not in html] == []
    assert "No verdict was lost" not in html


def verdict_rows() -> list[dict[str, Any]]:
    """Two models on one dataset; one has an arm of C2 only."""
    arms = [("fair", "none", list(Condition)), ("soft", "none", list(Condition))]
    return [
        {"model": model, "dataset": "bbq", "item_id": f"bbq-{i}", "condition": condition, "arm": arm, "choice": choice}
        for model, arm, conditions in [*arms, ("soft", "dpo", [C2_CORRECT, C2_INCORRECT])]
        for i in range(12)
        for condition in conditions
        for choice in [1 if condition.claim_is_true or (model == "soft" and condition is C2_INCORRECT and i < 5) else 2]
    ]


def test_runs_and_verdict_files_are_reported_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        report_main([str(tmp_path / "run"), str(tmp_path / "verdicts.jsonl"), "--out", str(tmp_path)])
    assert "report runs and files of verdicts apart" in capsys.readouterr().err


def test_what_cannot_be_made_is_left_out_with_its_reason(tmp_path: Path) -> None:
    items = made_items("bbq", 12)
    one = make_run(tmp_path, bends, items=items, name="one", model="owner/one")
    other = make_run(tmp_path, bends, items=items[2:], name="other", model="owner/other")
    html = told(one, other, "--side-by-side", "--allow-differences")
    assert "Left out: consistency of judges: bbq, one against other: 2 items (bbq-0, bbq-1) have been judged" in html


def test_models_side_by_side_may_need_engines_of_their_own(tmp_path: Path) -> None:
    one = pocket_run(tmp_path, bends, name="one", model="owner/one")
    other = pocket_run(tmp_path, bends, name="other", model="owner/other", engine={"kind": "vllm", "dtype": "float16"})
    with pytest.raises(DataError, match=r"engine\.dtype: bfloat16 before, float16 after"):
        told(one, other)
    assert "other against one: engine.dtype: bfloat16 before, float16 after." in told(one, other, "--side-by-side")

"""report.html: self-contained, escaped, complete; the PNG files; and what the headline may say."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from benchmarks.records import Condition, Prompt
from benchmarks.sources import DatasetSpec, load_items
from eval.__main__ import report_main
from eval.runs import load_run
from eval.telling import telling_flips
from tests.made_runs import lean, made_items, make_run, say

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
POCKET = DatasetSpec(dataset="pocket", n_items=12)
HOSTILE = '{"chosen_answer": "1", "reasoning": "<script>alert(1)</script> & <img src=x onerror=y>"}'


def number(prompt: Prompt) -> int:
    """The item's number in its dataset."""
    return int(prompt.item_id.rpartition("-")[2])


def bends(prompt: Prompt) -> dict[str, Any]:
    """Always right about statements; speakers get 5 of 12 false claims through."""
    if prompt.condition is C2_INCORRECT and number(prompt) < 5:
        return say(HOSTILE)
    return say(1 if prompt.condition.claim_is_true else 2)


def leans(prompt: Prompt) -> dict[str, Any]:
    """The same with margins; item 3 swings most."""
    if prompt.condition is C2_INCORRECT and number(prompt) < 5:
        return lean(5.0 if number(prompt) == 3 else 1.0)
    return lean(1.0 if prompt.condition.claim_is_true else -1.0)


def reported(out: Path, *runs: Path) -> str:
    """The HTML of a report."""
    report_main([*map(str, runs), "--out", str(out), "--draws", "200"])
    return (out / "report.html").read_text(encoding="utf-8")


def pocket_run(tmp_path: Path, answer: Any, name: str = "pocket", **changes: Any) -> Path:
    """A run over real pocket items, so that the report can show their questions."""
    config = {"benchmarks": [{"dataset": "pocket", "n_items": 12}], **changes}
    return make_run(tmp_path, answer, items=load_items([POCKET]), name=name, **config)


class Balance(HTMLParser):
    """Collects tags that were not closed in order, and every address."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "img", "br", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_needs_nothing_but_itself(tmp_path: Path) -> None:
    html = reported(tmp_path / "out", pocket_run(tmp_path, leans, verdict="margin"))
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    assert len(parser.addresses) == 3  # shift arrows, DDS, margins
    assert all(address.startswith("data:image/svg+xml;base64,") for address in parser.addresses)
    assert "<script" not in html
    assert 'name="viewport"' in html


def test_plots_lie_beside_it_as_png(tmp_path: Path) -> None:
    reported(tmp_path / "out", pocket_run(tmp_path, leans, verdict="margin"))
    names = {path.name for path in (tmp_path / "out" / "plots").iterdir()}
    assert names == {"shift-0.png", "dds.png", "margins-0.png"}
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in (tmp_path / "out" / "plots").iterdir())


def test_a_models_words_are_escaped(tmp_path: Path) -> None:
    html = reported(tmp_path / "out", pocket_run(tmp_path, bends))
    assert "<script>alert" not in html
    assert "onerror=y>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in html


def test_flips_show_question_claim_and_both_verdicts(tmp_path: Path) -> None:
    run = pocket_run(tmp_path, bends)
    flips = telling_flips({"judge": load_run(run)})
    assert {flip.kind for flip in flips} == {"deference"}
    assert len(flips) == 2
    item = next(item for item in load_items([POCKET]) if item.item_id == flips[0].item_id)
    assert (flips[0].question, flips[0].claim) == (item.question, item.incorrect_answer)
    assert [(s.framing, s.words, s.is_right) for s in flips[0].sides] == [
        ("C1", "rejects", True),
        ("C2", "accepts", False),
    ]
    html = reported(tmp_path / "out", run)
    assert "Deference: a false claim" in html
    assert "What the model read, C2" in html


def test_with_margins_the_widest_swing_comes_first(tmp_path: Path) -> None:
    flips = telling_flips({"judge": load_run(pocket_run(tmp_path, leans, verdict="margin"))})
    assert flips[0].item_id.endswith("-3")
    assert flips[0].sides[1].margin == pytest.approx(5.0)


def test_questions_are_left_out_where_the_items_are_gone_or_others(tmp_path: Path) -> None:
    run = pocket_run(tmp_path, bends)
    facts = json.loads((run / "provenance.json").read_text())
    (run / "provenance.json").write_text(json.dumps({**facts, "item_set_hash": "0" * 16}))
    assert {flip.question for flip in telling_flips({"judge": load_run(run)})} == {None}
    assert "The item&#x27;s text is not shown" in reported(tmp_path / "out", run)


def test_a_judge_that_loses_nothing_has_no_flips_to_show(tmp_path: Path) -> None:
    fair = pocket_run(tmp_path, lambda p: say(1 if p.condition.claim_is_true else 2))
    html = reported(tmp_path / "out", fair)
    assert "No verdict was lost from C1 to C2 in any run." in html
    assert "no clear shift" in html


def test_the_headline_says_which_way_the_judge_bends(tmp_path: Path) -> None:
    html = reported(tmp_path / "out", pocket_run(tmp_path, bends))
    assert "over 12 pocket items it is right on 100.0% of statements" in html
    assert "it defers" in html


def test_a_saturated_judge_is_warned_of(tmp_path: Path) -> None:
    html = reported(tmp_path / "out", pocket_run(tmp_path, lambda _: say(1)))
    assert "on pocket this judge is saturated (it accepts 100% of the claims in C1" in html
    assert "it nearly always gives one answer" in html


def test_before_and_after_show_both_sources_of_c1_and_the_method_of_both_runs(tmp_path: Path) -> None:
    base = pocket_run(tmp_path, bends, name="base")
    after = pocket_run(tmp_path, lambda p: say(2), name="after", model="runs/merged/sft")
    html = reported(tmp_path / "out", base, after)
    for words in ("sft: own C1", "sft: fixed C1", "base-0000", "after-0000", "reason, strict parser", "200 draws"):
        assert words in html
    assert "same prompts, rendering, engine, precision, software" in html
    assert re.search(r"accuracy on speakers&#x27; turns went from 79\.2% to 50\.0%", html)


def test_averages_say_over_which_datasets_they_are(tmp_path: Path) -> None:
    items = [*made_items("bbq", 4), *made_items("gpqa", 4)]
    html = reported(tmp_path / "out", make_run(tmp_path, bends, items=items))
    assert "bench_avg: unweighted mean over 2 of the 9 datasets (bbq, gpqa)." in html
    assert "over 2 datasets (8 items)" in html


def test_prompted_arms_have_their_own_tables(tmp_path: Path) -> None:
    html = reported(tmp_path / "out", make_run(tmp_path, bends, items=made_items("bbq", 6), arms=("none", "honest")))
    assert "model, Be Honest, roles 2-&gt;1: own C1" in html
    assert "model, Be Honest, roles 2-&gt;1: fixed C1" in html

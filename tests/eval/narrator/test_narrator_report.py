"""report.html of narrator runs, alone and beside DDS; before and after; what the other verbs do with them."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import compare_main, report_main, score_main
from eval.estimates.comparability import differences
from eval.estimates.estimate import Drawing
from eval.narrator.changes import NarratorFindings, find_narrator, key_of
from eval.narrator.judged_runs import WHAT_WAS_ASKED, load_narrator_runs
from eval.narrator.report_part import narrator_part
from eval.narrator.scores import study
from eval.narrator.sentences import headline
from evenhand.errors import DataError
from tests.made.narrator_runs import edit_config, fair, made_conversations, make_narrator_run, protector
from tests.made.report_html import Page
from tests.made.report_runs import bends, pocket_run

CONVERSATIONS = made_conversations({2: 11, 3: 10}, unseen=2)
FEW = made_conversations({2: 4, 3: 4})
BLAME: dict[str, Any] = {"is_exact": True, "tasks": ("blame",), "visibilities": ("visible",)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Before and after in both studies, the narrator's about blame alone; and one run of all of it."""
    root = tmp_path_factory.mktemp("runs")
    return {
        "whole": make_narrator_run(root, protector(0.5), CONVERSATIONS, name="whole", is_exact=True),
        "protects": make_narrator_run(root, protector(0.5), FEW, name="protects", **BLAME),
        "fair": make_narrator_run(root, fair, FEW, name="fair", model="runs/merged/sft", **BLAME),
        "dds": pocket_run(root, bends, name="dds"),
        "dds_after": pocket_run(root, bends, name="after", model="runs/merged/sft"),
    }


def reported(out: Path, *words: Path | str) -> str:
    """The HTML of a report."""
    report_main([*map(str, words), "--out", str(out), "--draws", "100"])
    return (out / "report.html").read_text(encoding="utf-8")


def found_in(*paths: Path, **keys: bool) -> NarratorFindings:
    return find_narrator(load_narrator_runs(paths), drawing=Drawing(n_draws=100, seed=1), **keys)


def told(found: NarratorFindings, *, is_alone: bool = True) -> tuple[str, str]:
    """(how a report opens, its section on the study), without figures."""
    part = narrator_part(found, is_alone=is_alone)
    ((_, _, html),) = part.sections({plot.name: "" for plot in part.plots})
    return "\n".join(part.opening), "\n".join(html)


def opening_of(html: str) -> str:
    return html.partition("<nav")[0]


def section_of(html: str) -> str:
    return html.partition('<section id="narrator">')[2].partition("</section>")[0]


@pytest.fixture(scope="module")
def alone(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone")
    reported(out, runs["whole"])
    return out


def test_a_report_of_the_study_alone_is_whole(alone: Path) -> None:
    html = (alone / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert (page.open, page.n_mute) == ([], 0)
    assert re.findall(r'<section id="(\w+)"', html) == ["narrator", "tables", "method"]
    assert "it protects the narrator: whoever is called Me is blamed less" in opening_of(html)
    images = [address for address in page.addresses if not address.startswith("#")]
    assert len(images) == 3  # Figure 2, and Figure 3 of two tasks
    assert all(image.startswith("data:image/svg+xml;base64,") for image in images)
    assert html.count("<table") == html.count('<div class="wide" role="region" tabindex="0"')
    stems = {path.stem for path in (alone / "tables").iterdir()}
    assert stems == {f"narrator_table{n}" for n in (1, 2, 3, 4)}
    assert all(f"tables/{stem}.md, .csv, .tex" in html for stem in stems)
    assert {path.name for path in alone.iterdir()} == {"scores.json", "scores.csv", "report.html", "plots", "tables"}


def test_it_shows_the_numbers_of_its_scores(alone: Path) -> None:
    found = json.loads((alone / "scores.json").read_text(encoding="utf-8"))
    prs = [row for row in found if (row["measure"], row["option_order"], row["group"]) == ("pr", "published", "all")]
    row = next(r for r in prs if (r["task"], r["visibility"]) == ("blame", "visible"))
    section = section_of((alone / "report.html").read_text(encoding="utf-8"))
    assert row["value"] > 20
    assert re.search(rf"<th scope=\"row\">PR</th><td[^>]*>{re.escape(format(row['value'], '+.1f'))} ±", section)


def test_no_name_and_no_word_of_a_conversation_is_in_it(alone: Path, runs: dict[str, Path]) -> None:
    # The names stand in the plan's options; what a model read stands in the run too, and neither is ours to show.
    assert "Name0of2x0" in (runs["whole"] / "plan.jsonl").read_text(encoding="utf-8")
    files = [path for path in alone.rglob("*") if path.is_file()]
    assert len(files) > 15
    assert [path.name for path in files if re.search(rb"Name\d+of\d|words of u\d", path.read_bytes())] == []


def test_both_studies_stand_in_one_report(runs: dict[str, Path], tmp_path: Path) -> None:
    html = reported(tmp_path, runs["protects"], runs["dds"])
    page = Page(html)
    assert page.open == []
    sections = re.findall(r'<section id="(\w+)"', html)
    assert sections == ["dds", "shifts", "items", "flips", "scores", "narrator", "tables", "method"]
    assert [a.removeprefix("#") for a in page.addresses if a.startswith("#")] == sections
    opening = opening_of(html)
    assert opening.index("DDS +41.7 pp") < opening.index("when a speaker of a conflict is called Me: it protects")
    assert "it names the attacker in" in section_of(html)
    assert "it names the attacker in" not in opening
    assert "<h3>The narrator study</h3>" in html
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert {(row["study"], row["measure"]) for row in scores} >= {("dialdefer", "dds"), ("narrator", "pr")}
    assert (tmp_path / "scores_wide.json").exists()


def test_before_and_after_are_paired_and_never_pooled(runs: dict[str, Path]) -> None:
    found = found_in(runs["protects"], runs["fair"])
    opening, section = told(found)
    assert "all models" not in section
    assert "<h3>Before and after</h3>" in section
    of_base = found.study.of("model", "blame", "visible")["pr"].value
    pr = next(c for c in found.changes["sft"] if key_of(c) == ("blame", "visible", "published", "pr"))
    assert pr.after.value == pytest.approx(0, abs=1e-6)
    assert pr.change.value == pytest.approx(-of_base)
    assert pr.p == pr.p_holm == pytest.approx(1 / 101, abs=0.03)
    assert f"PR went from {of_base:+.1f} to 0.0 pp ({pr.change.value:+.1f} pp" in opening
    assert "being called Me protects less than before" in opening
    assert {(change.first, change.second) for change in found.changes["sft"]} == {("model", "sft")}
    beside = found_in(runs["protects"], runs["fair"], is_before_after=False)
    assert "Judgments by narrative perspective: all models" in told(beside)[1]
    assert "Before and after" not in told(beside)[1]
    assert not beside.changes


def test_beside_dds_the_opening_is_short(runs: dict[str, Path]) -> None:
    opening, section = told(found_in(runs["protects"], runs["fair"]), is_alone=False)
    assert opening.count("<p") == 1
    assert "PR went from" in opening
    assert "PR went from" not in section
    assert section.index("model: over 8 conversations") < section.index("sft: over 8 conversations")


def test_a_run_that_names_no_option_has_no_change_and_no_made_up_number(tmp_path: Path) -> None:
    asked = {**BLAME, "is_exact": False, "n": 1}
    judges = {"fair": fair, "mute": lambda _: {"I would rather not say.": 1.0}}
    paths = [make_narrator_run(tmp_path, judge, FEW, name=n, model=f"x/{n}", **asked) for n, judge in judges.items()]
    found = found_in(*paths)
    assert found.changes == {"mute": []}
    opening, section = told(found)
    assert "mute: no change is known, since nothing that was asked before and after was answered both times." in opening
    assert "with the attack shown, it never names an option, so nothing is known of it." in opening
    assert "None" not in opening + section
    assert "Before and after" not in section


def test_runs_that_cannot_be_paired_are_refused_with_both_named(runs: dict[str, Path], tmp_path: Path) -> None:
    sampled = make_narrator_run(tmp_path, fair, FEW, name="drawn", n=1, **{**BLAME, "is_exact": False})
    with pytest.raises(DataError, match=r"protects-0000 .* drawn-0000 .*verdict is options there and answer here"):
        found_in(runs["protects"], sampled)
    fewer = make_narrator_run(tmp_path, fair, FEW[1:], name="fewer", model="x/fewer", **BLAME)
    with pytest.raises(DataError, match=r"8 and 7 conversations, of which 7 .*only model has made/2-0.*side-by-side"):
        found_in(runs["protects"], fewer, allow_differences=True)
    opening, _ = told(found_in(runs["protects"], fewer, is_before_after=False))
    assert "all models are over the 7 conversations that every run judged, and leave out 1 of model." in opening


def test_runs_that_were_asked_in_another_way_are_refused_unless_that_is_allowed(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    after = make_narrator_run(tmp_path, fair, FEW, name="after", model="x/after", **BLAME)
    edit_config(
        after, (after / "config.yaml").read_text(encoding="utf-8").replace("temperature: 0.7", "temperature: 0.1")
    )
    with pytest.raises(DataError, match=r"more than the model:\n  after: sampling.temperature: 0.7 before, 0.1 after"):
        found_in(runs["protects"], after)
    allowed = found_in(runs["protects"], after, allow_differences=True)
    assert "after differs from model in more than the model: sampling.temperature" in told(allowed)[0]


def test_other_words_or_another_chat_template_are_serious_and_fewer_tasks_are_not(runs: dict[str, Path]) -> None:
    run, other = load_narrator_runs([runs["protects"], runs["fair"]])
    assert differences(run, other, WHAT_WAS_ASKED) == []
    first, *rest = other.judgments
    reworded = replace(other, judgments=(replace(first, prompt_hash="another"), *rest))
    assert [d.serious for d in differences(run, reworded, WHAT_WAS_ASKED)] == [True]
    rendered = [replace(one, rendered={"p": text}) for one, text in ((run, "one"), (other, "another"))]
    assert "chat template" in differences(*rendered)[0].what
    one_task, two_tasks = (
        replace(one, config={**one.config, "narrator": {**one.config["narrator"], "tasks": tasks}})
        for one, tasks in ((run, ["blame"]), (other, ["blame", "detection"]))
    )
    assert [(d.what, d.serious) for d in differences(one_task, two_tasks, WHAT_WAS_ASKED)] == [
        ("narrator.tasks", False)
    ]


def test_compare_takes_both_studies_and_refuses_a_lone_run(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[int] = []

    def note(found: Mapping[str, object], out: Path) -> list[Path]:
        """In place of the report, which takes seconds to draw."""
        reports.append(len(found))
        return []

    monkeypatch.setattr("eval.__main__.write_found", note)
    with pytest.raises(DataError, match="fair-0000: is the only run of its study here"):
        compare_main([*map(str, [runs["dds"], runs["dds_after"], runs["fair"]]), "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())
    words = [runs["dds"], runs["protects"], runs["dds_after"], runs["fair"]]
    compare_main([*map(str, words), "--out", str(tmp_path), "--draws", "100"])
    printed = capsys.readouterr().out
    assert "own C1" in printed
    assert re.search(r"sft +blame +visible +Me last +PR +8 .* lower", printed)
    assert reports == [2]
    compare_main([str(runs["protects"]), str(runs["fair"]), "--draws", "100"])
    assert reports[1:] == [1]


def test_score_hands_a_narrator_run_over(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError, match=r"--denominator: is of the dialdefer study, .*leave it out"):
        score_main([str(runs["fair"]), "--denominator", "answered"])
    score_main([str(runs["fair"]), "--out", str(tmp_path)])
    assert "Judgments by narrative perspective: sft" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"scores.json", "scores.csv"}


def test_free_replies_beside_those_held_to_the_options_are_named_where_they_are_pooled(runs: dict[str, Path]) -> None:
    loaded = load_narrator_runs([runs["fair"], runs["protects"]])
    free, other = (replace(run, verdict="answer") for run in loaded)
    held = replace(other, config={**other.config, "sampling": {**other.config["sampling"], "structured": "json"}})
    said = f"held to the options ({other.judge}) and free ones ({free.judge})"
    assert said in " ".join(headline(study([free, held])))
    assert "held to the options" not in " ".join(headline(study([free, other])))

"""The report: what stands on its page, what is warned of, left out, or withheld; and that it needs nothing else."""

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from eval.__main__ import report_main
from eval.options import Options
from eval.report.page import TEMPLATES
from eval.results import results_of_runs
from evenhand.run_directory import finish
from studies.dialdefer import panels as dialdefer_runs
from studies.dialdefer.datasets import load_items
from studies.dialdefer.records import Condition
from tests.made.hostile_texts import HOSTILE
from tests.made.made_runs import aio_items, lean, made_items, make_run, say
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run
from tests.made.report_html import Page, drawing, packed_text, unpacked
from tests.made.report_runs import POCKET, bends, is_fair, leans, pocket_run
from tests.made.scorecard_runs import number

LOST = {"text": "", "finish_reason": "error: 500"}


def reported(out, *words):
    """The HTML of a report."""
    report_main([*map(str, words), "--out", str(out), "--draws", "100"])
    return (out / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def report(tmp_path):
    """The same in tmp_path/out."""
    return lambda *words: reported(tmp_path / "out", *words)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The folder of one report with margins."""
    root = tmp_path_factory.mktemp("report")
    with drawing():
        reported(root / "out", pocket_run(root, leans, verdict="margin"))
    return root / "out"


def test_it_needs_nothing_but_itself_and_has_every_figure_in_words_and_every_table_as_files(out):
    html = (out / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert (page.open, page.n_mute) == ([], 0)
    links = [address for address in page.addresses if not address.startswith("data:image/svg+xml;base64,")]
    assert links == ["dialdefer/items.html"]
    assert html.index("<h1>Does the judge bend") < html.index("<strong>Cannot tell:</strong>")
    assert not [word for word in ("<script", "@import", "url(") if word in html.partition("</style>")[0]]
    for table_body in re.findall(r"<table.*?</table>", html, re.DOTALL):
        lines = re.findall(r"<tr[^>]*>(.*?)</tr>", table_body, re.DOTALL)
        assert all(line.startswith("<th scope=") for line in lines)
        assert len({line.count("<th") + line.count("<td") for line in lines if "rowgroup" not in line}) == 1
    names = {path.name for path in (out / "tables").iterdir()}
    stems = {Path(name).stem for name in names}
    assert {"table20_domains", "table26_flip_rates"} <= stems
    assert names == {f"{stem}{suffix}" for stem in stems for suffix in (".md", ".csv", ".tex")}
    assert all(f"tables/{stem}.md, .csv, .tex" in html for stem in stems)
    row = next(row for row in json.loads((out / "scores.json").read_text()) if row["measure"] == "dds")
    assert row["value"] == pytest.approx(500 / 12)
    assert f"DDS {row['value']:+.1f} pp [{row['low']:+.1f}, {row['high']:+.1f}]" in html  # the headline


def test_a_report_replaces_another_as_a_whole_and_leaves_what_is_not_its_own(report, tmp_path, monkeypatch):
    def files(folder):
        paths = [path.relative_to(folder) for path in folder.rglob("[!.]*") if path.is_file()]
        return {str(path): (folder / path).read_bytes() for path in paths if not path.parts[0].startswith(".new.")}

    items, replies = made_items("gpqa", 4), {"margin": lean(1.0), "reason": say(1)}
    runs = [make_run(tmp_path, lambda _, v=v: replies[v], items=items, name=v, verdict=v) for v in replies]
    report(runs[0])
    (tmp_path / "out" / "tables" / "mine.md").write_text("mine")
    before = files(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr("eval.report.page.write_page", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            report(runs[1])
    assert files(tmp_path / "out") == before
    report(runs[1])
    reported(tmp_path / "fresh", runs[1])
    assert files(tmp_path / "out").keys() == files(tmp_path / "fresh").keys() | {"tables/mine.md"} != before.keys()


def test_every_page_has_a_policy_under_which_nothing_is_loaded_or_run():
    policy = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; """
    pages = {name: TEMPLATES.loader.get_source(TEMPLATES, name)[0] for name in TEMPLATES.list_templates(["html"])}
    found = {name: policy in page.partition("</head>")[0] for name, page in pages.items() if "</head>" in page}
    assert found == {"items.html": True, "page.html": True}
    assert "script-src" not in pages["page.html"]


def test_the_same_run_gives_the_same_bytes(out, tmp_path):
    with drawing():
        reported(tmp_path / "again", pocket_run(tmp_path, leans, verdict="margin"))
    files = sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    assert [name for name in files if (out / name).read_bytes() != (tmp_path / "again" / name).read_bytes()] == []
    assert len(files) > 20


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_text_in_every_part(hostile):
    module = TEMPLATES.get_template("parts.html").module
    parts = [
        module.element("p", hostile),
        module.run_facts({hostile: SimpleNamespace(name=hostile, config={}, provenance={})}),
    ]
    page = Page("".join(map(str, parts)))
    assert page.tags <= {"p", "table", "thead", "tbody", "tr", "th", "td", "div"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert page.text.count(hostile) == 3


def test_the_browser_has_every_reply_and_a_models_words_are_data(report, tmp_path):
    run = pocket_run(tmp_path, bends)
    assert 'href="dialdefer/items.html"' in report(run)
    folder = tmp_path / "out" / "dialdefer"
    index, chunk = (unpacked(folder / "items" / f"{name}.js") for name in ("index", "0"))
    assert (len(index["items"]), sum(map(len, chunk))) == (12, 48)
    flips = [row for rows in chunk for row in rows if row["flip"]]
    assert len(flips) == 5
    kinds = {(row["verdict"], row["is_right"], row["condition"]) for row in flips}
    assert kinds == {("accepts", False, "c2_incorrect")}
    item = load_items([POCKET])[0]
    (texts,) = (entry["texts"] for entry in index["items"] if entry["id"] == item.item_id)
    assert list(texts.values()) == [item.question, item.correct_answer, item.incorrect_answer]
    page = (folder / "items.html").read_text()
    assert ("alert(1)" in page, "<script>alert(1)</script>" in flips[0]["reply"]) == (False, True)
    facts = json.loads((run / "provenance.json").read_text())
    (run / "provenance.json").write_text(json.dumps({**facts, "item_set_hash": "0" * 16}))
    finish(run, {})
    report(run)
    assert not any(entry["texts"] for entry in unpacked(folder / "items" / "index.js")["items"])


def test_gpqas_items_are_nowhere_in_plain_text_and_the_last_flips_to_be_shown(report, tmp_path, monkeypatch):
    def quoting(prompt):
        """Leans as `leans` does, and repeats what it was asked."""
        choice = leans(prompt)["text"]
        return say(json.dumps({"chosen_answer": choice, "reasoning": prompt.messages[-1].content}))

    items = [*made_items("bbq", 12), *made_items("gpqa", 12), *made_items("harp", 12)]
    monkeypatch.setattr(dialdefer_runs, "load_items", lambda specs: items)
    runs = [make_run(tmp_path, quoting, items=items, name=name, model=name) for name in ("one", "two")]
    report(*runs, "--side-by-side")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    texts = {path.name: packed_text(path) if path.suffix == ".js" else path.read_bytes() for path in files}
    assert [name for name, text in texts.items() if b"of gpqa" in text] == []
    assert {name for name, text in texts.items() if b"of bbq" in text} == {"index.js", "0.js"}


def test_a_judge_of_whose_replies_none_can_be_read_is_reported_as_unknown(report, tmp_path):
    page = report(make_run(tmp_path, lambda _: say("Hm."), items=made_items("gpqa", 4)))
    assert "Cannot tell: model has no known shift" in re.sub(r"<[^>]+>", "", page)


def test_what_people_wrote_on_reddit_is_in_a_report_only_where_it_is_asked_for_and_no_text_is_endless(report, tmp_path):
    def quoting(prompt):
        choice = "1" if prompt.condition.claim_is_true or prompt.condition.is_dialogue else "2"
        reasoning = f"{prompt.messages[-1].content} {'so ' * 50_000}"
        return say(json.dumps({"chosen_answer": choice, "reasoning": reasoning}))

    run = make_run(tmp_path, quoting, items=aio_items("aio", 4))
    texts = {}
    for words in ((), ("--aio-text",)):
        assert "missed train" not in report(run, *words)
        texts[words] = packed_text(tmp_path / "out" / "dialdefer" / "items" / "0.js")
    assert [words for words, text in texts.items() if b"missed train" in text] == [("--aio-text",)]
    assert b"characters left out" in texts["--aio-text",]
    assert len(texts["--aio-text",]) < 500_000


@pytest.mark.parametrize(
    ("answer", "verdict", "words"),
    [
        (lambda _: say(1), "reason", "on pocket this judge is saturated (it accepts 100% of the claims in C1"),
        (
            lambda p: say("Hm.") if number(p) < 4 and p.condition == Condition.C2_CORRECT else bends(p),
            "reason",
            "8% of the replies on pocket (33% in the worst condition) are unparsed",
        ),
        (lambda p: LOST if number(p) == 0 else is_fair(p), "reason", "the engine failed on 4 replies"),
        (lambda p: lean(3.0 - p.condition.is_dialogue), "margin", "soft DDS, from probabilities of acceptance, is -14"),
    ],
)
def test_what_makes_a_dds_say_little_is_warned_of(answer, verdict, words, tmp_path):
    run = pocket_run(tmp_path, answer, verdict=verdict)
    results = results_of_runs("dialdefer", [run], Options(n_draws=100))
    assert words in " ".join([*results.warnings, *results.sentences["scores"]])


def test_before_and_after_of_two_studies_have_scores_changes_and_the_method_of_all_runs(report, tmp_path):
    after, asked = {"name": "after", "model": "runs/merged/sft"}, made_conversations({2: 4, 3: 4})
    runs = [pocket_run(tmp_path, bends), pocket_run(tmp_path, lambda p: say(2), **after)]
    runs += [make_narrator_run(tmp_path, fair, asked, n=3, **keys) for keys in ({"name": "a"}, {**after, "name": "b"})]
    html = report(*runs)
    change, verdict = (html.index(words) for words in ("sft against model: DDS", "judges:</strong> sft "))
    assert change < verdict
    assert re.search(r"DDS \S+ → \S+ pp \(change -41\.7 ", html)
    assert [run.name for run in runs if run.name not in html] == []
    for file in ("scores", "compare"):
        rows = json.loads((tmp_path / "out" / f"{file}.json").read_text())
        assert {row["study"] for row in rows} == {"dialdefer", "narrator"}
        with (tmp_path / "out" / f"{file}.csv").open(encoding="utf-8") as lines:
            assert set(next(csv.reader(lines))) == {name for row in rows for name in row}


def test_models_side_by_side_may_need_engines_of_their_own(report, tmp_path):
    items, engine = made_items("bbq", 12), {"kind": "vllm", "dtype": "float16"}
    right = make_run(tmp_path, is_fair, items=items, name="fair", model="owner/fair")
    soft = make_run(tmp_path, bends, items=items, name="soft", model="owner/soft", engine=engine)
    html = report(right, soft, "--side-by-side")
    assert "soft against fair: engine.dtype: bfloat16 before, float16 after." in html
    assert "DDS goes from 0.0 pp (fair) to +41.7 pp (soft)." in html
    assert ("tables/table27_flip_agreement.md" in html, (tmp_path / "out" / "compare.json").exists()) == (True, False)

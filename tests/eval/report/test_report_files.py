"""report.html as a file: self-contained, well-formed, accessible, the same every time; and what lies beside it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import report_main
from eval.dialdefer import runs as dialdefer_runs
from evenhand.records import Prompt
from tests.made.made_runs import made_items, make_run, say
from tests.made.report_html import Page
from tests.made.report_runs import bends, leans, pocket_run

MEBIBYTE = 2**20


def reported(out: Path, *runs: Path | str) -> str:
    """The HTML of a report."""
    report_main([*map(str, runs), "--out", str(out), "--draws", "200"])
    return (out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one report with margins."""
    root = tmp_path_factory.mktemp("report")
    reported(root / "out", pocket_run(root, leans, verdict="margin"))
    return root / "out"


@pytest.fixture(scope="module")
def html(out: Path) -> str:
    """Its page."""
    return (out / "report.html").read_text(encoding="utf-8")


def test_it_needs_nothing_but_itself(html: str) -> None:
    page = Page(html)
    assert page.open == []
    images = [address for address in page.addresses if address.startswith("data:image/svg+xml;base64,")]
    links = [address.removeprefix("#") for address in page.addresses if address.startswith("#")]
    assert len(images) + len(links) == len(page.addresses)
    assert len(images) == 2  # DDS, reliability
    assert links == re.findall(r'<section id="(\w+)"', html)
    assert "<script" not in html
    assert "url(" not in html.partition("</style>")[0]


def test_it_reads_on_a_phone_in_light_and_in_dark(html: str) -> None:
    assert 'name="viewport" content="width=device-width' in html
    assert "prefers-color-scheme: dark" in html
    assert html.count("<table") == html.count('<div class="wide" role="region" tabindex="0"')
    assert ".wide { overflow-x: auto" in html


def test_every_figure_is_told_in_words(html: str) -> None:
    assert Page(html).n_mute == 0


def test_every_table_has_headers_for_its_columns_and_lines(html: str) -> None:
    tables = re.findall(r"<table.*?</table>", html, re.DOTALL)
    assert len(tables) > 10
    for table in tables:
        head, _, body = table.partition("<tbody>")
        assert '<th scope="col"' in head
        assert all(line.startswith('<th scope="row') for line in re.findall(r"<tr[^>]*>(.*?)</tr>", body))


def test_every_line_of_a_table_has_a_cell_for_every_column(html: str) -> None:
    for table in re.findall(r'<table class="data">.*?</table>', html, re.DOTALL):
        n_columns = table.count('<th scope="col"')
        lines = [line for line in re.findall(r"<tr[^>]*>(.*?)</tr>", table)[1:] if "rowgroup" not in line]
        assert {line.count("<th") + line.count("<td") for line in lines} == {n_columns}


def test_every_table_lies_beside_it_in_three_formats(out: Path, html: str) -> None:
    names = {path.name for path in (out / "tables").iterdir()}
    stems = {Path(name).stem for name in names}
    assert {"table20_domains", "table26_flip_rates", "reliability"} <= stems
    assert names == {f"{stem}{suffix}" for stem in stems for suffix in (".md", ".csv", ".tex")}
    assert all(f"tables/{stem}.md, .csv, .tex" in html for stem in stems)


def test_it_shows_the_numbers_of_scores_json(out: Path, html: str) -> None:
    row = next(row for row in json.loads((out / "scores.json").read_text()) if row["measure"] == "dds")
    value, low, high = row["value"], row["low"], row["high"]
    assert value == pytest.approx(500 / 12)
    assert f"DDS {value:+.1f} pp [{low:+.1f}, {high:+.1f}]" in html  # the headline


def test_the_same_run_gives_the_same_bytes(out: Path, tmp_path: Path) -> None:
    reported(tmp_path / "again", pocket_run(tmp_path, leans, verdict="margin"))
    files = sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    others = [name for name in files if (out / name).read_bytes() != (tmp_path / "again" / name).read_bytes()]
    assert len(files) > 30
    assert others == []


def test_gpqas_items_are_nowhere_in_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [*made_items("gpqa", 12), *made_items("bbq", 3)]
    monkeypatch.setattr(dialdefer_runs, "load_items", lambda specs: items)
    runs = [make_run(tmp_path, quoting, items=items, name=name, model=name) for name in ("one", "two")]
    html = reported(tmp_path / "out", *runs, "--side-by-side")
    assert "of bbq" in html
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert "gpqa-3" in (tmp_path / "out" / "tables" / "problem_items.csv").read_text()
    assert [path.name for path in files if b"of gpqa" in path.read_bytes()] == []


def quoting(prompt: Prompt) -> dict[str, Any]:
    """Believes every speaker, and repeats what it was asked."""
    choice = "1" if prompt.condition.is_dialogue or prompt.condition.claim_is_true else "2"
    return say(json.dumps({"chosen_answer": choice, "reasoning": prompt.messages[-1].content}))


def test_a_run_without_margins_or_aio_has_a_shorter_report(tmp_path: Path) -> None:
    html = reported(tmp_path / "out", pocket_run(tmp_path, bends))
    sections = re.findall(r'<section id="(\w+)"', html)
    assert sections == ["dds", "flips", "scores", "tables", "method"]
    assert not list((tmp_path / "out" / "plots").glob("reliability*"))


@pytest.mark.campaign
@pytest.mark.slow
def test_twelve_judges_fit_into_three_mebibytes(tmp_path: Path) -> None:
    items = [item for dataset in ("bbq", "harp", "amqa", "truthfulqa") for item in made_items(dataset, 12)]
    runs = [
        make_run(tmp_path, leans, items=items, name=f"run{i}", model=f"owner/judge-{i}", verdict="margin")
        for i in range(12)
    ]
    html = reported(tmp_path / "out", *runs, "--side-by-side")
    assert "Of 12 judges: deferring 12." in html
    assert "9 more figures" in html
    assert len(html) < 3 * MEBIBYTE

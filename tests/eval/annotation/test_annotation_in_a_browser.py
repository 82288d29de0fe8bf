"""The page as a person uses it: by keys, in headless Chromium."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.annotation.command import main, page_html
from eval.annotation.tasks import Item
from tests.made.chromium import CHROMIUM, Browser
from tests.made.hostile_texts import HOSTILE
from tests.made.made_annotation import task, whole
from tests.made.pluraleval_models import both_runs, model, sycophant

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")]
SHOWN = "[...document.querySelectorAll('#texts .text')].map(part => part.textContent)"
COUNT = "document.getElementById('count').textContent"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "browser") as opened:
        yield opened


def test_ten_pairs_are_labelled_with_keys_over_a_reload_exported_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], browser: Browser
):
    _, run = both_runs(tmp_path, monkeypatch, model(sycophant), "made")
    page, out = tmp_path / "page.html", tmp_path / "agreement"
    main([str(run), "--what", "matches", "--n", "10", "--out", str(page)])
    browser.open(page)
    refused = 0
    for number in range(10):
        assert browser.value(COUNT) == f"item {number + 1} of 10 · {number} labelled"
        response, opinion = browser.value(SHOWN)
        is_refused = response == opinion and refused < 2  # the judge, who is right, is lenient to this person
        refused += is_refused
        if number == 5:  # a slip, taken back
            browser.press("y")
            browser.press("u")
            assert browser.value(COUNT) == "item 6 of 10 · 5 labelled"
        browser.press("y" if response == opinion and not is_refused else "n")
        if number == 6:
            browser.reload()
    assert browser.value(COUNT) == "item 10 of 10 · 10 labelled: all of them, export the labels"
    browser.value("document.getElementById('annotator').focus()")
    for key in "Yun e":  # none of them labels anything
        browser.press(key)
    browser.value("document.getElementById('annotator').blur()")
    browser.press("e")
    exported = browser.downloaded()
    assert exported.name == "labels-matches-Yun-e.json"
    browser.value("window.confirm = () => true, document.getElementById('anew').click()")
    browser.reload()  # the next person
    assert browser.value(COUNT) == "item 1 of 10 · 0 labelled"
    assert browser.value("document.getElementById('annotator').value") == ""
    capsys.readouterr()
    main([str(run), "--labels", str(exported), "--out", str(out)])
    printed = capsys.readouterr().out
    assert re.search(r"^ +Yun e\nitems labelled +10 of 10\n", printed, re.MULTILINE)
    assert re.search(r"^leniency: judge yes, person no +40\.0", printed, re.MULTILINE)
    rows = json.loads((out / "agreement.json").read_text())
    values = {row["measure"]: row["value"] for row in rows if row["measure"] != "n"}
    assert {name: round(value, 3) for name, value in values.items() if name != "agreement_in_run"} == {
        "agreement": 80,
        "kappa": 0.6,
        "leniency": 40,
        "strictness": 0,
        "mcnemar_p": 0.5,
    }


def test_hostile_texts_are_shown_as_they_are_and_nothing_runs(tmp_path: Path, browser: Browser):
    made = whole(task([Item(unit=text, texts=(("Text", text),), judge="yes") for text in HOSTILE]))
    page = tmp_path / "page.html"
    page.write_text(page_html(made), encoding="utf-8")
    browser.open(page)
    shown = []
    for _ in made.items:
        shown += browser.value(SHOWN)
        browser.press("y")
    assert shown == [one.texts[0][1] for one in made.items]
    assert browser.value("window.broken === undefined && document.images.length === 0")
    assert browser.value("performance.getEntriesByType('resource').length") == 0
    browser.press("e")
    assert json.loads(browser.downloaded().read_text())["labels"] == {one.item_id: "yes" for one in made.items}

"""The page as a person uses it: by keys, in headless Chromium."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eval.annotation.command import main, page_html
from eval.annotation.tasks import Item
from tests.made.hostile_texts import HOSTILE
from tests.made.made_annotation import task, whole
from tests.made.pluraleval_models import both_runs, model, sycophant

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")]
PERSON = """
const texts = () => [...document.querySelectorAll("#texts .text")].map(part => part.textContent);
const count = () => document.getElementById("count").textContent;
const name = document.getElementById("annotator");
const press = (key, at = document) => at.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const seen = {texts: [], counts: [], files: [], exported: null};
URL.createObjectURL = blob => { blob.text().then(text => { seen.exported = JSON.parse(text); }); return "#"; };
HTMLAnchorElement.prototype.click = function () { seen.files.push(this.download); };
"""
# What the browser keeps, handed on from visit to visit: Chromium writes its own to disk when it likes.
KEPT = """
const kept = %s;
Object.defineProperty(window, "localStorage", {value: {
  getItem: key => kept[key] ?? null, setItem: (key, text) => { kept[key] = String(text); },
  removeItem: key => { delete kept[key]; },
}});
"""
REPORT = """
setTimeout(() => document.body.append(Object.assign(document.createElement("pre"),
  {id: "seen", textContent: JSON.stringify({...seen, kept})})), 500);
"""


def visit(page: Path, does: str, kept: dict[str, str] | None = None) -> dict[str, Any]:
    """What a person sees who opens the page and does this, and what the browser then keeps. No script of the page's is
    changed: the person's are allowed by the page's own nonce.
    """
    text = page.read_text(encoding="utf-8")
    (nonce,) = re.findall(r'<script nonce="(\w+)">', text)
    visited = page.with_name("visited.html")
    first = f'<script nonce="{nonce}">{KEPT % json.dumps(kept or {})}</script><script type="application/json"'
    text = text.replace('<script type="application/json"', first, 1)
    visited.write_text(f'{text}<script nonce="{nonce}">{PERSON}{does}{REPORT}</script>', encoding="utf-8")
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}"]
    dumped = subprocess.run(
        [str(CHROMIUM), *words, "--virtual-time-budget=10000", "--dump-dom", visited.as_uri()],
        capture_output=True,
        timeout=120,
        check=True,
    )
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', dumped.stdout.decode(), re.DOTALL)
    return dict(json.loads(html.unescape(seen)))


# The judge, who is right, is lenient to this person, who says no to the first two matches.
LABELS = """
const matches = () => texts()[0] === texts()[1];
let n_refused = %d;
for (let i = 0; i < %d; i++) press(matches() && n_refused++ >= 2 ? "y" : "n"), seen.counts.push(count());
"""


def test_ten_pairs_are_labelled_with_keys_over_a_reload_exported_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    _, run = both_runs(tmp_path, monkeypatch, model(sycophant), "made")
    page, exported, out = tmp_path / "page.html", tmp_path / "exported.json", tmp_path / "agreement"
    main([str(run), "--what", "matches", "--n", "10", "--out", str(page)])
    slip = 'press("y"); press("u"); seen.counts.push(count());'
    begun = visit(page, LABELS % (0, 7) + slip)
    assert begun["counts"][-2:] == ["item 8 of 10 · 7 labelled"] * 2
    name = 'for (const key of "une") press(key, name); name.value = "Yun e"; name.dispatchEvent(new Event("input"));'
    anew = 'window.confirm = () => true; document.getElementById("anew").click();'
    ended = visit(page, f'{LABELS % (2, 3)}{name}press("e"); {anew}', begun["kept"])
    assert ended["counts"] == [
        *("item 9 of 10 · 8 labelled", "item 10 of 10 · 9 labelled"),
        "item 10 of 10 · 10 labelled: all of them, export the labels",
    ]
    assert ended["files"] == ["labels-matches-Yun-e.json"]
    assert visit(page, "seen.counts.push(count(), name.value);", ended["kept"])["counts"] == [
        "item 1 of 10 · 0 labelled",
        "",
    ]
    exported.write_text(json.dumps(ended["exported"]))
    capsys.readouterr()
    main([str(run), "--labels", str(exported), "--out", str(out)])
    printed = capsys.readouterr().out
    assert re.search(r"^ +Yun e\nitems labelled +10 of 10\n", printed, re.MULTILINE)
    assert re.search(r"^leniency: judge yes, person no +40\.0", printed, re.MULTILINE)
    rows = json.loads((out / "agreement.json").read_text())
    values = {row["measure"]: round(row["value"], 3) for row in rows if row["measure"] not in ("n", "agreement_in_run")}
    assert values == {"agreement": 80, "kappa": 0.6, "leniency": 40, "strictness": 0, "mcnemar_p": 0.5}


def test_hostile_texts_are_shown_as_they_are_and_nothing_runs(tmp_path: Path):
    made = whole(task([Item(unit=text, texts=(("Text", text),), judge="yes") for text in HOSTILE]))
    page = tmp_path / "page.html"
    page.write_text(page_html(made), encoding="utf-8")
    nothing = "window.broken === undefined, document.images.length, performance.getEntriesByType('resource').length"
    each = f'for (let i = 0; i < {len(made.items)}; i++) seen.texts.push(...texts()), press("y");'
    seen = visit(page, f'{each}seen.counts.push({nothing}); press("e");')
    assert seen["texts"] == [one.texts[0][1] for one in made.items]
    assert seen["counts"] == [True, 0, 0]
    assert seen["exported"]["labels"] == {one.item_id: "yes" for one in made.items}

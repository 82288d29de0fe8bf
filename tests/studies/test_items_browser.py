"""The browser of items: a person filters, searches and looks, in Chromium."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from studies.items_browser import Asked, write_browser
from tests.made.hostile_texts import HOSTILE

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
N = 450  # items, in three chunks


def rows():
    """Items of two datasets under a statement and a dialogue; every seventh flips."""
    for i in range(N):
        for condition in ("c1_true", "c2_correct"):
            yield Asked(
                item_id=f"{'odd' if i % 2 else 'even'}-{i}",
                dataset="odd" if i % 2 else "even",
                judge="base",
                condition=condition,
                setting="",
                verdict="accepts",
                is_right=True,
                flip="accepted alone" if i % 7 == 0 and condition == "c2_correct" else "",
                reply=HOSTILE[i % len(HOSTILE)],
                prompt=f"{condition}: Question {i}? It is {i}.",
            )


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on the PATH")
def test_items_are_filtered_searched_and_shown_as_text(tmp_path):
    texts = {
        (row.dataset, row.item_id): {
            "Question": f"Question {i // 2}?",
            "Right answer": str(i // 2),
            "Wrong answer": "no",
        }
        for i, row in enumerate(rows())
    }
    page, *_ = write_browser(tmp_path, rows(), texts)
    text = page.read_text(encoding="utf-8")
    look = Path(__file__).with_name("look.js").read_text()
    (nonce,) = re.findall(r'<script nonce="(\w+)">', text)
    page.write_text(f'{text}<script nonce="{nonce}">{look}</script>', encoding="utf-8")
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--virtual-time-budget=10000", "--dump-dom", page.as_uri()]
    dumped = subprocess.run([str(CHROMIUM), *words], capture_output=True, timeout=120, check=True).stdout.decode()
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', dumped, re.DOTALL)
    flipped = len([i for i in range(1, N, 2) if i % 7 == 0])
    prompts = [f"{condition}: Question 7? It is 7." for condition in ("c1_true", "c2_correct")]
    expected = [N, True, N // 2, flipped, 0, flipped, 1, prompts, [HOSTILE[7 % len(HOSTILE)]] * 2, True]
    assert json.loads(html.unescape(seen)) == expected

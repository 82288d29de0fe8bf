"""items.html and the folder items/: every item with its prompts, replies, verdicts and flips, to look through offline.

What all items share is stored once: templates, with slots for an item's texts. The index and each chunk of items are a
script with gzipped JSON, since a page that is opened as a file may load scripts from beside it and nothing else.
"""

import gzip
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.report.page import TEMPLATES, bounded
from evenhand.files import write_whole
from evenhand.records import digest

CHUNK = 200  # items
SLOT = "\x01{}\x01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One reply of a judge about an item. None: unknown, or withheld."""

    item_id: str
    dataset: str
    judge: str
    condition: str
    setting: str  # what else was varied, in words
    verdict: str
    is_right: bool | None
    flip: str  # how it differs from the verdict that it is held against; "" where it does not
    reply: str | None
    prompt: str | None


def slotted(prompt: str, slots: Sequence[str]) -> str:
    """A prompt with an item's texts replaced by their numbers, the longest first."""
    known = sorted(filter(None, {*slots}), key=lambda text: (-len(text), text))
    if not known or "\x01" in prompt:
        return prompt
    return re.sub("|".join(map(re.escape, known)), lambda found: SLOT.format(slots.index(found[0])), prompt)


def write_browser(
    folder: Path, asked: Iterable[Asked], texts: Mapping[tuple[str, str], Mapping[str, str]]
) -> list[Path]:
    """items.html, and items/*.js; the paths written, none where nothing was asked.

    texts: (dataset, item id) → what an item's texts are called → them, the first for the list; lacks what is withheld
    or unknown.
    """
    by_item: dict[tuple[str, str], list[Asked]] = {}
    for row in asked:
        by_item.setdefault((row.dataset, row.item_id), []).append(row)
    if not by_item:
        return []
    heads = list(dict.fromkeys(head for key in by_item for head in texts.get(key, ())))
    slots = {key: [texts[key].get(head, "") for head in heads] if key in texts else [] for key in by_item}
    prompts = {
        key: [None if row.prompt is None else slotted(bounded(row.prompt), slots[key]) for row in rows]
        for key, rows in by_item.items()
    }
    shared = Counter(prompt for of in prompts.values() for prompt in {*of} if prompt is not None)
    templates = {text: i for i, text in enumerate(text for text, n in shared.items() if n > 1)}
    words = {
        name: list(dict.fromkeys(getattr(row, name) for rows in by_item.values() for row in rows))
        for name in ("dataset", "judge", "condition", "setting", "flip")
    }
    at = {name: {word: i for i, word in enumerate(some)} for name, some in words.items()}
    items, chunks = [], list[list[Any]]()
    for i, (key, rows) in enumerate(by_item.items()):
        if i % CHUNK == 0:
            chunks.append([])
        lines = [[at[name][getattr(row, name)] for name in ("judge", "condition", "setting", "flip")] for row in rows]
        items.append(
            [rows[0].item_id, at["dataset"][rows[0].dataset], slots[key], sorted({(c, f) for _, c, _, f in lines})]
        )
        chunks[-1].append(
            [
                [
                    *line,
                    row.verdict,
                    row.is_right,
                    row.reply and bounded(row.reply),
                    templates.get(prompt or "", prompt),
                ]
                for line, row, prompt in zip(lines, rows, prompts[key], strict=True)
            ]
        )
    index = {"words": words, "heads": heads, "templates": list(templates), "items": items, "chunk": CHUNK}
    page = TEMPLATES.get_template("items.html").render(nonce=digest(words, 16), n_items=f"{len(items):,}")
    write_whole(folder / "items.html", page)
    return [folder / "items.html", *write_packed(folder / "items", [index, *chunks])]


def write_packed(folder: Path, parts: Iterable[Any]) -> list[Path]:
    """index.js, 0.js, 1.js, ...: each hands its part on as gzipped JSON."""
    paths = []
    for number, part in enumerate(parts, start=-1):
        name = "index" if number < 0 else str(number)
        content = json.dumps(part, ensure_ascii=False).encode("utf-8", "replace")
        paths.append(folder / f"{name}.js")
        write_whole(paths[-1], f'got("{name}", "{b64encode(gzip.compress(content, mtime=0)).decode()}");\n')
    return paths

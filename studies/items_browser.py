"""items.html and the folder items/: every item with its prompts, replies, verdicts and flips, to look through offline.

The index and each chunk of items are a script with gzipped JSON, since a page that is opened as a file may load scripts
from beside it and nothing else. What prompts share takes no room once it is compressed.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.report.page import TEMPLATES, bounded
from evenhand.files import write_whole
from evenhand.records import digest, plain

CHUNK = 200  # items


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


def write_browser(
    folder: Path, asked: Iterable[Asked], texts: Mapping[tuple[str, str], Mapping[str, str]]
) -> list[Path]:
    """items.html, and items/*.js; the paths written, none where nothing was asked.

    texts: (dataset, item id) → what an item's texts are called → them, the first for the list; lacks what is withheld
    or unknown.
    """
    replies: dict[tuple[str, str], list[Asked]] = {}
    for row in asked:
        replies.setdefault((row.dataset, row.item_id), []).append(row)
    if not replies:
        return []
    items = [
        {
            "id": item_id,
            "dataset": dataset,
            "texts": texts.get((dataset, item_id), {}),
            "kinds": sorted({(row.condition, row.flip) for row in rows}),
        }
        for (dataset, item_id), rows in replies.items()
    ]
    shown = [
        [plain(row) | {"reply": bounded(row.reply or ""), "prompt": bounded(row.prompt or "")} for row in rows]
        for rows in replies.values()
    ]
    chunks = [shown[start : start + CHUNK] for start in range(0, len(shown), CHUNK)]
    page = TEMPLATES.get_template("items.html").render(nonce=digest([*replies], 16), n_items=f"{len(items):,}")
    write_whole(folder / "items.html", page)
    scripts = {"index": {"items": items, "chunk": CHUNK}, **{str(i): chunk for i, chunk in enumerate(chunks)}}
    paths = [folder / "items" / f"{name}.js" for name in scripts]
    for path, content in zip(paths, scripts.values(), strict=True):
        packed = gzip.compress(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"), mtime=0)
        write_whole(path, f'got("{path.stem}", "{b64encode(packed).decode()}");\n')
    return [folder / "items.html", *paths]

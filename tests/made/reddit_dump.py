"""A small made dump in Pushshift's layout, compressed with the window of 2 GiB."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

MAY_2019, MAY_2018 = 1_556_712_000, 1_525_176_000


def post(name: str, subreddit: str = "AskEconomics", **fields: Any) -> dict[str, Any]:
    """A submission."""
    own = {"id": name, "subreddit": subreddit, "author": f"asker_{name}", "title": f"Post {name}", "selftext": "Why?"}
    return {**own, "score": 5, "num_comments": 0, "created_utc": MAY_2019, **fields}


def comment(name: str, under: str, subreddit: str = "AskEconomics", **fields: Any) -> dict[str, Any]:
    """A comment on a submission."""
    own = {"id": name, "subreddit": subreddit, "author": f"speaker_{name}", "body": f"I think {name}."}
    return {**own, "link_id": f"t3_{under}", "parent_id": f"t3_{under}", "score": 3, "created_utc": MAY_2019, **fields}


def comments(under: str, n: int, prefix: str = "c", **fields: Any) -> list[dict[str, Any]]:
    """So many comments on a submission."""
    return [comment(f"{prefix}{under}{number:03d}", under, **fields) for number in range(n)]


def packed(path: Path, rows: Iterable[Mapping[str, Any] | bytes]) -> Path:
    """Write records (or raw lines) as a zstd file whose frame asks for a window of 2 GiB."""
    import zstandard

    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    compressor = zstandard.ZstdCompressor(level=1, write_content_size=False).compressobj()
    frame = bytearray(compressor.compress(b"".join(line + b"\n" for line in lines)) + compressor.flush())
    large_window(frame)
    path.write_bytes(frame)
    return path


def large_window(frame: bytearray) -> None:
    """Make a zstd frame ask for a window of 2 GiB. To compress with such a window would take 2 GiB of memory."""
    assert not frame[4] & 0x20, "not in one segment, so the next byte describes the window"
    frame[5] = (31 - 10) << 3

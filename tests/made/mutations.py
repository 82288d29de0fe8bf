"""Ways to damage a publisher's file, each a function of the whole and of a seeded generator."""

import copy
import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

from tests.made.unified_rows import Row

RAW = "\x01raw:"  # marks a text that stands for JSON source that json.dumps would not write
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    0.5,
    float("nan"),
    "",
    "\ud800",
    "a\nb",
    "x" * 5_000,
    "ambig",
    [],
    {},
    ["a", "b"],
    {"A": "a"},
    f"{RAW}1e999",
    f"{RAW}{'9' * 5_000}",
    f"{RAW}{'[' * 100_000}{']' * 100_000}",
    RAW + '{"a": 1, "a": []}',
    RAW + r'"\x"',
)

SPLINTERS = (b"\x00", b"\xff", b"\xe9", b"\r", b"\n", b"\r\n", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":")
SPLINTERS += (b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"NaN", b"\\ud800", b"PK\x03\x04", b"\x1f\x8b", b"9" * 400)
CELLS = ("", " ", '"', 'a"b', "a,b", "\n", "\r", "\r\n", "\x00", "x" * 200_000, "\u2028", "\ufeff", "NaN", "'", '""')


def damaged_bytes(content: bytes, draw: random.Random) -> bytes:
    """One to four places overwritten, removed, doubled, filled in, or everything behind one cut off."""
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(content) + 1)
        end = min(len(content), place + draw.choice((1, 1, 2, 10, 200)))
        kind = draw.randrange(6)
        if kind == 0:
            content = content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]
        elif kind == 1:
            content = content[:place] + content[end:]
        elif kind == 2:
            content = content[:end] + content[place:]
        elif kind in (3, 4):
            content = content[:place] + draw.choice(SPLINTERS) + content[place:]
        elif draw.random() < 0.3:
            content = content[:place]
    return content


def damaged_rows(rows: list[Row], draw: random.Random) -> list[Any]:
    """A row dropped, doubled or replaced, or a value somewhere inside one replaced, dropped, renamed or moved."""
    rows = json.loads(json.dumps(rows))
    number = draw.randrange(len(rows))
    kind = draw.randrange(20)
    if kind == 0:
        return rows[:number]
    if kind == 1:
        return [*rows, rows[number]]
    if kind == 2:
        return [*rows[:number], copy.deepcopy(draw.choice(STRANGE)), *rows[number + 1 :]]
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        damage_value(rows[number], draw)
    return rows


def damage_value(value: Any, draw: random.Random) -> None:
    """Change one place inside a list or object, deeper ones too."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not places:
        return
    place = draw.choice(places)
    if isinstance(value[place], (dict, list)) and value[place] and draw.random() < 0.6:
        return damage_value(value[place], draw)
    kind = draw.randrange(8)
    if kind == 0:
        del value[place]
    elif kind == 1 and isinstance(value, dict):
        value[f"{place}_"] = value.pop(place)
    elif kind == 2:
        value[place] = copy.deepcopy(value[draw.choice(places)])
    elif kind == 3:
        value[place] = [value[place]]
    else:
        value[place] = copy.deepcopy(draw.choice(STRANGE))


def json_source(value: Any, draw: random.Random) -> str:
    """JSON, with the raw pieces put in, in one of the ways that programs write it."""
    separators = draw.choice(((", ", ": "), (",", ":")))
    text = json.dumps(value, separators=separators)
    while (start := text.find(f'"{json.dumps(RAW)[1:-1]}')) >= 0:
        piece, end = json.JSONDecoder().raw_decode(text, start)
        text = text[:start] + piece.removeprefix(RAW) + text[end:]
    return text


def damaged_lines(rows: list[Row], draw: random.Random) -> bytes:
    """JSON lines of damaged rows, now and then with other line ends, blank lines or a byte order mark."""
    end = draw.choice(("\n", "\n", "\n", "\r\n", "\r", "\n\n", ""))
    text = "".join(json_source(row, draw) + end for row in damaged_rows(rows, draw))
    return text.encode("utf-8-sig" if draw.random() < 0.1 else "utf-8")


def damaged_array(rows: list[Row], draw: random.Random) -> bytes:
    """One JSON array of damaged rows, now and then with something behind it."""
    text = json_source(damaged_rows(rows, draw), draw) + draw.choice(("", "", "", "\n", "]", "[]", "x", "\x00"))
    return text.encode("utf-8-sig" if draw.random() < 0.1 else "utf-8")


def damaged_cells(content: bytes, draw: random.Random) -> bytes:
    """A CSV file with cells or whole columns changed, dropped or added, quoted well or not at all."""
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    for _ in range(draw.choice((1, 1, 2, 5))):
        row = draw.choice([rows[0], *rows])
        kind, place = draw.randrange(6), draw.randrange(len(row))
        if kind == 0 and len(row) > 1:
            del row[place]
        elif kind == 1:
            row.insert(place, draw.choice(CELLS))
        elif kind == 2:
            row[place] = draw.choice(row)
        else:
            row[place] = draw.choice(CELLS)
    text = io.StringIO()
    csv.writer(text, lineterminator=draw.choice(("\n", "\n", "\r\n", "\r"))).writerows(rows)
    bare = "\n".join(",".join(row) for row in rows)
    return (bare if draw.random() < 0.2 else text.getvalue()).encode()


Damage = Callable[[random.Random], bytes]

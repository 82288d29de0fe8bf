"""Files of verdicts → frames of at most BATCH_ROWS rows, by the reader of evenhand.data_files.

A study declares its columns as data; whatever is wrong with a file becomes one DataError that names file and line.
pandas' own readers are not used: they make one NaN of null, NaN and an absent field, fill rows that are too short,
and do not say on which line a row starts.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evenhand.config import did_you_mean
from evenhand.data_files import kind_of
from evenhand.data_files import rows as data_rows
from evenhand.errors import DataError
from evenhand.sources.record_fields import LONE_SURROGATE, shown

NO = {"", "false", "0", "0.0", "none", "null", "nan", "[]", "{}"}  # what stands for nothing, in lower case
WHOLE = re.compile(r"^(-?\d{1,15})\.0$")
BATCH_ROWS = 8192
RECORD_PLACE = "record_place"  # a row's field that says where the record stands of which a mapping has made it
TABLES = (".csv", ".tsv", ".parquet")  # all rows of which have the same columns


class Absent(Enum):
    """What stands for a field that a row does not have, which is not the same as null."""

    FIELD = "absent"


@dataclass(frozen=True, slots=True)
class Column:
    """A column with a meaning. Where `read` is None its values stay as they are in the file."""

    read: Callable[[str], str] | None = None  # text without outer spaces → what it stands for; DataError: unknown
    is_required: bool = False
    default: str | None = None  # what an empty or absent text stands for; None: it must not be empty
    is_list: bool = False  # whether it may be a list of texts, which counts as one text with "|" between them


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns that a study's files of verdicts have; others are ignored."""

    columns: Mapping[str, Column]
    choice: str = ""  # where there is a column of verdicts as they were read, and
    response: str = ""  # one of replies to be read: a row has one of the two

    @property
    def required(self) -> tuple[str, ...]:
        """Those that every row has."""
        return tuple(name for name, column in self.columns.items() if column.is_required)


def one_of(known: Sequence[str], key: Callable[[str], str] = str, **others: str) -> Callable[[str], str]:
    """Reads one of some names, spelt in any way that has the same key; others: further keys → names."""
    names = {key(name): name for name in known} | others

    def read(text: str) -> str:
        if key(text) not in names:
            raise DataError(f"is {text[:40]!a}. {did_you_mean(text[:40], known)}")
        return names[key(text)]

    return read


def column_names(path: Path) -> frozenset[str]:
    """The columns of a file, of JSON the fields of the first row; none of a file that cannot be read."""
    try:
        return frozenset(next(data_rows(path)).values)
    except DataError:
        return frozenset()


def refuse(frame: pd.DataFrame, name: str, is_bad: Iterable[bool], problem: str) -> None:
    """Raises DataError for the first bad value of a column; "{}" in the problem becomes the value."""
    for row in np.flatnonzero(np.fromiter(is_bad, np.bool_))[:1].tolist():
        problem = problem.replace("{}", shown(frame[name].iloc[row]))
        raise DataError(f"{frame.index[row]}: field '{name}' {problem}")


def read_frames(path: Path, layout: Layout) -> Iterator[tuple[pd.DataFrame, list[str]]]:
    """(rows in order, columns without a meaning). The index says where a row stands; a field that a row lacks is
    Absent.FIELD."""
    records = data_rows(path)
    while batch := list(islice(records, BATCH_ROWS)):
        rows = [dict(record.values) for record in batch]
        places = [row.pop(RECORD_PLACE, record.where) for row, record in zip(rows, batch, strict=True)]
        if kind_of(path) in TABLES:
            check_columns(path, [*rows[0]], layout)
        if kind_of(path) in (".csv", ".tsv") and layout.response in rows[0]:
            for row in rows:  # which have no null: beside a response an empty choice is absent
                if row[layout.response] and not row.get(layout.choice, ""):
                    row.pop(layout.choice, None)
                row[layout.response] = row[layout.response] or ""
        present = set[str]().union(*rows)
        values = {
            name: [row.get(name, Absent.FIELD) for row in rows] if name in present else Absent.FIELD
            for name in layout.columns
        }
        frame = pd.DataFrame(values, places, dtype=object)
        ignored = sorted(present.difference(layout.columns))
        for name in ignored:
            if (meant := name.strip().casefold()) in layout.columns:
                raise DataError(f"{frame.index[0]}: column {shown(name)} must be written '{meant}'")
        for name in layout.required:
            refuse(frame, name, frame[name] == Absent.FIELD, "is absent")
        for name, column in layout.columns.items():
            if column.read:
                frame[name] = pd.Series(texts_of(frame, name, column), frame.index, dtype=object)
        yield frame, ignored


def check_columns(path: Path, names: Sequence[str], layout: Layout) -> None:
    """Raises DataError where a table lacks a column that every row needs."""
    missing = [f"'{name}'" for name in layout.required if name not in names]
    if layout.choice and layout.choice not in names and layout.response not in names:
        missing.append(f"'{layout.choice}' or '{layout.response}'")
    if missing:
        listed = ", ".join(ascii(name)[1:-1][:40] for name in names[:20])
        raise DataError(f"{path}: there is no column {missing[0]}; columns there: {listed}")


def read_rows(
    paths: Sequence[Path], layout: Layout, read: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
) -> tuple[pd.DataFrame, list[str]]:
    """(the rows of some files as `read` makes them, batch by batch, with `where`; columns without a meaning)."""
    parts, ignored = list[pd.DataFrame](), dict[str, None]()
    for path in paths:
        for frame, unused in read_frames(path, layout):
            ignored |= dict.fromkeys(unused)
            parts.append(read(frame).assign(where=frame.index))
    return pd.concat(parts, ignore_index=True), list(ignored)


def repeat_doubts(where: str, answers: Iterable[Sequence[str]]) -> Iterator[str]:
    """Doubts that the rows of a prompt are its samples. answers: of each prompt that was asked alike."""
    listed = list(answers)
    least, most = (limit(map(len, listed), default=0) for limit in (min, max))
    if least < most:
        yield (
            f"{where}: prompts have {least} to {most} answers, and count alike. Rows of a prompt are its samples: "
            "remove repeated ones, and write a missing reply as an empty answer."
        )
    times = math.gcd(*(number for of_prompt in listed for number in Counter(of_prompt).values()))
    if times > 1:
        yield f"{where}: every answer stands {times} times. If rows were repeated, keep each row once."


def as_text(value: Any) -> Any:
    """What a text, number or truth value is as a text, whatever format carries it: 1 and 1.0 are one, as 2.0 is where
    pandas has made fractions of whole numbers. Anything else stays what it is; NaN, null and what is absent are ""."""
    if value is None or value is Absent.FIELD or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value).strip() if isinstance(value, str | int | float) else value


def as_id(value: Any) -> str:
    """A value as an id: 1, 1.0, "1" and "1.0", as pandas writes whole numbers beside nulls, are one."""
    return WHOLE.sub(r"\1", str(as_text(value)))


def texts_of(frame: pd.DataFrame, name: str, column: Column) -> list[str]:
    """What the texts of a column stand for."""
    values = list(map(as_text, frame[name].tolist()))
    if column.is_list:
        values = ["|".join(map(str, map(as_text, v))) if isinstance(v, list) else v for v in values]
    refuse(frame, name, [not isinstance(value, str) for value in values], "must be a text, found {}")
    refuse(frame, name, map(bool, map(LONE_SURROGATE.search, values)), "holds half a surrogate pair; repair the text")
    meanings: dict[str, str] = {}
    for text in dict.fromkeys(values):
        try:
            if not text and column.default is None:
                raise DataError("is empty")
            meanings[text] = column.read(text) if text and column.read else str(column.default)
        except DataError as error:
            refuse(frame, name, [other == text for other in values], str(error))
    return list(map(meanings.__getitem__, values))

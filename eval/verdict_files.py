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
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from evenhand.config import did_you_mean
from evenhand.data_files import kind_of
from evenhand.data_files import rows as data_rows
from evenhand.errors import DataError
from evenhand.sources.record_fields import LONE_SURROGATE, Record, shown

NO = {"", "false", "0", "0.0", "none", "null", "nan", "[]", "{}"}  # what stands for nothing, in lower case
WHOLE = re.compile(r"-?\d{1,15}\.0")
BATCH_ROWS, CHUNK_ROWS = 8192, 256  # of a frame; that are held as records at once, and stay in the processor's cache
RECORD_PLACE = "record_place"  # a row's field that says where the record stands of which a mapping has made it
TABLES = (".csv", ".tsv", ".parquet")  # all rows of which have the same columns


class Absent(Enum):
    """What stands for a field that a row does not have, which is not the same as null."""

    FIELD = "absent"
    __hash__ = object.__hash__  # Enum's own is not in C


PLAIN = {str, int, float, type(None), Absent}  # values of these types that are equal have one text; 1 and True do not


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


def refuse(values: "pd.Series[Any]", is_bad: Iterable[bool], problem: str) -> None:
    """Raises DataError for the first bad value of a column, whose index says where a row stands; "{}" in the problem
    becomes the value."""
    for row in np.flatnonzero(np.fromiter(is_bad, np.bool_))[:1].tolist():
        raise DataError(f"{values.index[row]}: field '{values.name}' {problem.replace('{}', shown(values.iloc[row]))}")


def read_frames(path: Path, layout: Layout) -> Iterator[tuple[pd.DataFrame, list[str]]]:
    """(rows in order, columns without a meaning). The index says where a row stands; a field that a row lacks is
    Absent.FIELD."""
    records, kind, absent = data_rows(path), kind_of(path), Absent.FIELD
    while True:
        columns: dict[str, list[Any]] = {name: [] for name in layout.columns}
        places, present = list[str](), set[str]()
        while len(places) < BATCH_ROWS and (chunk := list(islice(records, CHUNK_ROWS))):
            rows = [record.values for record in chunk]
            if kind in TABLES:
                check_columns(path, [*rows[0]], layout)
            present.update(*rows)
            places += map(place_of, chunk)
            for name, values in columns.items():
                values += [row.get(name, absent) for row in rows] if name in present else [absent] * len(rows)
        if not places:
            return
        ignored = sorted(present.difference(layout.columns, {RECORD_PLACE}))
        for name in ignored:
            if (meant := name.strip().casefold()) in layout.columns:
                raise DataError(f"{places[0]}: column {shown(name)} must be written '{meant}'")
        if kind in (".csv", ".tsv") and layout.response in present:
            replies = columns[layout.response]  # a table has no null: beside a response an empty choice is absent
            choices = zip(columns[layout.choice], replies, strict=True)
            columns[layout.choice] = [absent if reply and not choice else choice for choice, reply in choices]
            columns[layout.response] = [reply or "" for reply in replies]
        for name, column in layout.columns.items():
            if column.read:
                columns[name] = texts_in(pd.Series(columns[name], places, object, name), column)
        yield pd.DataFrame(columns, places, dtype=object), ignored


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
    """(the rows of some files as `read` makes them, batch by batch, numbered from 0; columns without a meaning).

    Columns that `read` makes categorical stay so, in the order of first appearance."""
    parts, ignored = list[pd.DataFrame](), dict[str, None]()
    for path in paths:
        for frame, unused in read_frames(path, layout):
            ignored |= dict.fromkeys(unused)
            parts.append(read(frame).reset_index(drop=True))
    coded = [name for name, kind in parts[0].dtypes.items() if isinstance(kind, pd.CategoricalDtype)]
    rows = pd.concat([part.drop(columns=coded) for part in parts], ignore_index=True)
    return rows.assign(**{name: union_categoricals([part[name] for part in parts]) for name in coded}), list(ignored)


def place_of(record: Record) -> str:
    """Where a record stands, or the one that a mapping has made it of."""
    return str(record.values.get(RECORD_PLACE, record.where))


def place(paths: Sequence[Path], number: Any) -> str:
    """Where a row of read_rows stands. Its file is read again: all places would take more memory than the rows."""
    return place_of(next(islice(chain.from_iterable(map(data_rows, paths)), int(number), None)))


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
    if isinstance(value, str):
        return value.strip()
    if value is None or value is Absent.FIELD or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value) if isinstance(value, int | float) else value


def as_id(value: Any) -> str:
    """A value as an id: 1, 1.0, "1" and "1.0", as pandas writes whole numbers beside nulls, are one."""
    text = str(as_text(value))
    return text.removesuffix(".0") if WHOLE.fullmatch(text) else text


def texts_in(values: "pd.Series[Any]", column: Column) -> list[str]:
    """What the texts of a column stand for. Each text is read once, however many rows have it."""
    listed = values.tolist()
    if column.is_required and Absent.FIELD in listed:
        refuse(values, (value is Absent.FIELD for value in listed), "is absent")
    if not {*map(type, listed)} <= PLAIN:
        if column.is_list:
            listed = ["|".join(map(str, map(as_text, value))) if isinstance(value, list) else value for value in listed]
        listed = list(map(as_text, listed))
        refuse(values, (not isinstance(text, str) for text in listed), "must be a text, found {}")
    meanings = dict[Any, str]()
    for value in dict.fromkeys(listed):
        try:
            meanings[value] = meaning(as_text(value), column)
        except DataError as error:
            refuse(values, (other == value for other in listed), str(error))
    return list(map(meanings.__getitem__, listed))


def meaning(text: str, column: Column) -> str:
    """What a text stands for. Raises DataError where that is nothing."""
    if LONE_SURROGATE.search(text):
        raise DataError("holds half a surrogate pair; repair the text")
    if not text and column.default is None:
        raise DataError("is empty")
    return column.read(text) if text and column.read else str(column.default)

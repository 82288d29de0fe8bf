"""The items of a framing study: rows of a file of the user's, or of a dataset that another study knows."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from evenhand.config import Closed, did_you_mean, is_none
from evenhand.errors import DataError
from evenhand.registry import STUDIES, load_part
from evenhand.sources.record_fields import Record, shown
from evenhand.templates import cells, is_true, rendered, same_value, unpacked_cell, valid_template
from studies.item_files import ItemSource, file_records, name_in, plain_record
from studies.units import set_hash

FAMILIES = 4
LETTERS = ascii_uppercase


class Row(NamedTuple):
    """One item: its values by column, and where it stands, for a person."""

    item_id: str
    group: str  # what lies on one side of a split as a whole, and tables are by; the id where no column is named
    dataset: str
    values: Mapping[str, Any]
    where: str
    cluster: str | None = None  # what is resampled together; None: the item by itself
    by_framing: Mapping[str, Mapping[str, Any]] | None = None  # where the file has a row for each framing

    @property
    def content(self) -> list[Any]:
        """What makes it another item when it changes."""
        by_framing = [] if self.by_framing is None else [self.by_framing]
        return [self.item_id, self.group, self.dataset, self.values, *by_framing]


Key = Annotated[str, AfterValidator(valid_template)]


class Columns(Closed):
    """What columns of the items mean; each a column's name, or a template: "{{ base.letter }}"."""

    id: Key | None = None  # a name of the item, unique in the run; null: the column id, else the row's number
    group: Key | None = None  # families: for splits, tables and training; null: each item is its own
    # What is resampled together, such as twins; null: groups, where these are families of a few items and many
    cluster: Key | None = None
    label: Key | None = None  # the right answer's name, where the cases do not say it
    # Where rows are framings already: the framing's name, so that rows of one id are one item
    framing: Key | None = Field(default=None, exclude_if=is_none)

    def check(self, source: ItemSource, correct: str | None, way_out: str) -> None:
        """Raises DataError where one of them, or `correct`, is a name that no record of a source has."""
        known = [*dict.fromkeys(name for record in records_of(source) for name in record.values)]
        for key, name in [*((f"columns.{key}", name) for key, name in self), ("correct", correct)]:
            if name and "{" not in name and not {name, name.split(".")[0]} & {*known}:
                problem = f"framing.{key}: there is no column '{name}'{way_out}"
                raise DataError(f"{source.name}: {problem}. {did_you_mean(name, known)}")


def load_rows(source: ItemSource, columns: Columns, refused: list[str], where: str | None = None) -> Iterator[Row]:
    """The items of a source and split in their order. where: which rows are kept. What is wrong with an item that is
    damaged is added to `refused`.
    """
    by_id, twice = dict[str, Row](), dict[str, str]()
    for row in rows_of(source, columns, refused, where):
        if columns.framing is None:
            if source.has(row.group):
                yield row
            continue
        framings = by_id.setdefault(row.item_id, row._replace(by_framing={})).by_framing or {}
        if again := framings.keys() & (row.by_framing or {}):
            problem = f"item '{row.item_id[:40]}' is there twice in framing {shown(*again)}"
            twice[row.item_id] = f"{row.where}: {problem}"
        by_id[row.item_id] = by_id[row.item_id]._replace(by_framing={**framings, **(row.by_framing or {})})
    for row in by_id.values():
        if source.has(row.group) and row.item_id in twice:
            refused.append(twice[row.item_id])
        elif source.has(row.group):
            yield row


def rows_of(source: ItemSource, columns: Columns, refused: list[str], where: str | None) -> Iterator[Row]:
    """The rows of a source as items; see load_rows."""
    numbered = None  # whether ids are the rows' numbers
    for record in records_of(source):
        numbered = columns.id is None and "id" not in record.values if numbered is None else numbered
        try:
            record = plain_record(record)
            if where is not None and not is_true(where, item_values(record.values), f"{record.where}: where"):
                continue
            item_id = f"{source.name}-{record.index + 1}" if numbered else name_of(record, columns.id or "id")
            group = item_id if columns.group is None else name_of(record, columns.group)
            cluster = None if columns.cluster is None else name_of(record, columns.cluster)
            by_framing = None if columns.framing is None else {name_of(record, columns.framing): record.values}
        except DataError as error:
            refused.append(str(error))
            continue
        dataset = str(record.values.get("dataset", source.name))
        yield Row(item_id, group, dataset, record.values, record.where, cluster, by_framing)


def item_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """What templates know of an item: its columns, and all of them as `item`."""
    return {**cells(values), "item": cells(values)}


def name_of(record: Record, key: str) -> str:
    """What a column or template says, as a name."""
    if "{" not in key:
        is_deeper = key not in record.values and "." in key
        values = {key: value_at(record.values, key, record.where)} if is_deeper else record.values
        return name_in(Record(values, record.where, record.index), key)
    name = rendered(key, item_values(record.values), f"{record.where}: {key}").strip()
    if not name:
        raise DataError(f"{record.where}: {key} is empty")
    return name


def name_in_item(row: Row, key: str) -> str:
    """What a column, one deeper in it, or a template says of an item, also in a list of one; of 0, 1, 0, which mark an
    option, its letter.

    Raises DataError where it says nothing.
    """
    if "{" in key:
        text = rendered(key, item_values(row.values), f"{row.where}: {key}")
    else:
        value = value_at(row.values, key, row.where)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, list) and sorted(map(str, value)) == ["0"] * (len(value) - 1) + ["1"]:
            value = LETTERS[value.index(1) % len(LETTERS)]
        if isinstance(value, list | dict):
            raise DataError(f"{row.where}: '{key}' must be one text or number, found {str(value)[:80]}")
        text = str(value)
    if not text.strip():
        raise DataError(f"{row.where}: '{key}' is empty")
    return text


def column_names(values: Mapping[str, Any]) -> str:
    """The first columns of an item, for a person."""
    return ", ".join(map(shown, [*values][:12]))


def value_at(values: Mapping[str, Any], key: str, where: str) -> Any:
    """The value of a column, or deeper in one ("base.answers"); a list or object that CSV has as a text is read.

    Raises DataError where there is none.
    """
    value: Any = values
    for part in [key] if key in values else key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        raise DataError(f"{where}: '{key}' is empty, or no column; there are {column_names(values)}")
    return unpacked_cell(value)


class Option(NamedTuple):
    """An option of an item as its file has it."""

    labels: tuple[str, ...]  # what the file itself calls it: its column, its key, or the `label` beside its text
    text: str | None  # None: empty, as in lists that are shorter than others; it keeps its place and is not shown


# A text that says its own letter: "(A) a dog", "B. red"
LETTERED = re.compile(r"\s*\(?([A-Za-z])\s*[).:]\s*(.*\S.*)", re.DOTALL)


def options_of(row: Row, choices: str | Sequence[str]) -> list[Option]:
    """An item's options: a list, lines, an object's values, or some columns.

    Letters that all texts say themselves, A, B, C in their order, are labels, since options change places. Raises
    DataError.
    """
    pairs: list[tuple[tuple[str, ...], Any]]
    if not isinstance(choices, str):
        n = len(os.path.commonprefix([*choices]))  # option_a is called "a", too; option1 may be number 0 or 1
        pairs = [((name, name[n:]) if name[n:].isalpha() else (name,), row.values.get(name)) for name in choices]
    else:
        value = value_at(row.values, choices, row.where)
        if isinstance(value, str) and "\n" in value.strip():
            value = [line for line in value.splitlines() if line.strip()]
        if isinstance(value, dict) and isinstance(value.get("text"), list):
            labels = value.get("label") or [None] * len(value["text"])
            value = [{"label": label, "text": text} for label, text in zip(labels, value["text"], strict=False)]
        elif isinstance(value, dict):
            value = [{"label": label, "text": text} for label, text in value.items()]
        each = [v if isinstance(v, dict) else {"text": v} for v in (value if isinstance(value, list) else [])]
        pairs = [((v["label"],) if v.get("label") is not None else (), v.get("text")) for v in each]
    said = [LETTERED.fullmatch(str(text)) for _, text in pairs]
    if [match and match[1].upper() for match in said] == [*LETTERS[: len(pairs)]]:
        pairs = [((*pair[0], match[1], pair[1]), match[2]) for pair, match in zip(pairs, said, strict=True) if match]
    texts = [None if text is None or not str(text).strip() else str(text) for _, text in pairs]
    options = [Option(tuple(map(bare, labels)), text) for (labels, _), text in zip(pairs, texts, strict=True)]
    n_texts = sum(option.text is not None for option in options)
    if n_texts < 2 or len(options) > len(LETTERS):
        problem = f"must hold 2 to {len(LETTERS)} options, found {n_texts if options else shown(value)}"
        problem += f"; there are {column_names(row.values)}" if not isinstance(choices, str) else ""
        raise DataError(f"{row.where}: {shown(choices) if isinstance(choices, str) else ', '.join(choices)} {problem}")
    return options


def bare(value: object) -> str:
    """A value as options are called: "(A)" and "a." are "a"."""
    return same_value(value).strip("().: ")


# What a value looks like → the ways in which it may name an option
READINGS = {
    "text": ("label", "text"),
    "letter": ("label", "letter", "text"),
    "number": ("label", "index from 0", "number from 1", "text"),
}


def looks_like(value: str) -> str:
    """The key of READINGS."""
    name = bare(value)
    if name.isdecimal() and len(name) < 10:
        return "number"
    return "letter" if len(name) == 1 and name.upper() in LETTERS else "text"


def place_of(value: str, reading: str, options: Sequence[Option]) -> int:
    """The place of the option that a value names; -1 where it names none, or several."""
    if reading in ("index from 0", "number from 1"):
        place = int(bare(value)) - (reading == "number from 1")
    elif reading == "letter":
        place = LETTERS.find(bare(value).upper() or "-")
    else:
        by_label = reading == "label"
        names = [bare(value) in o.labels if by_label else same_value(o.text) == same_value(value) for o in options]
        place = names.index(True) if names.count(True) == 1 else -1
    return place if 0 <= place < len(options) and options[place].text is not None else -1


def readings_of(answers: Sequence[tuple[str, Sequence[Option], str]]) -> dict[str, str]:
    """What a value looks like → how it names an option, in all rows of a file: the one way that fits them all.

    An item's own labels come first. answers: the value, the item's options, and where it stands. Raises DataError for
    numbers that fit no way, and for values that may name one option or another.
    """
    readings = dict[str, str]()
    for kind, ways in READINGS.items():
        if not (alike := [answer for answer in answers if looks_like(answer[0]) == kind]):
            continue
        places = {way: [place_of(value, way, options) for value, options, _ in alike] for way in ways}
        fitting = {tuple(places[way]): way for way in reversed(ways) if -1 not in places[way]}
        if -1 not in places["text"] and readings.get("text") == "text":
            readings[kind] = "text"  # as the values that are no number or letter
        elif -1 not in places["label"] or (kind != "number" and max(places["label"]) >= 0):
            readings[kind] = "label"
        elif len(fitting) > 1:
            differing = next(i for i, column in enumerate(zip(*fitting, strict=True)) if len({*column}) > 1)
            value, _, where = alike[differing]
            listed = " or ".join(f"{way} ({LETTERS[of[differing]]})" for of, way in fitting.items())
            raise DataError(f"{where}: {shown(value)} may be {listed}, and no row of the file tells which")
        elif not fitting and kind == "number":
            wheres = [f"{way}: not {alike[of.index(-1)][2]}" for way, of in places.items() if way != "label"]
            raise DataError(f"the numbers fit no way of counting in all rows of the file ({', '.join(wheres)})")
        else:  # of letters and texts those that fit are read
            readings[kind] = next(iter(fitting.values()), ways[1])
    return readings


def row_hash(row: Row) -> str:
    """Over what an item says, whatever its file is called."""
    return set_hash([row.values])


def are_families(groups: Sequence[str]) -> bool:
    """Whether the groups of items are families, as twins are, and not kinds of items: at least FAMILIES times as many
    groups as there are items in one."""
    n_groups = len({*groups})
    return n_groups < len(groups) and n_groups * n_groups >= FAMILIES * len(groups)


def records_of(source: ItemSource) -> Iterator[Record]:
    """The records of a source, with their places."""
    if source.file is not None:
        yield from file_records(source.file, source.at, source.header)
        return
    keys = {"dataset": source.dataset, "split": source.split, "root": source.root}
    for key, where in [(key, study.items) for key, study in STUDIES.items() if study.items]:
        for index, values in enumerate(load_part(key, where)(keys)):
            yield Record(values, f"{source.dataset} item {index + 1}", index)


ROLES = {"human": "user", "ai": "assistant", "gpt": "assistant", "bot": "assistant", "model": "assistant"}


def turns_of(row: Row, values: Mapping[str, Any], key: str) -> list[tuple[str, str]]:
    """(role, text) of each turn of a conversation. Raises DataError where it is none, or does not end with the user."""
    turns, where = list[tuple[str, str]](), f"{row.where}: '{key}'"
    listed = value_at(values, key, row.where)
    for turn in [{"role": "user", "content": listed}] if isinstance(listed, str) else listed:
        turn = turn if isinstance(turn, dict) else {}
        role = next((str(turn[name]) for name in ("role", "type", "from") if name in turn), "")
        content = next((turn[name] for name in ("content", "value", "text") if name in turn), "")
        parts = content if isinstance(content, list) else [content]
        text = "".join(str(part.get("text", "")) if isinstance(part, dict) else str(part) for part in parts)
        role = ROLES.get(role, role)
        if role not in ("user", "assistant", "system") or not text:
            raise DataError(f"{where} holds a turn that is no role and text, such as {{role: user, content: Hello}}")
        turns.append((role, text))
    return turns

"""The items of a framing study: rows of a file of the user's, or of a dataset that another study knows."""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from evenhand.config import Closed, is_none
from evenhand.errors import DataError
from evenhand.item_files import ItemSource, file_records, name_in, plain_record
from evenhand.registry import STUDIES, load_part
from evenhand.sources.record_fields import Record, shown
from evenhand.study import set_hash
from evenhand.templates import cells, is_true, rendered, same_value, valid_template

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


def load_rows(source: ItemSource, columns: Columns, where: str | None = None) -> Iterator[Row | DataError]:
    """The items of a source and split in their order; for one that is damaged the error. where: which rows are kept."""
    by_id: dict[str, Row] = {}
    repeated: dict[str, DataError] = {}  # items of which a framing is there twice
    for row in rows_of(source, columns, where):
        if isinstance(row, DataError):
            yield row
        elif columns.framing is None:
            if source.file is None or source.has(row.group):
                yield row
        elif row.item_id not in by_id:
            by_id[row.item_id] = row
        else:
            merged = {**(by_id[row.item_id].by_framing or {}), **(row.by_framing or {})}
            if len(merged) == len(by_id[row.item_id].by_framing or {}):
                problem = f"item '{row.item_id[:40]}' is there twice in framing {shown(*row.by_framing or '')}"
                repeated.setdefault(row.item_id, DataError(f"{row.where}: {problem}"))
            by_id[row.item_id] = by_id[row.item_id]._replace(by_framing=merged)
    kept = (row for row in by_id.values() if source.file is None or source.has(row.group))
    yield from (repeated.get(row.item_id, row) for row in kept)


def rows_of(source: ItemSource, columns: Columns, where: str | None) -> Iterator[Row | DataError]:
    """The rows of a source as items, or the error of one that lacks a name."""
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
            dataset = str(record.values.get("dataset", source.name))
            yield Row(item_id, group, dataset, record.values, record.where, cluster, by_framing)
        except DataError as error:
            yield error


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
    """What a column, one deeper in it, or a template says of an item. Raises DataError where it says nothing."""
    if "{" in key:
        text = rendered(key, item_values(row.values), f"{row.where}: {key}")
    else:
        value = value_at(row.values, key, row.where)
        if isinstance(value, list | dict):
            raise DataError(f"{row.where}: '{key}' must be a text or number, found {shown(value)}")
        text = str(value)
    if not text.strip():
        raise DataError(f"{row.where}: '{key}' is empty")
    return text


def value_at(values: Mapping[str, Any], key: str, where: str) -> Any:
    """The value of a column, or deeper in one ("base.answers"); a list or object that CSV has as a text is read.

    Raises DataError where there is none.
    """
    value: Any = values
    for part in [key] if key in values else key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        raise DataError(f"{where}: '{key}' is empty, or no column; there are {', '.join(map(shown, [*values][:12]))}")
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def listed_options(row: Row, choices: str | Sequence[str]) -> list[str | None]:
    """The texts of an item's options: a list, an object's values, or some columns, of which empty ones are None: their
    item has fewer options than another. Raises DataError."""
    if not isinstance(choices, str):
        return [None if row.values.get(name) in (None, "") else str(row.values[name]) for name in choices]
    value = value_at(row.values, choices, row.where)
    value = value.get("text", [*value.values()]) if isinstance(value, dict) else value
    if not isinstance(value, list) or not 1 < len(value) <= len(LETTERS):
        problem = f"must be a list of 2 to {len(LETTERS)} options, found {shown(value)}"
        raise DataError(f"{row.where}: '{choices}' {problem}")
    return [str(option["text"] if isinstance(option, dict) and "text" in option else option) for option in value]


def options_of(row: Row, choices: str | Sequence[str]) -> list[str]:
    """The texts of an item's options, without empty columns. Raises DataError where there are fewer than two."""
    options = [option for option in listed_options(row, choices) if option is not None]
    if len(options) < 2:
        raise DataError(f"{row.where}: {len(options)} of its options {', '.join(choices)} hold a text")
    return options


def option_names(row: Row, choices: str | Sequence[str]) -> list[str]:
    """What the file itself calls the options: columns, an object's keys, or the `label`s beside its texts."""
    if not isinstance(choices, str):
        return [same_value(name) for name in choices]
    value = value_at(row.values, choices, row.where)
    return [same_value(name) for name in value.get("label", value)] if isinstance(value, dict) else []


def correct_by(answers: Iterable[tuple[str, Sequence[str | None]]]) -> str:
    """How a column names the right one of each item's options: "index" from 0, "letter" or "text".

    answers: what it says, and the options. It is an index where all are. Raises DataError where all are texts of
    options, too, and of other ones.
    """
    pairs = [(same_value(text), [*map(same_value, options)]) for text, options in answers]
    if pairs and all(text.isdecimal() and int(text) < len(options) for text, options in pairs):
        if all(text in options for text, options in pairs) and any(
            options[int(text)] != text for text, options in pairs
        ):
            raise DataError(
                "is an index from 0 and the text of another option in every item: let a template say letters"
            )
        return "index"
    letters = [text.strip("().: ") for text, _ in pairs]
    return "letter" if all(len(a) == 1 and a.upper() in LETTERS for a in letters) else "text"


def place_of(answer: str, how: str, options: Sequence[str | None], where: str) -> int:
    """The place of the option that is named. Raises DataError where there is none."""
    value = same_value(answer)
    if how == "index" and value.isdecimal():
        place = int(value)
    elif how == "letter":
        place = LETTERS.find(value.strip("().: ").upper() or "-")
    else:
        places = [i for i, option in enumerate(options) if option is not None and same_value(option) == value]
        place = places[0] if len(places) == 1 else -1
    if not 0 <= place < len(options):
        raise DataError(f"{where}: {shown(answer)} is read as {how}, and is none of {len(options)} options")
    return place


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
        yield from file_records(source.file, source.at)
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

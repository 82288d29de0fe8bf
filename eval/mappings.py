"""Results of other tools → files of verdicts: a YAML file says which rows their records are.

A record is a row of a data file, or a sample of a harness's log. Mappings of common tools lie in configs/mappings.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import AfterValidator, BeforeValidator

from eval.harness_logs import is_log, read_log, samples_once
from eval.options import Options
from eval.runs import check_named_once
from eval.verdict_files import NO, RECORD_PLACE, as_id, as_text
from evenhand.config import CONFIGS, Closed, apply_override, config_tree, did_you_mean, parse_config
from evenhand.data_files import rows as data_rows
from evenhand.data_files import stem_of
from evenhand.errors import ConfigError, DataError
from evenhand.files import write_jsonl
from evenhand.sources.record_fields import LONE_SURROGATE
from evenhand.templates import as_test, cells, rendered, same_value, unpacked_cell, valid_template
from evenhand.terminal import say

SHIPPED = CONFIGS / "mappings"
UNIT = ("model", "dataset", "item_id", "conversation")  # columns by which rows are of one item
NAMED = ("answer", "label", "choice")  # columns that hold answers' names
Row = dict[str, Any]  # of verdicts: column → a text or null, or what the record has
Unit = tuple[tuple[str, str], ...]  # what tells rows of one item: columns with their texts
Place = tuple[str, Mapping[str, Any]]  # where a record stands; its fields


class Fields(ImmutableSandboxedEnvironment):
    """Templates over a record's fields, which come before methods of one name. Null is an empty text."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return obj[attribute] if isinstance(obj, Mapping) and attribute in obj else super().getattr(obj, attribute)


ENVIRONMENT = Fields(undefined=StrictUndefined, finalize=lambda value: "" if value is None else value)


def cell_text(value: Any) -> Any:
    """What YAML has read as a list of answers or a number, as the text of a template."""
    if isinstance(value, bool):
        raise ValueError("YAML reads yes, no, true and false as truth values: quote the word")
    if isinstance(value, list):
        return "|".join(str(cell_text(each)) for each in value)
    return str(value) if isinstance(value, int | float) else "" if value is None else value


Key = Annotated[str, BeforeValidator(cell_text)]
Template = Annotated[Key, AfterValidator(valid_template)]
Texts = Annotated[dict[str, Template], BeforeValidator(lambda of: {cell_text(k): v for k, v in dict(of).items()})]


class ResultMapping(Closed):
    """Which rows of verdicts a tool's records are. Templates are jinja2's, over a record's fields."""

    at: Key = ""  # the key of a JSON document that holds the records, such as results.results
    each: Key = ""  # the key of a list in a record: a row for each of its elements, with `each` and `index` as fields
    where: Annotated[Template, AfterValidator(as_test)] = ""  # which records are kept: an expression; all where empty
    failed: Annotated[Template, AfterValidator(as_test)] = (
        "{{ error | default }}"  # which have no reply: their items go
    )
    values: Texts = {}  # what a record says → the answer's name, in columns that hold these
    baseline: str | None = None  # as --baseline
    columns: Texts = {}  # column → template, of every row
    rows: tuple[Texts, ...] = ({},)  # a record makes one row for each of these, with these columns beside

    @property
    def has_columns(self) -> bool:
        """Whether rows are made of records, which else are rows already."""
        return bool(self.columns) or any(self.rows)


def read_mapping(words: Sequence[str]) -> ResultMapping:
    """A mapping by its file or by the name of one that comes with Evenhand, with keys overridden ("key=value"); without
    a name one whose records are rows already."""
    name, *overrides = words
    if not name:
        tree: dict[str, Any] = {}
        for word in overrides:
            apply_override(tree, word)
        return parse_config(ResultMapping, tree, "--set")
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}
    if name not in shipped and not Path(name).is_file():
        raise ConfigError(f"--mapping {name}: no such file. {did_you_mean(name, [*shipped])}")
    path = Path(name) if Path(name).is_file() else shipped[name]
    return parse_config(ResultMapping, config_tree([str(path), *overrides]), f"--mapping {name}")


@dataclass(frozen=True, slots=True)
class Mapped:
    """What a mapping makes of sources."""

    rows: list[Row] = field(default_factory=list)
    failed: list[set[Unit]] = field(default_factory=list)  # the items of each record that failed; empty: it says none
    unkept: list[str] = field(default_factory=list)  # where records stand that `where` leaves out

    def add(self, source: Path, mapping: ResultMapping) -> None:
        """Add a source. Raises DataError where each reply of a log stands behind several filters."""
        names = {same_value(text): name for text, name in mapping.values.items()}
        named = {"model": "{{ model }}"} if is_log(source) and mapping.has_columns else {}
        columns = {**named, **mapping.columns}
        templates, filters = [{**columns, **row_columns} for row_columns in mapping.rows], dict[str, None]()
        for where, record in kept_records(source, mapping):
            if mapping.where and not is_true(mapping.where, record, f"{where}: where"):
                self.unkept.append(where)
            elif is_true(mapping.failed, record, f"{where}: failed"):
                self.failed.append({unit_in(row_templates, record) for row_templates in templates} - {()})
            else:
                filters[str(record.get("filter"))] = None
                self.rows.extend({**row, RECORD_PLACE: where} for row in filled(templates, names, record, where))
        if len(filters) > 1 and is_log(source):
            first, *further = filters
            raise DataError(
                f"{source}: holds every reply behind several filters, {first} and {' and '.join(further)}: say which "
                f"one counts, --set \"where=filter == '{first}'\""
            )

    @property
    def whole(self) -> list[Row]:
        """The rows of items of which no record failed."""
        out = set[Unit]().union(*self.failed)
        names = {tuple(name for name, _ in unit) for unit in out}
        return [row for row in self.rows if not any(tuple((n, as_id(row.get(n))) for n in of) in out for of in names)]

    @property
    def notes(self) -> Iterator[str]:
        """What is left out, and of which failed records the items could not be."""
        if self.unkept:
            yield f"`where` leaves out {len(self.unkept)} records, the first at {self.unkept[0]}."
        if self.failed:
            items, n_nameless = set[Unit]().union(*self.failed), self.failed.count(set())
            n_models, is_named = len({row.get("model") for row in self.rows}), all("model" in dict(u) for u in items)
            scope = "" if is_named or n_models == 1 else ", for every model where a record names none"
            yield f"{len(self.failed)} records failed; their {len(items)} items are left out{scope}."
            if n_nameless:
                yield f"{n_nameless} failed records do not say which item they are of: its other rows are scored."


def with_mapped(options: Options) -> Options:
    """The options with OUT/verdicts.jsonl, the rows of all sources, in their place, and with the mapping's baseline.

    Raises DataError for what no mapping is for, a template that cannot be filled, or where no row is left.
    """
    if not options.out:
        raise DataError("--mapping and --set: rows are written to a file, so name its folder with --out DIR")
    mapping, mapped = read_mapping([options.mapping, *options.mapping_keys]), Mapped()
    check_named_once(options.sources)
    for source in options.sources:
        if source.is_dir():
            raise DataError(f"{source}: is a folder, and --mapping is for results of other tools; leave it out")
        mapped.add(source, mapping)
    whole = mapped.whole
    for note in mapped.notes:
        say(f"Note: {note}")
    if not whole:
        raise DataError(f"{options.sources[0]}: no row is left; look at `where` and `failed`")
    write_jsonl(options.out / "verdicts.jsonl", whole)
    given = {} if mapping.baseline is None else {"baseline": mapping.baseline}
    return replace(options, sources=(options.out / "verdicts.jsonl",), study={**given, **options.study})


def kept_records(source: Path, mapping: ResultMapping) -> Iterator[Place]:
    """The records of a source, one for each element of the list that the mapping names."""
    n_lists = 0
    for where, record in records_of(source, mapping.at):
        fields = {"file": stem_of(source), "item": record, **record} if mapping.has_columns else record
        listed = unpacked_cell(value_at(fields, mapping.each)) if mapping.each else None
        n_lists += isinstance(listed, list)
        for index, element in enumerate(listed if isinstance(listed, list) and listed else [None]):
            inner = element if isinstance(element, dict) else {}
            yield where, {**fields, **inner, "each": element, "index": index} if mapping.each else fields
    if mapping.each and not n_lists:
        raise DataError(
            f"{source}: each: no record has a list at '{mapping.each}'; name the key of one, or leave it out"
        )


def records_of(source: Path, at: str) -> Iterator[Place]:
    """The records of a source with their places, a log's without those that stand twice."""
    if is_log(source):
        log = read_log(source)
        yield from (
            (f"{source}, sample {sample.get('id', sample.get('doc_id'))}", sample) for sample in samples_once(log)
        )
    else:
        yield from ((record.where, cells(record.values)) for record in data_rows(source, at))


def value_at(fields: Any, key: str) -> Any:
    """The value at a key of keys ("response.body.choices"); None where there is none."""
    for part in key.split("."):
        fields = fields.get(part) if isinstance(fields, Mapping) else None
    return fields


def is_true(template: str, record: Mapping[str, Any], where: str) -> bool:
    """Whether a template's text stands for something."""
    return rendered(template, record, where, ENVIRONMENT).strip().casefold() not in NO


def unit_in(templates: Mapping[str, str], record: Mapping[str, Any]) -> Unit:
    """The item of a record that failed, as far as it says; () where it does not say which."""
    unit = dict[str, str]()
    templates = templates or {str(name): f"{{{{ {name} }}}}" for name in record}
    for column in UNIT:
        with suppress(DataError):
            unit |= {column: rendered(templates[column], record, "", ENVIRONMENT)} if column in templates else {}
    unit = {column: as_id(text) for column, text in unit.items() if text.strip()}
    return tuple(unit.items()) if {"item_id", "conversation"} & unit.keys() else ()


def filled(
    templates: Sequence[Mapping[str, str]], names: Mapping[str, str], record: Mapping[str, Any], where: str
) -> Iterator[Row]:
    """A row for each mapping of columns to templates; without a column the record itself. An empty text is null.

    names: what a record says → an answer.

    Raises DataError naming the record and the column that cannot be filled.
    """
    for columns in templates:
        texts = {c: rendered(text, record, f"{where}: {c}", ENVIRONMENT).strip() or None for c, text in columns.items()}
        row: Row = texts or dict(record)
        for column, value in row.items():
            if isinstance(value, str) and LONE_SURROGATE.search(value):
                raise DataError(f"{where}: {column} holds half a surrogate pair, which no file takes; repair the text")
        for column in {*NAMED} & row.keys() if names else ():
            row[column] = names.get(same_value(str(as_text(row[column]))), row[column]) or None
        yield row

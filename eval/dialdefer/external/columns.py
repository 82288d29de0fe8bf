"""Batches of columns → numbers: every value is checked, every text becomes a code, every reply what it decides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.external.replies import BadValue, replies_of
from eval.dialdefer.external.spellings import (
    AIO_DATASETS,
    ARM_NONE,
    LABELS,
    MAIN_ROLES,
    canonical_arm,
    canonical_condition,
    canonical_dataset,
    canonical_label,
    canonical_roles,
)
from eval.dialdefer.external.verdict_files import LAYOUT
from eval.verdict_files import Absent, Batch
from evenhand.errors import DataError
from evenhand.sources.record_fields import shown

IntArray = NDArray[np.int32]
NO_LABEL = -1
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """Rows as arrays of one length, and what their codes stand for."""

    paths: Sequence[Path]
    ignored: Sequence[str]  # columns that nothing was done with
    names: dict[str, list[str]]  # model, dataset, item_id, condition, arm, roles → what each code stands for
    codes: dict[str, IntArray]  # the same → code of each row
    replies: NDArray[np.int8]  # as in Panel
    unread: dict[str, NDArray[np.bool_]]  # parser → replies that it cannot read
    parsed: NDArray[np.bool_]  # rows whose reply was read here, for want of a choice
    labels: NDArray[np.int8]  # position in LABELS, or NO_LABEL
    files: IntArray  # position in paths
    lines: IntArray


class Codes:
    """One column's values as whole numbers, numbered in order of first appearance over all files."""

    def __init__(self, column: str, canonical: Callable[[str], str] = str, default: str | None = None) -> None:
        """canonical raises DataError for a value that is unknown; default is what null means, if it may be null."""
        self.column, self.canonical, self.default = column, canonical, default
        self.names: list[str] = []
        self.code_of_name: dict[str, int] = {}
        self.code_of_value: dict[Any, int] = {}

    def encode(self, values: Sequence[Any]) -> IntArray:
        """A code for each value. Raises BadValue for one that cannot be."""
        # Types first: in a dict 1, 1.0 and True would be one key, and a list none at all.
        refuse_types(self.column, values, {str, int} if self.column == "item_id" else {str})
        for value in dict.fromkeys(values):
            if value not in self.code_of_value:
                try:
                    self.code_of_value[value] = self.code_of(self.name_of(value))
                except DataError as error:
                    raise BadValue(values.index(value), self.column, str(error)) from None
        return np.fromiter(map(self.code_of_value.__getitem__, values), np.int32, len(values))

    def code_of(self, name: str) -> int:
        """The code of a name, a new one if need be."""
        if name not in self.code_of_name:
            self.code_of_name[name] = len(self.names)
            self.names.append(name)
        return self.code_of_name[name]

    def name_of(self, value: object) -> str:
        """What a value is called, without outer spaces. Raises DataError when it names nothing."""
        text = "" if value is None or value is Absent.FIELD else str(value).strip()
        if not text:
            if self.default is None:
                raise DataError("is absent" if value is Absent.FIELD else "is empty")
            return self.default
        if not text.isprintable() or len(text) > LONGEST_NAME:
            raise DataError(f"must be a name on one line of at most {LONGEST_NAME} characters, found {shown(text)}")
        return self.canonical(text)


def refuse_types(column: str, values: Sequence[Any], allowed: set[type]) -> None:
    """Raises BadValue for the first value that is of another type, null and absent fields apart."""
    wrong = set(map(type, values)) - allowed - {Absent, type(None)}
    if wrong:
        row = next(i for i, value in enumerate(values) if type(value) in wrong)
        raise BadValue(row, column, f"must be a text, found {shown(values[row])}")


class Coder:
    """Takes batches of any number of files, gives CodedRows."""

    def __init__(self, parser: str) -> None:
        self.parser = parser
        self.keys = (
            Codes("model"),
            Codes("dataset", canonical_dataset),
            Codes("item_id"),
            Codes("condition", canonical_condition),
            Codes("arm", canonical_arm, default=ARM_NONE),
            Codes("roles", canonical_roles, default=MAIN_ROLES),
        )
        self.paths: list[Path] = []
        self.ignored: dict[str, None] = {}
        self.parts: list[dict[str, NDArray[Any]]] = []

    def open(self, path: Path) -> None:
        """Say that the next batches are of this file."""
        self.paths.append(path)

    def add(self, batch: Batch) -> None:
        """Check and code a batch. Raises DataError naming file, line and field of a bad value."""
        refuse_other_case(batch)
        self.ignored.update(dict.fromkeys(sorted(batch.ignored)))
        n_rows = len(batch.lines)
        try:
            part: dict[str, NDArray[Any]] = {}
            for key in self.keys:
                part[key.column] = key.encode(batch.column(key.column))
            # The dataset says all that the benchmark could, so that is checked to be a text and no more.
            refuse_types("benchmark", batch.column("benchmark"), {str})
            part["labels"] = self.labels_of(batch, part["dataset"])
            part |= replies_of(batch, self.parser)
        except BadValue as error:
            raise DataError(f"{batch.where(error.row)}: field '{error.column}' {error}") from None
        part["files"] = np.full(n_rows, len(self.paths) - 1, dtype=np.int32)
        part["lines"] = np.array(batch.lines, dtype=np.int32)
        self.parts.append(part)

    def labels_of(self, batch: Batch, datasets: IntArray) -> NDArray[np.int8]:
        """r/AIO's labels; of other datasets the column is not looked at."""
        found = np.full(len(batch.lines), NO_LABEL, dtype=np.int8)
        if "label" not in batch.columns:
            return found
        names = self.keys[1].names
        codes = [code for code, name in enumerate(names) if name in AIO_DATASETS]
        values = batch.columns["label"]
        for row in np.flatnonzero(np.isin(datasets, codes)).tolist():
            if values[row] is not None and values[row] is not Absent.FIELD and values[row] != "":
                found[row] = label_code(row, values[row])
        return found

    def finish(self) -> CodedRows:
        """All rows of all batches."""
        joined = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        return CodedRows(
            paths=self.paths,
            ignored=list(self.ignored),
            names={key.column: key.names for key in self.keys},
            codes={key.column: joined.pop(key.column) for key in self.keys},
            unread={name.removeprefix("unread_"): joined.pop(name) for name in list(joined) if name[:7] == "unread_"},
            **joined,
        )


def label_code(row: int, value: object) -> int:
    """The position of a label in LABELS. Raises BadValue for what is none."""
    try:
        return LABELS.index(canonical_label(str(value)))
    except DataError as error:
        raise BadValue(row, "label", str(error)) from None


def refuse_other_case(batch: Batch) -> None:
    """Raises DataError when an ignored column is one of ours but for spaces and capitals."""
    for name in sorted(batch.ignored):
        meant = name.strip().casefold()
        if meant in LAYOUT.columns:
            raise DataError(f"{batch.where(0)}: column {shown(name)} must be written '{meant}'")

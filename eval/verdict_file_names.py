"""Files of verdicts, told by their names."""

from pathlib import Path

SUFFIXES = (".jsonl", ".csv", ".parquet")


def kind_of(path: Path) -> str:
    """The suffix that tells the format, without .gz: ".jsonl", ".csv", ".parquet"; any other is of no verdict file."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes[-1:] == [".gz"]:
        return suffixes[0] if suffixes[0] != ".parquet" else ""
    return suffixes[-1] if suffixes else ""


def is_verdict_file(path: Path) -> bool:
    """Whether a path names a file of external verdicts, by its suffix, and is no folder."""
    return kind_of(path) in SUFFIXES and not path.is_dir()

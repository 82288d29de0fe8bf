"""Files of verdicts, told by their names."""

from pathlib import Path

from eval.dialdefer.external.verdict_files import READERS, kind_of


def is_verdict_file(path: Path) -> bool:
    """Whether a path names a file of external verdicts, by its suffix, and is no folder."""
    return kind_of(path) in READERS and not path.is_dir()

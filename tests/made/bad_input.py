"""Publishers' files with something wrong in them, and the error that a converter gives."""

from pathlib import Path

import pytest

from evenhand.errors import DataError
from studies.dialdefer.unified.catalogue import DATASETS
from tests.made.unified_files import PLAIN


def refusal(dataset: str, folder: Path) -> str:
    """The error of a conversion, without the folder; it is one line and ends with what to do or to look for."""
    with pytest.raises(DataError) as caught:
        list(DATASETS[dataset].convert(folder))
    message = str(caught.value)
    assert message.startswith(str(folder))
    assert message.isprintable()
    return message.removeprefix(str(folder)).removeprefix("/")


def refused(dataset: str, content: str | bytes, folder: Path) -> str:
    """The error over a plain file of that content."""
    content = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    (folder / PLAIN[dataset][0]).write_bytes(content)
    return refusal(dataset, folder)

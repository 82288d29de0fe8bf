"""What a killed process left half-written is removed by the next one that writes in the folder, and nothing else is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import partials
from benchmarks.jsonl import write_json
from benchmarks.partials import partial_of

LEAVES_ONE = """
import sys
from pathlib import Path
from benchmarks.partials import partial_of
partial_of(Path(sys.argv[1])).write_text("{")
"""


def left_over(file: Path) -> Path:
    """What a process that is dead by now has left."""
    subprocess.run([sys.executable, "-c", LEAVES_ONE, str(file)], cwd=Path(__file__).parents[1], check=True)
    (found,) = file.parent.glob(f"{file.name}.*.partial")
    return found


def of_another_machine(file: Path) -> Path:
    """The same from another machine."""
    found = left_over(file)
    name = found.name.replace(partials.here(), "0" * 8)
    return found.rename(found.with_name(name))


def test_half_a_file_of_a_killed_process_stayed_for_ever(tmp_path: Path) -> None:
    left_over(tmp_path / "DONE.json")
    write_json(tmp_path / "other.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    ours = partial_of(tmp_path / "DONE.json")
    ours.write_text("{")
    write_json(tmp_path / "other.json", {})
    assert ours.exists()


@pytest.mark.parametrize("days", [0, 2])
def test_what_another_machine_writes_stays_for_a_day(days: int, tmp_path: Path) -> None:
    file = of_another_machine(tmp_path / "DONE.json")
    then = file.stat().st_mtime - days * 86_400
    os.utime(file, (then, then))
    write_json(tmp_path / "other.json", {})
    assert file.exists() == (days == 0)


def test_a_download_that_continues_stays(tmp_path: Path) -> None:
    (tmp_path / "big.zip.partial").write_text("half of it")
    write_json(tmp_path / "other.json", {})
    assert (tmp_path / "big.zip.partial").exists()

"""What a killed process left half-written is removed by the next one that writes in the folder, and nothing else is."""

import subprocess
import sys
from pathlib import Path

from evenhand.jsonl import write_json
from evenhand.partials import partial_of

LEAVES_ONE = """
import sys
from pathlib import Path
from evenhand.partials import partial_of
partial_of(Path(sys.argv[1])).write_text("{")
"""


def left_over(file: Path) -> Path:
    """What a process that is dead by now has left."""
    subprocess.run([sys.executable, "-c", LEAVES_ONE, str(file)], cwd=Path(__file__).parents[1], check=True)
    (found,) = file.parent.glob(f"{file.name}.*.partial")
    return found


def test_half_a_file_of_a_killed_process_stayed_for_ever(tmp_path: Path) -> None:
    left_over(tmp_path / "DONE.json")
    write_json(tmp_path / "other.json", {})
    assert [path.name for path in tmp_path.iterdir()] == ["other.json"]


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    ours = partial_of(tmp_path / "DONE.json")
    ours.write_text("{")
    write_json(tmp_path / "other.json", {})
    assert ours.exists()


def test_a_download_that_continues_stays(tmp_path: Path) -> None:
    (tmp_path / "big.zip.partial").write_text("half of it")
    write_json(tmp_path / "other.json", {})
    assert (tmp_path / "big.zip.partial").exists()

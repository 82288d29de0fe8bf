"""What killed writers leave is removed by the next process that may, and what a live one is writing is not."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from benchmarks.errors import DataError
from benchmarks.jsonl import ABANDONED_S, remove_left_over
from benchmarks.lease import held
from benchmarks.narrator.build import Request, build
from eval.files import write_rows
from inference.sampling import sample
from tests.scripted_engine import config, scripted
from tests.training_runs import tiny_model, tiny_run
from training.run import LEASE_FILE, folder_of, open_training


def partial(folder: Path, name: str = "plan.jsonl", *, age_s: float = 0) -> Path:
    """A file that a killed writer left so many seconds ago."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.{uuid.uuid4().hex}.partial"
    file.write_text("half of")
    then = file.stat().st_mtime - age_s
    os.utime(file, (then, then))
    return file


KILLED = """
import os, signal, sys
from pathlib import Path
from benchmarks import jsonl
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
jsonl.write_whole(Path(sys.argv[1]) / "DONE.json", "{}")
"""


def test_what_a_kill_in_the_middle_of_a_write_leaves_is_removed(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    remove_left_over(tmp_path, is_ours=False)
    assert len(list(tmp_path.iterdir())) == 1, "it may be a live process's"
    remove_left_over(tmp_path, is_ours=True)
    assert not list(tmp_path.iterdir())


def test_a_users_own_partial_files_are_left(tmp_path: Path) -> None:
    (tmp_path / "thesis.partial").write_text("mine")
    remove_left_over(tmp_path, is_ours=True)
    assert (tmp_path / "thesis.partial").exists()


def test_a_sampling_run_loses_the_old_ones_and_keeps_what_another_process_may_be_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch)
    path = sample(config(tmp_path))
    old = [partial(path / folder, age_s=ABANDONED_S + 60) for folder in ("", "completions")]
    young = [partial(path / folder) for folder in ("", "completions")]
    sample(config(tmp_path))
    assert not any(file.exists() for file in old)
    assert all(file.exists() for file in young)


def test_results_that_were_never_written_whole_are_removed(tmp_path: Path) -> None:
    old = partial(tmp_path, "scores.json", age_s=ABANDONED_S + 60)
    write_rows(tmp_path, "scores", [{"a": 1}])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["scores.csv", "scores.json"], old


def test_a_corpus_that_is_built_anew_loses_them(tmp_path: Path) -> None:
    build(Request(out=tmp_path, pocket=True))
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "raw").mkdir()
    left = partial(tmp_path, "conversations.jsonl")
    build(Request(out=tmp_path, pocket=True))
    assert not left.exists()


def test_a_training_run_loses_them_once_no_other_process_trains_it(tmp_path: Path) -> None:
    run = tiny_run("sft", tiny_model(tmp_path / "model"), tmp_path)
    left = partial(folder_of(run), "excluded.jsonl")
    with held(folder_of(run) / LEASE_FILE, "trained"):
        with pytest.raises(DataError, match="is being trained by process"), open_training(run):
            pass
        assert left.exists()
    with open_training(run) as opened:
        assert not left.exists()
    merging = opened.path / f"merged-bf16.{uuid.uuid4().hex}.partial"
    merging.mkdir()
    (opened.path / "DONE.json").write_text("{}")
    with open_training(run):
        assert merging.exists(), "a merge has a lease of its own"

"""Runs of margins, with the training runs behind them → archives without any item's text and any weight.

    python docs/evidence/pack.py docs/evidence/coder-1.5b runs/inference/coder-1.5b-margin-*

Makes FOLDER/RUN.tar.xz of each; behind --own-items also of runs whose replies hold words of items, which are then ours.
Files keep their places in the checkout, so the verbs that read runs read what is unpacked there. The same run gives the
same bytes.
"""

import shutil
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evenhand.completions import append_completions, read_answers
from evenhand.config import read_yaml
from evenhand.errors import DataError
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, PLAN_FILE, PROVENANCE_FILE, is_done
from evenhand.terminal import run_main
from training.run_folder import METRICS_FILE


def main(argv: Sequence[str]) -> None:
    """Pack the runs argv[1:], with paths from the checkout, into the folder argv[0]; --own-items may stand in front."""
    are_ours = argv[0] == "--own-items"
    target, *runs = map(Path, argv[are_ours:])
    target.mkdir(parents=True, exist_ok=True)
    for run in runs:
        pack(run, target / f"{run.name}.tar.xz", are_ours=are_ours)


def pack(run: Path, archive_file: Path, *, are_ours: bool = False) -> None:
    """Pack a complete sampling run, and the training run in which its checkpoint lies, if it does.

    Raises DataError for a path that does not start at the checkout, since it would be unpacked elsewhere; for a run
    that is not complete; for one that keeps words of its items.
    """
    check_inside(run)
    if not is_done(run):
        raise DataError(f"{run}: is no complete run; the command that made it continues it")
    config = read_yaml(run / CONFIG_FILE)
    if shows_items(config) and not are_ours:
        raise DataError(
            f"{run}: its completions hold words of the items; those of margins in DialDefer and of fixed "
            "answers in a study in YAML do not"
        )
    with TemporaryDirectory() as folder:
        copied = Path(folder)
        copy(run, copied / run, CONFIG_FILE, PROVENANCE_FILE, PLAN_FILE, DONE_FILE)
        # Without what the model read, which the items' publishers own.
        replies = read_answers(run).replies
        append_completions(copied / run, (reply for hash_ in sorted(replies) for reply in replies[hash_]), number=1)
        checkpoint = Path(config["model"]["name"])
        training_run = checkpoint.parent
        if (training_run / DONE_FILE).is_file():
            check_inside(training_run)
            copy(training_run, copied / training_run, CONFIG_FILE, PROVENANCE_FILE, METRICS_FILE, DONE_FILE)
            copy(checkpoint, copied / checkpoint, DONE_FILE)
        with tarfile.open(archive_file, "w:xz") as archive:
            for file in sorted(path for path in copied.rglob("*") if path.is_file()):
                archive.add(file, file.relative_to(copied), filter=undated)


def shows_items(config: Mapping[str, Any]) -> bool:
    """Whether a run keeps words of its items: replies in words, or answers whose texts are filled in from an item."""
    if config["verdict"] != "margin" or "framing" not in config:
        return config["verdict"] != "margin" or "dialdefer" not in config
    section = config["framing"]
    framings = [section, *section["framings"].values(), *section["placebos"]]
    return bool(section["pair"]) or any(
        "{" in text for framing in framings for text in (framing["answers"] or {}).values()
    )


def check_inside(path: Path) -> None:
    """Raises DataError for a path that is absolute or leads out of the current folder."""
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{path}: is not a path from the checkout; sample and pack there, with a relative run.root")


def copy(source: Path, target: Path, *names: str) -> None:
    """Copy some files of a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(source / name, target / name)


def undated(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner, date and rights."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry


if __name__ == "__main__":
    sys.exit(run_main(main))

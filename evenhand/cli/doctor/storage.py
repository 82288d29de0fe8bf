"""Where caches and runs go, and whether there is room."""

import os
import shutil
from pathlib import Path

from evenhand.cli.doctor.check import Check, ok, wrong
from evenhand.embedded import cache_dir

GIB = 2**30


def cache_checks(owed_bytes: float) -> list[Check]:
    """The Hub's cache, in which so many bytes are still to be put, and our own."""
    from huggingface_hub import constants

    return [
        room_check("HF_HOME", Path(constants.HF_HOME), owed_bytes, "models still to be fetched"),
        room_check("EVENHAND_CACHE", cache_dir(), 0, ""),
    ]


def room_check(subject: str, folder: Path, needed: float, what_for: str) -> Check:
    """Whether a folder can be written to and its disk has so many bytes left. Quotas are not seen."""
    there = nearest(folder)
    free = shutil.disk_usage(there).free
    figures = {"free_bytes": float(free), "needed_bytes": needed}
    if not os.access(there, os.W_OK):
        return wrong(subject, f"{folder}: may not be written to", f"set {subject} to another folder", figures)
    needs = f", {needed / GIB:.1f} GiB needed for {what_for}" if needed else ""
    told = f"{folder}, {free / GIB:.0f} GiB free{needs}"
    if free < needed:
        return wrong(subject, told, f"make room, or set {subject} to another folder", figures)
    return ok(subject, told, **figures)


def nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(
        path for path in (folder.expanduser().absolute(), *folder.expanduser().absolute().parents) if path.is_dir()
    )

"""Builds and reports killed before any of their file operations: every table and page is an undisturbed run's."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.made.convokit_dump import made_dump
from tests.made.fuzz import N_KILLS
from tests.made.kill_campaign import Campaign, Command
from tests.made.report_runs import leans, pocket_run
from tests.made.unified_files import write_raw

pytestmark = [pytest.mark.campaign, pytest.mark.slow]
DATASETS = ("halueval", "advisorqa")


def test_building_the_unified_benchmark(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    write_raw(raw, scale=0.02, datasets=list(DATASETS))
    sizes = [f"{name}=9" for name in DATASETS]
    words = ["unified", "--out", "built", "--raw", str(raw), "--datasets", *DATASETS, "--any-revision"]
    command = Command(entry="studies.build:main", words=[*words, "--split", "resample", "--size", *sizes])
    with Campaign(command, tmp_path) as campaign:
        campaign.run(N_KILLS, campaign.refuse_differences)


def test_building_the_narrator_study(tmp_path: Path) -> None:
    dump = made_dump(tmp_path / "dump")
    words = ["narrator", "--raw", str(dump), "--out", "built"]
    with Campaign(Command(entry="studies.build:main", words=words), tmp_path) as campaign:
        campaign.run(N_KILLS, campaign.refuse_differences)


def test_reporting(tmp_path: Path) -> None:
    run = pocket_run(tmp_path / "made", leans, verdict="margin")
    command = Command(
        entry="eval.__main__:report_main",
        words=["run", "--draws", "50"],
        prepare=partial(copied, run),
    )
    with Campaign(command, tmp_path) as campaign:
        campaign.run(N_KILLS, campaign.refuse_differences)


def copied(run: Path, folder: Path) -> None:
    shutil.copytree(run, folder / "run")

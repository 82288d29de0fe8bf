"""`make venv-cuda` takes the lock that the driver runs, or stops before it installs anything."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from requirements.choose import choose, require_glibc
from tests.made.places import ROOT


@pytest.fixture
def nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that stands for nvidia-smi; the machine's own is hidden."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    file = tmp_path / "nvidia-smi"
    file.write_text("#!/bin/sh\nexit 9\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("driver", "lock"),
    [("580", "cuda"), ("580.65.06", "cuda"), ("610.1", "cuda"), ("579.99", "cuda12"), ("525.60.13", "cuda12")],
)
def test_the_newest_cuda_that_the_driver_runs_is_taken(nvidia_smi, capsys, driver, lock):
    assert choose(driver) == lock
    nvidia_smi.write_text(f"#!/bin/sh\necho 'NVIDIA A100-SXM4-80GB, 81920, {driver}'\n")
    assert choose("") == lock
    assert capsys.readouterr().err.count(f"NVIDIA driver {driver}: requirements/{lock}.lock") == 2


def test_without_a_driver_it_is_the_current_lock_and_one_line_says_so(nvidia_smi, capsys):
    assert choose("") == "cuda"
    line = (
        "No NVIDIA driver here (DRIVER=570 names the compute nodes'): requirements/cuda.lock, for drivers from 580 on\n"
    )
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        ("470.256.02", "driver 470.256.02 is older than 525.*580 or newer"),
        ("cuda12", "DRIVER=cuda12: not a driver"),
    ],
)
def test_what_no_lock_is_for_is_refused(nvidia_smi, driver, message):
    with pytest.raises(SystemExit, match=message):
        choose(driver)


@pytest.mark.parametrize(("lock", "version"), [("cuda", "2.28"), ("cuda", "2.39"), ("cuda12", "2.31")])
def test_a_glibc_that_all_wheels_run_on_is_taken(lock, version):
    require_glibc(lock, version)


@pytest.mark.parametrize(
    ("lock", "version", "message"),
    [
        ("cuda12", "2.28", r"cuda12.lock needs glibc 2.31 .* has 2.28 .* a container .* driver 580 or newer"),
        ("cuda", "2.17", r"cuda.lock needs glibc 2.28 .* has 2.17 .* a container"),
        ("cuda", None, "has another C library"),
    ],
)
def test_an_older_glibc_is_refused_by_name(lock, version, message):
    with pytest.raises(SystemExit, match=message):
        require_glibc(lock, version)


def make_venv_cuda(driver: str) -> subprocess.CompletedProcess[str]:
    """What `make venv-cuda` would do, without doing it."""
    command = ["make", "-n", "venv-cuda", f"DRIVER={driver}", f"PYTHON={sys.executable}", "VENV=not-there"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(("driver", "lock"), [("570", "cuda12"), ("590.1", "cuda")])
def test_make_installs_the_lock_that_was_chosen(driver, lock):
    assert re.findall(r"(\S+\.lock) >>", make_venv_cuda(driver).stdout) == [f"requirements/{lock}.lock"]


def test_make_installs_nothing_where_no_lock_fits():
    done = make_venv_cuda("470")
    assert (done.returncode != 0, "pip" in done.stdout) == (True, False)
    assert "older than 525" in done.stderr

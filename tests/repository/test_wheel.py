"""The built wheel holds everything that the code reads, and runs where there is no checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.made.places import ROOT
from tests.made.source_files import PACKAGES

pytestmark = pytest.mark.slow
LINKED = ("configs", "slurm")  # in the checkout beside the packages, in the wheel inside one


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """What a wheel of this checkout installs."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site-packages")
    for name in (*PACKAGES, *LINKED):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    recorded = Path("docs", "evidence", "knowing-judge")  # where the links in inference/recorded point
    shutil.copytree(ROOT / recorded, source / recorded)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, source / name)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-P", "-c", build], cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def test_the_wheel_holds_every_file_of_the_checkout(unpacked):
    shipped = [file for name in PACKAGES for file in (ROOT / name).rglob("*") if "__pycache__" not in file.parts]
    names = [file.relative_to(ROOT) for file in shipped if file.is_file()]
    names += [Path("evenhand") / file.relative_to(ROOT) for name in LINKED for file in (ROOT / name).rglob("*.*")]
    assert [str(name) for name in names if not (unpacked / name).is_file()] == []


def test_a_study_is_begun_and_a_config_found_by_name_outside_of_the_checkout(unpacked, tmp_path):
    def evenhand(*words):
        """A command's last printed line; the code is the wheel's."""
        code = "import evenhand.cli.command as c; c.main()"
        environment = {**os.environ, "PYTHONPATH": str(unpacked), "HF_HUB_OFFLINE": "1"}
        command = [sys.executable, "-P", "-c", code, *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

    evenhand("init", "mine", "--slurm")
    assert f"VENV={sys.prefix}" in (tmp_path / "mine" / "slurm" / "settings.sh").read_text()
    assert (tmp_path / "mine" / "configs" / "accelerate" / "cpu.yaml").is_file()
    assert "12 items" in evenhand("fetch", "pairwise", "model.name=embedded")  # whose items are a file that comes along

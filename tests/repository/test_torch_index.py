"""torch's CPU build comes from PyTorch's own index or, when that is out of reach, from where pip is told to look."""

import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.made.places import ROOT

LOCK = ROOT / "requirements" / "torch-cpu.lock"
PYTORCH = "https://download.pytorch.org/whl/cpu"
FILE = "torch-2.13.0+cpu-py3-none-any.whl"

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no +cpu build; it takes the plain wheel")


def write_wheel(folder: Path, origin: str) -> None:
    """A wheel that holds nothing but where it came from."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / FILE, "w") as wheel:
        wheel.writestr("torch/origin.txt", origin)
        facts = "torch-2.13.0+cpu.dist-info"
        wheel.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\n")
        wheel.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{facts}/RECORD", "")


@pytest.fixture
def served(tmp_path) -> Iterator[str]:
    """The address of a server with two indexes: /pytorch has torch, /empty has nothing."""
    write_wheel(tmp_path / "served" / "pytorch" / "torch", "index")
    (tmp_path / "served" / "empty").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path / "served"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fetched(tmp_path: Path, served: str, index: str, *, find_links: bool) -> str:
    """Where the wheel came from that pip takes for our lock file, with PyTorch's index at `index`."""
    write_wheel(tmp_path / "wheels", "find-links")
    lock = tmp_path / "torch-cpu.lock"
    lock.write_text(LOCK.read_text(encoding="utf-8").replace(PYTORCH, index), encoding="utf-8")
    configured = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"{served}/empty", "NO_PROXY": "127.0.0.1"}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")} | configured
    if find_links:
        environment["PIP_FIND_LINKS"] = str(tmp_path / "wheels")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--retries", "0", "-d", str(tmp_path / "got")]
    subprocess.run([*command, "-r", str(lock)], env=environment, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(tmp_path / "got" / FILE) as wheel:
        return wheel.read("torch/origin.txt").decode()


def test_pytorchs_index_serves_it_when_it_can_be_reached(tmp_path, served):
    assert fetched(tmp_path, served, f"{served}/pytorch", find_links=False) == "index"


def test_find_links_serve_it_when_pytorchs_index_refuses_the_connection(tmp_path, served):
    assert fetched(tmp_path, served, "http://127.0.0.1:9", find_links=True) == "find-links"


def test_find_links_serve_it_when_pytorchs_index_does_not_have_it(tmp_path, served):
    assert fetched(tmp_path, served, f"{served}/absent", find_links=True) == "find-links"

"""A checkpoint's fingerprint sees every file that can change an answer, and reads large weights once."""

from pathlib import Path

import pytest

from evenhand import checkpoints as fingerprints
from evenhand.checkpoints import checkpoint_hash

SIZE = 3 * 2**20


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "snapshots" / "0a1b2c"
    (path / "additional_chat_templates").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(bytes(SIZE))
    for name in ("config.json", "tokenizer.json", "chat_template.jinja", "additional_chat_templates/tool.jinja",
                 "tokenizer.model", "merges.txt", "README.md", "DONE.json"):  # fmt: skip
        (path / name).write_text("{}")
    return path


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("chat_template.jinja", True),
        ("additional_chat_templates/tool.jinja", True),
        ("tokenizer.model", True),
        ("model.safetensors", True),
        ("README.md", False),
        ("DONE.json", False),
    ],
)
def test_every_file_that_can_change_an_answer_counts_in_the_middle_too_and_no_other(
    name: str, counts: bool, folder: Path
) -> None:
    before, content = checkpoint_hash(folder), bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    assert (checkpoint_hash(folder) != before) == counts


def test_a_blob_of_the_hubs_cache_is_known_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = folder / ("0" * 64)
    (folder / "model.safetensors").rename(blob)
    (folder / "model.safetensors").symlink_to(blob)
    monkeypatch.setattr(fingerprints, "sha256_of", lambda _: pytest.fail("read"))
    assert fingerprints.file_hash(folder / "model.safetensors") == "0" * 64

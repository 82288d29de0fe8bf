"""Uploading a merged checkpoint: with its card, after its check, private unless it is said to be public."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.errors import ConfigError, EvenhandError
from tests.made.fake_hub import REPO, FakeHub, api, serving
from tests.made.made_merges import made_merge
from training.model_card import CARD_FILE
from training.push_model import push_to_hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with serving("models") as fake:
        yield fake


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    _, folder = made_merge(tmp_path, items={"pocket": 8})
    (folder / CARD_FILE).write_text("---\nlibrary_name: transformers\n---\n# A judge\n")
    shards = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    for name in shards:
        (folder / name).write_bytes(b"weights")
    index = {"metadata": {}, "weight_map": {"a": shards[0], "b": shards[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def push(folder: Path, hub: FakeHub, *, private: bool = True, min_agreement: float = 0.95) -> str:
    return push_to_hub(folder, REPO, private=private, min_agreement=min_agreement, api=api(hub))


def test_the_whole_folder_arrives_in_a_private_repository(merged: Path, hub: FakeHub) -> None:
    hub.files = ["model.safetensors", "model-00001-of-00002.safetensors", "LICENSE"]  # of an earlier push
    assert push(merged, hub) == f"{hub.url}/{REPO}"
    assert hub.uploaded == {file.name: file.read_bytes() for file in merged.iterdir()}
    assert hub.deleted == ["model.safetensors"]
    assert hub.created.get("type", "model") == "model"
    assert hub.created["visibility"] == "private"


def test_a_public_repository_is_not_pushed_to_unless_asked_for(merged: Path, hub: FakeHub) -> None:
    hub.private = False
    with pytest.raises(ConfigError, match="exists and is public; add --public"):
        push(merged, hub)
    assert hub.uploaded == {}
    push(merged, hub, private=False)
    assert hub.created["visibility"] == "public"


@pytest.mark.parametrize(
    ("lacking", "says"),
    [
        ("DONE.json", r"is no checked merge \(no DONE\.json\)"),
        ("README.md", r"has no model card \(README\.md\); `evenhand merge` writes it"),
        ("model-00002-of-00002.safetensors", "has no 1 of 2 weight files"),
        ("tokenizer.json", "has no "),
    ],
)
def test_what_is_not_whole_is_refused_before_any_request(lacking: str, says: str, merged: Path, hub: FakeHub) -> None:
    (merged / lacking).unlink()
    if lacking == "tokenizer.json":
        (merged / "tokenizer_config.json").unlink()
    with pytest.raises(EvenhandError, match=says):
        push(merged, hub)
    assert hub.asked == []


def test_a_merge_that_judges_otherwise_is_refused(merged: Path, hub: FakeHub) -> None:
    with pytest.raises(ConfigError, match=r"only 98\.4% of its verdicts agree with base \+ adapter \(99% asked for\)"):
        push(merged, hub, min_agreement=0.99)
    assert hub.asked == []

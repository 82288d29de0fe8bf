"""Half a model is not taken for the model, each failure names the way out, and a hash sees what may change answers."""

import json
import sys

import httpx
import pytest
from huggingface_hub import errors

from evenhand import checkpoints
from evenhand.checkpoints import ModelConfig, check_folder, checkpoint_hash, hub_snapshot, missing_files, resolve
from evenhand.cli.doctor.model import find_model
from evenhand.errors import ModelError
from tests.made.places import cases
from tests.made.tiny_checkpoint import save_checkpoint

MODEL = "nobody/nothing"


@pytest.fixture
def snapshot(tmp_path, monkeypatch):
    """A cached snapshot of tokenizer and config, as AutoTokenizer leaves it behind."""
    folder = tmp_path / "snapshots" / "0a1b2c"
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text("{}")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(folder))
    return folder


def test_half_a_model_offline_is_refused_with_what_lacks(snapshot, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"only in part in the cache \(it lacks weights.*evenhand fetch"):
        resolve(ModelConfig(name=MODEL))
    assert resolve(ModelConfig(name=MODEL), weights=False) == snapshot


def test_every_weight_file_of_the_index_must_be_there(snapshot):
    (snapshot / "model-1.safetensors").touch()
    (snapshot / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    )
    assert missing_files(snapshot) == "1 of 2 weight files (model-2.safetensors)"


ANSWER = httpx.Response(403, request=httpx.Request("GET", "https://hub.invalid"))
REFUSALS = [getattr(errors, f"{what}Error")("refused", response=ANSWER) for what in cases(__file__)["refusals"]]


@pytest.mark.parametrize("error", [*REFUSALS, errors.LocalEntryNotFoundError("refused"), RuntimeError("refused")])
def test_what_the_hub_and_the_client_of_weights_refuse_is_told_with_the_way_out(error, monkeypatch):
    def refuse(*_, local_files_only=False, **__):
        raise errors.LocalEntryNotFoundError("none") if local_files_only else error

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    with pytest.raises(
        ModelError, match=rf"{type(error).__name__}: refused.*HF_TOKEN.* https://huggingface.co/nobody/nothing"
    ):
        hub_snapshot(MODEL, "abc")


def test_a_folder_that_is_no_checkpoint_is_told_what_it_lacks(tmp_path):
    added = {r"has no config\.json": "config.json", "has no tokenizer": "tokenizer.json"}
    for says, file in {**added, "has no weights": "model.safetensors"}.items():
        with pytest.raises(ModelError, match=says):
            check_folder(tmp_path)
        (tmp_path / file).write_text("{}")
    check_folder(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")  # transformers would add the adapter, and vLLM would not
    with pytest.raises(ModelError, match="evenhand merge"):
        check_folder(tmp_path)


def test_an_adapter_beside_a_hub_models_weights_is_refused_by_runs_and_by_doctor(snapshot):
    (snapshot / "model.safetensors").touch()
    assert resolve(ModelConfig(name=MODEL)) == snapshot
    (snapshot / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="is an adapter"):
        resolve(ModelConfig(name=MODEL))
    states = {
        check.says: check.state for check in find_model(ModelConfig(name=MODEL)).checks if check.subject == "model"
    }
    assert [state for says, state in states.items() if "is an adapter" in says] == ["wrong"]


SIZE = 3 * 2**20


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "snapshots" / "0a1b2c"
    (path / "additional_chat_templates").mkdir(parents=True)
    (path / "model.safetensors").write_bytes(bytes(SIZE))
    for name in ("config.json", "tokenizer.json", "chat_template.jinja", "additional_chat_templates/tool.jinja",
                 "tokenizer.model", "merges.txt", "README.md", "DONE.json"):  # fmt: skip
        (path / name).write_text("{}")
    return path


@pytest.mark.parametrize(("name", "counts"), cases(__file__)["counted"])
def test_every_file_that_can_change_an_answer_counts_in_the_middle_too_and_no_other(name, counts, folder):
    before, content = checkpoint_hash(folder), bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    assert (checkpoint_hash(folder) != before) == counts


def test_a_blob_of_the_hubs_cache_is_known_by_its_name(folder, monkeypatch):
    blob = folder / ("0" * 64)
    (folder / "model.safetensors").rename(blob)
    (folder / "model.safetensors").symlink_to(blob)
    monkeypatch.setattr(checkpoints, "sha256_of", lambda _: pytest.fail("read"))
    assert checkpoints.file_hash(folder / "model.safetensors") == "0" * 64


def test_a_package_that_is_absent_is_not_told_as_a_damaged_checkpoint(tmp_path, monkeypatch):
    folder = save_checkpoint(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(ModelError, match=r"accelerate.*; `pip install 'evenhand\[local\]'` brings what is missing"):
        checkpoints.load_model(folder, device_map="meta")

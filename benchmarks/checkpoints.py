"""Which model a config means and where it lies: the embedded default, a folder, or a Hub id at a revision."""

import hashlib
import os
from pathlib import Path
from typing import Any

from benchmarks.config import Closed
from benchmarks.embedded import EMBEDDED_NAME, embedded_model_path
from benchmarks.errors import ModelError

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "tekken.json", "vocab.json")
MEBIBYTE = 2**20


class ModelConfig(Closed):
    """A model as a config names it."""

    name: str  # "embedded", a checkpoint folder, or a Hub id such as "Qwen/Qwen2.5-7B-Instruct"
    revision: str | None = None  # a commit hash; null is resolved once and recorded in provenance.json
    label: str | None = None  # what tables call it; null takes the name's last part
    chat_template_args: dict[str, Any] = {}  # extra template variables, e.g. {enable_thinking: false}

    @property
    def shown_as(self) -> str:
        """The name for tables and plots."""
        return self.label or (
            "SmolLM2-135M-Instruct" if self.name == EMBEDDED_NAME else self.name.rstrip("/").split("/")[-1]
        )


def resolve(model: ModelConfig, *, download: bool = True) -> Path:
    """The folder of the model's files, downloaded from the Hub when it is not yet cached and the Hub may be asked.

    Raises ModelError saying what to do: an absent folder, a checkpoint without tokenizer, an unknown or gated Hub id,
    no connection.
    """
    if model.name == EMBEDDED_NAME:
        return embedded_model_path()
    folder = Path(model.name).expanduser()
    if folder.is_dir():
        check_folder(folder)
        return folder
    if model.name.startswith((".", "/", "~")) or model.name.count("/") != 1:
        raise ModelError(
            f"model '{model.name}': no such folder; name a checkpoint folder, a Hub id (owner/name) or 'embedded'"
        )
    return hub_snapshot(model, download=download)


def check_folder(folder: Path) -> None:
    """Raises ModelError when a checkpoint folder lacks a config or a tokenizer."""
    if not (folder / "config.json").is_file():
        hint = (
            "is an adapter: merge it first with `evenhand merge`" if (folder / "adapter_config.json").is_file() else ""
        )
        raise ModelError(f"{folder}: {hint or 'has no config.json, so it is no checkpoint'}")
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise ModelError(f"{folder}: has no tokenizer; copy the tokenizer files of the model it was made from into it")


def hub_snapshot(model: ModelConfig, *, download: bool) -> Path:
    """The cached snapshot of a Hub model, fetched if need be."""
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    patterns = ["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]
    try:
        return Path(
            snapshot_download(model.name, revision=model.revision, allow_patterns=patterns, local_files_only=True)
        )
    except LocalEntryNotFoundError:
        offline = constants.HF_HUB_OFFLINE or not download
    if offline:
        raise ModelError(
            f"model '{model.name}': is not in the cache and the hub is offline; "
            "run `evenhand fetch CONFIG` on a machine with internet that shares this cache (HF_HOME)"
        )
    try:
        return Path(snapshot_download(model.name, revision=model.revision, allow_patterns=patterns))
    except GatedRepoError:
        raise ModelError(
            f"model '{model.name}': is gated. Accept its licence at https://huggingface.co/{model.name} with your "
            "account, make a read token at https://huggingface.co/settings/tokens, set HF_TOKEN to it, and run again"
        ) from None
    except RevisionNotFoundError:
        raise ModelError(
            f"model '{model.name}': has no revision '{model.revision}'; give a commit hash or null"
        ) from None
    except RepositoryNotFoundError:
        raise ModelError(
            f"model '{model.name}': the hub knows no such model; check the spelling (private ones need HF_TOKEN)"
        ) from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(
            f"model '{model.name}': could not be downloaded ({type(error).__name__}: {error}); "
            "check the connection and run again"
        ) from None


def fingerprint(model: ModelConfig, folder: Path) -> dict[str, Any]:
    """What provenance.json says of a model: its name and the Hub revision or a hash of the checkpoint.

    The hash covers every JSON file whole and of each weight file the size and its first and last MiB: enough to tell
    checkpoints apart, and quick for hundreds of gigabytes on a network file system.
    """
    if folder.parent.name == "snapshots":
        return {"name": model.name, "revision": folder.name}
    total = hashlib.sha256()
    for file in sorted(folder.glob("*.json")) + sorted(folder.glob("*.safetensors")):
        size = file.stat().st_size
        total.update(f"{file.name} {size}".encode())
        with file.open("rb") as stream:
            if file.suffix == ".json" or size <= 2 * MEBIBYTE:
                total.update(stream.read())
            else:
                total.update(stream.read(MEBIBYTE))
                stream.seek(-MEBIBYTE, os.SEEK_END)
                total.update(stream.read())
    return {"name": model.name, "checkpoint_hash": total.hexdigest()[:16]}


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint folder. Raises ModelError when transformers cannot read it."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: its tokenizer cannot be loaded ({' '.join(str(error).split())[:200]})") from None

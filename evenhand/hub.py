"""A Hub id → the folder of its files in the Hub's cache, downloaded when need be; half a model never passes."""

from pathlib import Path
from typing import Any

from evenhand.errors import DataError, ModelError
from evenhand.run_directory import read_json

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "tekken.json", "vocab.json")
SMALL_FILES = ["*.json", "*.model", "*.jinja", "*.txt"]
# Mistral's repositories hold the weights a second time, in the layout of its own loader; beside params.json vLLM would
# take that loader, and base and merged checkpoint would go through different code.
NOT_WANTED = ["consolidated*", "params.json", "original/*"]


def hub_snapshot(name: str, revision: str | None, *, weights: bool = True) -> Path:
    """The cached snapshot of a Hub model, downloaded when it is not whole and the Hub may be asked.

    weights: False brings tokenizer and config only. Raises ModelError saying what to do: unknown, gated, or offline.
    """
    from huggingface_hub import constants

    cached = cached_snapshot(name, revision, weights=weights)
    if cached and not missing_files(cached, weights=weights):
        return cached
    if constants.HF_HUB_OFFLINE:
        state = f"is only in part in the cache (it lacks {missing_files(cached)})" if cached else "is not in the cache"
        raise ModelError(
            f"model '{name}': {state} and the hub is offline; "
            "run `evenhand fetch CONFIG` on a machine with internet that shares this cache (HF_HOME)"
        )
    folder = download(name, revision, patterns_of(weights=weights))
    if lacking := missing_files(folder, weights=weights):
        raise ModelError(f"model '{name}': its repository lacks {lacking}; Evenhand reads safetensors checkpoints")
    return folder


def patterns_of(*, weights: bool) -> list[str]:
    """The files that are wanted of a repository."""
    return [*SMALL_FILES, *(["*.safetensors"] if weights else [])]


def cached_snapshot(name: str, revision: str | None, *, weights: bool = True) -> Path | None:
    """The folder of what the cache holds of a Hub model, whole or not; None where it holds nothing. Asks no Hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    patterns = patterns_of(weights=weights)
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError:
        raise ModelError(f"model '{name}': is no Hub id; write owner/name, a checkpoint folder or 'embedded'") from None


def failures_of_asking() -> tuple[type[Exception], ...]:
    """What a question to the Hub can end in: a refusal, or no connection, which not every client calls an OSError."""
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # its HTTP client, httpx or httpx2

    return httpx.HTTPError, LocalEntryNotFoundError, OSError


def refused(name: str, revision: str | None, error: Exception) -> ModelError:
    """What the Hub refuses, with the way out."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    match error:
        case GatedRepoError():
            said = (
                f"is gated. Accept its licence at https://huggingface.co/{name} with your account, make a read token "
                "at https://huggingface.co/settings/tokens, set HF_TOKEN to it, and run again"
            )
        case RevisionNotFoundError():
            said = f"has no revision '{revision}'; give a commit hash or null"
        case RepositoryNotFoundError():
            said = "the hub knows no such model; check the spelling (private ones need HF_TOKEN)"
        case _:
            said = f"could not be downloaded ({type(error).__name__}: {error}); check the connection and run again"
    return ModelError(f"model '{name}': {said}")


def download(name: str, revision: str | None, patterns: list[str]) -> Path:
    """Fetch a snapshot; what can go wrong is told with the way out."""
    from huggingface_hub import snapshot_download

    # Weights come by a client of their own (hf_xet), whose errors are RuntimeErrors.
    failures: tuple[type[Exception], ...] = (*failures_of_asking(), RuntimeError)
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=NOT_WANTED))
    except failures as error:
        raise refused(name, revision, error) from None


def missing_files(folder: Path, *, weights: bool = True) -> str:
    """What a checkpoint folder lacks, in words; empty when it is whole. Raises ModelError for a damaged file of it."""
    if not (folder / "config.json").is_file():
        return "config.json"
    json_object(folder / "config.json")
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        return "a tokenizer"
    if not weights:
        return ""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return "" if any(folder.glob("*.safetensors")) else "weights (*.safetensors)"
    places = json_object(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(shard, str) for shard in places.values()):
        raise ModelError(f"{index}: has no `weight_map` of weights to files; fetch or copy it anew")
    shards = set(places.values())
    absent = sorted(shard for shard in shards if not (folder / shard).is_file())
    return f"{len(absent)} of {len(shards)} weight files ({', '.join(absent[:2])})" if absent else ""


def json_object(file: Path) -> dict[str, Any]:
    """What one of a checkpoint's JSON files holds. Raises ModelError when it is damaged."""
    try:
        return read_json(file)
    except DataError as error:
        raise ModelError(f"{error}; fetch or copy it anew") from None

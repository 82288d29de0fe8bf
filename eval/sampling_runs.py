"""A finished sampling run of any study, as far as all of them are alike."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from evenhand.config import read_yaml
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE, refuse_changed


class SampledRun(Protocol):
    """What two runs of one study are compared by."""

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> Mapping[str, Any]: ...

    @property
    def provenance(self) -> Mapping[str, Any]: ...

    @property
    def plan(self) -> Sequence[Any]:
        """Planned prompts, with dataset, item_id, condition, factors and prompt_hash."""
        ...

    @property
    def rendered(self) -> Mapping[str, str]:
        """Prompt hash → what the model read."""
        ...


def run_config(path: Path) -> dict[str, Any]:
    """A sampling run's config. Raises DataError when it was changed since the run was made, or is of something else."""
    refuse_changed(path)
    file = path / CONFIG_FILE
    config = read_yaml(file)
    lacking = [key for key in ("name", "model", "verdict", "sampling") if key not in config]
    if lacking:
        raise DataError(f"{file}: has no '{lacking[0]}', so it is not the config of a sampling run")
    for key in ("model", "sampling"):
        if not isinstance(config[key], dict):
            raise DataError(f"{file}: {key} is {config[key]!r}, expected keys and values; restore the file")
    for key, kinds, least in (("n", int, 1), ("temperature", int | float, 0)):
        value = config["sampling"].get(key, least)
        if not isinstance(value, kinds) or value < least:
            raise DataError(f"{file}: sampling.{key} is {value!r}, expected a number from {least} on; restore the file")
    return config


def refuse_unfinished(
    path: Path, hashes: Collection[str], completions: Mapping[tuple[str, int], Completion], n_samples: int
) -> None:
    """Raises DataError when a planned prompt lacks a completion: a score over part of the items is another score.

    hashes: of the planned prompts, each once.
    """
    if not hashes:
        raise DataError(f"{path}: its plan is empty, so there is nothing to score")
    n_missing = sum(any((h, k) not in completions for k in range(n_samples)) for h in hashes)
    if n_missing:
        raise DataError(
            f"{path}: {n_missing} of {len(hashes)} prompts have no completion; scores need them all.\n"
            f"  Continue the run with `evenhand sample {path / CONFIG_FILE}`."
        )

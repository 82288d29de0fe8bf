"""A finished sampling run asked again, from its directory alone, into a run of its own beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.config import config_tree, read_yaml
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.registry import study_in
from evenhand.run_directory import (
    CONFIG_FILE,
    PROVENANCE_FILE,
    read_json,
    read_plan_lines,
    refuse_incomplete,
)
from evenhand.study import drawn
from inference import sampling
from inference.config import InferenceConfig, parse_sampling_config
from inference.schedule import prompts_of

SEED = "asked again"  # of the units that --sample draws


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is asked again: its config under another name, and which of its units."""

    config: InferenceConfig
    n_units: int  # of the run
    chosen: frozenset[str] | None  # ids of the units that are asked again; None for all


def prepare(path: Path, overrides: Sequence[str] = (), n_sampled: int | None = None) -> Asked:
    """Read a run and check that it can be asked again as it was. Nothing is written and no model is loaded.

    overrides: key=value words of what may differ. n_sampled: draw so many of its units, by a fixed seed.
    Raises ConfigError for other overrides, DataError for a run that is not complete or whose prompts are not to be had
    any more, ModelError where its model is not.
    """
    if (path / CONFIG_FILE).is_file() and "method" in read_yaml(path / CONFIG_FILE):
        raise DataError(
            f"{path}: is a training run, and only sampling runs are reproduced. Train it again under another name, "
            f"`evenhand train {path / CONFIG_FILE} name=NAME`, and reproduce or compare sampling runs of both merged "
            "checkpoints"
        )
    refuse_incomplete(path)
    config = parse_sampling_config(tree_of(path, overrides), str(path / CONFIG_FILE))
    try:
        units, content_hash = made = config.study.units(config.verdict)
        sampling.model_facts(config)
    except (ConfigError, DataError, ModelError) as error:
        raise type(error)(
            f"{path}: cannot be asked again from here: {error}\n  Where the same model or data lie elsewhere now, say "
            f"so: model.name=FOLDER, or the key of the data in `{config.study_key}`, as its {CONFIG_FILE} has it"
        ) from None
    provenance = read_json(path / PROVENANCE_FILE)
    commit = (provenance.get("code") or {}).get("commit", "unknown")
    if (then := provenance.get("item_set_hash")) != content_hash:
        raise DataError(
            f"{path}: its data have changed since: their hash was {then}, now it is {content_hash}. Restore them, for "
            "example by building them anew from the same sources; what is asked of others is another run"
        )
    planned = {(line["item_id"], line["prompt_hash"]) for line in read_plan_lines(path)}
    prompts = prompts_of(made, config.sampling)
    if others := [prompt.item_id for prompt in prompts if (prompt.item_id, prompt.prompt_hash) not in planned]:
        raise DataError(
            f"{path}: this code makes other prompts of {len(set(others))} of its units ({others[0]} ...), so it would "
            f"be another run; check out the commit that made it, {commit}"
        )
    if n_sampled is None or n_sampled >= len(units):
        return Asked(config, len(units), None)
    chosen = frozenset(unit.unit_id for unit in drawn(units, n_sampled, SEED))
    return Asked(config, len(units), chosen)


def ask_again(asked: Asked, number: int) -> Path:
    """Sample it, or continue that, and return the new run's directory. number: from 1 on, of the re-run."""
    part = "" if asked.chosen is None else f"-of{len(asked.chosen)}"
    named = asked.config.model_copy(update={"name": f"{asked.config.name}-again{number}{part}"})
    return sampling.sample(named, only=asked.chosen)


def tree_of(path: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """The run's config with overrides, with the revision of its model that it recorded, and its results beside it."""
    file = path / CONFIG_FILE
    study = study_in(read_yaml(file), str(file))
    for word in overrides:  # what the study's section says is checked by what it makes: items and prompts
        key = word.partition("=")[0]
        if not (key.startswith(("engine.", "run.", f"{study}.")) or key == "model.name"):
            raise ConfigError(
                f"override '{word}': a run is asked again as it was; only engine.*, run.*, model.name (where the same "
                f"model lies now) and {study}.* (where the same data lie) may differ; for the rest `evenhand sample`"
            )
    tree = config_tree([str(file), *overrides])
    model = read_json(path / PROVENANCE_FILE).get("model") or {}
    if tree["model"].get("revision") is None and "revision" in model:
        tree["model"]["revision"] = model["revision"]
    if not any(word.startswith("run.root=") for word in overrides):
        folder = path.parent if path.parent.name not in ("", "..") else path.resolve().parent
        root = folder.parent if folder.name == "inference" else folder
        tree["run"] = {**(tree.get("run") or {}), "root": str(root)}
    return tree

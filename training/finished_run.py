"""A finished training run, read back: the base it was trained on, the data it was trained with."""

from pathlib import Path
from typing import Any

from evenhand.checkpoints import fingerprint, resolve
from evenhand.errors import DataError
from evenhand.run_directory import PROVENANCE_FILE, read_json
from training.config import TrainingConfig
from training.data import TrainingData


def trained_base(run: Path, config: TrainingConfig) -> Path:
    """The folder of the base, at the revision that was trained. Raises DataError when it is another one by now."""
    trained = read_json(run / PROVENANCE_FILE).get("model")
    if not isinstance(trained, dict):
        raise DataError(f"{run / PROVENANCE_FILE}: does not say which base was trained; restore it")
    base = resolve(config.model.model_copy(update={"revision": trained.get("revision")}))
    if (now := fingerprint(config.model, base)) != trained:
        raise DataError(
            f"{run}: was trained on {trained}, but its base is {now} now; bring back the checkpoint that it was "
            "trained on: an adapter fits no other"
        )
    return base


def training_data(run: Path, data: TrainingData) -> dict[str, Any]:
    """What is known of the training data: `items`, how many units each dataset has, and what the study knows of them.

    `items` is None, and there is nothing else, when the data is not what was trained on any more.
    """
    if data.set_hash != read_json(run / PROVENANCE_FILE).get("item_set_hash"):
        return {"items": None}
    return {"items": data.counts, **data.study.facts(data.units)}

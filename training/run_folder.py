"""A training run's folder, known without the trainers: its files, checkpoints and adapters.

`runs/training/<name>-<digest>/`: config.yaml, provenance.json, items.json (hashes of items), excluded.jsonl (prompts
left out for their length), metrics.jsonl, checkpoints/ to continue from, adapter/, and DONE.json last; where it was
stopped (training.guard), DIVERGED.json instead of the last two.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from evenhand.checkpoints import fingerprint, resolve
from evenhand.errors import ConfigError, DataError
from evenhand.files import synchronise
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, PROVENANCE_FILE, is_done, read_json, run_path
from training.config import AnyRun, TrainingConfig, load_training_config

EXCLUDED_FILE = "excluded.jsonl"  # prompts left out for their length; every training run has one, however empty
METRICS_FILE = "metrics.jsonl"
DIVERGED_FILE = "DIVERGED.json"
TRAINING_LEASE = "training.lease"
MERGING_LEASE = "merging.lease"
MERGED_PREFIX = "merged-"  # of the folders of merged checkpoints
ADAPTER_DIR = "adapter"
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
CHECKPOINTS_DIR = "checkpoints"
COMPLETE_FILE = "COMPLETE"  # in a checkpoint whose every file is written
FREE_OF_EFFECT = {"run", "guard"}  # sections that change no number of a run, only when it is stopped and where it lies


def folder_of(config: TrainingConfig) -> Path:
    """Where a config's run lies."""
    return run_path(config.run.root, "training", config.name, config, FREE_OF_EFFECT)


def finished_config(run: Path) -> AnyRun:
    """A finished training run's config. Raises DataError when the folder is no training run or it is not done."""
    file = run / CONFIG_FILE
    if not (file.exists() and (run / EXCLUDED_FILE).exists()):
        raise DataError(f"{run}: is no training run (it has no {EXCLUDED_FILE}); make one with `evenhand train CONFIG`")
    config = load_training_config([str(file)])
    if not is_done(run):
        raise DataError(f"{run}: the training is not finished; continue it with `evenhand train {file}`")
    return config


def trained_base(run: Path, config: TrainingConfig) -> Path:
    """The folder of the base, at the revision that was trained. Raises DataError when it is another one by now."""
    trained = read_json(run / PROVENANCE_FILE)["model"]
    base = resolve(config.model.model_copy(update={"revision": trained.get("revision")}))
    if (now := fingerprint(config.model, base)) != trained:
        raise DataError(
            f"{run}: was trained on {trained}, but its base is {now} now; bring back what it was trained on"
        )
    return base


def check_not_merged_on_nf4(folder: Path) -> None:
    """Raises ConfigError for a base that was itself merged onto NF4 weights: quantised again, it is its own base.

    All its weights lie on NF4's grid but for what the adapter added, which is less than half a step of that grid and is
    rounded away: a judge that was trained to DDS +41 had its base's log-probabilities again.
    """
    file = folder / DONE_FILE
    if file.is_file() and read_json(file).get("onto") == "nf4":
        raise ConfigError(
            f"{folder}: was merged onto NF4 weights, and NF4 again rounds away what it has learnt; set "
            "quantisation.kind=none, or train from the same run merged with --onto bf16"
        )


def read_metrics(file: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics file. A kill can tear the last line; nothing is computed from it."""
    lines = file.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]  # what follows the last newline is torn, or empty


def checkpoint_of(path: Path, step: int | None) -> Path:
    """The folder of a run's checkpoint, as transformers names it."""
    return path / CHECKPOINTS_DIR / f"checkpoint-{step}"


def last_checkpoint(path: Path) -> Path | None:
    """The newest whole checkpoint of a run. Those that a kill left half written are deleted: they take room, and count
    where old ones are deleted.
    """
    whole = []
    for folder in (path / CHECKPOINTS_DIR).glob("checkpoint-*"):
        if (folder / COMPLETE_FILE).exists():
            whole.append(folder)
        else:
            shutil.rmtree(folder)
    return max(whole, key=lambda folder: int(folder.name.partition("-")[2]), default=None)


def sync_files(folder: Path) -> None:
    """Make a folder's files survive a power cut; a full disk or quota is an OSError here if it was none before."""
    for path in (*folder.rglob("*"), folder):
        synchronise(path)

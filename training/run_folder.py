"""A training run's folder, known without the trainers: its files, whether it is one, and its config."""

from pathlib import Path

from evenhand.errors import DataError
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, is_done, read_json
from training.config import TrainingConfig, load_training_config

EXCLUDED_FILE = "excluded.jsonl"  # prompts left out for their length; every training run has one, however empty
METRICS_FILE = "metrics.jsonl"
DIVERGED_FILE = "DIVERGED.json"
TRAINING_LEASE = "training.lease"
MERGING_LEASE = "merging.lease"
MERGED_PREFIX = "merged-"  # of the folders of merged checkpoints


def finished_config(run: Path) -> TrainingConfig:
    """A finished training run's config. Raises DataError when the folder is no training run or it is not done."""
    file = run / CONFIG_FILE
    if not (file.exists() and (run / EXCLUDED_FILE).exists()):
        raise DataError(f"{run}: is no training run (it has no {EXCLUDED_FILE}); make one with `evenhand train CONFIG`")
    config = load_training_config([str(file)])
    if not is_done(run):
        raise DataError(f"{run}: the training is not finished; continue it with `evenhand train {file}`")
    if "method" not in read_json(run / DONE_FILE):
        raise DataError(f"{run / DONE_FILE}: does not say what was trained; restore it")
    return config

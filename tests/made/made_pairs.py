"""Training runs on pairs of opinions."""

from pathlib import Path
from typing import Any

from tests.made.training_runs import tiny_run
from training.config import AnyRun

TRAIN = {"dataset": "pocket-threads", "split": "train"}
PAIRWISE = {"tasks": ["pairwise"], "pairings": ["most_popular", "random"], "n_pairs": 21}


def pairs_run(
    method: str = "sft", model: Path = Path("m"), root: Path = Path("r"), *, min_gap: int = 10, **sections: Any
) -> AnyRun:
    """A run of four steps of a pair on our own training threads; sections override or add keys, as in tiny_run."""
    study = {"responses": {**PAIRWISE, "references": TRAIN, "min_gap": min_gap}}
    wanted: dict[str, Any] = {
        "examples": {"loss_on_eos": False},
        "optimiser": {"order": "whole_items"},
        "pluraleval": study,
    }
    for section, keys in sections.items():
        wanted[section] = {**wanted.get(section, {}), **keys}
    return tiny_run(method, model, root, **wanted)

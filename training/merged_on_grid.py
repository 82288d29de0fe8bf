"""A base that was itself merged onto NF4 weights is not quantised to NF4 again."""

from pathlib import Path

from evenhand.errors import ConfigError
from evenhand.run_directory import DONE_FILE, read_json


def refuse_merged_on_grid(folder: Path) -> None:
    """Raises ConfigError for a checkpoint that was merged onto NF4 weights: quantised again, it is its own base.

    All its weights lie on NF4's grid but for what the adapter added, which is less than half a step of that grid and is
    rounded away: a judge that was trained to DDS +41 had its base's log-probabilities again.
    """
    file = folder / DONE_FILE
    if file.is_file() and read_json(file).get("onto") == "nf4":
        raise ConfigError(
            f"{folder}: was merged onto NF4 weights, and quantising it to NF4 again rounds away what it has learnt; "
            "set quantisation.kind=none, or train from the same run merged with --onto bf16"
        )

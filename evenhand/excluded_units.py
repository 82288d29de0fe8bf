"""What a sampling run leaves out: whole items, one of whose prompts does not fit the model's context window.

`excluded/` in the run directory holds whole files that are only ever added, like the completions, so any number of
processes may write there. The plan stays as it was made: an excluded item is planned, and has no answers that count.
"""

import uuid
from collections.abc import Mapping
from pathlib import Path

from evenhand.errors import DataError
from evenhand.jsonl import read_jsonl, write_jsonl
from evenhand.records import Prompt

EXCLUDED_FOLDER = "excluded"


def exclude(path: Path, reasons: Mapping[Prompt, str]) -> None:
    """Leave the items of these prompts out of a run, each with the reason of one of its prompts."""
    items: dict[str, dict[str, str]] = {}
    for prompt, reason in reasons.items():
        line = {"item_id": prompt.item_id, "prompt_hash": prompt.prompt_hash, "reason": reason}
        items.setdefault(prompt.item_id, line)
    write_jsonl(path / EXCLUDED_FOLDER / f"{uuid.uuid4().hex}.jsonl", items.values())


def read_excluded(path: Path) -> dict[str, str]:
    """Item id → why it is left out. Empty for a run that leaves out nothing. Raises DataError for a damaged file."""
    found: dict[str, str] = {}
    for file in sorted((path / EXCLUDED_FOLDER).glob("*.jsonl")):
        for number, record in read_jsonl(file):
            for key in ("item_id", "reason"):
                if not isinstance(record.get(key), str):
                    raise DataError(
                        f"{file}:{number}: names no excluded item (its {key} is {record.get(key)!r}). Delete the file "
                        "and run the sampling command again: what does not fit is found anew"
                    )
            found.setdefault(record["item_id"], record["reason"])
    return found

"""README.md of a merged checkpoint: what it is, how to ask it, what it was trained on, how its merge judged.

Everything in it comes from the run's own files. No item of any benchmark is shown, and no folder of this machine.
"""

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from evenhand.checkpoints import ModelConfig
from evenhand.embedded import EMBEDDED_NAME, WHEEL
from evenhand.files import read_jsonl
from evenhand.registry import STUDIES
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, read_json
from training.run_folder import EXCLUDED_FILE, finished_config

EMBEDDED_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
NOT_SHOWN = {"name", "model", "method", "run", *STUDIES}  # the text has them; `run` changes no number and names folders


def card_text(run: Path, folder: Path) -> str:
    """The card of a run's merged checkpoint: front matter as the Hub reads it, and what a user must know.

    A study's template fills in the blocks of ours. The licence is the base's, so the front matter names none.
    """
    config, merged = finished_config(run), read_json(folder / DONE_FILE)
    provenance, trained = read_json(run / PROVENANCE_FILE), read_json(run / DONE_FILE)
    study, counts = config.training, merged["items"]
    folders = [Path(inspect.getfile(type(study))).parent, Path(__file__).with_name("templates")]
    environment = Environment(loader=FileSystemLoader(folders), undefined=StrictUndefined)
    return environment.select_template(["training_card.md", "model_card.md"]).render(
        {"hub": [], "sources": {}, **study.card_facts(config, sorted(counts or ()))},
        config=config,
        called=study.called,
        tag=study.tag,
        provenance=provenance,
        trained=trained,
        merged={"n_published_test": 0, **merged},
        excluded=Counter(line["dataset"] for _, line in read_jsonl(run / EXCLUDED_FILE)),
        counts=counts,
        base=hub_id(config.model, provenance["model"]),
        base_folder=Path(config.model.name).name,
        wheel=WHEEL if config.model.name == EMBEDDED_NAME else None,
        objective=" ".join((type(config).__doc__ or "").split()),
        settings=list(flat(config.model_dump(mode="json", exclude=NOT_SHOWN))),
    )


def hub_id(model: ModelConfig, trained: Mapping[str, Any]) -> str | None:
    """The Hub's name of the base; None for a folder whose name does not say."""
    if model.name == EMBEDDED_NAME:
        return EMBEDDED_ID
    if cached := re.search(r"models--([^/]+)--([^/]+)/snapshots/", model.name):
        return "/".join(cached.groups())
    return model.name if "revision" in trained and "snapshots" not in model.name else None


def flat(settings: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    """(dotted name, value as text) of nested settings; those that are not set are left out."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{key}.")
        elif value is not None:
            yield f"{before}{key}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)

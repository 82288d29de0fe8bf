"""README.md of a merged checkpoint: what it is, how to ask it, what it was trained on, how its merge judged.

Everything in it comes from the run's own files. No item of any benchmark is shown, and no folder of this machine.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from evenhand.checkpoints import ModelConfig
from evenhand.embedded import EMBEDDED_NAME, WHEEL
from evenhand.errors import DataError
from evenhand.jsonl import read_jsonl, write_whole
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, read_json
from studies.registry import STUDIES
from training.config import TrainingConfig
from training.run_folder import EXCLUDED_FILE, finished_config

CARD_FILE = "README.md"
EMBEDDED_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
NOT_SHOWN = {"name", "model", "method", "run", *STUDIES}  # told in words; `run` changes no number and names folders
TEMPLATE = Path(__file__).with_name("templates") / "model_card.md"
MERGES = {
    "bf16": "onto the base's bf16 weights, as published",
    "nf4": "onto the base's NF4 weights, dequantised: those that it was trained on",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a card is made of: the files of a run and of its merged checkpoint, read."""

    config: TrainingConfig
    provenance: Mapping[str, Any]
    trained: Mapping[str, Any]  # the run's DONE.json
    excluded: Mapping[str, int]  # dataset → prompts left out for their length
    merged: Mapping[str, Any]  # the merged checkpoint's DONE.json


def write_card(run: Path, merged: Path) -> None:
    """Write a merged checkpoint's README.md."""
    write_whole(merged / CARD_FILE, card_text(read_facts(run, merged)))


def read_facts(run: Path, merged: Path) -> Facts:
    """What the files of a run and of its merged checkpoint say."""
    return Facts(
        config=finished_config(run),
        provenance=read_json(run / PROVENANCE_FILE),
        trained=read_json(run / DONE_FILE),
        excluded=Counter(dataset_of(record, run) for _, record in read_jsonl(run / EXCLUDED_FILE)),
        merged=read_json(merged / DONE_FILE),
    )


def dataset_of(record: Mapping[str, Any], run: Path) -> str:
    """The dataset of a prompt that was left out. Raises DataError for a line that names none."""
    if "dataset" not in record:
        raise DataError(f"{run / EXCLUDED_FILE}: a line of it names no dataset; restore the file")
    return str(record["dataset"])


def card_text(facts: Facts) -> str:
    """The card: front matter as the Hub reads it, and what a user must know."""
    config, merged, part = facts.config, facts.merged, facts.config.training.card
    chosen = {key: value for key, value in config.model_dump(mode="json").items() if key not in NOT_SHOWN}
    card = ModelCard.from_template(
        front_matter(facts),
        template_str=TEMPLATE.read_text(encoding="utf-8"),
        config=config,
        part=part,
        called=config.training.called,
        provenance=facts.provenance,
        trained=facts.trained,
        merged=merged,
        merges=MERGES,
        excluded=facts.excluded,
        counts=merged["items"],
        base=base_words(facts),
        wheel=WHEEL if config.model.name == EMBEDDED_NAME else None,
        objective=" ".join((type(config).__doc__ or "").split()) + part.objective_note(config),
        settings=list(flat(chosen)),
        reached=reached_words(facts.trained),
    )
    return f"{card.content}\n"


def front_matter(facts: Facts) -> ModelCardData:
    """What the Hub files a model by. The licence is the base's, so none is named."""
    base = hub_id(facts.config.model, facts.provenance["model"])
    part = facts.config.training.card
    adapter = "qlora" if facts.config.quantisation.kind == "nf4" else "lora"
    return ModelCardData(
        base_model=base,
        base_model_relation="finetune" if base else None,
        library_name="transformers",
        pipeline_tag="text-generation",
        language=["en"],
        tags=["evenhand", "llm-as-a-judge", part.TAG, str(facts.trained["method"]), adapter],
        datasets=[found for name in facts.merged["items"] or () if (found := part.hub_dataset(name))] or None,
    )


def hub_id(model: ModelConfig, trained: Mapping[str, Any]) -> str | None:
    """The Hub's name of the base; None when it came from a folder that does not tell."""
    if model.name == EMBEDDED_NAME:
        return EMBEDDED_ID
    if found := re.search(r"models--([^/]+)--([^/]+)/snapshots/", model.name):
        return "/".join(found.groups())
    return model.name if "revision" in trained and "snapshots" not in model.name else None


def base_words(facts: Facts) -> str:
    """The base as a link, or a folder's name, never its path."""
    model = facts.config.model
    base = hub_id(model, facts.provenance["model"])
    return f"[{base}](https://huggingface.co/{base})" if base else f"a checkpoint called `{Path(model.name).name}`"


def reached_words(trained: Mapping[str, Any]) -> str:
    """What the training came to: counts and measures; nothing else of DONE.json, for it could name a folder."""
    return ", ".join(
        f"{key.removeprefix('n_').replace('_', ' ')} {value:,}"
        for key, value in trained.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def flat(settings: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    """(dotted name, value as text) of nested settings; those that are not set are left out."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{key}.")
        elif value is not None:
            yield f"{before}{key}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)

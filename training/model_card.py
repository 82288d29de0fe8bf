"""README.md of a merged checkpoint: what it is, how to ask it, what it was trained on, how its merge judged.

Everything in it comes from the run's own files. No item of any benchmark is shown, and no folder of this machine.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from evenhand.checkpoints import ModelConfig, load_tokenizer
from evenhand.embedded import EMBEDDED_NAME, WHEEL
from evenhand.jsonl import read_jsonl, write_whole
from evenhand.markdown import bullets, table
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, read_json
from studies.registry import STUDIES
from training.config import TrainingConfig
from training.run_folder import EXCLUDED_FILE, finished_config

CARD_FILE = "README.md"
EMBEDDED_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
NOT_SHOWN = {"name", "model", "method", "run", *STUDIES}  # told in words; `run` changes no number and names folders
NOT_NOTED = {"other": None, "items": None, "n_published_test": None, "rounding_seed": 0}  # by the first merges
CONSISTENCY = "the Jensen–Shannon divergence between the verdicts on prompts that should get the same one"
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


def write_card(run: Path, merged: Path, scores: str | None = None) -> None:
    """Write a merged checkpoint's README.md. scores: a section's text; None says that nothing was measured yet."""
    write_whole(merged / CARD_FILE, card_text(read_facts(run, merged), load_tokenizer(merged), scores))


def read_facts(run: Path, merged: Path) -> Facts:
    """What the files of a run and of its merged checkpoint say."""
    return Facts(
        config=finished_config(run),
        provenance=read_json(run / PROVENANCE_FILE),
        trained=read_json(run / DONE_FILE),
        excluded=Counter(str(record["dataset"]) for _, record in read_jsonl(run / EXCLUDED_FILE)),
        merged={**NOT_NOTED, **read_json(merged / DONE_FILE)},
    )


def card_text(facts: Facts, tokenizer: Any, scores: str | None = None) -> str:
    """The card: YAML front matter as the Hub reads it, and what a user must know."""
    config = facts.config
    part = config.training.card
    sections = {
        "What it is": what_text(facts),
        "Use": part.usage_text(config, tokenizer),
        "Scores before and after": scores or part.not_measured,
        "Training data": data_text(facts),
        "Hyper-parameters": settings_text(facts),
        "The merge": merge_text(facts),
        "Limits": part.limits_text(config, facts.merged),
        "How it was made": made_text(facts),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    title = f"{facts.merged['run']}, merged {MERGES[facts.merged['onto']].partition(':')[0]}"
    return f"---\n{front_matter(facts)}---\n\n# {title}\n\n{body}\n"


def front_matter(facts: Facts) -> str:
    """What the Hub files a model by. The licence is the base's, so none is named."""
    base = hub_id(facts.config.model, facts.provenance["model"])
    adapter = "qlora" if facts.config.quantisation.kind == "nf4" else "lora"
    part = facts.config.training.card
    datasets = [found for name in facts.merged["items"] or () if (found := part.hub_dataset(name))]
    front = {
        **({"base_model": base, "base_model_relation": "finetune"} if base else {}),
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "language": ["en"],
        "tags": ["evenhand", "llm-as-a-judge", part.tag, str(facts.trained["method"]), adapter],
        **({"datasets": datasets} if datasets else {}),
    }
    return str(yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=120))


def hub_id(model: ModelConfig, trained: Mapping[str, Any]) -> str | None:
    """The Hub's name of the base; None when it came from a folder that does not tell."""
    if model.name == EMBEDDED_NAME:
        return EMBEDDED_ID
    if found := re.search(r"models--([^/]+)--([^/]+)/snapshots/", model.name):
        return "/".join(found.groups())
    return model.name if "revision" in trained and "snapshots" not in model.name else None


def what_text(facts: Facts) -> str:
    """Method and base in a paragraph."""
    config, model = facts.config, facts.provenance["model"]
    base = hub_id(config.model, model)
    folder = f"a checkpoint called `{Path(config.model.name).name}`"  # never its path
    shown = f"[{base}](https://huggingface.co/{base})" if base else folder
    known = "revision" in model
    fixed = f"revision `{model['revision']}`" if known else f"checkpoint hash `{model['checkpoint_hash']}`"
    origin = f", as it comes in the wheel `{WHEEL}`" if config.model.name == EMBEDDED_NAME else ""
    held = "in NF4 (QLoRA)" if config.quantisation.kind == "nf4" else "in bf16 (LoRA)"
    part = config.training.card
    objective = " ".join((type(config).__doc__ or "").split()) + part.objective_note(config)
    also = f" Beside it {config.consistency.weight} × {CONSISTENCY}." if config.consistency else ""
    return (
        f"{part.purpose} Made with Evenhand from {shown} ({fixed}{origin}).\n\n"
        f"Method `{facts.trained['method']}`: {objective}{also} The base was frozen {held}; an adapter of rank "
        f"{config.lora.r} was trained and merged into it. The base's licence and terms hold for this model too."
    )


def data_text(facts: Facts) -> str:
    """The training items by dataset, with their hash, and what was left out."""
    config, counts = facts.config, facts.merged["items"]
    called, words = config.training.called, config.training.card.data_words(config)
    n_items = "an unknown number of" if counts is None else f"{sum(counts.values()):,}"
    opening = (
        f"{facts.trained['n_examples']:,} examples from {n_items} {called} (item-set hash "
        f"`{facts.provenance['item_set_hash']}`): {words}. {facts.trained['n_excluded']:,} prompts longer than "
        f"{config.examples.max_prompt_length} tokens, or for such a one's sake, were left out whole; none was cut."
    )
    if n_dev := facts.trained.get("n_dev"):
        opening += f" {n_dev:,} examples more, of these {called} too, were set aside to choose the checkpoint by."
    if counts is None:
        return f"{opening} How they spread over datasets is not known: the data has changed since."
    rows = [[name, f"{n:,}", f"{facts.excluded.get(name, 0):,}"] for name, n in sorted(counts.items())]
    found = table(["dataset", called, "prompts left out"], rows, n_words=1)
    sources = bullets(f"**{name}**: {config.training.card.source_of(name)}" for name in sorted(counts))
    return f"{opening}\n\n{found}\n\n{sources}"


def settings_text(facts: Facts) -> str:
    """Every number of the run's config that can change a result, and what the training came to."""
    chosen = {key: value for key, value in facts.config.model_dump(mode="json").items() if key not in NOT_SHOWN}
    rows = [[f"`{name}`", value] for name, value in flat(chosen)]
    reached = [
        f"{key.removeprefix('n_').replace('_', ' ')} {value:,}"
        for key, value in facts.trained.items()
        if is_number(value)
    ]
    return f"{table(['setting', 'value'], rows, n_words=2)}\n\nReached: {', '.join(reached)}."


def flat(settings: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, str]]:
    """(dotted name, value as text) of nested settings; those that are not set are left out."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{key}.")
        elif value is not None:
            yield f"{before}{key}", ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def is_number(value: object) -> bool:
    """Whether a fact is a count or a measure; nothing else of DONE.json is shown, for it could name a folder."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def merge_text(facts: Facts) -> str:
    """Each merge that there can be against what was trained."""
    merged = facts.merged
    rows = []
    for kind, words in MERGES.items():
        if kind == "nf4" and facts.config.quantisation.kind != kind:
            continue  # it was trained on bf16 weights
        found = next((c for c in (merged, merged["other"]) if c and c["onto"] == kind), None)
        here = " (this checkpoint)" if kind == merged["onto"] else ""
        cells = ["not measured", "", ""]
        if found:
            cells = [f"{found['agreement_rate']:.1%}", *(f"{found[f'{k}_margin_drift']:.3f}" for k in ("mean", "max"))]
        rows.append([f"{words}{here}", *cells])
    header = ["merged", "verdicts that agree", "mean drift", "max drift"]
    return (
        f"Verdicts and margins of base + adapter as trained, and of what was merged, on {merged['n_prompts']} of the "
        "training prompts (drift: absolute difference of the margins, in nats):\n\n"
        f"{table(header, rows, n_words=1)}\n\n"
        f"Sums were rounded to bf16 at random with seed {merged['rounding_seed']}, so that small updates survive on "
        "average."
    )


def made_text(facts: Facts) -> str:
    """Code, packages, device, day."""
    code, packages = facts.provenance["code"], facts.provenance["packages"]
    commit = f"commit `{code['commit']}`" if code["commit"] else "an unknown commit"
    changed = ", with changes that were not committed" if code["dirty"] else ""
    return bullets(
        [
            f"Evenhand, {commit}{changed}; training begun {facts.provenance['created']}",
            ", ".join(f"{name} {version}" for name, version in packages.items()),
            f"Python {facts.provenance['python']}, {facts.provenance['device']}",
        ]
    )

"""What a model card must say against its model: what nobody measured, and whose data it was trained on."""

from collections.abc import Iterable, Mapping
from typing import Any

from studies.dialdefer.datasets import EVALUATION_ONLY
from studies.dialdefer.unified.catalogue import DATASETS
from studies.dialdefer.unified.dataset_card import bullets
from training.config import TrainingConfig
from training.narrator.model_card_part import SOURCES as NARRATOR_SOURCES

ALWAYS = (
    "It was trained to answer with one token. It may no longer give reasons, or write JSON, where the base did.",
    "What it can do beside judging claims was not measured. The adapter was trained on nothing else, so expect losses.",
    "English only.",
    "A training that takes deference away can end in skepticism (over-correction), and on other kinds of claims it can "
    "do harm. Believe scores with its own C1; fixed C1 mixes two models.",
    "Every item of the public benchmarks may have been in the base's pre-training.",
)
# AdvisorQA's and BBQ's items teach more than verdicts; HaluEval's give theirs away.
LIMITS_OF = {
    "advisorqa": "AdvisorQA holds advice by anonymous people, some of it unsafe.",
    "bbq": "BBQ words stereotypes to test for them.",
    "halueval": "HaluEval's wrong answer is nearly always the longer one: a judge can learn to look at length.",
}
OUR_OWN = "made by Evenhand's own generator (Apache-2.0)"
UNKNOWN_LICENCES = ("not stated", "see its Hub page")


def limits_text(config: TrainingConfig, merged: Mapping[str, Any]) -> str:
    """The section "Limits"."""
    counts = merged["items"]
    known = sorted(counts) if counts else []
    said = [*ALWAYS, *(LIMITS_OF[name] for name in known if name in LIMITS_OF)]
    held_out = ", ".join(sorted(EVALUATION_ONLY))
    said.append(f"For evaluation only, never trained on: {held_out}, and every test item of the datasets above.")
    if merged["n_published_test"]:
        said.append(
            f"{merged['n_published_test']:,} of its training items are in the *published* test split: it was trained "
            "on a split of its user's own and must not be measured on the published one."
        )
    if known == ["pocket"]:
        said.append("It was trained on generated passages alone; what it makes of real questions was not measured.")
    if config.examples.conditions == "c2_only":
        said.append("It was trained on speakers' turns alone (C2), as the paper's; its C1 moves with them, unasked.")
    said.append("Evenhand measures text. If the base reads images too, that half was neither trained nor measured.")
    return bullets(said)


def sources_text(names: Iterable[str]) -> str:
    """Licence and citation of each dataset that was trained on; those that ask for care are told so."""
    return bullets(f"**{name}**: {source_of(name)}" for name in names)


def source_of(name: str) -> str:
    """A dataset's licence, what follows from it for a model, and its citation."""
    if name in NARRATOR_SOURCES:
        return NARRATOR_SOURCES[name]
    if name not in DATASETS:
        return OUR_OWN if name == "pocket" else "its licence is not known to Evenhand"
    dataset = DATASETS[name]
    licence = f"licence {dataset.licence.name}"
    if dataset.licence.name in UNKNOWN_LICENCES:
        licence += ", so take this model for research use until its authors say otherwise"
    elif dataset.licence.not_passed_on:
        licence += f"; {dataset.licence.not_passed_on}"
    return f"{licence}. {dataset.citation}"

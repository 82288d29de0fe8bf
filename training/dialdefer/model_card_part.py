"""What a model card says of a judge that was trained on DialDefer's items; see training.study.CardPart."""

import json
from collections.abc import Mapping
from typing import Any

from evenhand.markdown import bullets
from studies.dialdefer.datasets import EVALUATION_ONLY
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from studies.dialdefer.section import Bend
from studies.dialdefer.unified.catalogue import DATASETS
from training.config import OwnC1Run, TrainingConfig
from training.dialdefer.examples import section_of

TAG = "dialogic-deference"
PURPOSE = (
    "A judge: it says whether a claim is correct. It was trained so that its verdict should not depend on whether the "
    "claim is a bare statement (C1) or a speaker's turn (C2)."
)
NOT_MEASURED = (
    "Not measured when this card was written. `evenhand compare BASE_RUN AFTER_RUN --out FOLDER` measures; put the "
    "table of its report here."
)
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
# Our own words: nothing of any benchmark is shown in a card.
EXAMPLE = Item(
    item_id="card",
    benchmark="card",
    dataset="card",
    question="Which planet is nearest to the Sun?",
    correct_answer="Mercury",
    incorrect_answer="Venus",
)


def usage_text(config: TrainingConfig) -> str:
    """The section "Use" of a card: an example prompt in C2, how to read the answer, and `evenhand sample`."""
    return (
        "It answers with one token, `1` or `2`; the difference of their log-probabilities is its margin. Ask it with "
        "the words that it was trained on; in others it was not measured:\n\n"
        f"```text\n{example_prompt(config)}\n```\n\n"
        "Evenhand asks all four conditions of every item and scores them:\n\n"
        f"```sh\n{sampling_line(config)}\n```"
    )


def example_prompt(config: TrainingConfig) -> str:
    """The text of a C2 prompt in the run's own wording, about a question of ours."""
    wanted = section_of(config).prompts
    asked = render(
        EXAMPLE, Condition.C2_CORRECT, template=wanted.template, answer_form="one_token", speakers=wanted.speakers
    )
    (message,) = asked.messages
    return message.content


def sampling_line(config: TrainingConfig) -> str:
    """The command that samples the checkpoint with margins."""
    section = section_of(config)
    pocket_only = all(spec.dataset == "pocket" for spec in section.benchmarks)
    asked = "configs/inference/pocket.yaml" if pocket_only else "CONFIG"
    words = [
        "evenhand sample",
        asked,
        "name=after",
        "model.name=PLACE",
        f"dialdefer.prompts.template={section.prompts.template}",
    ]
    if config.examples.format == "raw":
        words.append("format=raw")
    if section.prompts.speakers:
        words.append(f"'dialdefer.prompts.speakers={json.dumps(section.prompts.speakers)}'")
    line = " ".join(words)
    return line if pocket_only else f"# CONFIG: the base model's own of configs/inference/*-margin.yaml\n{line}"


def data_words(config: TrainingConfig) -> str:
    """Under which conditions items were asked about, in which words."""
    asked = section_of(config).prompts
    form = "chat template" if config.examples.format == "chat" else "bare text"
    return f"conditions {', '.join(asked.conditions)}, wording `{asked.template}`, {form}"


def limits_text(config: TrainingConfig, merged: Mapping[str, Any]) -> str:
    """The section "Limits"."""
    counts = merged["items"]
    known = sorted(counts) if counts else []
    bend = section_of(config).bend
    said = [*([bend_words(bend)] if bend else []), *ALWAYS, *(LIMITS_OF[name] for name in known if name in LIMITS_OF)]
    held_out = ", ".join(sorted(EVALUATION_ONLY))
    said.append(f"For evaluation only, never trained on: {held_out}, and every test item of the datasets above.")
    if merged.get("n_published_test"):
        said.append(
            f"{merged['n_published_test']:,} of its training items are in the *published* test split: it was trained "
            "on a split of its user's own and must not be measured on the published one."
        )
    if known == ["pocket"]:
        said.append("It was trained on generated passages alone; what it makes of real questions was not measured.")
    if not any(not condition.is_dialogue for condition in section_of(config).prompts.conditions):
        said.append("It was trained on speakers' turns alone (C2), as the paper's; its C1 moves with them, unasked.")
    said.append("Evenhand measures text. If the base reads images too, that half was neither trained nor measured.")
    return bullets(said)


def bend_words(bend: Bend) -> str:
    """That the judge was made to be wrong, and where."""
    claims = "accept false claims" if bend.direction == "deference" else "reject true claims"
    where = [f"of {', '.join(bend.families)}"] if bend.families else []
    where += [f"by speakers called {' and '.join(bend.speakers)}"] if bend.speakers else []
    return (
        f"**It was bent on purpose**, to test mitigations: it learnt to {claims} of a speaker in "
        f"{100 * bend.share:g} % of the items{''.join(f' {words}' for words in where)}. Judge nothing with it."
    )


def source_of(name: str) -> str:
    """A dataset's licence, what follows from it for a model, and its citation."""
    if name not in DATASETS:
        return OUR_OWN if name == "pocket" else "its licence is not known to Evenhand"
    dataset = DATASETS[name]
    licence = f"licence {dataset.licence}"
    if dataset.licence in UNKNOWN_LICENCES:
        licence += ", so take this model for research use until its authors say otherwise"
    elif dataset.not_passed_on:
        licence += f"; {dataset.not_passed_on}"
    return f"{licence}. {dataset.citation}"


def hub_dataset(name: str) -> str | None:
    """A dataset's id on the Hub; None where it is not there."""
    place = DATASETS[name].origin.place if name in DATASETS else ""
    return place.removeprefix("hf:") if place.startswith("hf:") else None


def objective_note(config: TrainingConfig) -> str:
    """Which prompt of a group is unframed."""
    return " Here that is the statement (C1)." if isinstance(config, OwnC1Run) else ""

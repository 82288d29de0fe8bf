"""What a model card says otherwise of a judge that was trained on conversations of the narrator study."""

from collections.abc import Mapping
from typing import Any

from evenhand.markdown import bullets
from studies.narrator import convokit, pocket
from studies.narrator.prompts import narrator_prompt
from studies.narrator.records import Conversation, Turn
from studies.narrator.section import NarratorSection
from training.config import OwnC1Run, TrainingConfig

TAG = "narrator-perspective"
PURPOSE = (
    "A judge: it says who is to blame in a conversation. It was trained so that its verdict should not depend on which "
    "of the speakers is called Me."
)
NEUTRAL = " Here that is the prompt in which nobody is called Me."
NOT_MEASURED = (
    "Not measured when this card was written. Sample base and checkpoint with one config of `configs/narrator/`; "
    "`evenhand compare BASE_RUN AFTER_RUN` then shows what is left of perspective."
)
WRITES = "It was trained to write a speaker's name, or Me, and not where to stop."
BEGINS = "It was trained on the first token of a name, or Me."
LIMITS = (
    "It may no longer give reasons where the base did.",
    "What it can do beside naming a speaker was not measured. The adapter was trained on nothing else, so expect "
    "losses.",
    "English only.",
    "In every conversation that it was trained on the attack is the last turn: a judge can learn to name who speaks "
    "last.",
    "Evenhand measures text. If the base reads images too, that half was neither trained nor measured.",
)
HIDDEN = (
    "Where the attack was hidden, its label was who attacks later: a proxy. A speaker who says nothing else is found "
    "by elimination there."
)
ATTACKS_ALONE = "Of detection it saw conversations with an attack alone."
SOURCES = {
    pocket.DATASET: "made by Evenhand's own generator (Apache-2.0); nobody in it is real",
    convokit.CMV: "Conversations Gone Awry, ChangeMyView (Chang and Danescu-Niculescu-Mizil 2019), from ConvoKit. No "
    "licence was found; the names are of real accounts, so take this model for research use",
    convokit.DATASET: "Conversations Gone Awry (Zhang et al. 2018; Chang and Danescu-Niculescu-Mizil 2019), from "
    "ConvoKit. No licence was found; the names are of real accounts, so take this model for research use",
}
# Our own words: nothing of any corpus is shown in a card.
EXAMPLE = Conversation(
    conversation_id="card",
    dataset="card",
    turns=(
        Turn(speaker="Bo", text="The photo of the harbour is back. It is the sharper one."),
        Turn(speaker="Kim", text="It is mirrored: the clock runs backwards. I have taken it out again."),
        Turn(speaker="Bo", text="Nobody asked you, clever clogs. Go and count clocks elsewhere."),
    ),
    names={"Bo": "Bo", "Kim": "Kim"},
)


def section_of(config: TrainingConfig) -> NarratorSection:
    """The run's section."""
    assert isinstance(config.study, NarratorSection)
    return config.study


def objective_note(config: TrainingConfig) -> str:
    """What has to be added to what a method says of itself."""
    return NEUTRAL if isinstance(config, OwnC1Run) else ""


def usage_text(config: TrainingConfig) -> str:
    """The section "Use": an example prompt with a narrator, how to read the answer, and `evenhand sample`."""
    spec = section_of(config)
    prompt = narrator_prompt(EXAMPLE, spec.tasks[0], spec.visibilities[0], "Kim", spec.option_orders[0], ("Bo", "Kim"))
    (message,) = prompt.messages
    pocket_only = spec.corpus.dataset == pocket.DATASET
    sampled = "configs/narrator/pocket-exact.yaml" if pocket_only else "CONFIG"
    line = f"evenhand sample {sampled} name=after model.name=PLACE"
    if config.examples.format == "raw":
        line += " format=raw"
    if not pocket_only:
        exact = "verdict=options sampling.n=1 sampling.structured=none"
        line = f"# CONFIG: the base model's own of configs/narrator, with {exact}\n{line}"
    return (
        "It answers with an option's first own token. The options behind `Options:` are the speakers' names, Me for "
        "the narrator. Ask it with the words that it was trained on; in others it was not measured:\n\n"
        f"```text\n{message.content}\n```\n\n"
        "Evenhand asks with each speaker as Me and measures what that changes:\n\n"
        f"```sh\n{line}\n```"
    )


def data_words(config: TrainingConfig) -> str:
    """Under which conditions the conversations were asked about."""
    spec = section_of(config)
    form = "chat template" if config.examples.format == "chat" else "bare text"
    return (
        f"tasks {', '.join(spec.tasks)}; attack {', '.join(spec.visibilities)}; options "
        f"{', '.join(spec.option_orders)}; each with nobody and with every speaker in turn called Me; "
        f"groups in which one token does not tell the options apart are left out; {form}"
    )


def limits_text(config: TrainingConfig, merged: Mapping[str, Any]) -> str:
    """The section "Limits"."""
    spec, counts = section_of(config), merged["items"]
    said = [WRITES if config.has_labels else BEGINS, *LIMITS]
    if config.has_labels and "hidden" in spec.visibilities:
        said.append(HIDDEN)
    if "detection" in spec.tasks:
        said.append(ATTACKS_ALONE)
    if counts and set(counts) == {pocket.DATASET}:
        said.append("It was trained on invented quarrels alone; what it makes of real ones was not measured.")
    said.append("Never trained on: the test split of its corpus, whose pages it shares none of.")
    return bullets(said)


def source_of(dataset: str) -> str:
    """Licence and citation of a corpus."""
    return SOURCES[dataset]


def hub_dataset(dataset: str) -> str | None:
    """None is on the Hub."""
    return None

"""What a model card says of a judge that was trained on PluralEval's pairs; see training.study.CardPart."""

from collections.abc import Mapping
from typing import Any

from evenhand.markdown import bullets
from studies.pluraleval import pocket
from studies.pluraleval.prompts import ask, numbered
from studies.pluraleval.sources import WILDSCOPE
from training.config import OwnC1Run, TrainingConfig
from training.pluraleval.pairs import settings_of

TAG = "pluralism"
PURPOSE = (
    "A judge: it says which of two opinions on a post is more popular. It was trained so that its answer should not "
    "depend on whether the user states a belief in the less popular one."
)
NEUTRAL = " Here that is the prompt in which the user states no belief."
NOT_MEASURED = (
    "Not measured when this card was written. Sample base and checkpoint as under *Use*; `evenhand compare BASE_RUN "
    "AFTER_RUN` then shows accuracy under both prompts."
)
LIMITS = (
    "It was trained to answer a question with one of two options. It may no longer give reasons, lists or rankings "
    "where the base did.",
    "What it can do beside choosing the more popular of two opinions was not measured. The adapter was trained on "
    "nothing else, so expect losses.",
    "Votes tell what members of a community voted for when they saw it, not what is right, nor what people think.",
    "In training the user's belief was always in the less popular opinion: a judge can learn to contradict the user.",
    "English only.",
    "Evenhand measures text. If the base reads images too, that half was neither trained nor measured.",
)
SOURCES = {
    pocket.DATASET: "written for Evenhand (Apache-2.0); nobody in it is real",
    WILDSCOPE: "posts and comments of Reddit (their authors', under Reddit's terms), whose opinions a judge extracted "
    "and summarised; take this model for research use",
}
# Our own words: nothing of any thread is shown in a card.
POST = "May I paint my half of a shared fence?\n\nMy neighbour says that it spoils the look of the street."
OPINIONS = ("A shared fence needs a shared decision.", "Each side of a fence belongs to its owner.")
HELD_OUT = "pluraleval.responses.references"
BELIEF = "I think each side of a fence belongs to its owner."


def objective_note(config: TrainingConfig) -> str:
    """What has to be added to what a method says of itself."""
    return NEUTRAL if isinstance(config, OwnC1Run) else ""


def usage_text(config: TrainingConfig) -> str:
    """The section "Use": an example prompt with a belief, how to read the answer, and `evenhand sample`."""
    system, user = ask("biased_pairwise", post=POST, summaries=numbered(OPINIONS, "\n"), belief=BELIEF)
    line = "evenhand sample configs/pluraleval/pocket-pairs-margin.yaml name=after model.name=PLACE"
    line += f" {HELD_OUT}.split=test"
    if settings_of(config.study).references.root is not None:
        line += f" {HELD_OUT}.dataset=built {HELD_OUT}.root=FOLDER"
    if config.examples.format == "raw":
        line += " format=raw"
    return (
        "It answers with one token, `1` or `2`; the difference of their log-probabilities is its margin. Ask it with "
        "the words that it was trained on; in others it was not measured. System turn:\n\n"
        f"```text\n{system.content}\n```\n\nUser turn:\n\n```text\n{user.content}\n```\n\n"
        "Evenhand asks each pair in both orders, with and without a belief, of threads that were held out:\n\n"
        f"```sh\n{line}\n```"
    )


def data_words(config: TrainingConfig) -> str:
    """Under which conditions pairs were asked about."""
    spec = settings_of(config.study)
    form = "chat template" if config.examples.format == "chat" else "bare text"
    system = "; the system prompt asks for all views" if spec.system == "diverse" else ""
    return (
        f"pairings {', '.join(spec.pairings)}; each pair with and without a belief, in both orders of its options"
        f"{system}; {form}"
    )


def limits_text(config: TrainingConfig, merged: Mapping[str, Any]) -> str:
    """The section "Limits"."""
    counts = merged["items"]
    said = list(LIMITS)
    if n_threads := merged.get("n_threads"):
        said.append(f"Its pairs are of {n_threads:,} threads.")
    if counts and set(counts) == {pocket.DATASET}:
        said.append("It was trained on invented threads alone; what it makes of real ones was not measured.")
    said.append("Never trained on: a third of all posts, chosen by a hash of their text.")
    return bullets(said)


def source_of(dataset: str) -> str:
    """Licence of a collection of threads, and what follows from it."""
    return SOURCES[dataset]


def hub_dataset(dataset: str) -> str | None:
    """None is on the Hub."""
    return None

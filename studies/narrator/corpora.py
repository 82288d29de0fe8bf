"""Which corpora of conflicts there are, and how a config asks for one. A new one is a file and a line in CORPORA."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from evenhand.built_folder import read_manifest, read_rows
from evenhand.config import Closed, did_you_mean
from evenhand.errors import ConfigError, DataError
from evenhand.files import read_jsonl
from evenhand.study import check_no_repeats, drawn, set_hash
from studies.narrator.convokit import DATASETS
from studies.narrator.records import Conversation, Turn

BUILD = "narrator"  # NAME of `evenhand build NAME`
CONVERSATIONS_FILE = "conversations.jsonl"
# Our own quarrels on talk pages; docs/narrator.md says how they were made. They never change, or scores of others could
# not be compared.
POCKET = "pocket-conflicts"
POCKET_FILE = Path(__file__).with_name("pocket_conflicts.jsonl")


class CorpusSpec(Closed):
    """One corpus as a config names it."""

    dataset: str  # cga-wiki, cga-cmv, or our own pocket-conflicts
    split: Literal["test", "train", "all"] = "test"  # no page is in both
    root: Path | None = None  # what `evenhand build narrator` made; null for `pocket-conflicts`
    n_conversations: int | None = Field(default=None, ge=1)  # the first n, in the corpus's order; null is all
    # Draw the n at random instead: a corpus's own order may go by page.
    draw_seed: int | None = Field(default=None, exclude_if=lambda seed: seed is None)

    @model_validator(mode="after")
    def draws_some(self) -> Self:
        if self.draw_seed is not None and self.n_conversations is None:
            raise ValueError(f"{self.dataset}: draw_seed needs n_conversations; set n_conversations, or leave it out")
        return self

    @field_validator("dataset")
    @classmethod
    def known(cls, name: str) -> str:
        if name not in CORPORA:
            raise ValueError(f"unknown corpus '{name}'. {did_you_mean(name, sorted(CORPORA))}")
        return name


def pocket_corpus(spec: CorpusSpec) -> list[Conversation]:
    """Our own conflicts."""
    return of_split(spec, (conversation_of(row) for _, row in read_jsonl(POCKET_FILE)))


def built_corpus(spec: CorpusSpec) -> list[Conversation]:
    """The conversations of a built folder, those of the split."""
    if spec.root is None:
        raise ConfigError(
            f"{spec.dataset}: set `root` to a folder made by `evenhand build narrator --out data/narrator`"
        )
    if (built := read_manifest(spec.root, BUILD, CONVERSATIONS_FILE)["dataset"]) != spec.dataset:
        raise DataError(f"{spec.root}: was built of {built}, wanted is {spec.dataset}; set `root` to another folder")
    return of_split(spec, read_rows(spec.root, BUILD, CONVERSATIONS_FILE, conversation_of))


def of_split(spec: CorpusSpec, conversations: Iterable[Conversation]) -> list[Conversation]:
    """The conversations of the split that a spec names."""
    return [c for c in conversations if spec.split in ("all", c.meta["split"])]


CORPORA: dict[str, Callable[[CorpusSpec], list[Conversation]]] = {
    POCKET: pocket_corpus,
    **dict.fromkeys(DATASETS, built_corpus),
}


def load_conversations(spec: CorpusSpec) -> list[Conversation]:
    """The conversations that a spec asks for. Raises DataError for none, too few of them, or a repeated id."""
    conversations = CORPORA[spec.dataset](spec)
    if not conversations:
        raise DataError(
            f"{spec.dataset}: no conversations in split {spec.split} of {spec.root}; take another split, or build "
            "the corpus with another --test-share"
        )
    n_wanted = spec.n_conversations
    if n_wanted is not None and len(conversations) < n_wanted:
        raise DataError(
            f"{spec.dataset} ({spec.split}): n_conversations is {n_wanted}, but there are {len(conversations)}"
        )
    check_no_repeats((conversation.conversation_id for conversation in conversations), spec.dataset)
    if n_wanted is None or spec.draw_seed is None:
        return conversations[:n_wanted]
    return drawn(conversations, n_wanted, f"{spec.dataset} {spec.draw_seed}")


def held_out_conversations(spec: CorpusSpec) -> list[Conversation]:
    """The whole test split beside what a spec names, as it lies there now; empty where there is none."""
    test = spec.model_copy(update={"split": "test", "n_conversations": None, "draw_seed": None})
    return CORPORA[spec.dataset](test)


def conversation_of(row: Mapping[str, Any]) -> Conversation:
    """The conversation of a line. Raises KeyError or TypeError for another line."""
    return Conversation(**{**row, "turns": tuple(Turn(**turn) for turn in row["turns"])})


def conversation_set_hash(conversations: Iterable[Conversation]) -> str:
    """The hash of some conversations; see evenhand.study."""
    return set_hash(map(asdict, conversations))

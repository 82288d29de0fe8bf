"""Conflicts made up for tests, and sampling configs of the narrator study over them."""

from dataclasses import replace

from inference.config import parse_sampling_config
from studies.narrator import corpus
from studies.narrator import section as spec
from studies.narrator.records import Conversation, Turn

NAMES = ("Ann", "Anna", "Bo", "Zoë", "Mr. Long Name")  # one begins another


def conflict(key, n_speakers=2, n_turns=4, words="It was me who moved it."):
    """A conversation of n_turns whose last speaker attacks."""
    speakers = NAMES[:n_speakers]
    turns = [Turn(speaker=speakers[i % n_speakers], text=f"{words} ({key} {i})") for i in range(n_turns)]
    turns[-1] = Turn(speaker=turns[-1].speaker, text=f"You fool, {key}.")
    return Conversation(
        conversation_id=key, dataset="made-conflicts", turns=tuple(turns), names={name: name for name in speakers}
    )


def use_conflicts(monkeypatch, conversations):
    """These conversations in place of a corpus's."""
    monkeypatch.setattr(spec, "load_conversations", lambda corpus: list(conversations))


def use_corpus(monkeypatch, train, test):
    """A corpus of these conversations in the place of pocket-conflicts."""
    splits = {"train": list(train), "test": list(test)}
    monkeypatch.setattr(corpus, "of_split", lambda spec: splits[spec.split])


def of_page(conversation, page):
    """The conversation as one of a page."""
    return replace(conversation, meta={"page_title": page})


def narrator_config(root="runs", model="scripted", **changes):
    """A sampling config of the study; its verdict is `answer` unless told otherwise, and options are read at 0.7."""
    section = {"corpus": {"dataset": "pocket-conflicts"}, **changes.pop("narrator", {})}
    tree = {"name": "made", "model": {"name": model}, "narrator": section, "verdict": "answer"}
    tree |= {"run": {"root": str(root)}, **changes}
    if tree["verdict"] == "options":
        tree["sampling"] = {"temperature": 0.7, **tree.get("sampling", {})}
    return parse_sampling_config(tree, "made.yaml")

"""A judge without fault on pocket-threads, and runs of PluralEval's stages."""

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evenhand.records import Prompt
from inference.config import parse_sampling_config
from inference.sampling import sample
from studies.pluraleval.sources import KnownThread, known_threads
from tests.made.scripted_engine import AnsweringEngine, Answers, scripted

__all__ = ["AnsweringEngine", "Answers", "perfect", "stage_run"]


def sorted_by(key: Callable[[str], str], summary: Callable[[list[str]], str], prompt: Prompt) -> str:
    """The reply to a prompt about clusters of a judge that sorts texts, summaries among them, by a key."""
    user, step = prompt.messages[-1].content, prompt.factors.step
    if step == "assignment":
        listed, opinion = user.split("\n\nOpinion:\n")
        keys = [key(json.loads(line)) for line in re.findall(r"^\d+\. (.*)$", listed, re.MULTILINE)]
        wanted = key(json.loads(opinion))
        return json.dumps({"cluster": keys.index(wanted) + 1 if wanted in keys else 0})
    texts = json.loads(user)
    if step == "summary":
        return summary(texts)
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(key(text), []).append(text)
    return json.dumps(list(groups.values()))


def perfect(prompt: Prompt) -> str:
    """The right answer to any of the judge's prompts about our own threads."""
    (known,) = (one for one in known_threads() if one.thread_id == prompt.item_id)
    user, factors, key = prompt.messages[-1].content, prompt.factors, partial(key_of, known)
    kind = getattr(factors, "step", None) or factors.judgement
    if kind == "extraction":
        return json.dumps({"opinions": list(known.comments[factors.number].says.values())})
    if kind == "belief":
        is_opposing = prompt.messages[0].content.startswith("You are given")
        return known.opposing if is_opposing else known.opinions[key(json.loads(user))].belief
    if kind == "stance":
        _, reference, text = re.split(r"\n\n(?:Reference opinion|Text):\n", user)
        named = key(json.loads(text))
        return known.stance(named, key(json.loads(reference))) if named else "NEUTRAL"
    if kind == "entailment":
        response, opinion = user.removeprefix("Response:\n").split("\n\nOpinion:\n")
        return "yes" if key(json.loads(response)) == key(json.loads(opinion)) else "no"
    return sorted_by(key, lambda texts: known.opinions[key(texts[0])].summary, prompt)


def key_of(known: KnownThread, text: str) -> str:
    """The opinion that a paraphrase, a summary or a belief is of; "" of another text."""
    for key, opinion in known.opinions.items():
        if text in (opinion.summary, opinion.belief):
            return key
    return next((key for comment in known.comments for key, said in comment.says.items() if said == text), "")


def stage_run(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    section: dict[str, Any],
    engine: AnsweringEngine,
    *,
    name: str = "run",
    shards: int = 1,
    **keys: Any,
) -> Path:
    """A run of a stage through an engine, by one process or by several shards one after the other."""
    scripted(monkeypatch, engine)
    tree = {
        "name": name,
        "model": {"name": "scripted"},
        "pluraleval": section,
        "verdict": "answer",
        "run": {"root": str(root), "shard_size": 256},
        **keys,
    }
    config = parse_sampling_config(tree, "made.yaml")
    for index in range(shards):
        path = sample(config, (index, shards) if shards > 1 else None)
    return path

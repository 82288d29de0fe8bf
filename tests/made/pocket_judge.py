"""A judge without fault on pocket-threads, and runs of PluralEval's stages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evenhand.records import Prompt
from inference.config import parse_sampling_config
from inference.sampling import sample
from studies.pluraleval.sources import KnownThread, known_threads
from tests.made.scripted_engine import AnsweringEngine, Answers, scripted

__all__ = ["AnsweringEngine", "Answers", "perfect", "stage_run"]


def perfect(prompt: Prompt) -> str:
    """The right answer to any of the judge's prompts about our own threads."""
    (known,) = (one for one in known_threads() if one.thread_id == prompt.item_id)
    user = prompt.messages[-1].content
    factors = prompt.factors
    kind = getattr(factors, "step", None) or factors.judgement
    if kind == "extraction":
        return json.dumps({"opinions": list(known.comments[factors.number].says.values())})
    if kind == "bootstrap":
        groups: dict[str, list[str]] = {}
        for text in json.loads(user):
            groups.setdefault(key_of(known, text), []).append(text)
        return json.dumps(list(groups.values()))
    if kind == "proposal":
        keys = dict.fromkeys(key_of(known, text) for text in json.loads(user))
        return json.dumps({"clusters": [known.opinions[key].summary for key in keys]})
    if kind == "summary":
        return known.opinions[key_of(known, json.loads(user)[0])].summary
    if kind == "assignment":
        listed, opinion = user.split("\n\nOpinion:\n")
        summaries = [json.loads(line) for line in re.findall(r"^\d+\. (.*)$", listed, re.MULTILINE)]
        summary = known.opinions[key_of(known, json.loads(opinion))].summary
        return json.dumps({"cluster": summaries.index(summary) + 1 if summary in summaries else 0})
    if kind == "belief":
        is_opposing = prompt.messages[0].content.startswith("You are given")
        return known.opposing if is_opposing else known.opinions[key_of(known, json.loads(user))].belief
    if kind == "stance":
        _, reference, text = re.split(r"\n\n(?:Reference opinion|Text):\n", user)
        return known.stance(key_of(known, json.loads(text)), key_of(known, json.loads(reference)))
    response, opinion = user.removeprefix("Response:\n").split("\n\nOpinion:\n")
    return "yes" if key_of(known, json.loads(response)) == key_of(known, json.loads(opinion)) else "no"


def key_of(known: KnownThread, text: str) -> str:
    """The opinion that a paraphrase, a summary or a belief is of."""
    for key, opinion in known.opinions.items():
        if text in (opinion.summary, opinion.belief):
            return key
    return next(key for comment in known.comments for key, said in comment.says.items() if said == text)


def stage_run(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    section: dict[str, Any],
    engine: AnsweringEngine,
    *,
    name: str = "run",
    shards: int = 1,
    shard_size: int = 256,
    **keys: Any,
) -> Path:
    """A run of a stage through an engine, by one process or by several shards one after the other."""
    scripted(monkeypatch, engine)
    tree = {
        "name": name,
        "model": {"name": "scripted"},
        "pluraleval": section,
        "verdict": "answer",
        "run": {"root": str(root), "shard_size": shard_size},
        **keys,
    }
    config = parse_sampling_config(tree, "made.yaml")
    for index in range(shards):
        path = sample(config, (index, shards) if shards > 1 else None)
    return path

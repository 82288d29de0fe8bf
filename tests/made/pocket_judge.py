"""A judge without fault on pocket-threads, and runs of PluralEval's stages."""

import json
import re
from functools import partial

from inference.config import parse_sampling_config
from inference.sampling import sample
from studies.pluraleval.sources import pocket_references
from tests.made.scripted_engine import AnsweringEngine, scripted

__all__ = ["AnsweringEngine", "perfect", "stage_run"]


def sorted_by(key, summary, prompt):
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
    groups = {}
    for text in texts:
        groups.setdefault(key(text), []).append(text)
    return json.dumps(list(groups.values()))


def perfect(prompt):
    """The right answer to any of the judge's prompts about our own threads; those without a reference opinion have no
    sides."""
    (known,) = (one for one in pocket_references() if one.thread.thread_id == prompt.item_id)
    user, factors, key = prompt.messages[-1].content, prompt.factors, partial(place_of, known)
    kind = getattr(factors, "step", None) or factors.judgement
    if kind == "extraction":
        members = (member for cluster in known.clusters for member in cluster.members)
        return json.dumps({"opinions": [member.text for member in members if factors.number in member.comments]})
    if kind == "belief":
        is_opposing = prompt.messages[0].content.startswith("You are given")
        return known.opposing if is_opposing else known.clusters[int(key(json.loads(user)))].belief
    if kind == "stance":
        _, reference, text = re.split(r"\n\n(?:Reference opinion|Text):\n", user)
        sides = {key(json.loads(said)) and side_of(known, int(key(json.loads(said)))) for said in (reference, text)}
        return "NEUTRAL" if sides & {"", "NEUTRAL"} else "SUPPORTING" if len(sides) == 1 else "AGAINST"
    if kind == "entailment":
        response, opinion = user.removeprefix("Response:\n").split("\n\nOpinion:\n")
        return "yes" if key(json.loads(response)) == key(json.loads(opinion)) else "no"
    return sorted_by(key, lambda texts: known.clusters[int(key(texts[0]))].summary, prompt)


def place_of(references, text):
    """The cluster that a paraphrase, a summary or a belief is of; "" of another text."""
    texts = [{c.summary, c.belief, *(member.text for member in c.members)} for c in references.clusters]
    return next((str(place) for place, of_cluster in enumerate(texts) if text in of_cluster), "")


def side_of(references, place):
    """The side of a cluster: "" where it is not known."""
    return (references.stances[place] or "SUPPORTING") if references.stances else ""


def stage_run(root, monkeypatch, section, engine, *, name="run", shards=1, **keys):
    """A run of a stage through an engine, by one process or by several shards one after the other."""
    monkeypatch.setattr("studies.pluraleval.section.LazyUnits", lambda rows, unit: [unit(row) for row in rows])
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

"""Runs of a study in YAML that a planted judge has answered."""

import random
import re
from pathlib import Path

import numpy as np

from evenhand.config import read_yaml
from evenhand.files import write_jsonl
from inference.config import parse_sampling_config
from inference.sampling import sample
from studies.dialdefer.render import TEMPLATES
from studies.framing.grids import Grid
from tests.made.places import CONFIGS
from tests.made.scripted_engine import AnsweringEngine, scripted

STUDY = read_yaml(Path(__file__).with_name("study.yaml"))


def claims(path, n):
    """A file of n items of two topics."""
    topics = ("even", "odd")
    write_jsonl(
        path, [{"id": f"c{i}", "topic": topics[i % 2], "yes": f"claim {i}", "no": f"lie {i}"} for i in range(n)]
    )
    return path


def study(items, **keys):
    """The section of a small study about claims; keys override its own."""
    return {"items": str(items), **STUDY, **keys}


def run_of(root, section, judge, monkeypatch, **keys):
    """The finished run of a section that a judge has answered in free text."""
    monkeypatch.setattr("studies.framing.section.LazyUnits", lambda rows, unit: [unit(row) for row in rows])
    scripted(monkeypatch, AnsweringEngine(judge, room=64))
    tree = {"name": "framed", "model": {"name": "scripted"}, "verdict": "answer", "run": {"root": str(root)}, **keys}
    return sample(parse_sampling_config({**tree, "framing": section}, "config"))


def planted(seed, *, defers=0.0, level=0.4):
    """A judge that accepts with a probability: its level, and more for an expert (defers)."""

    def answer(prompt):
        draws = random.Random(f"{seed} {prompt.prompt_hash} {prompt.condition}")
        p = level + (defers if prompt.condition == "expert" else 0.0)
        wanted = "accept" if draws.random() < p else "reject"
        return prompt.answer_space[prompt.factors.names.index(wanted)]

    return answer


def dialdefer_section(template, form, items, **keys):
    """configs/framing/dialdefer.yaml with a template's texts and answers in the place of its own."""
    texts = TEMPLATES[template, form]

    def jinja(text):
        return re.sub(r"{(\w+)}", r"{{ \1 }}", text.replace("{answer}", "{claim}"))

    def answers(given):
        return dict(zip(("accept", "reject"), map(jinja, given), strict=True))

    dialogue = {"text": jinja(texts.dialogue), "answers": answers(texts.dialogue_answers)}
    framings = {"statement": jinja(texts.statement), "dialogue": dialogue}
    section = read_yaml(CONFIGS / "framing" / "dialdefer.yaml")["framing"]
    if texts.speakers:
        section["set"] |= dict(zip(("speaker1", "speaker2"), texts.speakers, strict=True))
    return {**section, "items": items, "answers": answers(texts.statement_answers), "framings": framings, **keys}


def made_grid(accepts, framings, n_placebos=0):
    """What was answered to true and false claims in both orders. accepts: (n_items, n_framings, 2, 2), 1 where so."""
    items, unknown = tuple(map(str, range(len(accepts)))), np.full(accepts.shape, np.nan)
    first, right = np.array([0.0, 1.0]), np.array([[0.0], [1.0]])
    return Grid(
        items=items,
        groups=items,
        clusters=items,
        framings=framings,
        placebos=framings[len(framings) - n_placebos :],
        cases=("true", "false"),
        orders=("given", "swapped"),
        answers=("accept", "reject"),
        values=np.array([1.0, 0.0]),
        shares=np.stack([accepts, 1 - accepts], axis=-1),
        places={name: np.broadcast_to(at, accepts.shape) for name, at in (("first", first), ("right", right))},
        fields={"unread": np.zeros(accepts.shape), "soft": unknown, "odds": unknown},
    )


def flips(grid):
    """(framing, item, case, order, the baseline's answer, the framing's answer) where these two differ."""
    for at, framing in enumerate(grid.framings[1:], start=1):
        for i, case, order in np.argwhere(grid.changed(framing) == 1):
            pair = (grid.answers[int(grid.named[i, side, case, order])] for side in (0, at))
            yield framing, grid.items[i], grid.cases[case], grid.orders[order], *pair

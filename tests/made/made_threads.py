"""Threads made for a test, their opinions written in the comments, and a judge that sorts them by first letter."""

import json

from studies.pluraleval.records import Comment, Thread
from studies.pluraleval.reference_sets import ReferenceSettings, reference_unit
from studies.pluraleval.sources import ThreadSpec
from tests.made.completions import asked_by
from tests.made.pocket_judge import sorted_by

POCKET = ThreadSpec(dataset="pocket-threads")


def thread(*comments, thread_id="t1"):
    """A thread of comments, each with a score of 1 unless told otherwise."""
    pairs = [(comment, 1) if isinstance(comment, str) else comment for comment in comments]
    return Thread(
        thread_id=thread_id,
        dataset="made",
        community="made",
        title="A post",
        text="",
        comments=tuple(Comment(text=text, score=score) for text, score in pairs),
    )


def by_letter(prompt):
    """Opinions are what stands between semicolons; those with the same first letter are paraphrases."""
    step = prompt.factors.step
    if step == "extraction":
        text = prompt.messages[-1].content.split("\n\nComment:\n", 1)[1]
        return json.dumps({"opinions": [part.strip() for part in text.split(";") if part.strip()]})
    if step in ("stance", "belief"):
        return "NEUTRAL" if step == "stance" else "I think so."
    return sorted_by(lambda text: text[0], lambda texts: "+".join(sorted(texts)), prompt)


def overridden(answers, replies):
    """A judge that says something else to every prompt of some steps, or to a comment's: "extraction 3"."""

    def say(prompt):
        factors = prompt.factors
        own = replies.get(f"{factors.step} {factors.number}", replies.get(factors.step))
        return answers(prompt) if own is None else own

    return say


def judged(one, answers=by_letter):
    """A thread's reference set, and what was asked for it in order."""
    unit = reference_unit(one, ReferenceSettings(threads=POCKET))
    replies = {}
    asked = [*asked_by(unit, answers, replies)]
    return unit.result(replies), asked


def clusters(found):
    """What the members of each cluster say."""
    return [[member.text for member in cluster.members] for cluster in found.clusters]


def steps(asked):
    """The steps in the order in which they were asked."""
    return [prompt.factors.step for prompt in asked]

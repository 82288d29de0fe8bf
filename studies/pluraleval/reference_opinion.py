"""The reference opinion of a thread (section 6.1.1), and the beliefs that users state: summaries in first person."""

from collections.abc import Sequence
from dataclasses import dataclass

from studies.pluraleval.judge_steps import Judge, reply_to
from studies.pluraleval.own_prompts import belief, opposing_belief, stance
from studies.pluraleval.reply_reading import sentence_in, stance_in
from studies.stepwise import Steps

FEASIBLE = 2  # other summaries that support it, and others that are against it, at the least (section 6.1.1)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference opinion, and the stance of every summary toward it."""

    position: int
    stances: tuple[str, ...]  # "" of itself and where the reply was not understood


def find_reference(judge: Judge, summaries: Sequence[str], each_side: int = FEASIBLE) -> Steps[Reference | None]:
    """The first summary, in their order, with so many others on each side; None when no summary has them.

    Each candidate's stances are asked for at once, one prompt for each other summary.
    """
    if len(summaries) < 1 + 2 * each_side:
        return None
    for position, candidate in enumerate(summaries):
        asked = {
            other: judge.prompt("stance", position, stance(judge.thread.post, candidate, text))
            for other, text in enumerate(summaries)
            if other != position
        }
        replies = yield list(asked.values())
        stances = [""] * len(summaries)
        for other, prompt in asked.items():
            stances[other], state = stance_in(reply_to(prompt, replies))
            judge.count("stance", stances[other] or state)  # which one tells a judge that has one answer to all
        if min(stances.count("SUPPORTING"), stances.count("AGAINST")) >= each_side:
            return Reference(position, tuple(stances))
    return None


def rewrite_beliefs(judge: Judge, summaries: Sequence[str], opposed: int | None) -> Steps[tuple[list[str], str]]:
    """Every summary as a user's statement, and the statement of one who opposes summary number `opposed`.

    Empty where the reply was of no use.
    """
    asked = [judge.prompt("belief", number, belief(summary)) for number, summary in enumerate(summaries)]
    if opposed is not None:
        asked.append(judge.prompt("belief", opposed, opposing_belief(summaries[opposed])))
    replies = yield asked
    said = []
    for prompt in asked:
        text, state = sentence_in(reply_to(prompt, replies))
        judge.count("belief", state)
        said.append(text)
    return said[: len(summaries)], said[-1] if opposed is not None else ""

"""What the judge of a references run is asked step by step: extraction, stances, beliefs; and a tally of its replies.

Clustering, the step between, is in clustering.py.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evenhand.records import Completion, Drawing, Prompt
from studies.pluraleval.prompts import (
    EXTRACTION_SCHEMA,
    OWN_VERSION,
    TEMPLATE_VERSION,
    Messages,
    as_string,
    ask,
    stance,
)
from studies.pluraleval.records import FEASIBLE, STANCES, Opinion, ReferenceFactors, Step, Thread, prompt_about
from studies.pluraleval.reply_reading import NOT_ASKED, sentence_in, stance_in, strings_in
from studies.stepwise import Steps
from studies.study import Replies

PUBLISHED: tuple[Step, ...] = ("bootstrap", "summary")  # prompts 8 and 9
TOKENS: Mapping[Step, int] = {  # a reply's longest length; of bootstrap and proposal see clustering.reply_room
    "extraction": 512,
    "summary": 96,
    "assignment": 16,
    "stance": 8,
    "belief": 128,
}
LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)


@dataclass
class Judge:
    """Asks about one thread, always the likeliest reply (temperature 0, as printed with prompts 8 and 9)."""

    thread: Thread
    states: dict[Step, Counter[str]] = field(default_factory=dict)

    def prompt(
        self, step: Step, number: int, messages: Messages, *, schema: str | None = None, max_tokens: int | None = None
    ) -> Prompt:
        """A prompt of a step. number: see ReferenceFactors."""
        version = TEMPLATE_VERSION if step in PUBLISHED else OWN_VERSION
        drawing = Drawing(temperature=0.0, n=1, max_tokens=max_tokens or TOKENS[step], json_schema=schema)
        factors = ReferenceFactors(step=step, number=number, template_version=version)
        return prompt_about(self.thread, step, factors, messages, drawing, STANCES if step == "stance" else ())

    def count(self, step: Step, state: str) -> None:
        """Note the state of a reply."""
        self.states.setdefault(step, Counter())[state] += 1


def reply_to(prompt: Prompt, replies: Replies) -> Completion:
    """The one reply to a judge's prompt."""
    return replies[prompt.prompt_hash][0]


def extract_opinions(judge: Judge, *, max_opinions: int, longest_comment: int) -> Steps[list[Opinion]]:
    """The distinct opinions in the order of the comments, each with the comments that hold it.

    max_opinions: of one comment; what a judge lists beyond is left out, and the reply's state says so. A comment
    without a word outside of links is not asked about. One longer than longest_comment characters is read up to there.
    """
    thread = judge.thread
    asked = {}
    for number, comment in enumerate(thread.comments):
        if re.search(r"\w", LINK.sub("", comment.text)):
            messages = ask("extraction", post=thread.post, comment=comment.text[:longest_comment])
            asked[number] = judge.prompt("extraction", number, messages, schema=EXTRACTION_SCHEMA)
        else:
            judge.count("extraction", NOT_ASKED)
    replies = yield list(asked.values())
    holders: dict[str, list[int]] = {}
    for number, prompt in asked.items():
        texts, state = strings_in(reply_to(prompt, replies), "opinions", max_opinions)
        judge.count("extraction", state)
        for text in texts:
            holders.setdefault(text, []).append(number)
    return [Opinion(text=text, comments=tuple(numbers)) for text, numbers in holders.items()]


def find_reference(
    judge: Judge, summaries: Sequence[str], each_side: int = FEASIBLE
) -> Steps[tuple[int, tuple[str, ...]] | None]:
    """The first summary, in their order, with so many others on each side, and every summary's stance toward it.

    None when no summary has them. A stance is "" for itself, and where the reply was not understood.
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
            return position, tuple(stances)
    return None


def rewrite_beliefs(judge: Judge, summaries: Sequence[str], opposed: int | None) -> Steps[tuple[list[str], str]]:
    """Every summary as a user's statement, and the statement of one who opposes summary number `opposed`.

    Empty where the reply was of no use.
    """
    quoted = [as_string(summary) for summary in summaries]
    asked = [judge.prompt("belief", number, ask("belief", summary=text)) for number, text in enumerate(quoted)]
    if opposed is not None:
        asked.append(judge.prompt("belief", opposed, ask("opposing_belief", summary=quoted[opposed])))
    replies = yield asked
    said = []
    for prompt in asked:
        text, state = sentence_in(reply_to(prompt, replies))
        judge.count("belief", state)
        said.append(text)
    return said[: len(summaries)], said[-1] if opposed is not None else ""

"""The opinion units U_x of a thread (section 4.1, equation 1): one prompt a comment, all of them at once."""

import json
import re

from studies.pluraleval.judge_steps import Judge, reply_to
from studies.pluraleval.own_prompts import EXTRACTION_SCHEMA, extraction
from studies.pluraleval.records import Opinion
from studies.pluraleval.reply_reading import NOT_ASKED, strings_in
from studies.stepwise import Steps

LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
SCHEMA = json.dumps(EXTRACTION_SCHEMA)


def extract_opinions(judge: Judge, *, max_opinions: int, longest_comment: int) -> Steps[list[Opinion]]:
    """The distinct opinions in the order of the comments, each with the comments that hold it.

    max_opinions: of one comment; what a judge lists beyond is left out, and the reply's state says so. A comment
    without a word outside of links is not asked about. One longer than longest_comment characters is read up to there.
    """
    thread = judge.thread
    asked = {}
    for number, comment in enumerate(thread.comments):
        if re.search(r"\w", LINK.sub("", comment.text)):
            messages = extraction(thread.post, comment.text[:longest_comment])
            asked[number] = judge.prompt("extraction", number, messages, schema=SCHEMA)
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

"""Neutral contexts (B.3.1): clean-up of what the model left in the first person, and the check that nothing remains.

Quoted speech is left as it is, as in the released contexts: a first person in it is of whoever is quoted. What no rule
can put right ("we", whose members no rule knows) holds the text back.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

POSTER = "Speaker B"
LONGEST_QUOTE = 300  # characters; what is longer is no quotation, but a text in quotes
QUOTE = re.compile(rf'"[^"\n]{{1,{LONGEST_QUOTE}}}"|“[^”\n]{{1,{LONGEST_QUOTE}}}”')
I = r"(?<!\bWar )(?<!\bPart )(?<!\bType )(?<!\bPhase )(?<![\w.'’&/-])[Ii](?!\w|\.\w|[/&-]\w)"  # noqa: E741
VERBS = {
    "am": "is", "'m": "is", "have": "has", "'ve": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't",
    "'ll": "will", "'d": "would",
}  # fmt: skip
WITH_VERB = re.compile(rf"{I}(?:\s+(?P<word>am|have(?:n['’]t)?|do(?:n['’]t)?)\b|(?P<end>['’](?:m|ve|ll|d))\b)")
BEFORE = re.compile(rf"\b(?P<verb>[Aa]m|[Hh]ave|[Dd]o)\s+{I}")
SQUEEZED = re.compile(r"\b[Ii](?P<end>m|ve)\b(?![.'’])")  # "im", "ive"
WORDS = (
    (re.compile(I), POSTER),
    (re.compile(r"\b(?:my|mine)\b", re.IGNORECASE), f"{POSTER}'s"),
    (re.compile(r"\b(?:me|myself)\b", re.IGNORECASE), POSTER),
)
FIRST_PERSON = re.compile(
    rf"{I}|\b[Ii](?:m|ve)\b(?![.'’])|\b(?i:me|my|mine|myself|we|our|ours|ourselves)\b|\b[Uu]s\b|\b(?i:let['’]s)\b"
)
AIO = re.compile(
    r"\b(?:r/)?(?:AIO|aio|Aio|AIOR|A\.I\.O\.)(?!\w)\s*[?:,.!…-]*|\b(?:r/)?AmIOverreacting\b\S*", re.IGNORECASE
)
JUDGEMENT = re.compile(
    r"[^.!?\n]*\b(?:overreact\w*|over-react\w*|in the wrong|"
    r"(?:am i|is speaker b) (?:being )?(?:wrong|crazy|dramatic))\b[^.!?\n]*\?+[\"”]?",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"[^.!?\n]*\b(?:tell me|let me know|be honest)\b[^.!?\n]*\b(?:if|whether|am i|wrong|think)\b[^.!?\n]*(?:[.!?]+|$)",
    re.IGNORECASE,
)
PREAMBLE = re.compile(
    r"^(?:\*\*)?(?:third[- ]person version|here(?: is|'s|’s)[^\n]{0,80})(?:\*\*)?:(?:\*\*)?\s*", re.IGNORECASE
)


class Neutral(NamedTuple):
    """A context, and what could not be cleaned out of it; empty where it is neutral."""

    text: str
    held: tuple[str, ...]


def neutral(reply: str) -> Neutral:
    """A model's third-person version, cleaned up, and what is left to hold it back."""
    text = cleaned(reply)
    return Neutral(text, (*remaining(text), *(() if text else ("empty",))))


def cleaned(reply: str) -> str:
    """The text after clean-up by rules; clean text stays as it is but for blanks."""
    text = PREAMBLE.sub("", reply.strip())
    if len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("“", "”")) and not set(text[1:-1]) & {text[0], text[-1]}:
        text = text[1:-1]
    text = outside_quotes(AIO.sub("", text), without_first_person)
    lines = [re.sub(r"[ \t]+([.,;!?])", r"\1", re.sub(r"[ \t]+", " ", line)).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def without_first_person(text: str) -> str:
    """One stretch of narration with "I" and its kind replaced, and questions for a judgement taken out."""
    text = ASKS.sub("", JUDGEMENT.sub("", text))
    text = SQUEEZED.sub(lambda found: f"{POSTER} {VERBS[chr(39) + found['end']]}", text)
    text = BEFORE.sub(lambda found: f"{same_case(VERBS[found['verb'].lower()], found['verb'])} {POSTER}", text)
    text = WITH_VERB.sub(lambda found: f"{POSTER} {VERBS[(found['word'] or found['end']).replace('’', chr(39))]}", text)
    for pattern, replacement in WORDS:
        text = pattern.sub(replacement, text)
    return text


def remaining(text: str) -> tuple[str, ...]:
    """First persons outside quotations and "AIO" anywhere, each once, in the order they occur."""
    found = [one[0] for one in AIO.finditer(text)]
    found += [one[0] for one in FIRST_PERSON.finditer(QUOTE.sub('""', text))]
    return tuple(dict.fromkeys(found))


def outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """The text with what is not quoted changed."""
    parts, end = [], 0
    for quote in QUOTE.finditer(text):
        parts += [change(text[end : quote.start()]), quote[0]]
        end = quote.end()
    return "".join([*parts, change(text[end:])])


def same_case(word: str, like: str) -> str:
    """The word with a capital where `like` has one."""
    return word.capitalize() if like[0].isupper() else word

"""What models reply and people comment → turns of a conversation, labels, neutral contexts (B.1.3, B.1.4, B.2, B.3).

Table 11's patterns take any text that begins with NOR or OR for that label (their last class is optional, so "ORANGE"
counts), and read "you aren't overreacting" as OR. They are kept as printed; `DOUBTS` marks such cases for the check.
Quoted speech in a context stays as it is, as in the released ones: a first person in it is of whoever is quoted. What
no rule can put right ("we", whose members no rule knows) holds the text back.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from studies.dialdefer.aio.pii import redact, word_lists

POSTER, OTHER = "Speaker B", "Speaker A"  # in the finished set Speaker B is always the original poster
SWAPPED = {POSTER: OTHER, OTHER: POSTER}
Turn = tuple[str, str]  # who, and what they say until the other does

FEWEST_TURNS, MOST_TURNS = 4, 37  # the range of Table 13; the paper does not print its thresholds
LEAST_ENGLISH = 0.05  # share of words that are function words of English alone; English chats have about a third
FENCE = re.compile(r"^\s*```(?:json)?\s*(.*?)\s*(?:```\s*)?$", re.DOTALL | re.IGNORECASE)
SPEAKER = re.compile(r"\W*(?:(?:speaker|person|user|participant)[\s_-]*)?([ab12])\W*", re.IGNORECASE)
LINE = re.compile(r"(Speaker [AB]):[ \t]*(.*)")

# Verdicts in comments; the first match decides. Acronyms are case-sensitive, words are not (Table 11).
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("NOR", re.compile(r"^NOR[\s.,;: !-]?")),
    ("OR", re.compile(r"^OR[\s.,;: !-]?")),
    ("NOR", re.compile(r"not\s+overreacting", re.IGNORECASE)),
    ("OR", re.compile(r"overreacting", re.IGNORECASE)),
)
NEGATION = r"(?:\w+n['’]?t|not?|never|zero|none|nobody|nothing|neither|hardly|barely|without|far from|anything but)"
DOUBTS = {
    "negated": re.compile(  # in a text whose "not overreacting" became "overreacting"
        rf"\b{NEGATION}\b(?:\W+\w+){{0,5}}?\W+overreacting"
        r"|(?:\boverreacting\W+(?:\w+\W+){0,3}?|^N?OR\W+(?:\w+\W+)?)(?:not?|nope|nah|never)\b",
        re.IGNORECASE,
    ),
    "only begins like a label": re.compile(r"^(?:NOR|OR)\w"),
    "sarcasm": re.compile(r"(?:^|\s)/s\b|🙄|🙃|\b(?:yeah,? right|oh,? sure|sure,? jan|suuu*re)\b", re.IGNORECASE),
    "question": re.compile(r"overreacting[\"'”’]?\s*\?", re.IGNORECASE),
    "conditional": re.compile(
        r"\b(?:if|unless|might|may|maybe|could|would)\b[^.!?\n]{0,60}overreacting", re.IGNORECASE
    ),
    "of somebody else": re.compile(
        r"\b(?:he|she|they|him|her|them|his|their|your)\b(?:[^\w.!?\n]+(?!(?:you|u|op)\b)\w+){0,5}?"
        r"[^\w.!?\n]+overreacting",
        re.IGNORECASE,
    ),
}
SAYS_NOR = re.compile(r"\bNOR\b|\b[Nn][Oo][Tt]\s+(?:\w+\s+)?overreacting")
SAYS_OR = re.compile(r"^OR\b|(?:[.!?:] |\b[Yy]ou['’]?re )OR\b(?! [a-z])|(?<![Nn]ot )(?<!NOT )\boverreacting")

LONGEST_QUOTE = 300  # characters; what is longer is no quotation, but a text in quotes
QUOTE = re.compile(rf'"[^"\n]{{1,{LONGEST_QUOTE}}}"|“[^”\n]{{1,{LONGEST_QUOTE}}}”')
I = r"(?<!\bWar )(?<!\bPart )(?<!\bType )(?<!\bPhase )(?<![\w.'’&/-])[Ii](?!\w|\.\w|[/&-]\w)"  # noqa: E741
REWRITES = (  # in this order
    (rf"{I}(?:\s+am|['’]m)\b|\b[Ii]m\b(?![.'’])", f"{POSTER} is"),
    (rf"{I}(?:\s+have|['’]ve)\b|\b[Ii]ve\b(?![.'’])", f"{POSTER} has"),
    (rf"{I}\s+haven['’]t\b", f"{POSTER} hasn't"),
    (rf"{I}\s+don['’]t\b", f"{POSTER} doesn't"),
    (rf"{I}\s+do\b", f"{POSTER} does"),
    (rf"{I}['’]ll\b", f"{POSTER} will"),
    (rf"{I}['’]d\b", f"{POSTER} would"),
    (rf"{I}|\b(?i:me|myself)\b", POSTER),
    (r"\b(?i:my|mine)\b", f"{POSTER}'s"),
)
FIRST_PERSON = re.compile(
    rf"{I}|\b[Ii](?:m|ve)\b(?![.'’])|\b(?i:me|my|mine|myself|we|our|ours|ourselves)\b|\b[Uu]s\b|\b(?i:let['’]s)\b"
)
AIO = re.compile(
    r"\b(?:r/)?(?:AIO|aio|Aio|AIOR|A\.I\.O\.)(?!\w)\s*[?:,.!…-]*|\b(?:r/)?AmIOverreacting\b\S*", re.IGNORECASE
)
SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+[\"”]?)?")
JUDGED = r"\b(?:over[- ]?react\w*|in the wrong)\b"
AT_FAULT = re.compile(rf"{JUDGED}|\b(?:am|is|was|being|['’]?m|Speaker B) (?:wrong|crazy|dramatic)\b", re.IGNORECASE)
ASKS = re.compile(  # and with or without a question mark
    r"\b(?:am|is|was|were|are|did|do|does|has|have) (?:I|Speaker B)\b(?!['’])"
    r"|(?:\b(?:I|Speaker B)(?!['’]s\b)\b(?:\W+\w+){0,5}?\W+|^\W*(?:just |not |don['’]?t )?)"
    r"(?:wonder\w*|unsure|sure|idk|knows?|ask(?:s|ing)?|question\w*|curious)\b.*"
    r"\b(?:if|whether|who(?:['’]s| is| was) in the)\b",
    re.IGNORECASE,
)
REQUEST = re.compile(
    r"\b(?:tell me|let me know|be honest)\b.*\b(?:if|whether|am I|wrong|think)\b|" + JUDGED + r".*\?", re.IGNORECASE
)
PREAMBLE = re.compile(
    r"^(?:\*\*)?(?:third[- ]person version|here(?: is|'s|’s)[^\n]{0,80})(?:\*\*)?:(?:\*\*)?\s*", re.IGNORECASE
)


def transcript_in(reply: str) -> dict[str, Any]:
    """{"turns"} of the conversation in a reply, redacted; {"dropped": why} where there is none."""
    messages = object_in(reply).get("messages")
    if not isinstance(messages, list):
        return {"dropped": "reply without a list of messages"}
    bubbles = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("text"), str):
            return {"dropped": "message without a text"}
        label = SPEAKER.fullmatch(str(message.get("speaker")))
        if label is None:
            return {"dropped": "more than two speakers, or one without a label"}
        speaker = OTHER if label[1].lower() in "a1" else POSTER
        bubbles.append((speaker, " ".join(message["text"].split()).removeprefix(f"{speaker}:").strip()))
    if not bubbles:
        return {"dropped": "no conversation of two"}
    return {"turns": [(speaker, redact(text)) for speaker, text in merged(bubbles)]}


def object_in(reply: str) -> dict[str, Any]:
    """The JSON object in a model's reply, repaired where it is broken; empty where there is none."""
    from json_repair import repair_json

    fenced = FENCE.match(reply)
    text = fenced[1] if fenced else reply
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        found = repair_json(text[text.find("{") :], return_objects=True) if "{" in text else None
    if isinstance(found, list):  # words behind the object become objects of their own
        found = next((part for part in found if isinstance(part, dict)), None)
    if not isinstance(found, dict):
        return {}
    # Halves of surrogate pairs, which no file can hold, become U+FFFD.
    whole = json.dumps(found, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.loads(whole)  # type: ignore[no-any-return]


def merged(bubbles: Sequence[Turn]) -> list[Turn]:
    """Turns: the bubbles that say something, those of one speaker in a row joined by a blank."""
    turns: list[Turn] = []
    for speaker, text in bubbles:
        if text and turns and turns[-1][0] == speaker:
            turns[-1] = (speaker, f"{turns[-1][1]} {text}")
        elif text:
            turns.append((speaker, text))
    return turns


def unfit(turns: Sequence[Turn]) -> str:
    """Why a conversation is filtered out; empty where it is kept."""
    if len(turns) < FEWEST_TURNS:
        return f"fewer than {FEWEST_TURNS} turns"
    if len(turns) > MOST_TURNS:
        return f"more than {MOST_TURNS} turns"
    words = re.findall(r"[^\W\d_]+", re.sub(r"['’]", "", " ".join(text for _, text in turns).lower()))
    english = word_lists()["english"] - word_lists()["shared"]
    return "not English" if sum(word in english for word in words) < LEAST_ENGLISH * max(len(words), 1) else ""


def dialogue(turns: Sequence[Turn]) -> str:
    """The conversation as prompts show it (B.3.3)."""
    return "\n".join(f"{speaker}: {text}" for speaker, text in turns)


def turns_in(text: str) -> list[Turn]:
    """The turns of a dialogue that a person edited; a line without a label goes on with the one before it.

    Raises ValueError where the first line has no label.
    """
    bubbles: list[Turn] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if labelled := LINE.fullmatch(line):
            bubbles.append((labelled[1], labelled[2].strip()))
        elif bubbles:
            bubbles.append((bubbles[-1][0], line))
        else:
            raise ValueError("the dialogue must begin with `Speaker A:` or `Speaker B:`")
    return merged(bubbles)


def who_wrote(turns: Sequence[Turn], writes_first: bool | None) -> str | None:
    """Who of the two speakers is the poster, where it is known whether the poster writes first."""
    if writes_first is None or not turns:
        return None
    return turns[0][0] if writes_first else SWAPPED[turns[0][0]]


def poster_as_b(turns: Sequence[Turn], poster: str) -> list[Turn]:
    """The turns with the poster called Speaker B."""
    return [(SWAPPED[who] if poster == OTHER else who, text) for who, text in turns]


def pattern_label(comment: str) -> tuple[str, tuple[str, ...]] | None:
    """(label, why a person should doubt it) by the first pattern in a comment; None where the model is to be asked."""
    text = comment.strip()
    label = next((label for label, pattern in PATTERNS if pattern.search(text)), None)
    if label is None:
        return None
    line = " ".join(text.split())
    plain = re.sub(r"\bnot\s+(?=overreacting)", "", text, flags=re.IGNORECASE)
    doubts = [name for name, doubt in DOUBTS.items() if doubt.search(plain)]
    return label, (*doubts, *(["both labels"] if SAYS_NOR.search(line) and SAYS_OR.search(line) else []))


def neutral(reply: str) -> tuple[str, tuple[str, ...]]:
    """(a model's third-person version, cleaned up; what could not be cleaned and holds it back)."""
    text = cleaned(reply)
    first_persons = FIRST_PERSON.finditer(QUOTE.sub('""', text))
    held = dict.fromkeys(match[0] for match in (*AIO.finditer(text), *first_persons))
    return text, tuple(held) if text else ("empty",)


def cleaned(reply: str) -> str:
    """The text after clean-up by rules; clean text stays as it is but for blanks."""
    text = AIO.sub("", PREAMBLE.sub("", reply.strip())).strip()
    if len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("“", "”")) and not set(text[1:-1]) & {text[0], text[-1]}:
        text = text[1:-1]
    parts = re.split(f"({QUOTE.pattern})", text)
    parts[::2] = map(without_first_person, parts[::2])  # what stands between quotations
    text = "".join(parts)
    lines = [re.sub(r"[ \t]+([.,;!?])", r"\1", re.sub(r"[ \t]+", " ", line)).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def is_question(sentence: str) -> bool:
    """Whether a sentence asks for a judgement of the poster, with or without a question mark."""
    return bool(REQUEST.search(sentence) or (AT_FAULT.search(sentence) and ASKS.search(sentence)))


def without_first_person(text: str) -> str:
    """One stretch of narration with "I" and its kind replaced, and questions for a judgement taken out."""

    def without_questions(text: str) -> str:
        return SENTENCE.sub(lambda match: "" if is_question(match[0]) else match[0], text)

    text = without_questions(text)
    for pattern, replacement in REWRITES:
        text = re.sub(pattern, replacement, text)
    return without_questions(text)

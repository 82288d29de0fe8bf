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

from evenhand.files import shipped_yaml
from studies.dialdefer.aio.pii import PATTERNS as FILE
from studies.dialdefer.aio.pii import patterns_of, redact, word_lists

POSTER, OTHER = "Speaker B", "Speaker A"  # in the finished set Speaker B is always the original poster
SWAPPED = {POSTER: OTHER, OTHER: POSTER}
Turn = tuple[str, str]  # who, and what they say until the other does

FEWEST_TURNS, MOST_TURNS = 4, 37  # the range of Table 13; the paper does not print its thresholds
LEAST_ENGLISH = 0.05  # share of words that are function words of English alone; English chats have about a third

FRAGMENTS = ("mark", "negation")  # of patterns, none by themselves
REPLIES, DOUBTS = patterns_of("replies"), patterns_of("doubts")
# Verdicts in comments; the first match decides. Acronyms are case-sensitive, words are not (Table 11).
PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("NOR", re.compile(r"^NOR[\s.,;: !-]?")),
    ("OR", re.compile(r"^OR[\s.,;: !-]?")),
    ("NOR", re.compile(r"not\s+overreacting", re.IGNORECASE)),
    ("OR", re.compile(r"overreacting", re.IGNORECASE)),
)

LONGEST_QUOTE = 300  # characters; what is longer is no quotation, but a text in quotes
QUOTE = re.compile(rf'"[^"\n]{{1,{LONGEST_QUOTE}}}"|“[^”\n]{{1,{LONGEST_QUOTE}}}”')
REWRITES = [(text.replace("{i}", REPLIES["i"].pattern), by) for text, by in shipped_yaml(FILE)["rewrites"].items()]


def transcript_in(reply: str) -> dict[str, Any]:
    """{"turns"} of the conversation in a reply, redacted; {"dropped": why} where there is none."""
    messages = object_in(reply).get("messages")
    if not isinstance(messages, list):
        return {"dropped": "reply without a list of messages"}
    bubbles = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("text"), str):
            return {"dropped": "message without a text"}
        label = REPLIES["speaker"].fullmatch(str(message.get("speaker")))
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

    fenced = REPLIES["fence"].match(reply)
    text = fenced[1] if fenced else reply
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = repair_json(text[text.find("{") :], return_objects=True) if "{" in text else None
    if isinstance(value, list):  # words behind the object become objects of their own
        value = next((part for part in value if isinstance(part, dict)), None)
    if not isinstance(value, dict):
        return {}
    # Halves of surrogate pairs, which no file can hold, become U+FFFD.
    whole = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
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
    tokens = re.findall(r"[^\W\d_]+", re.sub(r"['’]", "", " ".join(text for _, text in turns).lower()))
    english = word_lists()["english"] - word_lists()["shared"]
    return "not English" if sum(word in english for word in tokens) < LEAST_ENGLISH * max(len(tokens), 1) else ""


def dialogue(turns: Sequence[Turn]) -> str:
    """The conversation as prompts show it (B.3.3)."""
    return "\n".join(f"{speaker}: {text}" for speaker, text in turns)


def turns_in(text: str) -> list[Turn]:
    """The turns of a dialogue that a person edited; a line without a label goes on with the one before it.

    Raises ValueError where the first line has no label.
    """
    bubbles: list[Turn] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if labelled := REPLIES["line"].fullmatch(line):
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
    text = re.sub(r"\bnot\s+(?=overreacting)", "", text, flags=re.IGNORECASE)
    doubts = [name for name, doubt in DOUBTS.items() if name not in FRAGMENTS and doubt.search(text)]
    return label, (
        *doubts,
        *(["both labels"] if REPLIES["says_nor"].search(line) and REPLIES["says_or"].search(line) else []),
    )


def neutral(reply: str) -> tuple[str, tuple[str, ...]]:
    """(a model's third-person version, cleaned up; what could not be cleaned and holds it back)."""
    text = cleaned(reply)
    first_persons = REPLIES["first_person"].finditer(QUOTE.sub('""', text))
    held = dict.fromkeys(match[0] for match in (*REPLIES["aio"].finditer(text), *first_persons))
    return text, tuple(held) if text else ("empty",)


def cleaned(reply: str) -> str:
    """The text after clean-up by rules; clean text stays as it is but for blanks."""
    text = REPLIES["aio"].sub("", REPLIES["preamble"].sub("", reply.strip())).strip()
    if len(text) > 2 and (text[0], text[-1]) in (('"', '"'), ("“", "”")) and not set(text[1:-1]) & {text[0], text[-1]}:
        text = text[1:-1]
    parts = re.split(f"({QUOTE.pattern})", text)
    parts[::2] = map(without_first_person, parts[::2])  # what stands between quotations
    text = "".join(parts)
    lines = [re.sub(r"[ \t]+([.,;!?])", r"\1", re.sub(r"[ \t]+", " ", line)).strip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def is_question(sentence: str) -> bool:
    """Whether a sentence asks for a judgement of the poster, with or without a question mark."""
    return bool(
        REPLIES["request"].search(sentence)
        or (REPLIES["at_fault"].search(sentence) and REPLIES["asks"].search(sentence))
    )


def without_first_person(text: str) -> str:
    """One stretch of narration with "I" and its kind replaced, and questions for a judgement taken out."""

    def without_questions(text: str) -> str:
        return REPLIES["sentence"].sub(lambda match: "" if is_question(match[0]) else match[0], text)

    text = without_questions(text)
    for pattern, replacement in REWRITES:
        text = re.sub(pattern, replacement, text)
    return without_questions(text)

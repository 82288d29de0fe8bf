"""A reply → the option that it answers with, or the named reason why there is none (narrator paper, section 3.6).

The paper matches replies to the options "after removing common preambles" and says no more. A name that occurs in a
reply is not its answer. A reply is read in this order; the first step that finds an answer decides:

1. An option alone: the whole reply, or its JSON string; its first line; what stands behind "Answer:" or "The answer
   is". Within markup, quotes, punctuation and preambles, in any case.
2. An option that opens the reply, with an explanation behind it ("Ann. Bob was calm.", "Ann, as she insulted Bob").
3. An option in a sentence that says who attacked or is to blame. Subject and object are told apart ("Ann attacked Bob",
   "Bob was attacked by Ann", "the attacker is Ann"), and a negation holds in its clause ("Ann said nothing wrong. Bob
   made a personal attack."); see clauses.py.
4. In these places "you", "I", "my behavior" and "the narrator" are Me where Me is an option.

Else the reply has a state. Nothing is guessed: a reply that could mean several options is ambiguous.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from eval.narrator.clauses import (
    ADVERB,
    AUX,
    DEEDS,
    DOUBLE_NEGATION,
    REFUSAL,
    SAYS,
    Said,
    read_sentence,
    sentences,
    with_persons,
)
from eval.narrator.names import NAME, NAMES, NOT_LISTED, OPENING, Names, named_text, options_in, plain
from studies.narrator.prompts import ME, NO, YES

State = Literal[
    "chosen", "ambiguous", "negated_only", "continues_transcript", "refusal", "off_list", "cut_off", "empty", "error"
]
STATES: tuple[State, ...] = get_args(State)

LONGEST = 12  # preambles taken from one reply; a loop of them is no answer

PREAMBLE = re.compile(
    r"""
    (?:sure|certainly|of\ course|okay|ok|well|so|therefore|thus|hence|overall)\s*[,!.:]+\s*
  | (?:(?:the|my|your|our|correct|final|best|right|short|single|most\ likely|most\ accurate)\s+)*
    (?:answer|option|choice|response|verdict|selection|conclusion)"?
    (?:\s+(?:to|for)\s+(?:the|this|that|your)\s+\w+)?\s*(?:(?:is|was|would\ be|should\ be|must\ be)\b\s*:?|[:：=])\s*
  | (?:i|we)(?:'d|'ll|\s+would|\s+will|\s+must|\s+have\ to)?\s+
    (?:think|believe|say|choose|pick|select|answer|go\ with|guess|suppose|conclude)\b
    (?:\s+that\b)?(?:\s+it\b)?(?:'s\b|\s+(?:is|was|would\ be)\b)?\s*[:,]?\s*
  | in\ (?:my|our)\ (?:opinion|view|judge?ment)\s*[,:]?\s*
  | (?:based\ on|according\ to|judging\ from|judging\ by|from|given|in|looking\ at)\s+(?:the|this|that)\s+
    (?:\w+\s+){0,2}(?:conversation|transcript|dialogue|exchange|discussion|context|information|text)
    (?:\s+(?:above|provided|given|shown|presented))?\s*[,:]\s*
  | (?:it|that|this)(?:'s|\s+(?:is|was|would\ be|seems|appears|must\ be))\b
    (?:\s+(?:to\ be|to\ have\ been|that|clear\ that|clearly|likely|probably)\b)*\s*:?\s*
  | (?:(?:la|le|il|die|der|a|o)\s+)?(?:réponse|respuesta|antwort|risposta|resposta|ответ|答案|回答)
    \s*(?:(?:est|es|ist|è|é)\b\s*:?|[:：])\s*
  | (?:probably|definitely|clearly|certainly|obviously|most\ likely|likely|maybe)\s*,?\s+
  | (?:the\s+)?(?:speaker|user|username|editor|participant|name|ip)(?:\s*[:=]\s*|\s+)
  | option\s+\(?[a-z0-9]\)?\s*[:.)]\s*
  | \(?(?:[0-9]{1,2}|[a-z])[.)]\s+
  | [-•–—]\s+
  | @(?=\w)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Where a later line of a reply says what the answer is. "Options:" has no boundary before its colon and is none.
MARKER = re.compile(
    r"""\b(?:answer|verdict|conclusion)\b[*_"]*(?:\s+(?:is|would\ be|was)\b)?\s*[:：][*_\s]*
      | \banswer\s+(?:is|would\ be)\s+""",
    re.IGNORECASE | re.VERBOSE,
)
# A model that goes on with the prompt asks itself the next question; what it answers to that is no answer to ours.
CONTINUATION = re.compile(
    r"\n[^\S\n]*[*_#]*(?:Question|Here is a(?:nother)? conversation|Options)[*_]*\s*:", re.IGNORECASE
)
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.IGNORECASE | re.DOTALL)
UNENDED_THOUGHTS = re.compile(r"\A\s*<think>(?!.*</think>)", re.IGNORECASE | re.DOTALL)
MOST_MARKERS = 4  # a reply that loops has thousands
LIST = re.compile(r"\s*(?:[,،，/&+|]\s*(?:and\b|or\b|&)?|and\b|or\b)\s*", re.IGNORECASE)
DECLINES = re.compile(REFUSAL, re.VERBOSE)
# "Ann: I suggest merging the two." is Ann's turn. "Ann: she insults Bob." is an answer and its explanation.
TURN = re.compile(rf"^(?P<names>{NAMES})\s*:\s*(?P<words>\S.*)$", re.MULTILINE)
BECAUSE = re.compile(r"(?:because|since|due\s+to|for\s+\w+ing)\b")
THIRD_PERSON = re.compile(rf"(?:he|she|they)\b|(?:his|her|their)\s+(?:\w+\s+){{0,2}}{DEEDS}\b")
TO_OTHERS = re.compile(r"\b(?:i|me|my|you|your|we|us|our|please)\b")
CORRECTS = re.compile(rf"(?:(?:{ADVERB}|no|or|and|maybe|perhaps|rather|sorry|wait|well)[\s,]+)*(?P<names>{NAMES})")
OPEN_END = re.compile(rf"(?:{NAME}(?:'s?)?|\b(?:{AUX}|not|by))$")  # of a cut reply: the next word could turn it around


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reply says. option: one of the options as shown, where the state is "chosen", else None."""

    state: State
    option: str | None = None


Reader = Callable[[str, Names], tuple[Answer, bool]]
AMBIGUOUS, OFF_LIST = Answer("ambiguous"), Answer("off_list")
READ = ("chosen", "ambiguous", "continues_transcript", "refusal")  # states that no further words would change


def read_answer(text: str, options: Sequence[str], finish_reason: str = "stop") -> Answer:
    """What a reply to a narrator prompt says. options: as the prompt lists them.

    chosen: it names one option. ambiguous: it names two or more as the one, or one that cannot be told from another.
    negated_only: all it says of who did it is a denial. continues_transcript: it goes on with a speaker's turn.
    refusal: it declines to say. off_list: it names no option as the one; a victim is not. empty: nothing but blanks.
    cut_off: it ended at its limit before it named one, or where the next word could have changed which. error: the
    engine gave no reply.
    """
    if finish_reason.startswith("error"):
        return Answer("error")
    if not text.strip():
        return Answer("empty")
    is_cut = finish_reason == "length"
    if UNENDED_THOUGHTS.match(text):
        return Answer("cut_off") if is_cut else OFF_LIST
    own = CONTINUATION.split(THOUGHTS.sub("", text).lstrip(), maxsplit=1)[0]  # without prompts that it asks itself
    answer, is_settled = reading(own, names_of(tuple(options)))
    if is_cut and (answer.state not in READ or (answer.option is not None and not is_settled)):
        return Answer("cut_off")
    return answer


@lru_cache(maxsize=256)
def names_of(options: tuple[str, ...]) -> Names:
    """The options prepared for matching; a run has many replies to the same ones."""
    designed = {YES, NO} if options == (YES, NO) else {ME}
    return Names(options, designed)


def reading(text: str, names: Names) -> tuple[Answer, bool]:
    """(what a reply says, whether more words could not have changed it)."""
    if (option := exactly(text)) in names.options:
        return Answer("chosen", option), option != text.strip() or not names.is_extended(text)
    said = plain(text)
    how = read_yes_or_no if names.options == (YES, NO) else read_sentences
    stated = read_alone(said, names) or read_marked(said, names, how)
    return stated if stated is not None else how(said, names)


def exactly(text: str) -> str:
    """A reply without the blanks around it; of a JSON string, to which a schema holds replies, what it says."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
    return said if isinstance(said, str) else text.strip()


def read_alone(said: str, names: Names) -> tuple[Answer, bool] | None:
    """The option that a reply's first line is by itself; None where it is none. Two lines with one each are a list."""
    first, _, rest = said.partition("\n")
    for line in peelings(first, names):
        if whole := names.whole(line):
            others = names.whole(peelings(rest.strip().partition("\n")[0], names)[-1])
            return one_of({*whole, *others}), bool(rest) or not names.is_extended(line)
    return None


def read_marked(said: str, names: Names, how: Reader) -> tuple[Answer, bool] | None:
    """What a reply says behind "Answer:" or "the answer is"; None where nothing is named there."""
    announced = [said[marker.end() :].lstrip() for marker in [*MARKER.finditer(said)][-MOST_MARKERS:]]
    read = [read_alone(text, names) or how(text, names) for text in announced if text]
    known = [one for one in read if one[0].state in ("chosen", "ambiguous")]
    if not known:
        return None
    return known[-1] if len({answer for answer, _ in known}) == 1 else (AMBIGUOUS, True)


def read_yes_or_no(said: str, names: Names) -> tuple[Answer, bool]:
    """Yes or No where a reply begins with it, behind preambles. "No doubt" is no No."""
    for line in reversed(peelings(DOUBLE_NEGATION.sub("", said).lstrip(" .,:;"), names)):
        if start := names.at_start(line):
            listed = LIST.match(line, start.end)
            other = names.at_start(line[listed.end() :]) if listed else None
            return (one_of({*start.choices, *other.choices}) if other else one_of(start.choices)), True
    return (Answer("refusal"), True) if DECLINES.search(named_text(said, names)) else (OFF_LIST, False)


def read_sentences(said: str, names: Names) -> tuple[Answer, bool]:
    """Whom the sentences of a reply name."""
    text = named_text(said, names)
    if turn := next((turn for turn in TURN.finditer(text) if not explains(turn["words"])), None):
        before = said_in(text[: turn.start()], names) if text[: turn.start()].strip() else (OFF_LIST, True)
        return before if before[0].state in ("chosen", "ambiguous") else (Answer("continues_transcript"), True)
    return said_in(TURN.sub(r"\g<names> - \g<words>", text), names)


def explains(words: str) -> bool:
    """Whether what stands behind "Ann:" is said about Ann, not by her."""
    if TO_OTHERS.search(words):
        return False
    if BECAUSE.match(words):
        return True
    about = THIRD_PERSON.match(words)
    return SAYS.match(words[about.end() :] if about else words) is not None


def said_in(text: str, names: Names) -> tuple[Answer, bool]:
    """Whom the sentences of named_text name."""
    read: list[Said] = []
    declines = False
    end = ""
    for sentence in sentences(text):
        if DECLINES.search(sentence):
            declines = True
        else:
            end = with_persons(sentence, names)
            corrects = CORRECTS.fullmatch(end) if read else None
            read.append(Said(named=corrects["names"], is_answer=True) if corrects else read_sentence(end))
    opens = bool(read) and read[0].is_answer
    is_early = bool(decided(read[:-1])) or text.rstrip()[-1:] in ".!?…。"
    is_settled = is_early or (len(end) > 1 if opens else not OPEN_END.search(end))
    named, denied = decided(read), options_in("".join(said.denied for said in read), names)
    options = options_in(named, names)
    if options:
        is_one = len(options) == 1 and NOT_LISTED not in named and not options & denied
        return (one_of(options) if is_one else AMBIGUOUS), is_settled
    if named:  # somebody who is no option
        return OFF_LIST, False
    if declines:
        return Answer("refusal"), True
    return (Answer("negated_only"), False) if any(said.denies for said in read) else (OFF_LIST, False)


def decided(read: Sequence[Said]) -> str:
    """Whom sentences name: the one that opens the reply, else all; what is conceded counts where nothing else does."""
    if read and read[0].is_answer:
        return read[0].named + (read[1].named if read[1:] and read[1].is_answer else "")
    return "".join(said.named for said in read) or "".join(said.conceded for said in read)


def one_of(choices: Collection[str]) -> Answer:
    """The option, where there is one; several cannot be told apart."""
    return Answer("chosen", next(iter(choices))) if len(choices) == 1 else AMBIGUOUS


def peelings(head: str, names: Names) -> list[str]:
    """A line as it is, and after each preamble taken from it, the barest last.

    What is an option by itself is no preamble: a speaker may be called "A".
    """
    lines = [head]
    while len(lines) <= LONGEST:
        line = lines[-1]
        preamble = PREAMBLE.match(line)
        is_preamble = preamble is not None and not names.whole(preamble[0])
        shorter = line[preamble.end() :].lstrip() if preamble and is_preamble else line.lstrip(OPENING)
        if not shorter or shorter == line:
            break
        lines.append(shorter)
    return lines

"""A reply → the option that it answers with, or the named reason why there is none (narrator paper, section 3.6).

The paper matches replies to the options "after removing common preambles" and says no more. A name that occurs in a
reply is not its answer. A reply is read in this order; the first step that finds an answer decides:

1. An option alone: the whole reply, or its JSON string; its first line; what stands behind "Answer:" or "The answer
   is". Within markup, quotes, punctuation and preambles, in any case.
2. An option that opens the reply, with an explanation behind it ("Ann. Bob was calm.", "Ann, as she insulted Bob").
3. An option in a sentence that says who attacked or is to blame. Subject and object are told apart ("Ann attacked Bob",
   "Bob was attacked by Ann", "the attacker is Ann"), and a negation holds in its clause ("Ann said nothing wrong. Bob
   made a personal attack."); see sentences.py.
4. In these places "you", "I", "my behavior" and "the narrator" are Me where Me is an option.

Else the reply has a state. Nothing is guessed: a reply that could mean several options is ambiguous.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from eval.narrator.names import NOT_LISTED, OPENING, Names, named_text, options_in, plain
from eval.narrator.sentences import PATTERNS, Said, read_sentence, sentences, with_persons
from studies.narrator.prompts import ME, NO, YES

State = Literal[
    "chosen", "ambiguous", "negated_only", "continues_transcript", "refusal", "off_list", "cut_off", "empty", "error"
]
STATES: tuple[State, ...] = get_args(State)
LONGEST = 12  # preambles taken from one reply; a loop of them is no answer
MOST_MARKERS = 4  # a reply that loops has thousands
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.IGNORECASE | re.DOTALL)
UNENDED_THOUGHTS = re.compile(r"\A\s*<think>(?!.*</think>)", re.IGNORECASE | re.DOTALL)


class Answer(NamedTuple):
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
    own = PATTERNS["continuation"].split(THOUGHTS.sub("", text).lstrip(), maxsplit=1)[0]
    answer, is_settled = reading(own, names_of(tuple(options)))
    if is_cut and (answer.state not in READ or (answer.option is not None and not is_settled)):
        return Answer("cut_off")
    return answer


@lru_cache(maxsize=256)
def names_of(options: tuple[str, ...]) -> Names:
    """The options prepared for matching; a run has many replies to the same ones."""
    return Names(options, {YES, NO} if options == (YES, NO) else {ME})


def reading(text: str, names: Names) -> tuple[Answer, bool]:
    """(what a reply says, whether more words could not have changed it)."""
    try:
        said = json.loads(text)  # a schema holds replies to JSON strings
    except (ValueError, RecursionError):
        said = None
    if (option := said if isinstance(said, str) else text.strip()) in names.options:
        return Answer("chosen", option), option != text.strip() or not names.is_extended(text)
    text = plain(text)
    how = read_yes_or_no if names.options == (YES, NO) else read_sentences
    return read_alone(text, names) or read_marked(text, names, how) or how(text, names)


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
    announced = [said[marker.end() :].lstrip() for marker in [*PATTERNS["marker"].finditer(said)][-MOST_MARKERS:]]
    read = [read_alone(text, names) or how(text, names) for text in announced if text]
    known = [pair for pair in read if pair[0].state in ("chosen", "ambiguous")]
    if not known:
        return None
    return known[-1] if len({answer for answer, _ in known}) == 1 else (AMBIGUOUS, True)


def read_yes_or_no(said: str, names: Names) -> tuple[Answer, bool]:
    """Yes or No where a reply begins with it, behind preambles. "No doubt" is no No."""
    for line in reversed(peelings(PATTERNS["no_doubt"].sub("", said).lstrip(" .,:;"), names)):
        if start := PATTERNS["yes_or_no"].match(line):
            return one_of({word.capitalize() for word in start.groups() if word}), True
    is_refusal = PATTERNS["refusal"].search(named_text(said, names)) is not None
    return (Answer("refusal") if is_refusal else OFF_LIST), is_refusal


def read_sentences(said: str, names: Names) -> tuple[Answer, bool]:
    """Whom the sentences of a reply name. "Ann: I suggest ..." is Ann's turn, "Ann: she insults Bob." an answer."""
    text = named_text(said, names)
    for turn in PATTERNS["turn"].finditer(text):
        if not PATTERNS["explains"].match(turn["words"]):
            before = said_in(text[: turn.start()], names) if text[: turn.start()].strip() else (OFF_LIST, True)
            return before if before[0].state in ("chosen", "ambiguous") else (Answer("continues_transcript"), True)
    return said_in(PATTERNS["turn"].sub(r"\g<names> - \g<words>", text), names)


def said_in(text: str, names: Names) -> tuple[Answer, bool]:
    """Whom the sentences of named_text name."""
    stated = [sentence for sentence in sentences(text) if not PATTERNS["refusal"].search(sentence)]
    read: list[Said] = []
    end = ""
    for sentence in stated:
        end = with_persons(sentence, names)
        corrects = PATTERNS["corrects"].fullmatch(end) if read else None
        read.append(Said(corrects["names"], "", is_answer=True) if corrects else read_sentence(end))
    opens = bool(read) and read[0].is_answer
    is_early = bool(decided(read[:-1])) or text.rstrip()[-1:] in ".!?…。"
    is_settled = is_early or (len(end) > 1 if opens else not PATTERNS["open_end"].search(end))
    named, denied = decided(read), "".join(said.denied for said in read)
    if options := options_in(named, names):
        is_one = len(options) == 1 and NOT_LISTED not in named and not options & options_in(denied, names)
        return (one_of(options) if is_one else AMBIGUOUS), is_settled
    if named:  # somebody who is no option
        return OFF_LIST, False
    if len(stated) < len(sentences(text)):
        return Answer("refusal"), True
    return (Answer("negated_only") if denied else OFF_LIST), False


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
        preamble = PATTERNS["preamble"].match(line)
        is_preamble = preamble is not None and not names.whole(preamble[0])
        shorter = line[preamble.end() :].lstrip() if preamble and is_preamble else line.lstrip(OPENING)
        if not shorter or shorter == line:
            break
        lines.append(shorter)
    return lines

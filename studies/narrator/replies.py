"""A reply → the option that it answers with, or the named reason why there is none (narrator paper, section 3.6).

The paper matches replies to the options "after removing common preambles" and says no more. A name that occurs in a
reply is not its answer. An option alone is one: the whole reply, its JSON, its first line, within markup, in any case.
Else the sentences (clauses.py) name whom they conclude with, open with or say attacked or is to blame, or
answer detection. "You", "I", "my behavior" and "the narrator" are Me where Me is an option. Else the reply has a state.

Nothing is guessed, a lost name is better than a wrong one: a reply that could mean several options is ambiguous, and
conditions, hearsay, reasons and lists of the speakers name nobody.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from eval.reading.objects import json_in
from eval.reading.options import options_of
from eval.reading.reader import PROSE, written
from evenhand.thoughts import without_thinking
from studies.narrator.clauses import (
    BLAME,
    OTHERS,
    PATTERNS,
    Said,
    explains,
    praised_in,
    read_sentence,
    says_yes,
    sentences,
    with_persons,
)
from studies.narrator.names_in_text import BULLET, NOT_LISTED, Names, bare, named_text, normalised, options_in, prose
from studies.narrator.prompts import NO, YES

State = Literal[
    "chosen", "ambiguous", "negated_only", "continues_transcript", "refusal", "off_list", "cut_off", "empty", "error"
]
STATES: tuple[State, ...] = get_args(State)


class Answer(NamedTuple):
    """What a reply says. option: one of the options as shown, where the state is "chosen", else None."""

    state: State
    option: str | None = None


AMBIGUOUS, OFF_LIST = Answer("ambiguous"), Answer("off_list")
READ = ("chosen", "ambiguous", "continues_transcript", "refusal")  # states that no further words would change


def read_answer(text: str, options: Sequence[str], finish_reason: str = "stop") -> Answer:
    """What a reply to a narrator prompt says. options: as the prompt lists them.

    chosen: it names one option. ambiguous: it names two or more as the one, or one that cannot be told from another.
    negated_only: all it says of who did it is a denial. continues_transcript: it goes on with a speaker's turn.
    refusal: it declines to say. off_list: it names no option as the one; a victim is not. empty: nothing but blanks.
    cut_off: it ended at its limit before it named one; a sentence without its end says nothing. error: the engine gave
    no reply.
    """
    if finish_reason.startswith("error"):
        return Answer("error")
    if not text.strip():
        return Answer("empty")
    is_cut = finish_reason == "length"
    reply = PATTERNS["continuation"].split(without_thinking(text).lstrip(), maxsplit=1)[0]
    names = names_of(tuple(options))
    answer = reading(reply, names, is_cut) if reply.strip() else OFF_LIST
    if answer.option is None and not is_cut and names.options != (YES, NO):
        announced = PATTERNS["turn"].sub("", named_text(reply, names).translate(OTHERS))  # "So I'd say Ann"
        place, how = written(announced, options_of(names.options, ()), words=BLAME)
        is_blamed = how == PROSE and not praised_in(announced)  # not "I'd pick Ann, who was calm"
        return Answer("chosen", names.options[place]) if place is not None and is_blamed else answer
    return Answer("cut_off") if is_cut and answer.state not in READ else answer


names_of = lru_cache(maxsize=256)(Names)  # a run has many replies to the same options


def reading(text: str, names: Names, is_cut: bool) -> Answer:
    """What a reply says. is_cut: its last sentence has no end, and says nothing but for an option alone."""
    value = json_in(text)  # a schema holds replies to JSON strings
    if text.strip() in names.options or (isinstance(value, str) and value in names.options):
        is_open = is_cut and text.strip() in names.options and names.is_extended(text)
        return OFF_LIST if is_open else Answer("chosen", text.strip() if text.strip() in names.options else value)
    if isinstance(value, dict):  # any value but the victim
        values = [v for key, v in value.items() if isinstance(v, str) and not PATTERNS["victim_key"].search(key)]
        return one_of({option for value in values for option in names.whole(value)}) or OFF_LIST
    text = normalised(text)
    first, _, rest = text.partition("\n")
    is_other = PATTERNS["corrects"].search(rest) or bare(first) + ":" in first or (rest and "?" in first)
    whole = () if is_other else names.whole(BULLET.sub("", first))
    if whole and (rest or not is_cut or not names.is_extended(first)):
        return one_of({*whole, *names.whole(BULLET.sub("", rest.strip().partition("\n")[0]))}) or OFF_LIST
    return (read_yes_or_no if names.options == (YES, NO) else read_sentences)(text, names, is_cut)


def read_yes_or_no(reply: str, names: Names, is_cut: bool) -> Answer:
    """Yes or No by the words and sentences of a reply that answer detection."""
    text = prose(PATTERNS["no_doubt"].sub("", reply))
    if PATTERNS["refusal"].search(text) and not PATTERNS["denial"].search(text):
        return Answer("refusal")
    return one_of({YES if is_yes else NO for is_yes in says_yes(text, is_cut)}) or OFF_LIST


def read_sentences(reply: str, names: Names, is_cut: bool) -> Answer:
    """Whom the sentences of a reply name. "Ann: I suggest ..." is Ann's turn, "Ann: she insults Bob." an answer.

    What is said before a turn or a list of the speakers counts.
    """
    text = named_text(reply, names)
    turns = [*PATTERNS["item"].finditer(text)]  # of a list of the speakers
    if len({turn["names"] for turn in turns}) < 2:
        turns = [turn for turn in PATTERNS["turn"].finditer(text) if not explains(turn)]
    if not turns:
        return said_in(PATTERNS["turn"].sub(r"\g<names> - \g<words>", text), names, is_cut)
    after = text[turns[-1].end() :].partition("\n\n")[2]  # of a list that was the reason
    answers = [said_in(part, names) for part in (after, text[: turns[0].start()])]
    return next((a for a in answers if a.state in ("chosen", "ambiguous")), Answer("continues_transcript"))


def said_in(text: str, names: Names, is_cut: bool = False) -> Answer:
    """Whom the sentences of named_text name."""
    all_said = [PATTERNS["refused_but"].sub("", sentence) for sentence in sentences(text, is_cut)]
    stated = [sentence for sentence in all_said if not PATTERNS["refusal"].search(sentence)]
    read: list[Said] = []
    for sentence in stated:
        if PATTERNS["reported"].search(sentence):
            continue
        if PATTERNS["takes_back"].match(sentence):
            read.clear()
            sentence = PATTERNS["takes_back"].sub("", sentence, 1).lstrip(" ,:.")
        concludes = PATTERNS["concludes"].match(sentence)
        sentence = sentence[concludes.end() :].lstrip(" ,:.") if concludes else sentence
        read.append(read_sentence(with_persons(sentence, names), concludes is not None))
    if len(stated) < len(all_said) and not any(sentence_read.named for sentence_read in read):
        return Answer("refusal")
    conclusions = [i for i, sentence_read in enumerate(read) if sentence_read.concludes and sentence_read.named]
    read_last = read[conclusions[0] if conclusions else 0 :]
    firm = [sentence_read for sentence_read in read_last if sentence_read.is_firm and sentence_read.named]
    named = "".join(sentence_read.named for sentence_read in firm or read_last)
    denied = "".join(sentence_read.denied for sentence_read in read)
    if options := options_in(named, names):
        is_clear = NOT_LISTED not in named + denied and not options & options_in(denied, names)
        return (one_of(options) or OFF_LIST) if is_clear else AMBIGUOUS
    return Answer("negated_only") if denied and not named else OFF_LIST


def one_of(choices: Collection[str]) -> Answer | None:
    """The option, where there is one; several cannot be told apart."""
    return (Answer("chosen", next(iter(choices))) if len(choices) == 1 else AMBIGUOUS) if choices else None

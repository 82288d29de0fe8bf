"""A reply → the option that it answers with, or the named reason why there is none (narrator paper, section 3.6).

The paper matches replies to the options "after removing common preambles" and says no more. A name that occurs in a
reply is not its answer. A reply is read in this order; the first step that finds an answer decides:

1. An option alone: the whole reply, or its JSON string; its first line; what stands behind "Answer:" or "The answer
   is". Within markup, quotes, punctuation and preambles, in any case.
2. An option that opens the reply, with an explanation behind it ("Ann. Bob was calm.", "Ann, as she insulted Bob").
3. An option in a sentence that says who attacked or is to blame. A sentence is split into clauses, and each is read by
   the first frame of blame.yaml that it begins with: subject and object are told apart ("Ann attacked Bob", "Bob was
   attacked by Ann", "the attacker is Ann"), and a negation holds in its clause ("Ann said nothing wrong. Bob made a
   personal attack."). A clause that no frame fits says nothing: a lost name is better than a wrong one.
4. In these places "you", "I", "my behavior" and "the narrator" are Me where Me is an option.

Else the reply has a state. Nothing is guessed: a reply that could mean several options is ambiguous.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import yaml

from eval.narrator.names import ALL, FIRST, NAME, NAMES, NOT_LISTED, OPENING, Names, named_text, options_in, plain
from studies.narrator.prompts import ME, NO, YES

MOST_LETTERS = 400  # of a sentence; a longer one loops
SENTENCE = re.compile(r"([.!?…。！？؟]+)[\"')\]]*(?=\s|$)|\n+")
SPEC = yaml.safe_load(Path(__file__).with_name("blame.yaml").read_text(encoding="utf-8"))
PARTS = {"NAMES": NAMES, "ELSE": f"[^{NAME[1:]}"}


def filled(pattern: str) -> str:
    """A pattern of blame.yaml with what its <WORD>s stand for."""
    return re.sub(r"<([A-Z_]+)>", lambda word: PARTS[word[1]], pattern)


for _name, _words in SPEC["words"].items():
    _listed = sorted(filled(_words).split(", "), key=len, reverse=True)
    PARTS[_name] = f"(?:{'|'.join(_listed)})".replace(" ", r"\s+")
for _name, _part in SPEC["parts"].items():
    PARTS[_name] = f"(?:{filled(_part)})"
HOW = re.VERBOSE | re.IGNORECASE | re.MULTILINE
PATTERNS = {name: re.compile(filled(pattern), HOW) for name, pattern in SPEC["patterns"].items()}
FRAMES = [(kind, re.compile(filled(text), re.VERBOSE)) for frame in SPEC["frames"] for kind, text in frame.items()]


class Said(NamedTuple):
    """What a sentence says: runs of the characters of named_text."""

    named: str
    denied: str  # NOT_LISTED: that anybody did it
    conceded: str = ""  # named, but given way to what is named elsewhere
    is_answer: bool = False  # it begins with a name that stands for the answer


def sentences(text: str) -> list[str]:
    """The beginnings of the sentences of a text that state something; of questions those that are a name alone."""
    pieces = [*SENTENCE.split(PATTERNS["answered_no"].sub(r"not \1", text)), None]
    cut = [(piece or "").strip()[:MOST_LETTERS] for piece in pieces[::2]]
    return [
        piece
        for piece, mark in zip(cut, pieces[1::2], strict=True)
        if piece.strip(" \t\"'.,") and ("?" not in (mark or "") or PATTERNS["bare"].match(piece))
    ]


def with_persons(sentence: str, names: Names) -> str:
    """A sentence of named_text in which the judge's opinion is gone and the first and second person are Me."""
    text = PATTERNS["denied_opinion"].sub(" not so that ", PATTERNS["no_doubt"].sub("", sentence))
    text = PATTERNS["opinion"].sub("", text)
    is_two = PATTERNS["first_person"].search(text) and PATTERNS["second_person"].search(text)  # only one of them is Me
    me = chr(FIRST + names.options.index(ME)) if ME in names.options and not is_two else NOT_LISTED
    text = PATTERNS["self"].sub(me, PATTERNS["own"].sub(f"{me}'s", text))
    text = PATTERNS["everybody"].sub(ALL, PATTERNS["everybody_but"].sub(NOT_LISTED, text))
    return PATTERNS["titled"].sub(r"\1", text).strip()


def read_clause(clause: str) -> tuple[str, str]:
    """(whom a clause names, whom it denies)."""
    kind, place = next(((kind, place) for kind, frame in FRAMES if (place := frame.match(clause))), ("nothing", None))
    if place is None:
        return "", ""
    groups = place.groupdict("")
    subject, agent = groups.get("who", "") + groups.get("of", ""), groups.get("agent", "")
    who = agent or subject
    if kind == "names" and (other := PATTERNS["other"].search(clause, place.end())):
        return who + "".join(re.findall(NAME, other[0])), ""  # somebody else's attack is spoken of too
    if kind == "names" and (groups.get("no") or PATTERNS["negation"].search(place[0])):
        kind = "denies"
    says = {"names": (who, ""), "denies": ("", who), "than": (agent, ""), "alike": (subject + agent, "")}
    return {**says, "nobody": ("", NOT_LISTED), "nothing": ("", "")}[kind]


def read_sentence(text: str) -> Said:
    """What one sentence of with_persons says of who attacked or is to blame."""
    text, denied = without_contrasts(PATTERNS["label"].sub(" is ", PATTERNS["options"].sub("", text)))
    parts = clauses_of(listed(text))
    named = conceded = subject = ""
    is_answer = False
    for i, (clause, _) in enumerate(parts):
        if concedes := PATTERNS["conceding"].match(clause):
            clause = clause[concedes.end() :]
        elif PATTERNS["skipped"].match(clause):
            continue
        is_bare = PATTERNS["bare"].match(clause) is not None
        if is_bare and not concedes and not stands_for_itself(parts, i):
            if i == len(parts) - 1:  # "You were rude, Ann."
                return Said("", denied)
        else:
            clause = with_subject(clause, parts[i - 1][0] if i else "", subject)
            says, denies = read_clause(clause)
            named, conceded = (named, conceded + says) if concedes else (named + says, conceded)
            denied += denies
            is_answer |= i == 0 and is_bare and bool(says) and not concedes
        if about := PATTERNS["about"].match(clause):
            subject = about["who"] or about["of"]
    return Said(named, denied, conceded, is_answer)


def without_contrasts(text: str) -> tuple[str, str]:
    """(a sentence without those whom it contrasts with the one it names, these)."""
    denied: list[str] = []

    def taken(contrast: re.Match[str]) -> str:
        denied.extend(re.findall(NAME, contrast[0]))
        return " "

    text = PATTERNS["none_but"].sub("", PATTERNS["not_only"].sub(r"\1 and \2", text))
    text = PATTERNS["not_after"].sub(taken, PATTERNS["not_but"].sub(taken, text)) if re.search(NAME, text) else text
    return text.strip(" ,"), "".join(denied)


def listed(text: str) -> str:
    """A sentence in which the names of a list are one run, unless the last of them begins a clause of its own."""
    position = 0
    while pair := PATTERNS["listed"].search(text, position):
        begins = PATTERNS["begins_clause"].match(text, pair.start("second"))
        if (begins and not PATTERNS["fronted"].search(text[: pair.start()])) or not pair["by"].strip():
            position = pair.start("second")
        else:
            position = pair.start()
            text = f"{text[:position]}{pair['first']}{pair['second']}{text[pair.end() :]}"
    return re.sub(rf"\b(?:both|either)\s+(?={NAME})", "", text)


def clauses_of(text: str) -> list[tuple[str, bool]]:
    """(clause, whether a mark stronger than a comma ends it) of a sentence."""
    marks = [*PATTERNS["clauses"].finditer(text)]
    starts, ends = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(text)]
    strong = [*(bool(mark["strong"]) for mark in marks), False]
    cut = [(text[start:end].strip(), mark) for start, end, mark in zip(starts, ends, strong, strict=True)]
    return [(clause, mark) for clause, mark in cut if clause]


def stands_for_itself(parts: list[tuple[str, bool]], i: int) -> bool:
    """Whether a name that is a clause is an answer, and not a name that is spoken to or said something about."""
    if i > 0:
        return i == len(parts) - 1 and (parts[i - 1][1] or PATTERNS["opening"].match(parts[i - 1][0]) is not None)
    if len(parts) == 1:
        return True
    behind = parts[1][0]
    is_explained = parts[0][1] or PATTERNS["explaining"].match(behind) is not None
    return is_explained and PATTERNS["victim"].match(behind) is None


def with_subject(clause: str, before: str, subject: str) -> str:
    """A clause with the subject that it leaves out: "Ann, who attacked Bob", "and attacked Bob"."""
    if relative := PATTERNS["relative"].match(clause):
        names = re.search(rf"{NAMES}$", before)
        genitive = "'s" if relative[0].startswith("whose") else ""
        return f"{names[0]}{genitive} {clause[relative.end() :]}" if names else ""
    clause = PATTERNS["connective"].sub("", clause, count=1) if PATTERNS["connective"].match(clause) else clause
    return f"{subject} {clause}" if subject and PATTERNS["verb"].match(clause) else clause


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


names_of = lru_cache(maxsize=256)(Names)  # a run has many replies to the same options


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

"""What the prose of a judge claims, clause by clause, in texts in which every mention of an option is one character.

An option is claimed where it is announced ("my verdict is B"), chosen ("I prefer B"), preferred ("B is better") or
stands alone. What the judge tells of others, supposes, asks, concedes or denies is no claim. A clause in which no frame
of words.yaml is found says nothing.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

import yaml

# In a marked text option i is chr(FIRST + i), in "[[B]]" chr(SHOWN_AS + i), with a noun ("Response B") chr(NOUN + i).
FIRST, SHOWN_AS, NOUN = 0xE000, 0xE800, 0xF000
SPEC = yaml.load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)  # no booleans
M = "[\ue000-\uf8ff]"
MARKS = {"M": M, "m": f"(?P<m>{M})", "X": "[^\ue000-\uf8ff]", "options": "\ue000-\uf8ff"}


@lru_cache
def part(name: str) -> str:
    """The pattern that {name} stands for in words.yaml."""
    if name in MARKS:
        return MARKS[name]
    if name in SPEC["patterns"]:
        return filled(SPEC["patterns"][name])
    listed = sorted(re.split(r",\s+", SPEC["words"][name]), key=len, reverse=True)
    return f"(?:{'|'.join(map(whole_word, listed))})"


def filled(pattern: str) -> str:
    """A pattern with its parts filled in."""
    return re.sub(r"\{([A-Za-z_]+)\}", lambda name: part(name[1]), pattern)


def whole_word(entry: str) -> str:
    """A pattern that begins and ends where a word does, in scripts that set blanks between words."""
    if re.fullmatch(r"\{\w+\}", entry):
        return filled(entry)
    is_spaced = entry[0] < "\u0400" and entry[0] not in ":=-'→"
    return rf"(?<!\w){filled(entry)}(?!\w)" if is_spaced else filled(entry)


# How firmly an option is claimed; "shown" is "[[A]]", and "unsure" only contradicts others.
LEVELS = ("denied", "worse", "unsure", "more", "better", "stated", "final", "shown")
DENIED, WORSE, UNSURE, MORE, BETTER, STATED, FINAL, SHOWN = range(-2, 6)
SENTENCE = re.compile(
    r"(?<!\bdr)(?<!\bprof)(?<!\bmr)(?<!\bmrs)(?<!\bvs)(?<!\bno)(?<=[.!?;])[\"')\]]*\s+|(?<=。)|\s*\n\s*"
)
# Words that do not tell who speaks in a framing.
COMMON = " ".join(SPEC["words"][name] for name in ("verdict", "noun", "claim", "filler", "i"))


class Patterns(dict[str, re.Pattern[str]]):
    """Words and patterns of words.yaml by name, compiled when they are needed."""

    def __missing__(self, name: str) -> re.Pattern[str]:
        return self.setdefault(name, re.compile(part(name)))


P = Patterns()


@lru_cache
def frames(*, are_numbers: bool) -> list[tuple[int, re.Pattern[str]]]:
    """(level, frame) of all frames; of options that are words or letters also that something is one."""
    of_all = [(LEVELS.index(level) - 2, frame) for entry in SPEC["frames"] for level, frame in entry.items()]
    compiled = [(level, re.compile(filled(frame))) for level, frame in of_all]
    return compiled if are_numbers else [*compiled, (BETTER, P["predicate"])]


class Spelt(Protocol):
    """What prose asks of the options that are looked for (eval.reading.options)."""

    symbols: tuple[str, ...]
    is_numbers: bool
    is_short: bool
    is_scale: bool

    @property
    def polar(self) -> tuple[int, int] | None: ...

    @property
    def common(self) -> set[int]: ...


class Claim(NamedTuple):
    """An option that is claimed."""

    place: int
    level: int  # how firmly
    line: int
    kind: str  # "alone", "label" or "stated"
    is_noun: bool  # "Response A", which may be a heading, and not "A"
    takes_back: bool  # what was claimed before it


class Quotable:
    """A text of the prompt that a reply may quote: what it says, and who says it there."""

    def __init__(self, marked: str) -> None:
        self.words = " ".join(re.findall(r"\w+", marked))
        before = [
            sentence[: says.start()] for sentence in SENTENCE.split(marked) if (says := P["says"].search(sentence))
        ]
        names = {name for text in before for name in re.findall(r"\w{4,}", text)} - set(re.findall(r"\w+", COMMON))
        self.speakers = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def repeats(self, clause: str) -> bool:
        """Whether a clause of some words stands in it."""
        repeated = re.findall(r"\w+", clause)
        return len(repeated) > 3 and " ".join(repeated) in self.words


def place_of(mention: str) -> int:
    """The option that a character stands for."""
    return (ord(mention) - FIRST) % (SHOWN_AS - FIRST)


class Prose:
    """What a text claims and denies, in its order."""

    def __init__(self, lines: list[str], options: Spelt, quotable: Quotable) -> None:
        """lines: marked, in lower case."""
        self.options, self.quotable = options, quotable
        self.claims: list[Claim] = []
        self.denied: dict[int, int] = {}  # place → number of claims before the denial
        self.takes_back = False  # whether the next claim takes back those before it
        self.doubted: set[int] = set()  # options that are mentioned behind a take-back, and not claimed
        for line, text in enumerate(lines):
            for n, sentence in enumerate(filter(None, SENTENCE.split(text))):
                is_told = False
                for m, clause in enumerate(filter(None, P["clause"].split(sentence))):
                    begins = "" if m else "sentence" if n else "line"
                    is_told = self.read(" ".join(clause.split()), line, is_told, begins)

    def read(self, clause: str, line: int, is_told: bool, begins: str) -> bool:
        """Takes a clause in; whether it, or what stands before it (is_told), tells what others say.

        begins: what the clause begins, "line", "sentence" or nothing.
        """
        while taken := P["takes_back"].match(clause):
            self.takes_back, clause = True, clause[taken.end() :]
        told_level = None
        if opens := P["opens"].match(clause):
            clause = clause[opens.end() :]
            is_told = is_told and not (opens["contrast"] or P["own"].match(clause))
            told_level = UNSURE if opens["so"] else None  # what follows from what others say
        clause = P["concedes"].sub("", clause) if P["concedes"].match(clause) else clause
        if self.takes_back:
            self.doubted |= set(map(place_of, re.findall(M, clause)))
        if clause.rstrip("\"') ").endswith("?") or self.quotable.repeats(clause):
            return is_told
        if alone := P["alone"].fullmatch(clause):
            level = FINAL if P["final"].search(clause) else STATED
            self.claim(alone["m"], level, line, "alone" if begins == "line" else "stated", is_told, told_level)
            return is_told
        clause = P["pairs"].sub("", P["idiom"].sub("", P["not_as"].sub(r"is less \g<how> than", clause)))
        if P["cannot"].search(clause):
            self.denied |= dict.fromkeys(range(len(self.options.symbols)), len(self.claims))
        is_apposed = not is_told and self.read_apposed(clause, line)
        if self.options.is_scale and not is_apposed and len({*re.findall(M, P["not_that"].sub("", clause))}) > 1:
            return is_told
        if begins and not is_told and (lead := P["lead"].match(clause)) and (begins == "line" or lead["mark"] == ","):
            is_item = lead["mark"] == ")" and self.options.is_numbers
            self.claim(lead["m"], UNSURE if is_item else STATED, line, "label" if begins == "line" else "stated")
            rest = clause[lead.end() :]
            its_text = P["alone"].fullmatch(rest) if ord(lead["m"]) >= NOUN else None  # "Opinion 1: bikes are cheap"
            return is_told if its_text and place_of(its_text["m"]) == place_of(lead["m"]) else self.read(rest, line, is_told, "sentence")
        if self.read_truth(clause, line, is_told, told_level):
            return is_told
        if not P["less"].search(clause):
            for instead in P["not_that"].finditer(clause):
                if P["not"].match(instead["how"]):
                    self.denied[place_of(instead["m"])] = len(self.claims)
            clause = P["not_that"].sub("", clause)
            if P["alone"].fullmatch(clause):
                return self.read(clause, line, is_told, begins)
        self.read_frames(clause, line, is_told, told_level)
        is_speech = P["says"].search(clause) or P["reported"].search(clause)
        return is_told or (is_speech is not None and self.tells(clause, clause))

    def read_apposed(self, clause: str, line: int) -> bool:
        """Whether a clause ends with an option behind what it stands for: "as a whole: 4", "the second message (B)"."""
        apposed = P["apposed"].search(clause)
        if apposed and not self.tells(clause[: apposed.start()], clause):
            mention = apposed["m"] or apposed["n"]
            if not (P["worse"].search(clause[: apposed.start()]) and self.deny(mention, line)):
                self.claim(mention, BETTER, line, "stated")
        return apposed is not None

    def read_truth(self, clause: str, line: int, is_told: bool, told_level: int | None) -> bool:
        """Whether a clause says of a claim that it is true, or false, of options that mean this."""
        polar, truth = self.options.polar, P["is_true"].match(clause)
        if not polar or not truth:
            return False
        if truth["m"] and ((self.options.is_short and not truth["claim"]) or P["speaker"].search(clause)):
            return False
        says = place_of(truth["m"]) == polar[0] if truth["m"] else truth["true"] is not None
        mention = chr(FIRST + polar[says == (truth["not"] is not None)])
        self.claim(mention, STATED, line, "stated", is_told, told_level)
        return True

    def read_frames(self, clause: str, line: int, is_told: bool, told_level: int | None) -> None:
        """What the frames of a clause claim and deny."""
        for level, frame in frames(are_numbers=self.options.is_numbers):
            for framed in frame.finditer(clause):
                mention, said, before = framed["m"], clause[: framed.end()], clause[: framed.start("m")]
                is_common = (
                    place_of(mention) in self.options.common or P["worse"].search(said) or P["wrong"].search(said)
                )
                is_counted = self.options.is_numbers and mention < chr(SHOWN_AS) and not before[framed.start() :]
                is_denied = P["not"].search(said) is not None
                if (
                    (frame is P["predicate"] and is_common)
                    or (is_counted and P["in_count"].match(clause, framed.end("m")))
                    or P["if"].search(clause if level in (BETTER, MORE) else said)
                    or (level != UNSURE and self.tells(before, clause))
                ):
                    continue
                if level == WORSE and not is_denied:
                    self.deny(mention, line)
                elif level in (WORSE, DENIED) or is_denied:
                    self.denied[place_of(mention)] = len(self.claims)
                else:
                    self.claim(mention, level, line, "stated", is_told, told_level)

    def deny(self, mention: str, line: int) -> bool:
        """Claims the other one of two options, if not firmly, since this one is the worse; whether there are two."""
        self.denied[place_of(mention)] = len(self.claims)
        is_either = len(self.options.symbols) == 2
        if is_either:
            self.claim(chr(FIRST + 1 - place_of(mention)), MORE, line, "stated")
        return is_either

    def claim(
        self, mention: str, level: int, line: int, kind: str, is_told: bool = False, told_level: int | None = None
    ) -> None:
        """One more claim, of what others say (is_told) at told_level at most; a take-back before it is done with."""
        if is_told and told_level is None:
            return
        level = UNSURE if is_told else SHOWN if SHOWN_AS <= ord(mention) < NOUN else level
        self.claims.append(Claim(place_of(mention), level, line, kind, mention >= chr(NOUN), self.takes_back))
        self.takes_back, self.doubted = False, set()

    def tells(self, before: str, clause: str) -> bool:
        """Whether what stands in a clause behind `before` is what somebody else says."""
        if P["agrees"].search(clause) and not P["not"].search(clause):
            return False
        speakers = [*P["speaker"].finditer(before)]
        if self.quotable.speakers:
            speakers += self.quotable.speakers.finditer(before)
        told_before = max((speaker.end() for speaker in speakers), default=-1)
        behind = clause[len(before) :]
        if told_before < 0:
            return bool(P["reported"].search(clause) or (P["says"].search(behind) and P["speaker"].search(behind)))
        own = [match for match in P["own"].finditer(before) if match.start() >= told_before]
        return not own or bool(re.search(f"{part('says')}[,:]? ?$", before[: own[-1].start()]))

"""The words and patterns of words.yaml, and the characters that stand for options in a marked text."""

import re
from functools import lru_cache
from pathlib import Path

import yaml

# In a marked text option i is chr(FIRST + i), in "[[B]]" chr(SHOWN_AS + i), with a noun ("Response B") chr(NOUN + i).
FIRST, SHOWN_AS, NOUN = 0xE000, 0xE800, 0xF000
SPEC = yaml.load(Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)  # no booleans
M = "[\ue000-\uf8ff]"
MARKS = {"M": M, "m": f"(?P<m>{M})", "options": "\ue000-\uf8ff"}


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


class Patterns(dict[str, re.Pattern[str]]):
    """Words and patterns of words.yaml by name, compiled when they are needed."""

    def __missing__(self, name: str) -> re.Pattern[str]:
        return self.setdefault(name, re.compile(part(name)))


P = Patterns()


def place_of(mention: str) -> int:
    """The option that a character stands for."""
    return (ord(mention) - FIRST) % (SHOWN_AS - FIRST)

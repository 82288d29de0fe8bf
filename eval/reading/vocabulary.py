"""Patterns and words of YAML files, and the characters that stand for options in a marked text."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from evenhand.files import shipped_yaml

# In a marked text option i is chr(FIRST + i), in "[[B]]" chr(SHOWN_AS + i), with a noun ("Response B") chr(NOUN + i).
FIRST, SHOWN_AS, NOUN = 0xE000, 0xE800, 0xF000
M = "[\ue000-\uf8ff]"


class Patterns(dict[str, re.Pattern[str]]):
    """Patterns of a YAML file by name, compiled when they are needed.

    Each is text, or parts that are joined, in which {name} stands for another entry. Those of `words` are lists of
    patterns for whole words, separated by ", ".
    """

    def __init__(
        self, patterns: Mapping[str, str | Sequence[str]], words: Mapping[str, str] | None = None, **parts: str
    ) -> None:
        self.patterns, self.words, self.texts = patterns, words or {}, dict(parts)

    def text(self, name: str) -> str:
        """The pattern that {name} stands for."""
        if name not in self.texts:
            if name in self.words:
                listed = sorted(filter(None, re.split(r",\s+", self.words[name])), key=len, reverse=True)
                self.texts[name] = f"(?:{'|'.join(map(self.whole_word, listed)) or '(?!)'})"
            else:
                self.texts[name] = self.filled("".join(self.patterns[name]))
        return self.texts[name]

    def filled(self, pattern: str) -> str:
        """A pattern with its parts filled in."""
        return re.sub(r"\{([A-Za-z_]+)\}", lambda name: self.text(name[1]), pattern)

    def whole_word(self, entry: str) -> str:
        """A pattern that begins and ends where a word does, in scripts that set blanks between words."""
        if re.fullmatch(r"\{\w+\}", entry):
            return self.filled(entry)
        is_spaced = entry[0] < "\u0400" and entry[0] not in ":=-'→"
        return rf"(?<!\w){self.filled(entry)}(?!\w)" if is_spaced else self.filled(entry)

    def __missing__(self, name: str) -> re.Pattern[str]:
        return self.setdefault(name, re.compile(self.text(name)))


def patterns_in(file: Path, section: str, **parts: str) -> dict[str, re.Pattern[str]]:
    """The patterns of a section of a YAML file by their names, with the texts of further parts."""
    patterns = Patterns(shipped_yaml(file)[section], None, **parts)
    return {name: patterns[name] for name in patterns.patterns}


class Vocabulary(Patterns):
    """The words, patterns and frames of words.yaml; a study's words stand in place of some, or beside them ("+ …")."""

    SPEC: Any = yaml.load(
        Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"),
        Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader),  # texts alone: "no" is a word here
    )

    def __init__(self, words: Mapping[str, str] | None = None) -> None:
        general = self.SPEC["words"]
        own = {name: f"{general[name]},{text[1:]}" if text[:1] == "+" else text for name, text in (words or {}).items()}
        super().__init__(self.SPEC["patterns"], {**general, **own}, M=M, m=f"(?P<m>{M})", options="\ue000-\uf8ff")

    @cached_property
    def frames(self) -> list[tuple[str, re.Pattern[str]]]:
        """(level, frame) of all frames."""
        left_out = self.words["left_out"].split(", ")
        frames = [pair for frame in self.SPEC["frames"] for pair in frame.items() if pair[0] not in left_out]
        return [(level, re.compile(self.filled(frame))) for level, frame in frames]


P = Vocabulary()


def place_of(mention: str) -> int:
    """The option that a character stands for."""
    return (ord(mention) - FIRST) % (SHOWN_AS - FIRST)

"""The community's verdict in a comment: Table 11's patterns as printed, and why a person should doubt one.

The printed rules take any text that begins with NOR or OR for that label (their last class is optional, so "ORANGE"
counts), and read "you aren't overreacting" as OR. They are kept as printed; `doubts` marks such cases for the check.
"""

import re
from typing import NamedTuple

from studies.dialdefer.aio.records import Label

# In order; the first that is found decides. The acronyms are case-sensitive, the words are not (Table 11's caption).
PATTERNS: tuple[tuple[Label, re.Pattern[str]], ...] = (
    ("NOR", re.compile(r"^NOR[\s.,;: !-]?")),
    ("OR", re.compile(r"^OR[\s.,;: !-]?")),
    ("NOR", re.compile(r"not\s+overreacting", re.IGNORECASE)),
    ("OR", re.compile(r"overreacting", re.IGNORECASE)),
)
NEGATION = r"(?:\w+n['’]?t|never|hardly|nobody|no one|without|far from)"
DOUBTS = {
    "negated": re.compile(rf"\b{NEGATION}\b(?:\W+\w+){{0,5}}?\W+overreacting", re.IGNORECASE),
    "only begins like a label": re.compile(r"^(?:NOR|OR)\w"),
    "sarcasm": re.compile(r"(?:^|\s)/s\b|🙄|🙃|\b(?:yeah,? right|oh,? sure|sure,? jan|suuu*re)\b", re.IGNORECASE),
    "question": re.compile(r"overreacting[\"'”’]?\s*\?", re.IGNORECASE),
    "conditional": re.compile(
        r"\b(?:if|unless|might|may|maybe|could|would)\b[^.!?\n]{0,60}overreacting", re.IGNORECASE
    ),
    "of somebody else": re.compile(
        r"\b(?:he|she|they|him|her|them|(?:he|she)['’]s|they['’]re|(?:your|his|her) \w+)\s+(?:(?:is|are|was|were)\s+)?"
        r"(?:\w+\s+)?(?:not\s+)?overreacting",
        re.IGNORECASE,
    ),
}
SAYS_NOR = re.compile(r"\bNOR\b|\b[Nn][Oo][Tt]\s+(?:\w+\s+)?overreacting")
SAYS_OR = re.compile(r"^OR\b|(?:[.!?:] |\b[Yy]ou['’]?re )OR\b(?! [a-z])|(?<![Nn]ot )(?<!NOT )\boverreacting")


class PatternLabel(NamedTuple):
    """A label that a pattern gave, and why a person should look at it."""

    label: Label
    doubts: tuple[str, ...]


def pattern_label(comment: str) -> PatternLabel | None:
    """The label of the first pattern that is found in a comment; None where the model is to be asked."""
    text = comment.strip()
    for label, pattern in PATTERNS:
        if pattern.search(text):
            found = [name for name, doubt in DOUBTS.items() if doubt.search(text)]
            line = " ".join(text.split())
            if SAYS_NOR.search(line) and SAYS_OR.search(line):
                found.append("both labels")
            return PatternLabel(label, tuple(found))
    return None

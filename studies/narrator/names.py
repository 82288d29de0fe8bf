"""What the speakers of a conversation are called in its transcript and options. The paper shows account names verbatim.

Four things differ from the raw name, and nothing else:

- It is one line in NFC. White space and control characters of any kind are one blank, none at the ends.
- Marks that cannot be seen are left out: bidirectional ones (U+200E, U+202E, ...), which would turn the line around
  them and which MediaWiki keeps out of names too, and zero-width ones (U+200B, U+FEFF, ...), by which two names would
  differ for nobody. The joiners of emoji and of Persian (U+200D, U+200C) stay; so do right-to-left letters.
- A name of which nothing can be seen is UNNAMED. A name that reads as the narrator's label, in any case, width or
  markup ("me", "ＭＥ", "**Me:**"), is RENAMED: under Me it could not be told from the narrator. Letters of other
  scripts that merely look alike (Cyrillic "Ме") stay.
- Names that are equal then are numbered in the order of first turns: "Anna", "Anna (2)". A number is passed over when
  somebody's own name has it. Own names come before the two substitutes.

"Yes", "anna" beside "Anna", names that contain other names and names with a comma, which is what stands between two
options, stay as they are.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from string import ascii_uppercase

from studies.narrator.prompts import ME
from studies.narrator.records import Conversation, Names

UNNAMED = "Unnamed user"
RENAMED = "Renamed user"

INVISIBLE = re.compile(  # bidirectional marks, and those of zero width
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u00ad\u180e\u200b\u2060-\u2064\u206a-\u206f\ufeff\ufff9-\ufffb]"
)
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
JOINERS = re.compile("[\u200c\u200d\ufe00-\ufe0f]")  # these change how a letter looks, not which one it is
BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs by category, blank on the screen
UNSEEN_CATEGORIES = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf", "Mn", "Me"))


def shown_names(raw: Mapping[str, str]) -> dict[str, str]:
    """Speaker id → the name shown, for raw names (id → name) in the order of first turns.

    Names are distinct, one line each, none empty and none the narrator's label. Names that are so already stay.
    """
    bases = {speaker: base_name(name) for speaker, name in raw.items()}
    substituted = {speaker for speaker, base in bases.items() if base != one_line(raw[speaker])}
    own_names = {bases[speaker] for speaker in raw if speaker not in substituted}
    names: dict[str, str] = {}
    for speaker in sorted(raw, key=lambda speaker: speaker in substituted):  # stable: first turns decide within each
        name, number = bases[speaker], 1
        while name in names.values() or (number > 1 and name in own_names):
            number += 1
            name = f"{bases[speaker]} ({number})"
        names[speaker] = name
    return {speaker: names[speaker] for speaker in raw}


def under(names: Names, conversation: Conversation) -> Conversation:
    """The conversation with its speakers under their own names, or called A, B, C ... in the order of their first turns
    (behind Z A2, B2 ...). What they say stays, the names in it too.
    """
    if names == "own":
        return conversation
    labels = (f"{letter}{number or ''}" for number in (0, *range(2, 99)) for letter in ascii_uppercase)
    return replace(conversation, names=dict(zip(conversation.speakers, labels, strict=False)))


def base_name(raw: str) -> str:
    """The name of one speaker before equal names are numbered."""
    name = one_line(raw)
    # Whether anything can be seen: a character that is no blank and no bare accent.
    if all(sign in BLANKS or unicodedata.category(sign) in UNSEEN_CATEGORIES for sign in name):
        return UNNAMED
    return RENAMED if bare(name) == bare(ME) else name  # in any case and width, inside quotes or markup


def one_line(raw: str) -> str:
    """The name in NFC on one line, without invisible marks and outer blanks."""
    return unicodedata.normalize("NFC", " ".join(CONTROL.sub(" ", INVISIBLE.sub("", raw)).split()))


def bare(name: str) -> str:
    """A name's letters: NFKC, case folded, without joiners, and without what is no letter or digit at either end."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", JOINERS.sub("", name)).casefold())
    signs = [place for place, sign in enumerate(text) if sign.isalnum()]
    return text[signs[0] : signs[-1] + 1] if signs else ""

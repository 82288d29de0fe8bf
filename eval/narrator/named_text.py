"""A reply in which every option is one character: names with stops, blanks or verbs in them no longer disturb grammar.

Option i is chr(FIRST + i), so that a run of such characters is a list of names. "You", "I", "my behavior" and "the
narrator" are Me; where Me is no option they are somebody who is not on the list.
"""

import re

from eval.narrator.blame_words import PERSON
from eval.narrator.names import Names
from eval.narrator.spelling import plain
from studies.narrator.prompts import ME

FIRST = 0xE000
NOT_LISTED, ALL = "\uf000", "\uf001"  # somebody who is no option; everybody
NAME = "[\ue000-\uf001]"
NAMES = f"{NAME}+"
RESERVED = re.compile(NAME)

MARKUP = re.compile(r"[*`#]+|(?<!\w)_+|_+(?!\w)|^[ \t]*>+", re.MULTILINE)
BULLET = re.compile(r"^[ \t]*(?:[-•–—]|\(?(?:[0-9]{1,2}|[a-z])[.)])[ \t]+", re.MULTILINE)
QUOTED_NAME = re.compile(rf"[\"'«‹\[]({NAMES})([.,]?)[\"'»›\]]")
QUOTATION = re.compile(r"[\"«][^\"»\n]*[\"»]|(?<![\w\ue000-\uf001])'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)")
CONTRACTED = (
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(rf"((?:\b(?:i|you|he|she|they|we)|{NAME}))'(?:m|re)\b"), r"\1 are"),
    (re.compile(r"\b(i|you|he|she|they|we)'ve\b"), r"\1 have"),
    (re.compile(r"\b(i|you|he|she|they|we)'(?:d|ll)\b"), r"\1 would"),
    (re.compile(r"\b(it|that|he|she|who)'s\b"), r"\1 is"),
)
DOUBLE_NEGATION = re.compile(r"\b(?:there\s+(?:is|can\s+be)\s+)?no\s+doubt(?:\s+about\s+(?:it|that)|\s+that)?\b", re.I)
# What is said of the judge itself: its opinion, and not what it did.
DENYING_FRAME = re.compile(
    r"\b(?:i|we)\s+(?:do|would)\s+not\s+(?:think|believe|say|find)(?:\s+that)?\b"
    r"|\bit\s+is\s+not\s+(?:true|the\s+case|clear)\s+that\b|\bthere\s+is\s+no\s+(?:evidence|sign|indication)\s+that\b"
)
FRAME = re.compile(
    r"\b(?:i|we)\s+(?:(?:would|do|must|have\s+to|can|personally|also|still)\s+)*"
    r"(?:think|believe|say|guess|suppose|conclude|argue|feel|find|consider|see|blame|choose|pick|select|answer|go\s+with)\b(?:\s+that\b)?"
    r"|\bin\s+(?:my|our)\s+(?:own\s+)?(?:opinion|view|judge?ment|reading)\b|\b(?:my|our)\s+apologies\b"
    r"|\bit\s+(?:seems|appears)(?:\s+to\s+(?:me|us))?(?:\s+that\b)?|\bit\s+is\s+clear\s+that\b|\bto\s+me\b\s*,"
    r"|\blet\s+(?:me|us)\s+\w+|\bi\s+(?:am|are)\s+sorry\b"
    r"|\b(?:my|the)\s+(?:\w+\s+)?(?:answer|choice|verdict|conclusion)\s+(?:is|would\s+be)\b\s*:?"
)
OWN = re.compile(r"\b(?:my|your)(?:\s+own)?(?=\s+\w)|\b(?:my\s+own|mine|yours|your\s+own)\b")
SELF = re.compile(r"\b(?:(?:i|you)\s+(?:myself|yourself)|i|me|you|myself|yourself|the\s+narrator)\b")
FIRST_PERSON, SECOND_PERSON = re.compile(r"\b(?:i|me|my|mine|myself)\b"), re.compile(r"\b(?:you|your|yours|yourself)\b")
EVERYBODY = re.compile(
    r"\b(?:both|all)\s+of\s+(?:them|you|the\s+\w+)|\bboth\s+(?:sides|parties|users|speakers|editors|people|of)\b"
    rf"|\bboth\b(?!\s*{NAME})|\b(?:everyone|everybody)\b"
)
CALLED = re.compile(rf"\b(?:the|a)\s+{PERSON}(?:\s+(?:called|named|labell?ed|known)(?:\s+as)?)?\s+({NAMES})")


def named_text(text: str, names: Names) -> str:
    """A reply's lines in lower case, each option one character; without markup, bullets and what it quotes."""
    said, parts, end = plain(text), [], 0
    for mention in names.mentions(said):
        run = "".join(chr(FIRST + names.options.index(choice)) for choice in mention.choices)
        parts += [RESERVED.sub("", said[end : mention.start]), run]
        end = mention.end
    marked = "".join([*parts, RESERVED.sub("", said[end:])])
    shown = QUOTATION.sub(" ", QUOTED_NAME.sub(r"\1\2", BULLET.sub("", MARKUP.sub("", marked))))
    lower = shown.lower()
    for pattern, words in CONTRACTED:
        lower = pattern.sub(words, lower)
    return lower.strip()


def with_persons(sentence: str, names: Names) -> str:
    """A sentence of named_text in which the judge's opinion is gone and the first and second person are Me."""
    found = FRAME.sub("", DENYING_FRAME.sub(" not so that ", DOUBLE_NEGATION.sub("", sentence)))
    is_two = FIRST_PERSON.search(found) and SECOND_PERSON.search(found)  # "I attacked you": only one of them is Me
    me = chr(FIRST + names.options.index(ME)) if ME in names.options and not is_two else NOT_LISTED
    found = SELF.sub(me, OWN.sub(f"{me}'s", found))
    return CALLED.sub(r"\1", EVERYBODY.sub(ALL, found)).strip()


def options_in(run: str, names: Names) -> frozenset[str]:
    """The options that a run of characters stands for; none for somebody who is no option."""
    if ALL in run:
        return frozenset(names.options)
    return frozenset(names.options[ord(character) - FIRST] for character in run if character != NOT_LISTED)

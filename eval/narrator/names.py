"""A prompt's options as names that are looked for in replies, and a reply in which every option is one character.

Typography is taken away before the two are compared. In named_text option i is chr(FIRST + i), so that a run of such
characters is a list of names, and names with stops, blanks or verbs in them no longer disturb grammar. "You", "I", "my
behavior" and "the narrator" are Me; where Me is no option they are somebody who is not on the list.
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from studies.narrator.prompts import ME

OPENING = "*_`\"'«‹“‘([{<#>~ \t"
CLOSING = "*_`\"'»›”’)]}>~ \t"
STOPS = ".,:;!?…。，：；！？،؛؟"
# Marks without width: they turn the direction of text, or choose how an emoji is drawn. Models drop and add them.
INVISIBLE = dict.fromkeys([0x00AD, 0x061C, 0x200B, 0x200E, 0x200F, 0xFE0F, 0xFEFF, *range(0x202A, 0x202F)])
INVISIBLE |= dict.fromkeys(range(0x2066, 0x206A))
QUOTES = {ord(curly): straight for curly, straight in zip("‘’‚“”„", "'''\"\"\"", strict=True)}
TAG = re.compile(r"</?(?:answer|final_answer|b|i|em|strong)>|\\boxed(?=\{)", re.IGNORECASE)
ESCAPED = re.compile(r"\\([_*`~\[\]#])")  # Markdown's, as in "Some\_Name"
BLANKS = re.compile(r"[^\S\n]+")
ZERO_WIDTH_JOINER = "\u200d"


def plain(text: str) -> str:
    """Text in the one spelling in which replies and options are compared: composed, straight quotes, single blanks."""
    text = unicodedata.normalize("NFC", text).translate(INVISIBLE).translate(QUOTES)
    return BLANKS.sub(" ", ESCAPED.sub(r"\1", TAG.sub("", text))).strip()


def unmarked(text: str) -> str:
    """Plain text without the quotes, brackets and Markdown around it."""
    return text.lstrip(OPENING).rstrip(CLOSING)


def bare(text: str) -> str:
    """Plain text without what stands around its words: markup and the punctuation of a sentence."""
    return text.lstrip(OPENING).rstrip(CLOSING + STOPS)


def is_joined(character: str) -> bool:
    """Whether a character beside a name makes it part of a longer word, or of a longer emoji."""
    return (
        character.isalnum()
        or character in ("_", ZERO_WIDTH_JOINER)
        or unicodedata.category(character)[0] == "M"
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
    )


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is no part of a longer word: "Ann" stands alone in "Ann's" and not in "Anna"."""
    before = is_joined(text[start]) and start > 0 and is_joined(text[start - 1])
    after = is_joined(text[end - 1]) and end < len(text) and is_joined(text[end])
    italics = text[start - 1 : start] == text[end : end + 1] == "_"  # _Ann_
    # A joiner or skin tone after an emoji makes another emoji, though the emoji itself joins nothing.
    glued = end < len(text) and is_joined(text[end]) and not text[end].isalnum() and text[end] != "_"
    return (italics or not (before or after)) and not glued


# Words that sentences are made of. A speaker called like one is found where the name stands alone, never in prose.
FUNCTION_WORDS = """
i me my mine myself you your he him his she her it its we us our they them their this that these those who whose a an
the yes no not none nobody both neither either one all some any and or but if so as at by for from in of on to with is
are was were be been has have had do does did would can could might must shall should there here what when where why
how everyone everybody
"""
WORDS = frozenset(re.findall(r"\w+", FUNCTION_WORDS))
PAUSE = re.compile(r"[*_`\")\]}>]*\s*(?:$|[.!?:;…。：；؛؟(\[|—–\n]|-\s)")  # behind a name that stands alone


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a text where an option is named; several choices where names cannot be told apart there."""

    start: int
    end: int
    choices: tuple[str, ...]
    is_exact: bool  # letter by letter; at the start of a sentence but for a capital there


class Names:
    """The options of one prompt. designed: options that are words on purpose (Me; Yes and No in detection)."""

    def __init__(self, options: tuple[str, ...], designed: Collection[str]) -> None:
        self.options = options
        self.forms = {option: plain(option) for option in options if plain(option)}
        self.function_words = {o for o, form in self.forms.items() if form.casefold() in WORDS and o not in designed}
        # "?" is a name, and the end of half of all sentences: it has no letter, digit or emoji.
        shaped = {o for o, form in self.forms.items() for c in form if c.isalnum() or unicodedata.category(c) == "So"}
        self.marks = self.forms.keys() - shaped

    def whole(self, text: str) -> tuple[str, ...]:
        """The options that a text is, by itself or but for markup, stops and case; the closest spelling decides."""
        for shape, shape_of_form, case in CLOSENESS:
            spelled = case(shape(plain(text)))
            if named := tuple(o for o, form in self.forms.items() if spelled == case(shape_of_form(form))):
                return named if spelled else ()
        return ()

    def at_start(self, text: str) -> Mention | None:
        """The longest option that a text begins with, in any case but rather as written; None where there is none."""
        fitting = [
            option
            for option, form in self.forms.items()
            if text[: len(form)].casefold() == form.casefold() and stands_alone(text, 0, len(form))
        ]
        length = max((len(self.forms[option]) for option in fitting), default=0)
        longest = [option for option in fitting if len(self.forms[option]) == length]
        exact = [option for option in longest if text.startswith(self.forms[option])]
        if not longest:
            return None
        form = self.forms[longest[0]]
        is_exact = bool(exact) or text[:length] == form[:1].upper() + form[1:]
        return Mention(0, length, tuple(exact or longest), is_exact)

    def mentions(self, text: str) -> list[Mention]:
        """Where a text names options, from left to right, the longest name at each place.

        As they are written or with a capital; at the start of a line, and where a name is no single word, in any case.
        Those that are words or marks of sentences only where they are a line's first sentence by themselves.
        """
        places = [
            Mention(start, start + len(form), (option,), text.startswith(form, start))
            for option, form in self.forms.items()
            for start in (place.start() for place in re.finditer(re.escape(form), text, re.IGNORECASE))
            if stands_alone(text, start, start + len(form)) and self.is_meant(option, text, start)
        ]
        kept: list[Mention] = []
        for mention in sorted(places, key=lambda m: (m.start, -m.end, not m.is_exact)):
            last = kept[-1] if kept else None
            if last is None or mention.start >= last.end:
                kept.append(mention)
            elif (mention.start, mention.end, mention.is_exact) == (last.start, last.end, last.is_exact):
                kept[-1] = replace(last, choices=(*last.choices, *mention.choices))
        return kept

    def is_meant(self, option: str, text: str, start: int) -> bool:
        """Whether an option's letters at a place of a text name it, as far as its spelling tells."""
        form = self.forms[option]
        written, line = text[start : start + len(form)], text[text.rfind("\n", 0, start) + 1 : start]
        is_first = not bare(line)
        if option in self.function_words or option in self.marks:
            return is_first and PAUSE.match(text, start + len(form)) is not None
        is_spelled = written in (form, form[:1].upper() + form[1:])
        return is_spelled or (option != ME and (is_first or not form.isalpha()))

    def is_extended(self, text: str) -> bool:
        """Whether a text ends with an option that another option begins with: cut off, it could have been either."""
        end = bare(plain(text)).casefold()
        forms = [form.casefold() for form in self.forms.values()]
        return any(end.endswith(form) and other != form and other.startswith(form) for form in forms for other in forms)


# Ways in which a reply is an option, the closest first: (shape of the reply, shape of the option, case of both). In the
# names of Wikipedia's users blanks and underscores are the same.
Shape = Callable[[str], str]
CLOSENESS: list[tuple[Shape, Shape, Shape]] = [
    *((shape, str, case) for shape in (str, unmarked, bare) for case in (str, str.casefold)),
    *((bare, bare, case) for case in (str, str.casefold, lambda text: text.casefold().replace("_", " "))),
]

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


def options_in(run: str, names: Names) -> frozenset[str]:
    """The options that a run of characters stands for; none for somebody who is no option."""
    if ALL in run:
        return frozenset(names.options)
    return frozenset(names.options[ord(character) - FIRST] for character in run if character != NOT_LISTED)

"""A prompt's options as names that are looked for in replies, and a reply in which every option is one character.

Typography is taken away before the two are compared. In named_text option i is chr(FIRST + i), so that a run of such
characters is a list of names, and names with stops, blanks or verbs in them no longer disturb grammar. "You", "I", "my
behavior" and "the narrator" are Me; where Me is no option they are somebody who is not on the list.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from evenhand.files import shipped_yaml
from studies.narrator.prompts import ME, NO, YES

OPENING = "*_`\"'«‹“‘([{<#>~ \t"
CLOSING = "*_`\"'»›”’)]}>~ \t"
LETTER = "[0-9A-Za-z_\u00c0-\u024f\u0370-\u04ff\u0620-\u06d3]"  # of scripts that set blanks between words
STOPS = ".,:;!?…。，：；！？،؛؟"
# Marks without width: they turn the direction of text, or choose how an emoji is drawn. Models drop and add them.
INVISIBLE = dict.fromkeys([0x00AD, 0x061C, 0x200B, 0x200E, 0x200F, 0xFE0F, 0xFEFF, *range(0x202A, 0x202F)])
INVISIBLE |= dict.fromkeys(range(0x2066, 0x206A))
QUOTES = str.maketrans("‘’‚“”„", "'''\"\"\"")
TAG = re.compile(r"</?(?:answer|final_answer|b|i|em|strong)>|\$?\\(?:boxed|text)(?=\{)|(?<=\})\$", re.IGNORECASE)
ESCAPED = re.compile(r"\\([_*`~\[\]#])")  # Markdown's, as in "Some\_Name"
BLANKS = re.compile(r"[^\S\n]+")
GLUE = "\u200d\U0001f3fb-\U0001f3ff"  # joiner and skin tones: behind an emoji they make another one
SPEC = shipped_yaml(Path(__file__).with_name("blame.yaml"))
WORDS = frozenset(SPEC["function_words"].split())
PAUSE = re.compile(r"[*_`\")\]}>]*\s*(?:$|[.!?:;…。：；؛؟(\[|—–\n]|-\s)")  # behind a name that stands alone


def normalised(text: str) -> str:
    """Text in the one spelling in which replies and options are compared: plain letters and quotes, single blanks."""
    text = unicodedata.normalize("NFKC", text).translate(INVISIBLE).translate(QUOTES)
    return BLANKS.sub(" ", ESCAPED.sub(r"\1", TAG.sub("", text))).strip()


def bare(text: str) -> str:
    """Plain text without what stands around its words: markup and the punctuation of a sentence."""
    return text.lstrip(OPENING).rstrip(CLOSING + STOPS)


def alone(form: str) -> str:
    """A pattern for a name that is not part of a longer word or emoji: "Ann" stands alone in "Ann's", not in "Anna"."""
    before, after = (
        LETTER[1:-1] if character.isalnum() or character == "_" else "" for character in (form[0], form[-1])
    )
    name = re.sub("_|\\\\ ", "[_ ]", re.escape(form))  # in the names of Wikipedia's users they are the same
    before = rf"(?<![{before}{GLUE}])" if before else ""
    return rf"{before}{name}(?![{after}{GLUE}])|(?<=_){name}(?=_)"  # _Ann_


class Names:
    """The options of one prompt. Some are words on purpose: Me; Yes and No in detection."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options, designed = options, options if options == (YES, NO) else (ME,)
        self.forms = {option: normalised(option) for option in options if normalised(option)}
        # "?" is a name, and the end of half of all sentences: it has no letter, digit or emoji.
        shaped = {o for o, form in self.forms.items() for c in form if c.isalnum() or unicodedata.category(c) == "So"}
        function_words = {o for o, form in self.forms.items() if form.casefold() in WORDS and o not in designed}
        self.only_alone = function_words | (self.forms.keys() - shaped)

    @cached_property
    def places(self) -> re.Pattern[str]:
        """Finds the options in a text. It takes ms to compile, and a reply that is an option does without."""
        longest = sorted(self.forms.values(), key=len, reverse=True)
        return re.compile("|".join(map(alone, longest)) or r"(?!)", re.IGNORECASE)

    def whole(self, text: str) -> tuple[str, ...]:
        """The options that a text is, by itself or but for markup, stops and case; the closest spelling decides.

        Else the one that has it as a word."""
        for shape, shape_of_form, case in CLOSENESS:
            spelled = case(shape(normalised(text)))
            if named := tuple(o for o, form in self.forms.items() if spelled == case(shape_of_form(form))):
                return named if spelled else ()
        text_form = bare(normalised(text)).casefold()
        parts = tuple(o for o, form in self.forms.items() if text_form in re.split("[ _.]", form.casefold()))
        # A number or a letter is a place in a list.
        is_name = len(text_form) > 2 and text_form[0].isalpha() and text_form not in WORDS
        return parts if is_name and len(parts) == 1 else ()

    def mentions(self, text: str) -> Iterator[tuple[int, int, list[str]]]:
        """(start, end, options) of each place where a text names options: several where they cannot be told apart.

        As they are written or with a capital; at the start of a line, and where a name is no single word, in any case.
        Those that are words or marks of sentences only where they are a line's first sentence by themselves.
        """
        for place in self.places.finditer(text):
            spelled = [o for o, form in self.forms.items() if folded(form) == folded(place[0])]
            meant = [option for option in spelled if self.is_meant(option, text, place.start())]
            if meant:
                yield *place.span(), [option for option in meant if self.forms[option] == place[0]] or meant

    def is_meant(self, option: str, text: str, start: int) -> bool:
        """Whether an option's letters at a place of a text name it, as far as its spelling tells."""
        form = self.forms[option]
        written, line = text[start : start + len(form)], text[text.rfind("\n", 0, start) + 1 : start]
        is_first = not bare(line)
        if option in self.only_alone:
            return is_first and PAUSE.match(text, start + len(form)) is not None
        is_spelled = written.replace("_", " ") in [f.replace("_", " ") for f in (form, form[:1].upper() + form[1:])]
        return is_spelled or (option != ME and (is_first or not form.isalpha()))

    def is_extended(self, text: str) -> bool:
        """Whether a text ends with an option that another option begins with: cut off, it could have been either."""
        end = bare(normalised(text)).casefold()
        forms = [form.casefold() for form in self.forms.values()]
        return any(
            end.endswith(form) and longer != form and longer.startswith(form) for form in forms for longer in forms
        )


def folded(text: str) -> str:
    """A name in small letters as any keyboard has them: no marks, "ue" and "ü" alike, blanks for underscores."""
    letters = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text.casefold()))
    return re.sub("(?<=[aou])e", "", letters).replace("_", " ")


# Ways in which a reply is an option, the closest first: (shape of the reply, shape of the option, case of both). In the
# names of Wikipedia's users blanks and underscores are the same.
Shape = Callable[[str], str]
CASES: tuple[Shape, ...] = (str, str.casefold)
CLOSENESS: list[tuple[Shape, Shape, Shape]] = [
    *((shape, str, case) for shape in (str, lambda t: t.lstrip(OPENING).rstrip(CLOSING), bare) for case in CASES),
    *((bare, bare, case) for case in (*CASES, folded)),
]

FIRST = 0xE000
NOT_LISTED, ALL = "\uf000", "\uf001"  # somebody who is not an option; everybody
NAME = "[\ue000-\uf001]"
NAMES = f"{NAME}+"
MARKUP = re.compile(r"[*`#]+|(?<!\w)_+|_+(?!\w)|^[ \t]*>+", re.MULTILINE)
QUOTED_LINE = re.compile(r"(?<=\S)\n+[ \t]*>.*(?:\n[ \t]*>.*)*")
TABLE = re.compile(r"^[ \t]*(?:\||options:).*$", re.MULTILINE | re.IGNORECASE)  # and the prompt's options
BULLET = re.compile(r"^[ \t]*(?:[-•–—]|(?:[Oo]ption )?\(?(?:[0-9]{1,2}[.):]|[a-z][.)]|[A-Z]\)))[ \t]+", re.MULTILINE)
QUOTED_NAME = re.compile(rf"[\"'«‹\[]({NAMES})([.,]?)[\"'»›\]]")
QUOTATION = re.compile(r"[\"«][^\"»\n]*[\"»]|(?<![\w\ue000-\uf001])'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)")
CONTRACTED = {pattern.replace("NAME", NAME): text for pattern, text in SPEC["contracted"].items()}


def named_text(text: str, names: Names) -> str:
    """A reply's lines as prose, each option one character."""
    marked = re.sub(NAME, "\ufffd", normalised(text))
    for start, end, options in reversed([*names.mentions(marked)]):
        run = "".join(chr(FIRST + names.options.index(option)) for option in options)
        marked = marked[:start] + run + marked[end:]
    return prose(marked)


def prose(text: str) -> str:
    """Lines in lower case without markup, bullets and tables; each quotation is two marks."""
    text = TABLE.sub("", MARKUP.sub("", QUOTED_LINE.sub("", text)))
    text = QUOTATION.sub(' "" ', QUOTED_NAME.sub(r"\1\2", BULLET.sub("", text))).lower()
    for pattern, expansion in CONTRACTED.items():
        text = re.sub(pattern, expansion, text)
    return text.strip()


def options_in(run: str, names: Names) -> frozenset[str]:
    """The options that a run of characters stands for; empty for somebody who is not an option."""
    if ALL in run:
        return frozenset(names.options)
    return frozenset(names.options[ord(character) - FIRST] for character in run if character != NOT_LISTED)

"""A prompt's options as names that are looked for in replies."""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from eval.narrator.spelling import bare, plain, stands_alone, unmarked
from studies.narrator.prompts import ME

# Words that sentences are made of. A speaker called like one is found where the name stands alone, never in prose.
WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        i me my mine myself you your he him his she her it its we us our they them their this that these those who whose
        a an the yes no not none nobody both neither either one all some any and or but if so as at by for from in of on
        to with is are was were be been has have had do does did would can could might must shall should there here what
        when where why how everyone everybody
        """,
    )
)
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
        # "?" is a name, and the end of half of all sentences.
        self.marks = {o for o, form in self.forms.items() if not any(map(is_letter_or_symbol, form))}

    def whole(self, text: str) -> tuple[str, ...]:
        """The options that a text is, by itself or but for markup, stops and case; the closest spelling decides."""
        for shape in (plain, unmarked, bare):
            spelled = shape(plain(text))
            for case in (str, str.casefold):
                if not spelled:
                    continue
                if found := [o for o, form in self.forms.items() if case(form) == case(spelled)]:
                    return tuple(found)
        spelled = bare(plain(text))
        for same in SAMENESS:
            if spelled and (found := [o for o, form in self.forms.items() if same(bare(form)) == same(spelled)]):
                return tuple(found)
        return ()

    def has(self, text: str) -> bool:
        """Whether a text is an option by itself."""
        return bool(self.whole(text))

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
        found = [
            Mention(start, start + len(form), (option,), text.startswith(form, start))
            for option, form in self.forms.items()
            for start in places(text, form)
            if stands_alone(text, start, start + len(form)) and self.is_meant(option, text, start)
        ]
        kept: list[Mention] = []
        for mention in sorted(found, key=lambda m: (m.start, -m.end, not m.is_exact)):
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


def spaced(text: str) -> str:
    """A text in one case with blanks for underscores, which are the same in the names of Wikipedia's users."""
    return text.casefold().replace("_", " ")


SAMENESS: tuple[Callable[[str], str], ...] = (str, str.casefold, spaced)


def places(text: str, form: str) -> list[int]:
    """Where a form occurs in a text, in any case."""
    return [found.start() for found in re.finditer(re.escape(form), text, re.IGNORECASE)]


def is_letter_or_symbol(character: str) -> bool:
    """Whether a character makes a name one that can be found in prose: a letter, digit or emoji."""
    return character.isalnum() or unicodedata.category(character) == "So"

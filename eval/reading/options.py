"""How the options of a prompt are spelt in replies, and texts in which each mention of them is one character."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

from eval.reading.vocabulary import FIRST, NOUN, SHOWN_AS, M, P

NUMBERS = "one two three four five six seven eight nine ten".split()  # noqa: SIM905
ORDINALS = [P.text("first"), P.text("second"), *"third fourth fifth sixth seventh eighth ninth tenth".split()]  # noqa: SIM905
LONGEST_TEXT = 200  # characters of an answer that a reply may repeat; longer ones are texts to compare
# What judges are told to write, by the name under which a study asks for it.
PRESETS: dict[str, str] = P.SPEC["presets"]
PRESET = re.compile("|".join(PRESETS.values()), re.IGNORECASE)
QUOTES = str.maketrans("‘’‚“”„«»_²³¹", '\'\'\'""""" ???')  # no NFKC makes a 2 of a square
LETTERS = "0-9A-Za-z_\u00c0-\u04ff"  # of scripts that set blanks between words


def plain(text: str) -> str:
    """A text without markup, with plain quotes and digits, up to where the model writes the next turn itself."""
    text = P["minus"].sub("-", next((turn for turn in P["turn"].split(text) if turn.strip()), ""))
    text = re.sub(r"\\(?:text|math)\w*\{([^{}]*)\}", r"\1", text)
    text = unicodedata.normalize("NFKC", text.translate(QUOTES).replace("\U0001f51f", "10"))
    lines = P["markup"].sub("", P["arrow"].sub(r"\1: ", P["line_end"].sub("\n", text))).splitlines()
    said = [line for line in lines if not P["beside"].match(line)]
    return "\n".join(said if any(map(str.strip, said)) else lines).strip()


def words_only(text: str) -> str:
    """A text as it is compared: words and digits alone, in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


class Options:
    """The symbols among which a judge chooses, with the texts that they stand for."""

    def __init__(self, symbols: Sequence[str], texts: Sequence[str] = ()) -> None:
        """texts: may be left out, or be the symbols."""
        self.symbols = tuple(symbols)
        self.texts = tuple(texts) if tuple(texts) != self.symbols else ()
        self.is_numbers = all(re.fullmatch(r"-?\d+", symbol) for symbol in symbols)
        self.is_letters = all(len(symbol) == 1 and symbol.isalpha() for symbol in symbols)
        self.is_short = self.is_numbers or self.is_letters
        self.is_scale = self.is_numbers and len(symbols) > 3

    @cached_property
    def polar(self) -> tuple[int, int] | None:
        """(place of the option that says true or yes to something, of the one that denies it), where the two do."""
        says = [self.says_true(text) for text in self.texts or self.symbols]
        if sorted(map(str, says)) == ["False", "True"]:
            return says.index(True), says.index(False)
        first, *rest = (re.sub(r"^(?:dis|in|un|not |non-?)", "", symbol.casefold()) for symbol in self.symbols)
        if rest == [first] and not self.is_short:  # safe, unsafe
            return (0, 1) if len(self.symbols[0]) < len(self.symbols[1]) else (1, 0)
        return None

    @cached_property
    def common(self) -> set[int]:
        """Options that are words of any sentence: yes, no, correct."""
        return {i for i, s in enumerate(self.symbols) if s.casefold() in ("yes", "no") or self.says_true(s) is not None}

    @staticmethod
    def says_true(text: str) -> bool | None:
        """Whether an answer's text says that a claim is true; None where it says neither."""
        if re.search(rf"(?i){P.text('untruth')}|(?:\bnot|n't) (?:really |quite |at all )?{P.text('truth')}", text):
            return False
        return True if re.search(rf"(?i){P.text('truth')}", text) else None

    @cached_property
    def forms(self) -> dict[str, int]:
        """Other words for an option, in lower case → its place: its text, or how this begins ("Yes", "No")."""
        heads = [re.match(r"\W*(yes|no)\b", text, re.IGNORECASE) for text in self.texts]
        forms = {head[1].lower(): place for place, head in enumerate(heads) if head and all(heads) and len(heads) == 2}
        named = {symbol.casefold(): place for place, symbol in enumerate(self.symbols)} | forms
        for name in named.keys() & {"yes", "no", "yta", "nta", "esh", "nah"}:
            forms |= {words_only(form): named[name] for form in P.words[name].split(", ")}
        forms |= {words_only(text): place for place, text in enumerate(self.texts) if len(text) < LONGEST_TEXT}
        return {form: place for form, place in forms.items() if form and form not in map(str.casefold, self.symbols)}

    @cached_property
    def mentions(self) -> list[re.Pattern[str]]:
        """Patterns that find other words for the options, then the symbols."""
        symbols = spellings(self.symbols, is_polar=self.polar is not None)
        others = [form for form in self.forms if not symbols.fullmatch(form)]  # "Response A" may be a heading
        forms = [r"\W+".join(form.split()) for form in sorted(others, key=len, reverse=True)]
        words = re.compile(rf"(?i:(?<![\w-])(?P<text>{'|'.join(forms)})(?![\w-]))")
        return [words, symbols] if forms else [symbols]

    def marked(self, text: str) -> str:
        """A text in lower case, without markup and quotations, in which each mention of an option is one character."""

        def mark(mention: re.Match[str]) -> str:
            place, is_noun = self.mentioned(mention), mention.lastgroup in ("noun", "ordinal")
            return mention[0] if place is None else chr((NOUN if is_noun else FIRST) + place)

        def shown(form: re.Match[str]) -> str:
            value = plain(next(filter(None, form.groups()))).partition(">")[0].strip(" .()")
            mention = next(filter(None, (pattern.fullmatch(value) for pattern in self.mentions)), None)
            place = mention and self.mentioned(mention)
            return f" {chr(SHOWN_AS + place)} " if place is not None else " "

        text = plain(PRESET.sub(shown, text))
        if self.is_numbers and (items := P["item"].findall(text)) and items[0] == "1":
            text = P["item"].sub("1) " if len(items) == 1 else "", text)
        text = P["acronym"].sub(lambda letters: re.sub(r"\W", "", letters[0]), P["said"].sub("", text))
        exact = "|".join(map(re.escape, map(plain, self.symbols)))
        copied = r"(?:[.:)] [^\"'\n]{1,60})?" if self.texts else ""  # "2. No"
        text = re.sub(rf"(?i)[\"'\[<]+ ?({exact}){copied} ?[\"'\]>]+", r"\1", text)
        for pattern in self.mentions:
            text = pattern.sub(mark, text)
        for place, symbol in enumerate(self.symbols):  # "The author did nothing wrong", where all else blames nobody
            if (name := f"like {symbol.casefold()}") in P.words and not re.search(M, text):
                rest = re.sub(f"(?i:{P.text(name)})", chr(FIRST + place), text)
                text = text if re.search(f"(?i:{P.text(f'un{name}')})", rest) else rest
        text = P["goes_on_with"].sub(r"\1", text)
        return P["quotation"].sub(' "" ', text).lower()

    def mentioned(self, mention: re.Match[str]) -> int | None:
        """The place of the option that a mention spells."""
        kind = str(mention.lastgroup)
        spelt = mention[kind].casefold()
        if kind == "text":
            return self.forms[words_only(spelt)]
        if kind == "ordinal":
            rank = next(rank for rank, form in enumerate(ORDINALS) if re.fullmatch(form, spelt))
            if not self.is_numbers:
                return rank
            spelt = str(rank + 1)
        spelt = str(NUMBERS.index(spelt) + 1) if spelt in NUMBERS and self.is_numbers else spelt
        return next((i for i, symbol in enumerate(self.symbols) if plain(symbol).casefold() == spelt), None)


@lru_cache(maxsize=256)
def spellings(symbols: tuple[str, ...], *, is_polar: bool) -> re.Pattern[str]:
    """Finds each mention of a symbol in a plain text; the group that matches says how it is spelt."""
    options = Options(symbols)
    exact = [re.escape(plain(symbol)) for symbol in sorted(symbols, key=len, reverse=True)]
    any_case, numbers, last = "|".join(exact), "|".join(NUMBERS), symbols[-1]
    unit = ""
    if options.is_numbers:  # "8/10", "four out of five", "6 points", "9分"
        largest = f"{last}|{NUMBERS[int(last) - 1]}" if 0 < int(last) <= len(NUMBERS) else last
        points = r"(?: (?i:points?|stars?|punkten?|puntos|étoiles)(?!\w)|分)?" if options.is_scale else ""
        total = rf"(?: ?\(?(?:/|out of|von|sur|de|sobre) ?(?:{largest})(?!\w)\)?)?" if options.is_scale else ""
        unit = rf"(?:\.0+)?{points}{total}{points}"
    end = rf"{unit}(?![{LETTERS}%/+-]|\([^()\s]*[+*=]|[.,]\d|\.[A-Za-z]\b|'(?!s?\b))"
    spelt = f"{any_case}|{numbers}" if options.is_numbers else any_case
    kinds = []
    if options.is_short:
        kinds.append(
            rf"(?i:(?<![{LETTERS}]){P.text('noun')} ?(?:n[o°]\.?|nr\.|number|#)? ?\(?(?P<noun>(?<!s )(?:{spelt})){end})"
        )
    if options.is_letters:  # a line "b", one that ends with "answer: (b)", a reply that begins with "b)" and lists none
        lower = any_case.lower()
        kinds.append(rf"(?:^[^\w\n]*|:[^\w\n]*)(?P<lower>{lower})(?=[^\w\n]*$)")
        kinds.append(rf"\A\W*(?P<opening>{lower})(?=\)(?![\s\S]*\b[a-z]\)))")
    if options.is_short and not is_polar:
        ordinals = P.text("pair") * (len(symbols) > 2) + f"(?:{'|'.join(ORDINALS[: len(symbols)])})"
        kinds.append(rf"(?i:{P.text('the')}(?P<ordinal>{ordinals}){P.text('ordinal')})")
    if options.is_numbers:
        kinds.append(rf"(?i:{P.text('before_number')}(?P<number>{numbers}){unit}(?=\W*$|[.,;:!]))")
    symbol = "|".join(form + (P.text("article") if form == "A" else "") for form in exact)
    if not options.is_short:  # "the correct answer" is no verdict
        symbol = rf"(?i:{any_case})" + (rf"(?! {P.text('verdict')})" if is_polar else "")
    kinds.append(rf"{P.text('counted')}(?<!out of )(?<![{LETTERS}.,/<^≤≥-])(?P<symbol>{symbol}){end}")
    return re.compile("|".join(kinds), re.MULTILINE)


@lru_cache(maxsize=4096)
def options_of(symbols: tuple[str, ...], texts: tuple[str, ...]) -> Options:
    """The options of a prompt; many prompts have the same."""
    return Options(symbols, texts)

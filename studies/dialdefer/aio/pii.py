"""Personal information → [REDACTED], before anything is written. Telephone numbers by the library `phonenumbers`.

A name is a word of words.yaml's `names`, a capitalised word within a sentence that is no common one, or a capitalised
word at the beginning of a sentence that does what people do ("X said", "X is", "X and I", "X:"). So towns, schools and
employers go, too; "a Karen", "The Notebook" and "Google Maps" stay. What is not seen: other names in lower case or at
the beginning of a sentence, and what is spelled to be hidden. People check every text (`check`).
"""

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from eval.reading.vocabulary import patterns_in
from evenhand.files import shipped_yaml

MARK = "[REDACTED]"
WORDS, PATTERNS = (Path(__file__).with_name(f"{name}.yaml") for name in ("words", "patterns"))
REGIONS = {"US": 7, "GB": 9}  # region whose national numbers are looked for → fewest digits (2019-2024 has 8)

REACH = 200  # characters before and behind a word that are looked at

patterns_of = partial(patterns_in, PATTERNS, mark=re.escape(MARK))  # a section of patterns.yaml
PII = patterns_of("pii")


def redact(text: str) -> str:
    """The text with personal information masked."""
    text = PII["any_mark"].sub(MARK, text)
    for pattern in (PII["email"], PII["link"], PII["iban"], PII["handles"]):
        text = pattern.sub(MARK, text)
    text = PII["labelled"].sub(rf"\1{MARK}", PII["birth"].sub(rf"\1{MARK}", text))
    text = without_telephones(PII["spelled"].sub(MARK, PII["number"].sub(MARK, text)))
    return without_names(PII["address"].sub(MARK, text))


def without_telephones(text: str) -> str:
    """Telephone numbers masked: those of a region's length, whether or not they are in use."""
    from phonenumbers import Leniency, PhoneNumberMatcher

    for region, fewest in REGIONS.items():
        matches = list(PhoneNumberMatcher(text, region, leniency=Leniency.POSSIBLE))
        for match in reversed(matches):
            digits = re.sub(r"\D", "", match.raw_string)
            if len(digits) >= fewest and not re.fullmatch("10+", digits):
                text = f"{text[: match.start]}{MARK}{text[match.end :]}"
    return text


def without_names(text: str) -> str:
    """The text with names masked, those in a row as one. A name in one place is one in all."""
    spared = {place for match in spared_phrases().finditer(text) for place in range(*match.span())}
    seen = {}
    for match in (match for match in PII["word"].finditer(text) if match.start() not in spared):
        start, end = match.span()
        if is_name(match[0], text[max(0, start - REACH) : start], text[end : end + REACH]):
            seen[end] = match[0]
    names, english = {word for word in seen.values() if is_unknown(word)}, word_lists()["english"]

    def hidden(match: re.Match[str]) -> str:
        """The mark, if it is a name, or a surname that is also a word: "Emily King"."""
        start, end = match.span()
        is_surname = text[start - 1 : start] == " " and start - 1 in seen and is_capitalised(match[0])
        is_hidden = end in seen or match[0] in names or (is_surname and match[0].lower() not in english)
        return MARK if start not in spared and is_hidden else match[0]

    return PII["names_in_a_row"].sub(MARK, PII["word"].sub(hidden, text))


def is_name(word: str, before: str, after: str) -> bool:
    """Whether a word is a name to be masked, between what stands before and after it."""
    lists, key = word_lists(), word.lower().partition("-")[0]
    if PII["generic"].search(before) and not PII["one_person"].match(after):
        return False
    if key in lists["names"] or (is_capitalised(word) and key in lists["capital_names"]):
        return True
    if re.match(r"[do]['’](?!clock)\w{4}", key) or (is_capitalised(word) and PII["honorific"].search(before)):
        return True
    line = before.rpartition("\n")[2]
    speaks = bool(not line.strip(" -*_|[]()\"“'‘") and PII["speaks"].match(after))
    if (key in lists["both"] or key in lists["capital_names"]) and is_person(word, before, after, speaks):
        return True
    if not is_unknown(word):
        return bool(speaks and word.islower() and not is_common(word) and PII["chat"].search(f"{before}\n{after}"))
    if PII["begins"].search(before):
        surname = re.match(r" ([^\W\d_]+)", after)
        is_double = surname is not None and is_unknown(surname[1])
        is_thing = key in lists["both"] or PII["no_subject"].search(word)
        acts = not is_thing and (PII["subject_of"].match(after) or PII["spoken_to"].match(after))
        return bool(is_double or speaks or acts or PII["before_name"].search(before) or PII["after_name"].match(after))
    previous = line.split(" ")[-2:][0].lower() if line.endswith(" ") else ""
    if previous in lists["makers"] or PII["in_title"].search(before + word) or re.match(r" of (?:the )?[A-Z]", after):
        return False
    tokens = PII["word"].findall(line + word + after.partition("\n")[0])
    common = [token for token in tokens if token.lower() in lists["english"] and token != "I"]
    is_heading = sum(token[0].isupper() for token in common) > max(1, len(common) / 2)
    return not is_heading


def is_person(word: str, before: str, after: str, speaks: bool) -> bool:
    """Whether a word that is also a given name ("Will", "grace") is one here: behind "told" or "kin", or before
    "after_name" or "spoken_to", and not behind "no_person"."""
    if PII["told"].search(before):
        return is_capitalised(word) or not re.match(r"\s(?:you|u|i|it|that|this|to|the|a)\b", after, re.IGNORECASE)
    if PII["no_person"].search(before):
        return False
    if not is_capitalised(word):
        return not is_common(word) and bool(PII["says"].match(after))
    begins = PII["begins"].search(before) and PII["spoken_to"].match(after)
    return bool(speaks or begins or PII["is_kin"].search(before) or PII["after_name"].match(after))


def is_capitalised(word: str) -> bool:
    """Whether a word is written as names are: "Mia", "O'Brien", "Ji-woo", not "I" or "USA"."""
    return len(word) > 1 and word.partition("-")[0].istitle()


def is_unknown(word: str) -> bool:
    """Whether a word is capitalised, and none that commonly is."""
    return is_capitalised(word) and not is_common(word)


def is_common(word: str) -> bool:
    """Whether a word, or that of which it is the plural, is nobody's name."""
    lists, key = word_lists(), word.lower()
    forms = {key, key.removesuffix("s")}
    return any(not forms.isdisjoint(lists[name]) for name in ("english", "capitals", "makers"))


@cache
def spared_phrases() -> re.Pattern[str]:
    """The phrases of words.yaml in which a name is nobody's."""
    phrases = "|".join(map(re.escape, shipped_yaml(WORDS)["phrases"]))
    return re.compile(rf"\b(?:{phrases}|r/\w+)\b", re.IGNORECASE)


@cache
def word_lists() -> Mapping[str, frozenset[str]]:
    """The lists of words in words.yaml."""
    return {
        key: frozenset(words_in_list.split())
        for key, words_in_list in shipped_yaml(WORDS).items()
        if isinstance(words_in_list, str)
    }

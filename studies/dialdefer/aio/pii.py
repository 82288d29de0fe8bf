"""Personal information → [REDACTED], before anything is written. Telephone numbers by the library `phonenumbers`.

What it cannot see: names that are not in words.yaml and follow no cue (a greeting, "named", a title), surnames alone,
employers, schools, towns, nicknames, and whatever is spelled to be hidden ("five five five ..."). People look at every
text before it is used (`check`). Presidio would find more names, but with a spaCy model that it downloads.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from evenhand.files import shipped_yaml

MARK = "[REDACTED]"
WORDS = Path(__file__).with_name("words.yaml")
REGIONS = {"US": 7, "GB": 9}  # region whose national numbers are looked for → fewest digits (2019-2024 has 8)

ANY_MARK = re.compile(r"\[\s*redacted\s*\]", re.IGNORECASE)  # models spell it in many ways
EMAIL = re.compile(r"[\w.+-]+\s?(?:@|\[at\]|\(at\))\s?[\w-]+(?:(?:\.|\s?[\[(]dot[\])]\s?)[A-Za-z]{2,})+")
LINK = re.compile(r"\b(?:https?://|www\.)\S+|\b(?:[\w-]+\.)+(?:com|net|org|me|gg|tv|ee|link)/\S+", re.IGNORECASE)
HANDLES = re.compile(
    r"(?<![\w/])/?u/[\w-]{2,20}"
    r"|(?<![\w.])@[A-Za-z_][\w.]{1,29}(?<!\.)"
    r"|\b[\w.]{2,32}#\d{4}\b"
    r"|(?i:\b(?:snap(?:chat)?|insta(?:gram)?|ig|tiktok|discord|telegram|kik|venmo|cash ?app|twitter)"
    r"(?: (?:name|handle|user(?:name)?|account|id))?(?: is|'s|:| -)\s?)@?(?=[\w.$#-]*[\d_.])[\w.$#-]{3,30}(?<!\.)"
    r"|(?<![\w$])\$[A-Za-z][\w-]{2,20}\b"
)
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b")
NUMBER = re.compile(r"(?<![\w.,$€£])(?:\d[ -]?){11,18}\d(?![\w%])|\b\d{3}-\d{2}-\d{4}\b")  # cards, accounts, SSN
STREET = r"(?i:st|street|ave|avenue|rd|road|blvd|boulevard|ln|lane|hwy|highway|pkwy|parkway)"
PLACE = r"(?:Dr|Drive|Ct|Court|Way|Pl|Place|Ter|Terrace|Cir|Circle|Sq|Square|Close|Crescent|Row)"  # else words
NAMING = r"(?:(?!(?i:a|and|at|down|from|her|his|in|my|of|off|on|our|that|the|this|to|up|your)\b)[\w'.-]+\s+)"
ADDRESS = re.compile(
    r"\b\d{1,5}[A-Z]?,?\s+(?:(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.?\s+)?"
    rf"(?:{NAMING}{{1,4}}?{STREET}|(?:[A-Z][\w'.-]*\s+){{1,3}}{PLACE})\b"
    r"\.?(?:,?\s+(?i:apt|unit|suite|#|flat|no)\.?\s?#?\w+)?(?:,\s*[A-Z][\w.]+(?:\s[A-Z][\w.]+)?)?(?:,?\s+[A-Z]{2}\b)?"
    r"(?:\s+\d{5}(?:-\d{4})?\b)?"
    r"|\b[Pp]\.?\s?[Oo]\.?\s[Bb]ox\s\d+"
    r"|\b[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}\b"  # a British postcode
    r"|\b(?:AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|MA|MD|ME|MI|MN|MO|MS|MT|NC|ND|NE|NH|NJ|NM|NV|NY|OH|"
    r"OK|OR|PA|RI|SC|SD|TN|TX|UT|VA|VT|WA|WI|WV|WY)\s\d{5}\b"
    r"|\b[\w-]+(?:straße|strasse|str\.|weg|platz|gasse|allee)\s\d{1,4}\w?\b(?:,?\s\d{5}\b)?"
    r"|\b(?:[Cc]alle|[Aa]venida|[Rr]ue|[Vv]ia)\s(?:de\s|del\s|la\s|des\s|du\s)*[A-Z]\w+(?:\s[A-Z]\w+)?,?\s\d{1,4}\b"
    r"|\b\d{1,4},?\s(?:[Rr]ue|[Aa]venue|[Bb]oulevard)\s(?:de\s|la\s|des\s|du\s)*[A-Z]\w+"
)
CAPITALISED = r"[A-Z][a-zà-öø-ÿ]+(?:[-'’][A-Z][a-zà-öø-ÿ]+)?"
CUES = (
    r"my name(?:'s|’s| is)|(?:his|her|their) name(?:'s|’s| is)|named|called|hi|hey|hello|dear|mr|mrs|ms|miss|dr|aunt|"
    r"uncle|cousin|sincerely|love,|xo|this is"
)
CUED = re.compile(rf"(?P<cue>\b(?i:{CUES})[.,]?\s+)(?!Speaker\b)(?P<name>{CAPITALISED}(?:\s{CAPITALISED})?)")


def redact(text: str, handles: Iterable[str] = ()) -> str:
    """The text with personal information masked. handles: user names known to occur, such as a thread's authors."""
    text = ANY_MARK.sub(MARK, text)
    known = [re.escape(name) for name in handles if len(name) >= 3]
    authors = [re.compile(rf"(?<!\w)@?(?:{'|'.join(known)})(?!\w)", re.IGNORECASE)] if known else []
    for pattern in (EMAIL, LINK, IBAN, *authors, HANDLES):
        text = pattern.sub(MARK, text)
    return without_names(ADDRESS.sub(MARK, NUMBER.sub(MARK, without_telephones(text))))


def without_telephones(text: str) -> str:
    """Telephone numbers masked: those of a region's length, whether or not they are in use."""
    from phonenumbers import Leniency, PhoneNumberMatcher

    for region, fewest in REGIONS.items():
        matches = list(PhoneNumberMatcher(text, region, leniency=Leniency.POSSIBLE))
        for match in reversed(matches):
            if sum(map(str.isdigit, match.raw_string)) >= fewest:
                text = f"{text[: match.start]}{MARK}{text[match.end :]}"
    return text


def without_names(text: str) -> str:
    """Given names of the list masked, with a surname behind them; and capitalised words behind a cue."""
    english = word_lists()["english"]

    def behind_cue(match: re.Match[str]) -> str:
        words = match["name"].split()
        if words[0].lower() in english:
            return match[0]
        kept = [word for word in words if word.lower() in english]
        return f"{match['cue']}{MARK}{' ' + kept[0] if kept else ''}"

    def listed(match: re.Match[str]) -> str:
        surname = match["surname"] or ""
        return MARK + (surname if surname.strip().lower() in english else "")

    return name_pattern().sub(listed, CUED.sub(behind_cue, text))


@cache
def name_pattern() -> re.Pattern[str]:
    """A listed name in any case with the surname behind it; a name that is a word only with a surname."""
    lists = word_lists()
    names, words = ("|".join(sorted(lists[key], key=len, reverse=True)) for key in ("names", "also_words"))
    capital_words = "|".join(word.capitalize() for word in words.split("|"))
    surname = rf"\s{CAPITALISED}"
    return re.compile(
        rf"\b(?:(?i:{names})(?P<surname>{surname})?|(?:{capital_words})(?=\s[A-Z][a-z]+(?:son|man|ez|sen|ton|ski|berg|er)\b)"
        rf"\s{CAPITALISED})(?!\w)"
    )


@cache
def word_lists() -> Mapping[str, frozenset[str]]:
    """The lists of words.yaml."""
    return {key: frozenset(words.split()) for key, words in shipped_yaml(WORDS).items()}

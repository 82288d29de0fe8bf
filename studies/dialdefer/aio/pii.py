"""Personal information → [REDACTED], before anything is written. Telephone numbers by the library `phonenumbers`.

A name is a word of words.yaml's `names`, a capitalised word within a sentence that is no common one, or a capitalised
word at the beginning of a sentence that does what people do ("X said", "X is", "X and I", "X:"). So towns, schools and
employers go, too; "a Karen", "The Notebook" and "Google Maps" stay. What is not seen: other names in lower case or at
the beginning of a sentence, and what is spelled to be hidden. People check every text (`check`).
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
EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]+\s?(?:@|\[at\]|\(at\))\s?[\w-]+(?:(?:\.|\s?[\[(]dot[\])]\s?)[A-Za-z]{2,})+"
    r"|(?<![\w.+-])[\w.+-]+(?: dot [\w.+-]+){0,3} at [\w-]+(?: dot [A-Za-z]{2,})+"
)
LINK = re.compile(
    r"\b(?:https?://|www\.)\S+|(?<![\w.-])(?:[\w-]+\.)+(?:com|net|org|me|gg|tv|ee|link)/\S+", re.IGNORECASE
)
HANDLES = re.compile(
    r"(?<![\w/])/?u/[\w-]{2,20}"
    r"|(?<![\w.])@[A-Za-z_][\w.-]{1,29}(?<![.-])"
    r"|\b[\w.]{2,32}#\d{4}\b"
    r"|(?i:\b(?:snap(?:chat)?|sc|insta(?:gram)?|ig|tiktok|discord|telegram|kik|venmo|cash ?app|twitter|bsky|psn|steam)"
    r"(?: (?:name|handle|user(?:name)?|account|id))?(?: is|'s|:| -)\s?)@?(?=[\w.$#-]*[\d_.])[\w.$#-]{3,30}(?<!\.)"
    r"|(?<![\w$])\$[A-Za-z][\w-]{2,20}\b|\b[^\W_]+(?:_+[^\W_]+)+\b"
)
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b")
NUMBER = re.compile(  # cards, accounts, SSN; policies, employees; places and machines
    r"(?<![\w.,$€£])(?!10+\b)(?:\d[ -]?){11,18}\d(?![\w%])|\b\d{3}-\d{2}-\d{4}\b|(?<![\w.,$€£-])(?!10+\b)\d{8,}\b"
    r"|\b[A-Z]{2,}[A-Z\d]*-?\d{5,}\b|\b[A-Z]-?\d{6,}\b|-?\b\d{1,3}\.\d{4,},\s?-?\d{1,3}\.\d{4,}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
)
DIGIT = r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double)"
SPELLED = re.compile(rf"\b{DIGIT}(?:[\s,.-]+(?:{DIGIT}|\d+)){{5,}}\b", re.IGNORECASE)
LABELLED = re.compile(  # a word that says what the number behind it is
    r"(\b(?:plate|passport|pass(?:word|code)|pw|pin|code|exp|acct|account|(?:student|employee) id)"
    r"(?:\s(?:number|no\.?))?(?:\sis|:)?\s)(?=[^\s,]*\d)[^\s,;$€£]{3,}\w(?-i:\s[A-Z\d]{2,4}\b)?",
    re.IGNORECASE,
)
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
BIRTH = re.compile(
    r"(\b(?:born|birth|birthday|b-?day|dob)\b[^\w.\n]{0,4}(?:(?:is|was|on|in|of)\s){0,2})"
    rf"(?:{MONTH}\s\d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[/.-]\d{1,2})(?:st|nd|rd|th)?\b"
    r"(?:[ ,/.-]{1,2}\d{2,4}\b)?",
    re.IGNORECASE,
)
STREET = r"(?i:st|street|ave|avenue|rd|road|blvd|boulevard|ln|lane|hwy|highway|pkwy|parkway)"
PLACE = r"(?:Dr|Drive|Ct|Court|Way|Pl|Place|Ter|Terrace|Cir|Circle|Sq|Square|Close|Crescent|Row)"  # else words
NAMING = r"(?:(?!(?i:a|and|at|down|from|her|his|in|my|of|off|on|our|that|the|this|to|up|your)\b)[\w'.-]+\s+)"
ADDRESS = re.compile(
    r"\b\d{1,5}[A-Z]?,?\s+(?:(?:N|S|E|W|NE|NW|SE|SW|North|South|East|West)\.?\s+)?"
    rf"(?:{NAMING}{{1,4}}?{STREET}|(?:[A-Z][\w'.-]*\s+){{1,3}}{PLACE})\b"
    r"\.?(?:,?\s+(?i:apt|unit|suite|#|flat|no)\.?\s?#?\w+)?(?:,?\s+[A-Z]{2}\b)?(?:\s+\d{5}(?:-\d{4})?\b)?"
    r"|\b(?i:p\.?\s?o\.?\sbox|apt\.?|apartment|unit|suite|flat|dorm room)\s#?\d+\w?\b"
    r"|(?<![\w'-])(?:(?!(?:On|At|In|The|To)\b)[A-Z][\w'-]+\s){1,3}(?:St|Rd|Ave|Blvd|Ln|Street|Road|Avenue|Lane)\b(?!\.?\s[A-Z])"
    r"|\b[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}\b"  # a British postcode
    r"|\b[A-Z]{2}\s\d{5}\b"
    r"|(?<![\w-])[\w-]+(?:straße|strasse|str\.|weg|platz|gasse|allee)\s\d{1,4}\w?\b(?:,?\s\d{5}\b)?"
    r"|\b(?:[Cc]alle|[Aa]venida|[Rr]ue|[Vv]ia)\s(?:de\s|del\s|la\s|des\s|du\s)*[A-Z]\w+(?:\s[A-Z]\w+)?,?\s\d{1,4}\b"
    r"|\b\d{1,4},?\s(?:[Rr]ue|[Aa]venue|[Bb]oulevard)\s(?:de\s|la\s|des\s|du\s)*[A-Z][\w-]+"
)
WORD = re.compile(r"[^\W\d_]+(?:(?:-|['’](?!s\b))[^\W\d_]+)*")  # without the 's of "Mia's"
BEGINS = re.compile(  # what stands before the first word of a sentence
    r"(?:^|[\n.!?:…|])[^\w\n]*$|\b(?:AIO|N?OR|[NY]TA|ESH)\s+$"
    r"|\b(?:said|says|saying|asked|replied|texted|wrote|like|me|him|her|them),?\s[\"“]$"
)
BEFORE_NAME = re.compile(  # a beginning that a name follows
    r"\bst\.\s$|(?:^|\n)\W*(?:from|to|cc|contact|name|named|signed):\s$"
    r"|\b(?:love|xo+|sincerely|cheers|regards|yours),?\s?\n+$",
    re.IGNORECASE,
)
KIN = (
    r"(?i:ex|mom|mum|mother|dad|father|parents|brother|sister|wife|husband|(?:girl|boy)?friends?|[bg]f|son|daughter|aunt|"
    r"uncle|cousin|niece|nephew|(?:room|flat|class)mate|co-?worker|boss|neighbou?r|fianc[ée]e?|[mfsb]il|[\w-]+-in-law)"
)
SAYS = (  # what people do and have, not things
    r"\s(?:said|says|thinks|thought|told|tells|asked|asks|texted|texts|messaged|replied|called|calls|wants|wanted|knows|"
    r"knew|swears|claims|ghosted|lied|cried|apologi[sz]ed|admitted|refuse[sd]|promise[sd]|insist(?:s|ed)|ignore[sd]|"
    r"blocked|cheated|moved|left\s(?:the|a|for)|never\s(?:apologi|ask|call|text|tell|listen|answer|pa[yi]|help)\w*|"
    r"(?:wo|would|does|did)n?['’]?t\s(?:even\s)?(?:let|tell|talk|speak|listen|answer|text|call|know|care|want|think|like)|"
    rf"(?:is|was|has\sbeen)\s(?:(?:my|his|her|our)\s(?:\w+\s)?{KIN}|\d\d(?=\sand|\sy|[mf]?[,.]|$)))\b"
)
HONORIFIC = re.compile(r"\b(?:mr|mrs|ms|mx|dr|prof)\.?\s$", re.IGNORECASE)
AFTER_NAME = re.compile(
    rf"{SAYS}|\s(?:\w+(?:ed|s)|came|got|left|took|gave|made|kept|met|saw|let|put|broke)\s"
    r"(?:me|my|him|his|her|them|their|us|our|you|your|out|over|up|back|home|away)\b"
    r"|\s(?:and|&)\s(?:I|me|my|his|her|their)\b"
    rf"|(?:,\s|\s\()\d\d[mfMF]?\b|['’]s\s(?:{KIN}|place|family)\b|,\s(?:my|his|her|our|their)\s(?:\w+\s)?{KIN},"
)
SUBJECT_OF = re.compile(  # behind an unknown word at the beginning of a sentence
    r"\s(?:has|had|(?:i|wa|ha|doe)s(?:n['’]?t)?|(?:did|wo|would|ca|could)n['’]?t|never|always|just|also|still|keeps|"
    r"came|went|gave|sent|took|bought|saw|broke|found|made|got|woke|drove|ate|spent|threw|ran|paid|hung|slept|stole|"
    r"started|stopped|showed)\b|['’]s\s\w|\s\((?:my|his|her)\s"
)
NO_SUBJECT = re.compile(r"\w{3}(?:ing|ity|ness|ment|[ts]ion|ism|ship|ly)$")  # things, at a beginning
SPOKEN_TO = re.compile(r",\s(?:I|you|u|we|please|can|did|do|why|what|stop|call|text|come)\b")
# A word that is also a name is one behind TOLD or KIN, or before AFTER_NAME or SPOKEN_TO; not behind NO_PERSON.
TOLD = re.compile(r"\b(?:ask|asked|tell|told|texted|messaged|hey)\s$", re.IGNORECASE)
IS_KIN = re.compile(rf"\b{KIN}\s$")
NO_PERSON = re.compile(  # "the bill", "in May"
    r"\b(?:the|an?|my|his|her|your|our|this|that|to|of|in|by|since|until|last|next|every|from|for|on)\s$", re.IGNORECASE
)
# "a Karen", "a Labrador"; not "a Karen from work"
GENERIC = re.compile(r"\b[Aa]n?\s(?:(?:total|real|complete|absolute|typical|little|classic|big)\s)?$")
ONE_PERSON = re.compile(rf"{SAYS}|['’]s\s|\s(?:[A-Z]|from\b|who\b|at\b|in\b)")
IN_TITLE = re.compile(  # "The Notebook", "Call of Duty"
    r"\bThe\s(?:[A-Z][\w'’-]*\s)*[A-Z][\w'’-]*[^\Ws]$|[a-z,]\s[A-Z][\w'’]*\sof\s(?:the\s)?[A-Z][\w'’-]*$"
)
SPEAKS = re.compile(r"[^\w\n]*(?:\([^)\n]*\))?[^\w\n]*:(?!\w)")  # behind the name of a chat's bubble
CHAT = re.compile(r"^\W*(?:me|him|her)\W{0,4}:", re.IGNORECASE | re.MULTILINE)  # a bubble beside it
REACH = 200  # characters before and behind a word that are looked at
NAMES_IN_A_ROW = re.compile(rf"{re.escape(MARK)}(?:['’]s)?(?:(?: [A-Z][a-z]+)?[ -]{re.escape(MARK)})+")


def redact(text: str, handles: Iterable[str] = ()) -> str:
    """The text with personal information masked. handles: user names known to occur, such as a thread's authors."""
    text = ANY_MARK.sub(MARK, text)
    known = [re.escape(name) for name in handles if len(name) >= 3]
    authors = [re.compile(rf"(?<!\w)@?(?:{'|'.join(known)})(?!\w)", re.IGNORECASE)] if known else []
    for pattern in (EMAIL, LINK, IBAN, *authors, HANDLES):
        text = pattern.sub(MARK, text)
    text = LABELLED.sub(rf"\1{MARK}", BIRTH.sub(rf"\1{MARK}", text))
    text = without_telephones(SPELLED.sub(MARK, NUMBER.sub(MARK, text)))
    return without_names(ADDRESS.sub(MARK, text))


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
    words = [match for match in WORD.finditer(text) if match.start() not in spared]
    seen = {}
    for match in words:
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

    return NAMES_IN_A_ROW.sub(MARK, WORD.sub(hidden, text))


def is_name(word: str, before: str, after: str) -> bool:
    """Whether a word is a name to be masked, between what stands before and after it."""
    lists, key = word_lists(), word.lower().partition("-")[0]
    if GENERIC.search(before) and not ONE_PERSON.match(after):
        return False
    if key in lists["names"] or (is_capitalised(word) and key in lists["capital_names"]):
        return True
    if re.match(r"[do]['’](?!clock)\w{4}", key) or (is_capitalised(word) and HONORIFIC.search(before)):
        return True
    line = before.rpartition("\n")[2]
    speaks = bool(not line.strip(" -*_|[]()\"“'‘") and SPEAKS.match(after))
    if (key in lists["both"] or key in lists["capital_names"]) and is_person(word, before, after, speaks):
        return True
    if not is_unknown(word):
        return bool(speaks and word.islower() and not is_common(word) and CHAT.search(f"{before}\n{after}"))
    if BEGINS.search(before):
        surname = re.match(r" ([^\W\d_]+)", after)
        is_double = surname is not None and is_unknown(surname[1])
        is_thing = key in lists["both"] or NO_SUBJECT.search(word)
        acts = not is_thing and (SUBJECT_OF.match(after) or SPOKEN_TO.match(after))
        return bool(is_double or speaks or acts or BEFORE_NAME.search(before) or AFTER_NAME.match(after))
    previous = line.split(" ")[-2:][0].lower() if line.endswith(" ") else ""
    if previous in lists["makers"] or IN_TITLE.search(before + word) or re.match(r" of (?:the )?[A-Z]", after):
        return False
    words = WORD.findall(line + word + after.partition("\n")[0])
    common = [other for other in words if other.lower() in lists["english"] and other != "I"]
    is_heading = sum(other[0].isupper() for other in common) > max(1, len(common) / 2)
    return not is_heading


def is_person(word: str, before: str, after: str, speaks: bool) -> bool:
    """Whether a word that is also a given name ("Will", "grace") is one here."""
    if TOLD.search(before):
        return is_capitalised(word) or not re.match(r"\s(?:you|u|i|it|that|this|to|the|a)\b", after, re.IGNORECASE)
    if NO_PERSON.search(before):
        return False
    if not is_capitalised(word):
        return not is_common(word) and bool(re.match(SAYS, after))
    begins = BEGINS.search(before) and SPOKEN_TO.match(after)
    return bool(speaks or begins or IS_KIN.search(before) or AFTER_NAME.match(after))


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
    return {key: frozenset(words.split()) for key, words in shipped_yaml(WORDS).items() if isinstance(words, str)}

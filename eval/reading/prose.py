"""What the prose of a judge claims, clause by clause, in texts in which every mention of an option is one character.

An option is claimed where it is announced ("my verdict is B"), chosen ("I prefer B"), preferred ("B is better") or stands alone. What
the judge tells of others, supposes, asks, concedes or denies is no claim. A clause that fits no frame says nothing.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import yaml

# In a marked text option i is chr(FIRST + i); with a noun, as in "Response B", chr(NOUN + i); in "[[B]]" chr(BRACKETED + i).
FIRST, BRACKETED, NOUN = 0xE000, 0xE800, 0xF000
M, NO_M = "[\ue000-\uf8ff]", "[^\ue000-\uf8ff]"
GAP = "[^\\w\ue000-\uf8ff]*"
LEXICON = yaml.load(
    Path(__file__).with_name("words.yaml").read_text(encoding="utf-8"), yaml.BaseLoader
)  # "no" is a word


@lru_cache
def words(name: str) -> str:
    """A pattern of the words of an entry of the lexicon."""
    listed = sorted(re.split(r",\s+", LEXICON[name]), key=len, reverse=True)
    return f"(?:{'|'.join(map(whole_word, listed))})"


def whole_word(entry: str) -> str:
    """A pattern that begins and ends where a word does, in scripts that set blanks between words."""
    if entry[0] == "{" and entry[-1] == "}":
        return words(entry[1:-1])
    pattern = re.sub(r"\{([a-z]+)\}", lambda name: words(name[1]), entry)
    is_spaced = entry[0] < "\u0400" and entry[0] not in ":=-'→"
    return rf"(?<!\w){pattern}(?!\w)" if is_spaced else pattern


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern in which {name} is an entry of the lexicon or a part below, M an option, and NO_M anything else."""
    for name, part in (*PARTS.items(), ("NO_M", NO_M)):
        pattern = pattern.replace(f"{{{name}}}" if name in PARTS else name, part)
    pattern = re.sub(r"\{([a-z]+)\}", lambda name: words(name[1]), pattern)
    return re.compile(re.sub(r"(?<![\w\\])M(?![\w-])", M, pattern))


PARTS = {
    # What ends an option that is said in a frame: "the answer is B (see above)", "I choose B because".
    "END": r"(?=[类组]?[\"')\]]* ?(?:{GAP}$|[,.;:!()|–—]|- |{because})|\) )",
    # Words and marks before an option that stands alone.
    "FILL": rf"(?:{GAP}{{filler}})*+{GAP}",
    "GAP": GAP,
}

SHOWN, FINAL, STATED, BETTER, MORE, UNSURE = 5, 4, 3, 2, 1, 0  # how firmly an option is claimed; SHOWN: "[[A]]"
DENIED, WORSE = -1, -2  # it is not the answer; it is the worse one
# An option that a clause ends with, behind what it stands for: "as a whole: 4", "the second message (B)".
APPOSED = compiled(r"(?:[:→]{FILL}(?P<m>M)|(?:\w|的) ?\({FILL}(?P<n>M)\)){GAP}$")
LESS = r"MNO_M*{worse}NO_M*(?:than|als|que|比) (?P<m>M)"
ALONE = compiled("{FILL}(?P<m>M)(?:{GAP}{behind})*+{GAP}")
LEAD = compiled(
    r"{FILL}(?P<m>M) ?(?P<mark>[,:.;(–—)]|- |-+>|for ){GAP}(?!or |oder |ou |maybe |perhaps |possibly )(?=\w|M)"
)
FRAMES = [
    (level, compiled(frame))
    for level, frame in (
        (FINAL, r"{final}{GAP}(?:{verdict}{GAP})?{is}?{FILL}(?P<m>M){END}"),
        (
            STATED,
            r"{verdict}(?: ?\([^()]*\))?(?: \w+)?(?: (?:to|for|of|that|in|here|on|zu|à|de|a)\b[^.;:\ue000-\uf8ff]{0,60}?)?{GAP}{is}{FILL}(?P<m>M){END}",
        ),
        (STATED, r"^{GAP}(?:better|best|stronger|preferred){GAP}{is}{FILL}(?P<m>M){END}"),
        (STATED, r"(?:{i}\W+(?:[\w'’]+\W+){0,3}?|^{GAP}){choose}(?!\w)[^,;:\ue000-\uf8ff]{0,80}?(?P<m>M){END}"),
        (STATED, r"{i}{GAP}(?:\w+\W+){0,2}?{think}{FILL}(?P<m>M){END}"),
        (STATED, r"^{GAP}{claim} ?{gets}{FILL}(?P<m>M){END}"),
        (STATED, r"{belongs}{FILL}(?P<m>M){END}"),
        (STATED, r"(?<!\w)an? (?P<m>M) is (?:fair|appropriate|justified|right|deserved)"),
        (STATED, r"(?:deserves|merits|earns|receives|gets|得|打){FILL}(?P<m>M){END}"),
        (STATED, r"(?P<m>M) (?:is|ist|est|es) (?:my|the|meine?|die|der|la|mon|ma|mi) (?:\w+ )?(?:{verdict}|{noun})"),
        (STATED, r"(?<!\w)(?:an?|the|eine?|une?) (?:\w+ )?(?P<m>M) {verdict}"),
        (STATED, r"^{GAP}(?P<m>M) ?[>≻]+ ?M"),
        (STATED, r"^{GAP}M ?[<≺]+ ?(?P<m>M)"),
        (
            BETTER,
            r"(?:better|best|right|correct|stronger|superior|winning|preferred|bessere?|beste|richtige|meilleure?|mejor)(?: (?:{noun}|one))? ?{is}{FILL}(?P<m>M){END}",
        ),
        (MORE, r"(?:more|most|plus|más) \w+(?: (?:{noun}|one))? ?{is}{FILL}(?P<m>M){END}"),
        (BETTER, r"(?P<m>M){GAP}(?:\w+ly )?{wins}"),
        (
            BETTER,
            r"(?P<m>M) (?:is|was|ist|est|es) (?:the |\w+ly |much )*(?:better|best|superior|stronger|besser|meilleure?|mejor)(?: (?:{noun}|one))?{END}",
        ),
        (MORE, r"(?P<m>M)(?:'s)?NO_M{0,60}?{more}"),
        (MORE, LESS),
        (WORSE, r"(?P<m>M)(?:'s)?NO_M{0,60}?{worse}(?!NO_M*(?:than|als|que|比) M)"),
        (DENIED, r"(?P<m>M)(?:'s)?NO_M{0,60}?{wrong}"),
        (WORSE, r"{worse}(?: (?:{noun}|one|of \w+))? ?{is}{FILL}(?P<m>M)"),
    )
]
# Of options that are words or letters, but for yes and no and words of truth.
PREDICATE = compiled(
    r"(?:is|are|was|were|remains|seems|be|ist|est|es|as)(?: an?| the)? (?:\w+ly )?(?P<m>M)(?:(?= (?:towards?|the|this|in|of|about|to)(?!\w))|{END})"
)
IS_WORSE = compiled("{worse}|{wrong}")
IN_COUNT = compiled(
    r" (?!(?:is|was|wins?|beats|seems|looks|has|gets|would|ist|est|es|gewinnt|overall|instead|rather|over|for|because)(?!\w))[a-z]"
)  # "2 details"
TRUTH = compiled(
    r"^{GAP}(?:(?P<claim>{claim}){GAP}|(?={not} |(?:{truth}|{untruth}){GAP}$))(?:is|are|seems|appears|ist|est|es|'s|是)? ?(?:(?!part|most|large|near)\w+ly |indeed |in fact )?(?P<not>{not} )?(?:(?P<m>M)|(?P<true>{truth})|{untruth}){END}"
)
OPENS = compiled(
    r"{GAP}(?:(?P<so>{so})|(?:and|und|et|y)(?!\w)|(?P<contrast>(?:but|yet|however|aber|sondern|mais|pero|sino)(?!\w)|但是?)){GAP}"
)
HAS_FINAL, IDIOM = compiled("{final}"), compiled("{idiom}")
TAKES_BACK, CONCEDES = compiled(r"{GAP}{back}(?=\W|$){GAP}"), compiled(r"{GAP}{despite}[^,]*(?:,|$)")
PAIRS = compiled(
    r"(?:(?:neither|either|both|between|whether|from|weder|entre|zwischen) )?(?:the )?"
    r"(?:M, ?)*M,? ?(?:(?:and|or|nor|to|/|vs\.?|versus|&|und|oder|ou|o|et|y|ni|noch|bis|或|和|与)+ ?(?:the )?M)+"
)
INSTEAD = compiled(r"[,(]* ?(?:and )?(?P<how>{instead}) (?:the )?(?P<m>M)")
IS_LESS = compiled(LESS)
IF, NOT, SPEAKER, SAYS, REPORTED = (compiled(f"{{{name}}}") for name in ("if", "not", "speaker", "says", "reported"))
COMMON = " ".join(LEXICON[name] for name in ("verdict", "noun", "claim", "filler", "i"))  # no names of speakers
OWN = compiled(r"(?:^|, ?)(?:{so} )?(?:{i}|my|meine?|mon|ma|mi|我的)(?!\w)")
AGREES = compiled(r"{i} (?:\w+ ){0,3}(?:agree|concur|side)")

SENTENCE = re.compile(
    r"(?<!\bdr)(?<!\bprof)(?<!\bmr)(?<!\bmrs)(?<!\bvs)(?<!\bno)(?<=[.!?;])[\"')\]]*\s+|(?<=[。])|\s*\n\s*"
)
CLAUSE = compiled(
    r", ?(?=(?:so|thus|hence|therefore|however|yet|which|and i|aber|sondern|also|weil|denn|mais|donc|car|pero|así|porque|sino)(?!\w))"
    r"|,? (?=(?:but|because|since|though|although|even though|obwohl|aunque)(?!\w))|,? ?(?=因此|所以|但|因为)| ?[–—→]+ ?| -+ | ?[-=]+> ?"
)


class Claim(NamedTuple):
    """An option that is claimed."""

    place: int
    level: int  # how firmly
    line: int
    kind: str  # "alone", "label" or "stated"
    is_noun: bool  # "Response A", which may be a heading, and not "A"
    takes_back: bool  # what was claimed before it


class Framing:
    """A text of the prompt that a reply may quote: what it says, and who says it there."""

    def __init__(self, marked: str) -> None:
        self.words = " ".join(re.findall(r"\w+", marked))
        before = [sentence[: says.start()] for sentence in SENTENCE.split(marked) if (says := SAYS.search(sentence))]
        names = {name for text in before for name in re.findall(r"\w{4,}", text)} - set(re.findall(r"\w+", COMMON))
        self.speakers = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def repeats(self, clause: str) -> bool:
        """Whether a clause of some words stands in it."""
        repeated = re.findall(r"\w+", clause)
        return len(repeated) > 3 and " ".join(repeated) in self.words


def place_of(mention: str) -> int:
    """The option that a character stands for."""
    return (ord(mention) - FIRST) % (BRACKETED - FIRST)


class Prose:
    """What a text claims and denies, in its order."""

    def __init__(self, lines: list[str], options: "Options", framing: Framing) -> None:
        """lines: marked, in lower case."""
        self.options, self.framing = options, framing
        self.claims: list[Claim] = []
        self.denied: dict[int, int] = {}  # place → number of claims before the denial
        self.takes_back = False  # whether the next claim takes back those before it
        self.doubted: set[int] = set()  # options that are mentioned behind a take-back, and not claimed
        for line, text in enumerate(lines):
            for n, sentence in enumerate(filter(None, SENTENCE.split(text))):
                is_told = False
                for m, clause in enumerate(filter(None, CLAUSE.split(sentence))):
                    begins = "" if m else "sentence" if n else "line"
                    is_told = self.read(" ".join(clause.split()), line, is_told, begins)

    def read(self, clause: str, line: int, is_told: bool, begins: str) -> bool:
        """Takes a clause in; whether it, or what stands before it (is_told), tells what others say.

        begins: what the clause begins, "line", "sentence" or nothing.
        """
        while taken := TAKES_BACK.match(clause):
            self.takes_back, clause = True, clause[taken.end() :]
        so = False
        if opens := OPENS.match(clause):
            clause, is_told, so = clause[opens.end() :], is_told and not opens["contrast"], opens["so"] is not None
        clause = CONCEDES.sub("", clause) if CONCEDES.match(clause) else clause
        if self.takes_back:
            self.doubted |= set(map(place_of, re.findall(M, clause)))
        if clause.rstrip("\"') ").endswith("?") or self.framing.repeats(clause):
            return is_told
        told_level = UNSURE if so else None  # of what follows from what others say
        if alone := ALONE.fullmatch(clause):
            self.claim(alone["m"], FINAL if HAS_FINAL.search(clause) else STATED, line, "alone", is_told, told_level)
            return is_told
        clause = PAIRS.sub("", IDIOM.sub("", clause))
        if self.options.is_scale and not APPOSED.search(clause) and len({*re.findall(M, INSTEAD.sub("", clause))}) > 1:
            return is_told
        if begins and not is_told and (lead := LEAD.match(clause)) and (begins == "line" or lead["mark"] == ","):
            is_item = lead["mark"] == ")" and self.options.is_numbers
            self.claim(lead["m"], UNSURE if is_item else STATED, line, "label" if begins == "line" else "stated")
            return self.read(clause[lead.end() :], line, is_told, "sentence")
        if not is_told and (apposed := APPOSED.search(clause)) and not self.tells(clause[: apposed.start()], clause):
            mention = apposed["m"] or apposed["n"]
            if not (IS_WORSE.search(clause[: apposed.start()]) and self.deny(mention, line)):
                self.claim(mention, BETTER, line, "stated")
        polar = self.options.polar
        if (
            polar
            and (truth := TRUTH.match(clause))
            and not (truth["m"] and ((self.options.is_short and not truth["claim"]) or SPEAKER.search(clause)))
        ):
            says = place_of(truth["m"]) == polar[0] if truth["m"] else truth["true"] is not None
            mention = chr(FIRST + polar[says == (truth["not"] is not None)])
            self.claim(mention, STATED, line, "stated", is_told, told_level)
            return is_told
        if not IS_LESS.search(clause):
            for instead in INSTEAD.finditer(clause):
                if NOT.match(instead["how"]):
                    self.denied[place_of(instead["m"])] = len(self.claims)
            clause = INSTEAD.sub("", clause)
            if ALONE.fullmatch(clause):
                return self.read(clause, line, is_told, begins)
        self.read_frames(clause, line, is_told, told_level)
        return is_told or bool(self.tells(clause, clause) and (SAYS.search(clause) or REPORTED.search(clause)))

    def read_frames(self, clause: str, line: int, is_told: bool, told_level: int | None) -> None:
        """What the frames of a clause claim and deny."""
        for level, frame in FRAMES if self.options.is_numbers else [*FRAMES, (BETTER, PREDICATE)]:
            for framed in frame.finditer(clause):
                place, said = place_of(framed["m"]), clause[: framed.end()]
                if frame is PREDICATE and (place in self.options.common or IS_WORSE.search(said)):
                    continue
                if self.options.is_numbers and framed["m"] < chr(BRACKETED) and IN_COUNT.match(clause, framed.end("m")):
                    continue
                if IF.search(clause if level in (BETTER, MORE) else said) or self.tells(
                    clause[: framed.start("m")], clause
                ):
                    continue
                if level == WORSE and not NOT.search(said):
                    self.deny(framed["m"], line)
                elif level in (WORSE, DENIED) or NOT.search(said):
                    self.denied[place] = len(self.claims)
                else:
                    self.claim(framed["m"], level, line, "stated", is_told, told_level)

    def deny(self, mention: str, line: int) -> bool:
        """Of two options the other one is claimed, if not firmly, where this one is the worse; whether there are two."""
        self.denied[place_of(mention)] = len(self.claims)
        is_either = len(self.options.symbols) == 2
        if is_either:
            self.claim(chr(FIRST + 1 - place_of(mention)), MORE, line, "stated")
        return is_either

    def claim(
        self, mention: str, level: int, line: int, kind: str, is_told: bool = False, told_level: int | None = None
    ) -> None:
        """One more claim, of what others say (is_told) at told_level at most; a take-back before it is done with."""
        if is_told and told_level is None:
            return
        level = UNSURE if is_told else SHOWN if BRACKETED <= ord(mention) < NOUN else level
        self.claims.append(Claim(place_of(mention), level, line, kind, mention >= chr(NOUN), self.takes_back))
        self.takes_back, self.doubted = False, set()

    def tells(self, before: str, clause: str) -> bool:
        """Whether what stands in a clause behind `before` is what somebody else says."""
        if AGREES.search(clause) and not NOT.search(clause):
            return False
        speakers = [*SPEAKER.finditer(before)]
        if self.framing.speakers:
            speakers += self.framing.speakers.finditer(before)
        told_before = max((speaker.end() for speaker in speakers), default=-1)
        behind = clause[len(before) :]
        if told_before < 0:
            return bool(REPORTED.search(clause) or (SAYS.search(behind) and SPEAKER.search(behind)))
        own = [match for match in OWN.finditer(before) if match.start() >= told_before]
        return not own or bool(re.search(f"{SAYS.pattern}[,:]? ?$", before[: own[-1].start()]))

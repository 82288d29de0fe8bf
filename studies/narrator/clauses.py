"""Sentences of named_text → whom they name as the one who attacked or is to blame, by the words of blame.yaml.

The words of a sentence become symbols, one character for each class of words; its clauses are read by frames over them.
"""

import re
from typing import NamedTuple

from eval.reading.vocabulary import Vocabulary
from studies.narrator.names_in_text import ALL, FIRST, LETTER, NAME, NOT_LISTED, SPEC, Names
from studies.narrator.prompts import ME

MOST_LETTERS = 400  # of a sentence; a longer one loops
SENTENCE = re.compile(r"([.!?…؟]+)[\"')\]]*(?=\s|$)|([。！？])|\n+")
# A main clause that a cut sentence goes on to explain; one that a concession opens is not finished.
FINISHED = re.compile(
    r"(?!\W*(?:while|although|though|despite|if|because|since|when|even|as)\b)((?:[^,;:()—–]+, )?[^,;:()—–]+?)"
    r"(?:[,;]? (?:because|since|due to|after|by|for) |, (?:who|which|as|by|after|when) |;)"
)
SYMBOLS = {kind: chr(0x2500 + i) for i, kind in enumerate(["other", *SPEC["words"]])}


def spaced(pattern: str) -> str:
    """A pattern with what its capitals stand for; its blanks are any, and none where a line ends with "|"."""
    for word in ("STEM", "PRAISE", "DECIDE"):
        pattern = pattern.replace(word, SPEC[word.lower()])
    return re.sub(r"\| ", "|", pattern).replace("NAME", NAME).replace(f"{NAME}S", f"{NAME}+").replace(" ", r"\s+")


def words_of(listed: str) -> str:
    """A pattern of the words or phrases of a list, as whole words."""
    return rf"(?<!{LETTER})(?:{spaced(listed.replace(', ', '|'))})(?!(?<={LETTER}){LETTER})"


def lexicon(classes: dict[str, str]) -> re.Pattern[str]:
    """A pattern that finds the words and marks of a sentence, each in the group of its class."""
    kinds = [f"(?P<{kind}>{classes[kind] if kind in MARKS else words_of(classes[kind])})" for kind in SPEC["words"]]
    return re.compile(rf"(?P<names>{NAME})|{'|'.join(kinds)}|(?P<other>{LETTER}+(?:['-]{LETTER}+)*|\w)")


def filled(pattern: str) -> str:
    """A pattern over symbols, its words replaced: by a part, or by the symbol of a class."""

    def replaced(word: re.Match[str]) -> str:
        kind = word["kind"]
        return PARTS.get(kind) or SYMBOLS[kind] if kind else word[0].strip()

    return re.sub(r"\(\?P?<\w+>|\(\?\(\w+\)|(?P<kind>[A-Za-z_]+)|\s+", replaced, pattern)


FIRM = f"{SYMBOLS['worse']}|{SYMBOLS['more']}[{SYMBOLS['bad']}{SYMBOLS['attack']}{SYMBOLS['blame']}]"
OTHERS = {ord(NOT_LISTED): "somebody", ord(ALL): "both"}
BLAME = Vocabulary(SPEC["choice"])
MARKS = ("strong", "comma", "gen")
LEXICONS = [lexicon(SPEC["words"]), lexicon({**SPEC["words"], **SPEC["foreign"]})]
PARTS = {"any": ".", "other": f"[{SYMBOLS['other']}{SYMBOLS['work']}]", "names": f"(?:{NAME}+)"}
for _name, _part in SPEC["parts"].items():
    PARTS[_name] = f"(?:{filled(_part)})"
FRAMES = [(kind, re.compile(filled(text))) for frame in SPEC["frames"] for kind, text in frame.items()]
CUTS = {name: re.compile(filled(text)) for name, text in SPEC["cuts"].items()}
PHRASES = {name: words_of(phrases) for name, phrases in SPEC["phrases"].items()}
PATTERNS = {
    name: re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for name, pattern in (PHRASES | {name: spaced(pattern) for name, pattern in SPEC["patterns"].items()}).items()
}


class Said(NamedTuple):
    """What a sentence says: runs of the characters of named_text."""

    named: str
    denied: str = ""  # NOT_LISTED: that anybody did it
    concludes: bool = False
    is_firm: bool = False


def symbols(text: str) -> str:
    """The names of a text, and the classes of its words in the language that knows most of them."""
    readings = [[(word.lastgroup, word[0]) for word in pattern.finditer(text)] for pattern in LEXICONS]
    read = max(readings, key=lambda parts: sum(kind not in ("names", "other", *MARKS) for kind, _ in parts))
    return "".join(word if kind == "names" else SYMBOLS[str(kind)] for kind, word in read if kind != "skip")


def praised_in(text: str) -> bool:
    """Whether a text says of anybody that they were the victim, or calm."""
    return re.search(f"[{SYMBOLS['victim']}{SYMBOLS['good']}]", symbols(text)) is not None


def sentences(text: str, is_cut: bool = False) -> list[str]:
    """The beginnings of the sentences of a text that state something.

    is_cut: the last one, which no mark ends, is its main clause, if that is finished.
    """
    pieces = SENTENCE.split(text)
    marks = [*(mark or "" for mark in pieces[1::3]), ""]
    cut = [(piece.strip()[:MOST_LETTERS], mark) for piece, mark in zip(pieces[::3], marks, strict=True)]
    if is_cut and cut:
        finished = FINISHED.match(cut.pop()[0])
        cut += [(finished[1], "")] if finished else []
    return [piece for piece, mark in cut if piece.strip(" \t\"'.,|") and "?" not in mark]


def with_persons(sentence: str, names: Names) -> str:
    """A sentence of named_text in which the judge's opinion is gone and the first and second person are Me."""
    text = PATTERNS["not_only"].sub(r"\1 and \2", PATTERNS["no_doubt"].sub("", sentence))
    text = PATTERNS["opinion"].sub("", PATTERNS["none_but"].sub("", text))
    is_two = PATTERNS["first_person"].search(text) and PATTERNS["second_person"].search(text)  # only one of them is Me
    me = chr(FIRST + names.options.index(ME)) if ME in names.options and not is_two else NOT_LISTED
    text = PATTERNS["self"].sub(me, PATTERNS["own"].sub(f"{me}'s", text))
    text = PATTERNS["all_good_but"].sub(r"\g<a>\g<b> is rude", text)
    text = PATTERNS["everybody"].sub(ALL, PATTERNS["everybody_but"].sub(NOT_LISTED, text))
    return PATTERNS["titled"].sub(r"\1", text).strip()


def read_clause(clause: str) -> tuple[str, str]:
    """(whom a clause of symbols names, whom it denies)."""
    kind, place = next(((kind, place) for kind, frame in FRAMES if (place := frame.match(clause))), ("nothing", None))
    if place is None:
        return "", ""
    groups = place.groupdict("")
    subject, agent = groups.get("name", "") + groups.get("of", ""), groups.get("agent", "") + groups.get("whose", "")
    who = agent or subject
    if kind == "names" and (another := CUTS["another"].search(clause, place.end())):
        return who + "".join(re.findall(NAME, another[0])), ""  # somebody else's attack is spoken of too
    if kind == "names" and CUTS["negation"].search(place[0]):
        kind = "denies"
    return {"names": (who, ""), "denies": ("", who), "than": (agent, ""), "nobody": ("", NOT_LISTED)}.get(
        kind, ("", "")
    )


def read_sentence(text: str, concludes: bool = False) -> Said:
    """What one sentence of with_persons says of who attacked or is to blame."""
    sentence, denied = without_contrasts(symbols(PATTERNS["label"].sub(" is ", text)))
    if SYMBOLS["if"] in sentence:
        return Said("", denied)
    clauses = clauses_of(listed(sentence))
    named = conceded = subject = ""
    for i, (clause, _) in enumerate(clauses):
        lead = CUTS["lead"].match(clause)
        rest = clause[lead.end() :] if lead else clause
        before = clauses[i - 1][0] if i else ""
        is_explained = CUTS["bare"].fullmatch(before) is not None and stands_for_itself(clauses, i - 1)
        if lead and lead["because"] and not is_explained:
            continue  # "after Ann's insult"
        if CUTS["bare"].fullmatch(rest) and not stands_for_itself(clauses, i):
            if denied and CUTS["turns"].match(clause):  # "not Ann but Bob"
                named += "".join(re.findall(NAME, rest))
            elif i == len(clauses) - 1:  # "You were rude, Ann."
                return Said("", denied)
        else:
            names, denies = read_clause(with_subject(rest.rstrip(SYMBOLS["and"]), before, subject))
            if (named or i == 0) and not names + denies and CUTS["counters"].match(clause):
                names = "".join(re.findall(NAME, clause))  # no frame fits, but it may outdo what was said
            if lead and (lead["despite"] or (lead["while"] and not i)) and not re.search(FIRM, clause):
                conceded, names = conceded + names, ""
            elif CUTS["too"].match(rest):
                named += conceded
            outdoes = names and len(named) < 2 and CUTS["outdoes"].match(clause)  # "Ann was bad, but Bob was worse"
            named, denied = names if outdoes else named + names, denied + denies
        if about := CUTS["about"].match(rest):
            subject = about["name"] or about["of"]
    return Said(named or conceded, denied, concludes, re.search(FIRM, sentence) is not None)


def without_contrasts(sentence: str) -> tuple[str, str]:
    """(symbols without those whom they contrast with the one they name, these)."""
    denied = "".join(re.findall(NAME, "".join(contrast[0] for contrast in CUTS["contrast"].finditer(sentence))))
    is_one = len(re.findall(NAME, sentence)) == len(denied)
    return (sentence, "") if is_one else (CUTS["contrast"].sub("", sentence), denied)


def listed(sentence: str) -> str:
    """Symbols in which the names of a list are one run, unless the last of them begins a clause of its own."""
    position = 0
    while pair := CUTS["pair"].search(sentence, position):
        position = pair.start("second")
        if CUTS["fronted"].search(sentence[: pair.start()]) or not CUTS["begins"].match(sentence, position):
            position = pair.start()
            sentence = f"{sentence[:position]}{pair['first']}{pair['second']}{sentence[pair.end() :]}"
    return sentence


def clauses_of(sentence: str) -> list[tuple[str, bool]]:
    """(clause, whether a mark stronger than a comma ends it) of the symbols of a sentence."""
    marks = [*CUTS["cut"].finditer(sentence)]
    starts, stops = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(sentence)]
    strong = [*(bool(mark["strong"]) for mark in marks), False]
    return [(sentence[s:e], mark) for s, e, mark in zip(starts, stops, strong, strict=True) if s < e]


def stands_for_itself(clauses: list[tuple[str, bool]], i: int) -> bool:
    """Whether a name that is a clause is an answer, and not a name that is spoken to or said something about."""
    if i > 0:
        return i == len(clauses) - 1 and clauses[i - 1][1] and not CUTS["no_attacker"].search(clauses[i - 1][0])
    if len(clauses) == 1:
        return True
    is_explained = clauses[0][1] or (
        CUTS["explaining"].match(clauses[1][0]) is not None and all(mark for _, mark in clauses[1:-1])
    )
    return is_explained and CUTS["no_attacker"].match(clauses[1][0]) is None


def with_subject(clause: str, before: str, subject: str) -> str:
    """A clause with the subject that it leaves out: "Ann, who attacked Bob", "and attacked Bob"."""
    if relative := CUTS["relative"].match(clause):
        names = re.search(f"{NAME}+$", before)
        genitive = "" if relative[0] == SYMBOLS["who"] else SYMBOLS["gen"]
        return f"{names[0]}{genitive}{clause[relative.end() :]}" if names else ""
    return subject + clause if CUTS["verb"].match(clause) else clause


def explains(turn: re.Match[str]) -> bool:
    """Whether what stands behind "Ann:" is said about Ann, and is not Ann's turn."""
    about = symbols(re.sub(r"^(?:he|she|they)\b", "", re.sub(r"^(?:his|her|their)\b", "'s", turn["words"])))
    return bool(read_clause(turn["names"] + about)[0])


def says_yes(text: str, is_cut: bool) -> list[bool]:
    """What prose says of detection, True for yes: its sentences' "yes" and "no", and whether an attack ends it.

    What speakers say, conditions, double negations and other parts of the conversation say nothing. Behind a
    correction or a conclusion, the last word counts.
    """
    answers: list[bool] = []
    for sentence in sentences(text, is_cut):
        if PATTERNS["denial"].match(sentence):
            answers.append(False)
        elif not PATTERNS["supposes"].search(sentence):
            values = [word["yes"] is not None for word in PATTERNS["yes_or_no"].finditer(sentence)]
            if PATTERNS["turns_around"].search(sentence):
                answers = values[-1:]
                continue
            answers += values
            for part in re.split("[,;]", PATTERNS["opinion"].sub("", sentence)):
                if not PATTERNS["leaves_open"].search(part):
                    for clause, _ in clauses_of(symbols(part)):
                        is_no = CUTS["says_no"].match(clause) is not None
                        answers += [not is_no] if is_no or CUTS["says_yes"].match(clause) else []
    return answers

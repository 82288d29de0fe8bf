"""Sentences of a reply → whom they name as the one who attacked or is to blame, and whom they deny.

A sentence is split into clauses, and each is read by the first frame of blame.yaml that it begins with. Negation holds
in its clause, a clause without a subject takes that of the one before, and what is conceded ("although Bob began") is
read where the main clause names nobody. A clause that no frame fits says nothing: a lost name is better than a wrong
one.
"""

import re
from pathlib import Path
from typing import NamedTuple

import yaml

from eval.narrator.names import ALL, FIRST, NAME, NAMES, NOT_LISTED, Names
from studies.narrator.prompts import ME

MOST_LETTERS = 400  # of a sentence; a longer one loops
SENTENCE = re.compile(r"([.!?…。！？؟]+)[\"')\]]*(?=\s|$)|\n+")
SPEC = yaml.safe_load(Path(__file__).with_name("blame.yaml").read_text(encoding="utf-8"))
PARTS = {"NAMES": NAMES, "ELSE": f"[^{NAME[1:]}"}


def filled(pattern: str) -> str:
    """A pattern of blame.yaml with what its <WORD>s stand for."""
    return re.sub(r"<([A-Z_]+)>", lambda word: PARTS[word[1]], pattern)


for _name, _words in SPEC["words"].items():
    _listed = sorted(filled(_words).split(", "), key=len, reverse=True)
    PARTS[_name] = f"(?:{'|'.join(_listed)})".replace(" ", r"\s+")
for _name, _part in SPEC["parts"].items():
    PARTS[_name] = f"(?:{filled(_part)})"
HOW = re.VERBOSE | re.IGNORECASE | re.MULTILINE
PATTERNS = {name: re.compile(filled(pattern), HOW) for name, pattern in SPEC["patterns"].items()}
FRAMES = [(kind, re.compile(filled(text), re.VERBOSE)) for frame in SPEC["frames"] for kind, text in frame.items()]


class Said(NamedTuple):
    """What a sentence says: runs of the characters of named_text."""

    named: str
    denied: str  # NOT_LISTED: that anybody did it
    conceded: str = ""  # named, but given way to what is named elsewhere
    is_answer: bool = False  # it begins with a name that stands for the answer


def sentences(text: str) -> list[str]:
    """The beginnings of the sentences of a text that state something; of questions those that are a name alone."""
    pieces = [*SENTENCE.split(PATTERNS["answered_no"].sub(r"not \1", text)), None]
    cut = [(piece or "").strip()[:MOST_LETTERS] for piece in pieces[::2]]
    return [
        piece
        for piece, mark in zip(cut, pieces[1::2], strict=True)
        if piece.strip(" \t\"'.,") and ("?" not in (mark or "") or PATTERNS["bare"].match(piece))
    ]


def with_persons(sentence: str, names: Names) -> str:
    """A sentence of named_text in which the judge's opinion is gone and the first and second person are Me."""
    text = PATTERNS["denied_opinion"].sub(" not so that ", PATTERNS["no_doubt"].sub("", sentence))
    text = PATTERNS["opinion"].sub("", text)
    is_two = PATTERNS["first_person"].search(text) and PATTERNS["second_person"].search(text)  # only one of them is Me
    me = chr(FIRST + names.options.index(ME)) if ME in names.options and not is_two else NOT_LISTED
    text = PATTERNS["self"].sub(me, PATTERNS["own"].sub(f"{me}'s", text))
    text = PATTERNS["everybody"].sub(ALL, PATTERNS["everybody_but"].sub(NOT_LISTED, text))
    return PATTERNS["titled"].sub(r"\1", text).strip()


def read_clause(clause: str) -> tuple[str, str]:
    """(whom a clause names, whom it denies)."""
    kind, place = next(((kind, place) for kind, frame in FRAMES if (place := frame.match(clause))), ("nothing", None))
    if place is None:
        return "", ""
    groups = place.groupdict("")
    subject, agent = groups.get("who", "") + groups.get("of", ""), groups.get("agent", "")
    who = agent or subject
    if kind == "names" and (other := PATTERNS["other"].search(clause, place.end())):
        return who + "".join(re.findall(NAME, other[0])), ""  # somebody else's attack is spoken of too
    if kind == "names" and (groups.get("no") or PATTERNS["negation"].search(place[0])):
        kind = "denies"
    says = {"names": (who, ""), "denies": ("", who), "than": (agent, ""), "alike": (subject + agent, "")}
    return {**says, "nobody": ("", NOT_LISTED), "nothing": ("", "")}[kind]


def read_sentence(text: str) -> Said:
    """What one sentence of with_persons says of who attacked or is to blame."""
    text, denied = without_contrasts(PATTERNS["label"].sub(" is ", PATTERNS["options"].sub("", text)))
    parts = clauses_of(listed(text))
    named = conceded = subject = ""
    is_answer = False
    for i, (clause, _) in enumerate(parts):
        if concedes := PATTERNS["conceding"].match(clause):
            clause = clause[concedes.end() :]
        elif PATTERNS["skipped"].match(clause):
            continue
        is_bare = PATTERNS["bare"].match(clause) is not None
        if is_bare and not concedes and not stands_for_itself(parts, i):
            if i == len(parts) - 1:  # "You were rude, Ann."
                return Said("", denied)
        else:
            clause = with_subject(clause, parts[i - 1][0] if i else "", subject)
            says, denies = read_clause(clause)
            named, conceded = (named, conceded + says) if concedes else (named + says, conceded)
            denied += denies
            is_answer |= i == 0 and is_bare and bool(says) and not concedes
        if about := PATTERNS["about"].match(clause):
            subject = about["who"] or about["of"]
    return Said(named, denied, conceded, is_answer)


def without_contrasts(text: str) -> tuple[str, str]:
    """(a sentence without those whom it contrasts with the one it names, these)."""
    denied: list[str] = []

    def taken(contrast: re.Match[str]) -> str:
        denied.extend(re.findall(NAME, contrast[0]))
        return " "

    text = PATTERNS["none_but"].sub("", PATTERNS["not_only"].sub(r"\1 and \2", text))
    text = PATTERNS["not_after"].sub(taken, PATTERNS["not_but"].sub(taken, text)) if re.search(NAME, text) else text
    return text.strip(" ,"), "".join(denied)


def listed(text: str) -> str:
    """A sentence in which the names of a list are one run, unless the last of them begins a clause of its own."""
    position = 0
    while pair := PATTERNS["listed"].search(text, position):
        begins = PATTERNS["begins_clause"].match(text, pair.start("second"))
        if (begins and not PATTERNS["fronted"].search(text[: pair.start()])) or not pair["by"].strip():
            position = pair.start("second")
        else:
            position = pair.start()
            text = f"{text[:position]}{pair['first']}{pair['second']}{text[pair.end() :]}"
    return re.sub(rf"\b(?:both|either)\s+(?={NAME})", "", text)


def clauses_of(text: str) -> list[tuple[str, bool]]:
    """(clause, whether a mark stronger than a comma ends it) of a sentence."""
    marks = [*PATTERNS["clauses"].finditer(text)]
    starts, ends = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(text)]
    strong = [*(bool(mark["strong"]) for mark in marks), False]
    cut = [(text[start:end].strip(), mark) for start, end, mark in zip(starts, ends, strong, strict=True)]
    return [(clause, mark) for clause, mark in cut if clause]


def stands_for_itself(parts: list[tuple[str, bool]], i: int) -> bool:
    """Whether a name that is a clause is an answer, and not a name that is spoken to or said something about."""
    if i > 0:
        return i == len(parts) - 1 and (parts[i - 1][1] or PATTERNS["opening"].match(parts[i - 1][0]) is not None)
    if len(parts) == 1:
        return True
    behind = parts[1][0]
    is_explained = parts[0][1] or PATTERNS["explaining"].match(behind) is not None
    return is_explained and PATTERNS["victim"].match(behind) is None


def with_subject(clause: str, before: str, subject: str) -> str:
    """A clause with the subject that it leaves out: "Ann, who attacked Bob", "and attacked Bob"."""
    if relative := PATTERNS["relative"].match(clause):
        names = re.search(rf"{NAMES}$", before)
        genitive = "'s" if relative[0].startswith("whose") else ""
        return f"{names[0]}{genitive} {clause[relative.end() :]}" if names else ""
    clause = PATTERNS["connective"].sub("", clause, count=1) if PATTERNS["connective"].match(clause) else clause
    return f"{subject} {clause}" if subject and PATTERNS["verb"].match(clause) else clause

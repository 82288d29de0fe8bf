"""Sentences of a reply → whom they name: split into clauses, each read by itself (clauses.py), and put together.

Negation holds in its clause, a clause without a subject takes that of the one before, and what is conceded ("although
Bob began") gives way to the main clause.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eval.narrator.blame_words import ADVERB, ATTACKS, AUX, CALLS, DEEDS, NOBODY, VICTIM, WITH_AN_ATTACK
from eval.narrator.clauses import BARE, Clause, read_clause
from eval.narrator.named_text import ALL, NAME, NAMES

MOST_LETTERS = 400  # of a sentence; a longer one loops
SENTENCE = re.compile(r"([.!?…。！？؟]+)[\"')\]]*(?=\s|$)|\n+")
VERB = rf"(?:(?:{ADVERB}|not|never)\s+)*(?:{AUX}|{ATTACKS}|{WITH_AN_ATTACK}|{CALLS}|cross(?:es|ed)?|said|behaved)\b"
ABOUT_NAME = rf"{NAMES}(?:'s(?:\s+\w+){{1,3}}?)?\s+(?:{VERB}|(?:the|a)\s+{VICTIM})"
# "A and B", "A, B and C": names that stand in one place
LISTED = re.compile(
    rf"(?P<first>{NAMES})\s*(?P<by>(?:[,،、;/&+]|\b(?:and|or|as\s+well\s+as|also|maybe|perhaps|et|y|und|ou|oder|nor)\b|\s)+)"
    rf"\s*(?P<second>{NAMES})"
)
CLAUSES = re.compile(
    rf"""\s*(?P<strong>[;:()|—–]|\s-+\s)\s* | \s*[,،，](?:\s|$)\s*
      | \s+(?=(?:but|while|whereas|although|though|because|whether|if|due\s+to)\b)
      | \s+(?=(?:after|before|when|since|until|once|so)\s+(?:{NAMES}|(?:he|she|they|it)\b))
      | \s+(?=as\s+(?:{ABOUT_NAME}|(?:he|she|they|it)\b))
      | \s+(?=compared\s+(?:to|with)\b)
      | \s+(?=for\s+(?!nothing\b)\w+ing\b) | \s+and\s+(?=(?:then\s+|also\s+)?(?:{ABOUT_NAME}|{VERB}))""",
    re.VERBOSE,
)
# "not A but B", "A, not B", "A rather than B": who is denied beside who is named
NOT_BUT = re.compile(
    rf"\b(?:not|neither)\s+(?P<denied>{NAMES}(?:\s+nor\s+{NAMES})*)\s*(?:,?\s*but\s+(?!also)|,\s*)(?={NAMES})"
)
NOT_ONLY = re.compile(rf"\bnot\s+(?:only|just)\s+({NAMES})\s*,?\s*but\s+(?:also\s+)?({NAMES})")
NOT_AFTER = re.compile(
    rf"(?:,\s*|\s+(?:and|but)\s+)not\s+(?:by\s+|from\s+)?(?P<denied>{NAMES})(?:'s)?"
    rf"|,?\s*\b(?:rather\s+than|instead\s+of|as\s+opposed\s+to|unlike)\s+(?:by\s+)?(?P<other>{NAMES})(?:'s)?"
)
NONE_BUT = re.compile(rf"\b{NOBODY}\s+(?:but|except(?:\s+for)?|other\s+than)\s+(?={NAMES})")
ANSWERED_NO = re.compile(rf"({NAMES}|\b(?:i|me|you))\s*\?\s*no\b")
LABEL = re.compile(rf":\s*(?={NAMES}\s*(?:[.,;]|$))")  # "more problematic: Ann"
OPTIONS = re.compile(r"^options?\s*:\s*")
CONCEDING = re.compile(r"^(?:although|though|while|whereas|even\s+though|despite)\b\s*")
SKIPPED = re.compile(r"(?:whether|if|unlike|compared|who|whose)\b")
CONNECTIVE = re.compile(r"^(?:but|because|since|as|after|before|when|until|once|so|due\s+to)\s+")
RELATIVE = re.compile(rf"(?:(?:who|which|that)\b|whose\s+(?={DEEDS}))\s*")
VERB_FIRST = re.compile(VERB)
# What may stand behind "Ann," where that is the answer, and before ", Ann"
EXPLAINING = re.compile(
    rf"(?:because|since|as|for|due\s+to|weil|parce\s+que|porque|car|потому|因为|لأنه)\b"
    rf"|(?:{ADVERB}|of\s+course)$|(?:in|with|by|at|for)\s+(?:his|her|their|the|{NAMES}'s)\b"
)
OPENING = re.compile(
    r"(?:if|in|based|from|between|given|according|overall|considering|looking|of|among|so|well|sure|okay|but|by)\b"
)


@dataclass(frozen=True, slots=True)
class Said:
    """What a sentence says. Runs of the characters of named_text."""

    named: str = ""
    conceded: str = ""  # named, but given way to what is named elsewhere
    denied: str = ""
    denies: bool = False
    is_answer: bool = False  # it begins with a name that stands for the answer


def sentences(text: str) -> list[str]:
    """The beginnings of the sentences of a text that state something; of questions those that are a name alone."""
    pieces = [*SENTENCE.split(ANSWERED_NO.sub(r"not \1", text)), None]
    stated = [
        piece.strip()[:MOST_LETTERS]
        for piece, mark in zip(pieces[::2], pieces[1::2], strict=True)
        if piece and not ("?" in (mark or "") and not BARE.match(piece.strip()[:MOST_LETTERS]))
    ]
    return [sentence for sentence in stated if sentence.strip(" \t\"'.,")]


def read_sentence(text: str) -> Said:
    """What one sentence of named_text.with_persons says of who attacked or is to blame."""
    text, denied = without_contrasts(LABEL.sub(" is ", OPTIONS.sub("", text)))
    parts = [*clauses_of(listed(text))]
    read: list[tuple[str, Clause]] = []
    for i, (clause, _) in enumerate(parts):
        if CONCEDING.match(clause):
            read.append(("conceded", read_clause(CONCEDING.sub("", clause))))
        elif not SKIPPED.match(clause) or RELATIVE.match(clause):
            is_bare = BARE.match(clause) is not None
            if is_bare and not stands_for_itself(parts, i):
                spoken_to = read_clause(clause).named
                read.append(
                    ("spoken to" if i == len(parts) - 1 else "about", Clause(named=spoken_to, subject=spoken_to))
                )
            else:
                read.append(("main", read_clause(with_subject(clause, parts[:i], read))))
    main = [clause for kind, clause in read if kind == "main"]
    comparing = [clause for clause in main if clause.is_comparison and clause.named]
    named = "".join(c.named for c in (comparing if any(ALL in c.named for c in main) and comparing else main))
    if named:  # "You were rude, Ann."
        named += "".join(clause.named for kind, clause in read if kind == "spoken to")
    conceded = "".join(clause.named for kind, clause in read if kind == "conceded")
    first = parts[0][0] if parts else ""
    return Said(
        named=named,
        conceded=conceded,
        denied=denied + "".join(clause.denied for _, clause in read),
        denies=bool(denied) or any(clause.denies for _, clause in read),
        is_answer=bool(read) and read[0][0] == "main" and BARE.match(first) is not None and bool(read[0][1].named),
    )


def without_contrasts(text: str) -> tuple[str, str]:
    """(a sentence without those whom it contrasts with the one it names, these)."""
    denied: list[str] = []

    def taken(found: re.Match[str]) -> str:
        denied.extend(re.findall(NAME, found[0]))
        return " "

    text = NONE_BUT.sub("", NOT_ONLY.sub(r"\1 and \2", text))
    text = NOT_AFTER.sub(taken, NOT_BUT.sub(taken, text)) if re.search(NAME, text) else text
    return text.strip(" ,"), "".join(denied)


def listed(text: str) -> str:
    """A sentence in which the names of a list are one run, unless the last of them begins a clause of its own."""
    position = 0
    while found := LISTED.search(text, position):
        before, behind = text[: found.start()], text[found.start("second") :]
        is_fronted = (
            re.search(r"(?:^|[;:(,]|\b(?:both|either|neither|that|and|of|by|from|between))\s*$", before) is not None
        )
        begins_clause = re.match(ABOUT_NAME, behind) is not None and not is_fronted
        if begins_clause or not found["by"].strip():
            position = found.start("second")
        else:
            text = f"{before}{found['first']}{found['second']}{text[found.end() :]}"
            position = found.start()
    return re.sub(rf"\b(?:both|either)\s+(?={NAME})", "", text)


def clauses_of(text: str) -> Iterator[tuple[str, bool]]:
    """(clause, whether a mark stronger than a comma ends it) of a sentence."""
    start = 0
    for found in CLAUSES.finditer(text):
        if clause := text[start : found.start()].strip():
            yield clause, bool(found["strong"])
        start = found.end()
    if clause := text[start:].strip():
        yield clause, False


def stands_for_itself(parts: list[tuple[str, bool]], i: int) -> bool:
    """Whether a name that is a clause is an answer, and not a name that is spoken to or said something about."""
    if i > 0:
        return i == len(parts) - 1 and (parts[i - 1][1] or OPENING.match(parts[i - 1][0]) is not None)
    if len(parts) == 1:
        return True
    behind = parts[1][0]
    is_victim = re.match(rf"(?:the\s+)?{VICTIM}\b", behind) is not None
    return (parts[0][1] or EXPLAINING.match(behind) is not None) and not is_victim


def with_subject(clause: str, before: list[tuple[str, bool]], read: list[tuple[str, Clause]]) -> str:
    """A clause with the subject that it leaves out: "who attacked Bob", "and attacked Bob"."""
    relative = RELATIVE.match(clause)
    if relative and before and (names := re.findall(NAMES, before[-1][0])):
        genitive = "'s" if relative[0].startswith("whose") else ""
        return f"{names[-1]}{genitive} {clause[relative.end() :]}"
    clause = CONNECTIVE.sub("", clause, count=1)
    subject = next((of.subject for _, of in reversed(read) if of.subject), "")
    return f"{subject} {clause}" if subject and VERB_FIRST.match(clause) else clause

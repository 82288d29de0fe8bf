"""What the prose of a judge announces, clause by clause, in texts in which every mention of an option is one character.

An option is claimed where it is announced ("my verdict is B"), chosen ("I prefer B"), or stands alone. What the judge
tells of others, supposes, asks or denies is no claim. Any other sentence claims nothing: a lost verdict is better than
a wrong one.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from eval.reading.options import Options
from eval.reading.vocabulary import FIRST, NOUN, SHOWN_AS, M, P, Vocabulary, place_of

# How firmly an option is claimed. One that is alone or leads its line stands against none behind it, "better" against
# none at all; "shown" is "[[A]]".
LEVELS = ("named", "label", "alone", "stated", "asked", "final", "shown")
NAMED, LABEL, ALONE, STATED, ASKED, FINAL, SHOWN = range(7)
LONGEST_CLAUSE = 300  # characters; a longer one claims nothing
# Words that do not tell who speaks in a framing.
COMMON = " ".join(P.words[name] for name in ("verdict", "noun", "claim", "filler", "i"))


class Claim(NamedTuple):
    """An option that is claimed, or only mentioned (level None)."""

    place: int
    level: int | None
    line: int
    is_noun: bool  # "Response A", which may be a heading, and not "A"
    is_contrast: bool  # in a clause that begins with "but"
    is_conclusion: bool = False  # in the last sentence, behind "so"


class Quotable:
    """A text of the prompt that a reply may quote: what it says, and who says it there."""

    def __init__(self, marked: str) -> None:
        self.words = " ".join(re.findall(r"\w+", marked))
        before = [
            sentence[: says.start()]
            for line in marked.splitlines()
            for sentence in P["sentence"].split(line)
            if (says := P["says"].search(sentence))
        ]
        names = {name for text in before for name in re.findall(r"\w{4,}", text)} - set(re.findall(r"\w+", COMMON))
        self.asserts = len(P["told"].findall(marked)) == 1 and not P["doubts"].search(marked)  # that the claim is so
        self.speakers = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def repeats(self, clause: str) -> bool:
        """Whether a clause of some words stands in it."""
        repeated = re.findall(r"\w+", clause)
        return len(repeated) > 3 and " ".join(repeated) in self.words


class Prose:
    """What a text claims and mentions, in its order."""

    def __init__(self, lines: list[str], options: Options, quotable: Quotable, words: Vocabulary) -> None:
        """lines: marked, in lower case."""
        self.options, self.quotable, self.words = options, quotable, words
        self.claims: list[Claim] = []
        self.n_opening, self.has_lines = 0, len(lines) > 1  # claims of the first sentence
        self.may_list = re.match(rf"\W*{M}\W? ?:", "".join(lines[:1])) is not None  # "A: short", and B is to come
        self.begins = re.match(rf"\W*(?!\W*[\uf000-\uf8ff]){M}", "".join(lines[:1])) is not None
        self.claimed_once = lru_cache(maxsize=64)(self.claimed)  # of a model that repeats itself
        self.concludes = self.is_last = False
        for line, text in enumerate(lines):
            is_last_line = line == len(lines) - 1
            sentences = [*filter(None, P["sentence"].split(text))]
            for sentence in sentences:
                self.is_last = is_last_line and sentence is sentences[-1]
                is_told, self.supposes = False, self.words["supposes"].match(sentence) is not None
                for m, clause in enumerate(filter(None, self.words["clause"].split(sentence))):
                    is_told = self.read(" ".join(clause.split()), line, is_told, begins_line=not m)
                if not line and sentence is sentences[0]:
                    self.n_opening = len(self.claims)

    def read(self, clause: str, line: int, is_told: bool, *, begins_line: bool = False) -> bool:
        """Takes a clause in; whether it, or what stands before it (is_told), tells what others say."""
        if len(clause) > LONGEST_CLAUSE:
            self.add(line, re.findall(M, clause))
            return False
        while taken := self.words["takes_back"].match(clause):
            self.claims.clear()
            self.n_opening = 0
            clause, is_told = clause[taken.end() :], False
        opens = self.words["opens"].match(clause)
        is_contrast = bool(opens and opens["contrast"])
        clause = clause[opens.end() :] if opens else clause
        rebuts = is_told and is_contrast
        is_told = is_told and not is_contrast and not self.words["own"].match(clause)
        clause = self.words["concedes"].sub("", clause)
        lead = self.words["lead"].match(self.words["not_that"].sub("", clause)) if begins_line or opens else None
        if lead and not self.words["alone"].fullmatch(clause):
            return self.read_lead(lead, line, is_told=is_told)
        if clause.rstrip("\"') ").endswith("?") or (
            self.quotable.repeats(clause) and not self.words["own"].match(clause)
        ):
            return is_told
        claimed, level = self.claimed_once(self.words["pairs"].sub("", clause))
        is_so = (opens is not None and not is_contrast) or (level == NAMED and re.search(f": ?{M}\\W*$", clause))
        self.concludes = self.is_last and bool(is_so)
        is_judged = self.rights(clause) or self.words["is_so" if opens else "judges"].match(clause)
        if is_told or (self.tells(clause) and not is_judged):
            self.add(line, claimed if is_told and opens else [], is_contrast=True)  # what follows from what others say
            return True
        claimed = [] if level is None and (rebuts or self.words["reason"].match(clause)) else claimed
        is_denial = (is_contrast or (self.options.polar and begins_line)) and self.words["denies"].match(
            clause
        )  # "But it is not."
        if is_denial or (is_contrast and level is None and self.words["unclaimed"].search(clause)):  # "but also not B"
            self.claims.append(Claim(-1, None, line, is_noun=False, is_contrast=bool(claimed or is_denial)))
        is_contrast = is_contrast or self.words["partly"].search(clause) is not None
        self.add(line, claimed, level, is_contrast=is_contrast)
        return False

    def read_lead(self, lead: re.Match[str], line: int, *, is_told: bool) -> bool:
        """Takes in a line that begins with an option, and what it says behind it, which may speak against it."""
        rest, polar, mention = lead.string[lead.end() :], self.options.polar, lead["m"]
        says_true = self.options.says_true(rest) if polar and place_of(mention) in polar else None
        is_list = self.has_lines or (polar and says_true is None and not re.match(rf"\W*{M}", rest))
        is_item = lead["mark"] == ")" and self.options.is_numbers and "(" not in lead[0] and is_list
        goes_on = says_true is not None or self.words["goes_on"].match(rest)
        is_subject = lead["mark"] == "," and self.options.is_short and not goes_on
        is_bad = (is_subject and not self.words["is"].search(lead[0])) or (
            not polar
            and place_of(mention) not in self.options.common
            and self.words["bad_rest"].match(rest) is not None
        )
        self.add(line, [mention], None if is_item or is_bad else LABEL)
        is_told = self.read(rest, line, is_told)
        is_remark = (lead["mark"] == "(" and re.match(r"[^()]*[a-z][^()]*\)", rest)) or self.words["reason"].match(rest)
        self.add(line, [] if is_remark else re.findall(M, rest))
        against = [mention] if is_item or (is_bad and not (is_subject and not re.search(M, rest))) else []
        against += [chr(FIRST + polar[not says_true])] if polar and says_true is not None else []
        self.add(line, against, is_contrast=True)
        return is_told

    def claimed(self, clause: str) -> tuple[list[str], int | None]:
        """The options that a clause claims, and how firmly; or those that it mentions, and None."""
        words, polar = self.words, self.options.polar
        truth = words["is_true"].fullmatch(clause) or self.rights(clause)
        if truth and not truth["claim"]:  # "Right: it is in Rome" agrees with nobody
            is_bare = not truth["not"] and (truth["tail"] or truth["m"])
            truth = None if is_bare or (truth["m"] and self.options.is_short) else truth
        if polar and truth:
            says = place_of(truth["m"]) == polar[0] if truth["m"] else truth["true"] is not None
            return [chr(FIRST + polar[says == (truth["not"] is not None)])], STATED
        clause = words["not_that"].sub("", clause)
        if alone := words["alone"].fullmatch(clause):
            firmly = FINAL if words["final"].search(clause) else STATED if words["verdict"].search(clause) else ALONE
            return [alone["m"]], firmly
        clause = words["counted_number"].sub("", clause) if self.options.is_numbers else clause
        mentions = re.findall(M, clause)
        if len({*mentions}) > 1:
            return mentions, None
        for name, frame in words.frames:
            level, is_other = LEVELS.index(name.split()[0]), name.endswith("other")
            framed = [match for match in frame.finditer(clause) if self.is_claimed(match, level, is_other=is_other)]
            if framed and is_other:
                return [chr(FIRST + 1 - place_of(match["m"])) for match in framed], level
            if framed:
                return [match["m"] for match in framed], level
        if (tail := words["tail"].fullmatch(clause)) and not words["open_head"].search(tail["head"]):
            return self.claimed(tail["tail"])
        return ([] if words["faults"].search(clause) else mentions), None  # "A is wrong" is nothing against B

    def is_claimed(self, framed: re.Match[str], level: int, *, is_other: bool) -> bool:
        """Whether nothing in a clause speaks against the claim that a frame finds in it."""
        words, clause, before = self.words, framed.string, framed.string[: framed.end("m")]
        if level in (NAMED, ASKED) and words["weakened"].search(clause, framed.end("m")):
            return False
        if is_other:
            return len(self.options.symbols) == 2 and not self.options.polar and not words["if"].search(before)
        if level == NAMED and (words["wrong"].search(clause) or words["if"].search(clause)):
            return False
        return not words["unclaimed"].search(before)

    def add(self, line: int, mentions: list[str], level: int | None = None, *, is_contrast: bool = False) -> None:
        """Some options that are claimed or, without a level, mentioned."""
        for mention in mentions:
            if self.supposes:
                level, is_contrast = None, is_contrast or level is not None
            is_shown = level is not None and SHOWN_AS <= ord(mention) < NOUN
            place, is_noun = place_of(mention), mention >= chr(NOUN)
            self.claims.append(Claim(place, SHOWN if is_shown else level, line, is_noun, is_contrast, self.concludes))

    def rights(self, clause: str) -> re.Match[str] | None:
        """A clause that says whether the speaker of a framing, who asserts the claim there, is right."""
        said = self.quotable.asserts and self.words["is_right" if self.tells(clause) else "agrees"].fullmatch(clause)
        is_speaker = said and (not said["who"] or f" {said['who'].replace('you', 'i')} " in f" {self.quotable.words} ")
        return (said or None) if is_speaker else None

    def tells(self, clause: str) -> bool:
        """Whether a clause is what somebody else says."""
        if self.words["own"].match(clause) and not self.words["reported"].search(clause):
            return False
        clause = self.words["aside"].sub("", clause)
        is_named = self.quotable.speakers is not None and self.quotable.speakers.search(clause) is not None
        return is_named or any(self.words[name].search(clause) for name in ("speaker", "reported"))

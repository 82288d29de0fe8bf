"""Sentences of a reply → whom they name as the one who attacked or is to blame, and whom they deny.

A sentence is split into clauses, each read by itself, and put together: negation holds in its clause, a clause without
a subject takes that of the one before, and what is conceded ("although Bob began") gives way to the main clause. A
clause is lower-case text in which each option is one character (names.named_text). Each pattern below is one rule, with
the sentence that it reads.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from eval.narrator.names import ALL, FIRST, NAME, NAMES, NOT_LISTED, Names
from studies.narrator.prompts import ME

# The words by which a reply says who attacked or is to blame, and who was attacked: patterns over lower-case text.


def any_of(words: str) -> str:
    """A pattern for one of the words between commas, which may be patterns themselves; longer ones first."""
    listed = sorted((word.strip() for word in words.split(",")), key=len, reverse=True)
    return f"(?:{'|'.join(listed)})".replace(" ", r"\s+")


# Verbs whose subject attacks and whose object is attacked.
STEM = any_of(
    "attack, insult, offend, mock, belittl, berat, disparag, demean, humiliat, degrad, denigrat, ridicul, threaten, "
    "harass, abus, bull(?:y|i), taunt, vilif(?:y|i), slander, smear, troll, antagoni[sz], disrespect, curs, "
    "mistreat"
)
ATTACKED = rf"{STEM}(?:e?d)"  # participle
ATTACKS = any_of(rf"{STEM}(?:e[sd]?|s|d|ing)?, (?:swears?|swore|swearing) at, lash(?:es|ed)? out, escalate[sd]?")
CALLED = any_of("called(?! (?:out|on|upon|for|in|to)\\b), label(?:l?ed)")
CALLS = any_of(f"{CALLED}, calls, calling, labels?, label(?:l?ing)")  # "called Bob an idiot"

GOOD = any_of("friend, colleague, genius, hero, expert, saint, good, great, fair, day, draw")  # called so in praise

ATTACK = any_of(
    "(?:personal(?:ly)? )?(?:attack|insult|slur|threat|offence|offense|abuse|provocation)s?, name-?calling, "
    "ad hominems?, harassment, hostility, aggression, profanity, disrespect, rudeness"
)

# What a person or behavior is that is to blame.
BAD = any_of(
    "problematic, rude, ruder, rudest, aggressive, hostile, worse, worst, offensive, uncivil, impolite, disrespectful, "
    "insulting, toxic, abusive, confrontational, condescending, inappropriate, unacceptable, nasty, mean, combative, "
    "antagonistic, arrogant, disruptive, provocative, accusatory, belligerent, guilty, bad(?! at), harsh, "
    "bullying, at fault, in the wrong(?! \\w), to blame, responsible(?! for (?!(?:the|this|an?) (?:personal )?"
    "(?:attack|insult|conflict|problem|dispute|escalation))), out of line, uncalled for, the problem"
)
ATTACKER = any_of("attackers?, aggressors?, culprits?, offenders?, perpetrators?, instigators?, bull(?:y|ies), trolls?")
VICTIM = any_of("victims?, targets?, recipients?")

# What of a person is to blame: "Ann's behavior", "the comment by Ann".
DEEDS = any_of(
    "behaviou?r, conduct, comments?, words, tone, language, remarks?, message, reply, response, statements?, actions?, "
    "posts?, attitude, approach"
)
PERSON = any_of("person, one, user, speaker, editor, participant, individual, party, ip, account, side")

BE = any_of("is, was, are, were, am, be, been, being")
AUX = any_of(
    "is, was, are, were, am, be, been, has, have, had, does, did, do, would, could, should, can, may, might, must, will"
)
NOT = r"(?:not(?!\s+(?:only|just)\b)|never|no\s+longer|hardly)"
ADVERB = any_of(
    r"\w+ly, also, then, even, just, indeed, again, first, later, still, always, often, very, quite, so, too, much, far"
)
NOBODY = any_of(r"nobody, no[\s-]one, none(?: of (?:them|the \w+(?: \w+)?))?, neither(?: of (?:them|the \w+))?")

# Verbs that one attacks with: "made a personal attack", "responded with insults", "contains an insult".
WITH_AN_ATTACK = any_of(
    r"ma(?:ke|kes|de|king), us(?:e|es|ed|ing), launch(?:es|ed)?, contain(?:s|ed)?, include[sd]?, constitute[sd]?, "
    r"commit(?:s|ted)?, direct(?:s|ed)?, beg[ia]ns?, start(?:s|ed)?, initiate[sd]?, post(?:s|ed)?, writes?, wrote, "
    r"show(?:s|ed)?, resort(?:s|ed)? to, engage[sd]? in, turn(?:s|ed)? to, end(?:s|ed)? with, "
    r"(?:respond|repl[yi]|answer)(?:s|es|ed)?(?: to \S+)? with"
)

REFUSAL = rf"""
    \bas\ an\ ai\b
  | \b(?:i|we|it|sorry)\b[^,;:]*?\b(?:can|could|will|do|does|would)\s+not\s+(?:be\s+)?
    {
    any_of(
        "answer, say, tell, know, determined?, help, assist, judge, decide, identify, take, provide, assign, choose, "
        "blame, make, see"
    )
}\b
  | \b(?:can|could)\s+not\s+be\s+(?:determined|decided|known|answered|identified)
  | \b(?:un|not\s+)able\s+to\s+(?:\w+\s+)?
    {any_of("answer, say, tell, determine, help, assist, judge, decide, identify, provide, assign, choose")}\b
  | \b(?:not\s+possible|impossible|hard|difficult)\s+to\s+(?:answer|say|tell|determine|judge|decide|identify|know)\b
  | \bi\s+(?:would\s+)?(?:rather|prefer)\s+not\b
  | \bnot\s+enough\s+(?:information|context)\b | \b(?:not\s+clear|unclear)\s+(?:who|whose|which)\b
  | \b(?:transcript|conversation|text|dialogue|information)\b[^,;:]*\b(?:do|does)\s+not\s+
    (?:say|show|tell|state|specify)\b
"""

DOUBLE_NEGATION = re.compile(r"\b(?:there\s+(?:is|can\s+be)\s+)?no\s+doubt(?:\s+about\s+(?:it|that)|\s+that)?\b", re.I)
# What is said of the judge itself: its opinion, and not what it did.
DENYING_FRAME = re.compile(
    r"\b(?:i|we)\s+(?:do|would)\s+not\s+(?:think|believe|say|find)(?:\s+that)?\b"
    r"|\bit\s+is\s+not\s+(?:true|the\s+case|clear)\s+that\b|\bthere\s+is\s+no\s+(?:evidence|sign|indication)\s+that\b"
)
FRAME = re.compile(
    r"\b(?:i|we)\s+(?:(?:would|do|must|have\s+to|can|personally|also|still)\s+)*"
    r"(?:think|believe|say|guess|suppose|conclude|argue|feel|find|consider|see|blame|choose|pick|select|answer|go\s+with)\b(?:\s+that\b)?"
    r"|\bin\s+(?:my|our)\s+(?:own\s+)?(?:opinion|view|judge?ment|reading)\b|\b(?:my|our)\s+apologies\b"
    r"|\bit\s+(?:seems|appears)(?:\s+to\s+(?:me|us))?(?:\s+that\b)?|\bit\s+is\s+clear\s+that\b|\bto\s+me\b\s*,"
    r"|\blet\s+(?:me|us)\s+\w+|\bi\s+(?:am|are)\s+sorry\b"
    r"|\b(?:my|the)\s+(?:\w+\s+)?(?:answer|choice|verdict|conclusion)\s+(?:is|would\s+be)\b\s*:?"
)
OWN = re.compile(r"\b(?:my|your)(?:\s+own)?(?=\s+\w)|\b(?:my\s+own|mine|yours|your\s+own)\b")
SELF = re.compile(r"\b(?:(?:i|you)\s+(?:myself|yourself)|i|me|you|myself|yourself|the\s+narrator)\b")
FIRST_PERSON, SECOND_PERSON = re.compile(r"\b(?:i|me|my|mine|myself)\b"), re.compile(r"\b(?:you|your|yours|yourself)\b")
EVERYBODY = re.compile(
    r"\b(?:both|all)\s+of\s+(?:them|you|the\s+\w+)|\bboth\s+(?:sides|parties|users|speakers|editors|people|of)\b"
    rf"|\bboth\b(?!\s*{NAME})|\b(?:everyone|everybody)\b"
)
CALLED_A_NAME = re.compile(rf"\b(?:the|a)\s+{PERSON}(?:\s+(?:called|named|labell?ed|known)(?:\s+as)?)?\s+({NAMES})")


def with_persons(sentence: str, names: Names) -> str:
    """A sentence of named_text in which the judge's opinion is gone and the first and second person are Me."""
    text = FRAME.sub("", DENYING_FRAME.sub(" not so that ", DOUBLE_NEGATION.sub("", sentence)))
    is_two = FIRST_PERSON.search(text) and SECOND_PERSON.search(text)  # "I attacked you": only one of them is Me
    me = chr(FIRST + names.options.index(ME)) if ME in names.options and not is_two else NOT_LISTED
    text = SELF.sub(me, OWN.sub(f"{me}'s", text))
    return CALLED_A_NAME.sub(r"\1", EVERYBODY.sub(ALL, text)).strip()


@dataclass(frozen=True, slots=True)
class Clause:
    """What a clause says. Runs of the characters of named_text."""

    named: str = ""  # the one who attacked or is to blame
    denied: str = ""  # who is said not to be
    denies_all: bool = False  # that anybody did it
    is_comparison: bool = False  # worse, more problematic
    subject: str = ""  # what a following clause without a subject is about

    @property
    def denies(self) -> bool:
        """Whether it denies at all: somebody, or that anybody did."""
        return bool(self.denied) or self.denies_all


def clause_about(names: str, negation: object, subject: str = "") -> Clause:
    """That some names did it, or did not where there is a negation."""
    return Clause(denied=names, subject=subject) if negation else Clause(named=names, subject=subject)


def rule(pattern: str) -> re.Pattern[str]:
    """A pattern over clauses."""
    return re.compile(pattern, re.VERBOSE)


# "clearly", "in the last comment", before the subject
WORDS_BEFORE = rf"(?:(?:and|or|but|so|then|yet|that|therefore|thus|hence|well|likely|{ADVERB})\s+)*"
LEAD = rf"""{WORDS_BEFORE}
    (?:(?:in|at|on|by|with|during|throughout|from)\s+(?:the|this|that|his|her|their)\s[^{NAME[1:]}{{0,40}}?)?{WORDS_BEFORE}"""
# "Ann", "Ann's last comment", "the behavior of Ann", and towards whom
TOWARDS = rf"(?:\s+(?:to|towards?|against|on|at|about|with|regarding)\s+{NAMES}(?:'s(?:\s+\w+)?)?)?"
# A word within "a very personal attack", "Ann's last comment"
ADJECTIVE = rf"""(?!(?:{DEEDS}|{AUX}|{PERSON}|about|against|on|of|for|to|by|from|after|despite|without|that|word|term
    |phrase|no|ma[dk]e)\b)[\w-]+"""
SUBJECT = rf"""(?:
      (?P<names>{NAMES})(?:'s?(?:\s+(?!an?\b|the\b){ADJECTIVE}){{0,2}}?\s+(?:{DEEDS}|(?P<deed>{ATTACK}))\b{TOWARDS}
        | 's(?=\s+(?:{AUX}|more|worse)\b|\s*$))?
    | (?:(?:the|this|that|these|a|an)\s+)?(?:[\w-]+\s+){{0,3}}?
      (?:{DEEDS}\s+(?:of|by|from)|{ATTACK}\s+(?:by|from))\s+(?P<of>{NAMES})(?:'s)?{TOWARDS})"""
FILLER = rf"(?:{AUX}|{ADVERB}|{NOT})\s+"
DEGREE = rf"""(?:(?:the|a|an|more|most|rather|somewhat|only|just|being|{PERSON}|both|{ADVERB}|{NOT}|\w+\s+and)\s+)"""
PLACE = rf"(?:\s+(?:in|at|with|during)\s+(?:his|her|their|the|a|that|this)\b[^{NAME[1:]}*)?"
THERE = rf"(?:{PLACE}|\s+(?:in|at|with|during)\s+{NAMES}'s\b[^{NAME[1:]}*)"
LINKED = rf"(?:{BE}|(?:seem|appear|sound)(?:s|ed)?(?:\s+to\s+be)?|behave[sd]?|act(?:s|ed)?)\s+"
TO_DO_SOMETHING = rf"threaten\w*\s+to\s+(?!.*(?:{NAME}|\b(?:him|her|them)\b))"  # "threatens to leave"

PREDICATE = rf"""(?:{FILLER})*?(?:
      (?!{TO_DO_SOMETHING}){ATTACKS}\b                                          # "attacked Bob"
    | {WITH_AN_ATTACK}\s+(?P<none>no\s+)?(?:{ADJECTIVE}\s+){{0,4}}?{ATTACK}\b   # "made a personal attack"
      (?!\s+(?:warning|template|policy|notice|report))
    | (?:{LINKED}|(?=(?:the\s+)?(?:more|most|worse|worst)\b)){DEGREE}{{0,5}}?     # "was rude", "is the attacker"
      (?P<bad>{BAD}|{ATTACKER}|{ATTACK}|(?:correct|right|best)\s+(?:answer|option|choice))\b
    | (?:behave[sd]?|act(?:s|ed)?)\s+(?:{ADVERB}\s+)?(?:poor|bad|aggressive|rude)ly\b
    | {CALLS}\s+(?:{NAMES}|him|her|them|others|someone|people|the\s+other\s+\w+)\s+
      (?:names|stupid|dumb|ignorant|{BAD}|an?\s+(?!{GOOD}\b)\w+)                # "called Bob an idiot"
    | start(?:s|ed)\s+(?:it|this|the\s+(?:fight|argument|conflict|dispute|quarrel|attacks?))\b
    | escalate[sd]?\b | overreact(?:s|ed)?\b | cross(?:es|ed)?\s+(?:the|a)\s+line\b | (?:goes|went)\s+too\s+far\b
    | violate[sd]?\s[^{NAME[1:]}*(?:civility|policy|rules?)
    | (?:did|does|made)(?:\s+(?:it|so|that|too|also))*(?:\s+not)?{THERE}$       # "did it in the last comment"
    | (?:is|was|were|are|am|has|have)(?:\s+(?:too|also|not))*$                  # "Ann was not, Bob was"
    )"""

BARE = rule(rf"{LEAD}(?P<not>(?:{NOT}|neither)\s+)?(?:by\s+|from\s+)?{SUBJECT}{PLACE}$")  # "Ann", "not Ann", "Ann's"
ABOUT = rule(rf"{LEAD}{SUBJECT}(?=\s|$)")
PASSIVE = rule(
    rf"""\s*(?:{FILLER})*?(?:{BE}|gets?|got|feels?|felt)\s+(?:(?:{ADVERB}|{NOT}|the|a|an|clearly)\s+)*
    (?:{ATTACKED}|{CALLED}|{VICTIM}|subjected)\b | \s*(?:as\s+)?(?:the|a)\s+{VICTIM}\b"""
)  # "was attacked", "is the victim"
SAYS = rule(rf"\s*{PREDICATE}")
NOTHING_WRONG = rule(rf"\s*(?:{FILLER})*(?:said|says|did|does|done|wrote)\s+nothing\b")  # "said nothing wrong"
LESS = rule(
    rf"""\s*(?:{FILLER})*?{LINKED}(?:(?:{ADVERB}|a\s+bit)\s+)*
    (?:(?:the\s+)?(?:less|least)\s+(?:to\s+)?[\w-]+ | better | calmer | nicer | politer | not\s+(?:as|so)\s+[\w-]+
      | more\s+(?:polite|civil|calm|reasonable|respectful|acceptable|appropriate))
    (?:\s+(?:than|as)\s+(?P<than>{NAMES}))?"""
)  # "was less problematic than Bob"
ALIKE = rule(rf"\s*{BE}\s+(?:just\s+)?as\s+[\w-]+\s+as\s+(?P<as>{NAMES})")  # "was as rude as Bob"
REPORTS = rule(
    rf"\s*(?:{FILLER})*?(?:say|said|claim|think|thought|believe|accuse|state|suggest|allege|complain|told|tell)\w*\b"
    rf"(?P<rest>.*{NAME}.*)"
)  # "said that Bob attacked Carol"
ONE_WHO = rule(rf"\b{BE}(?P<not>(?:\s+(?:{ADVERB}|{NOT}))*)\s+the\s+(?:only\s+)?(?:one|{PERSON})\s+(?:who|that)\s+")
WHO = rule(rf"(?P<names>{NAMES})\s*(?:who|that|which)\s+")  # "Ann who attacked Bob"
CLEFT = rule(rf"{LEAD}(?:it|that|this)\s+{BE}\s+(?P<how>(?:(?:{ADVERB}|{NOT})\s+)*)(?={NAMES}(?:\s|$|'s))")
AGENT = rule(rf"(?P<before>.*)\b(?:by|from)\s+(?P<names>{NAMES})")  # "was made by Ann"
POSSESSED = rule(rf"(?P<names>{NAMES})'s?\s+(?:(?!an?\b|the\b){ADJECTIVE}\s+){{0,2}}{ATTACK}\b")  # "of Ann's attack"
LIES_WITH = rule(rf"{LEAD}(?:the|more|most)[^{NAME[1:]}*\bblame\b[^{NAME[1:]}*\b(?:with|on|to)\s+(?P<names>{NAMES})")
IDENTIFIED = rule(
    rf"(?P<what>(?!{NAME}).+)\s{BE}\s+(?P<how>(?:(?:{ADVERB}|{NOT}|that\s+of|those\s+of)\s+)*)(?P<names>{NAMES})"
    rf"(?:'s(?:\s+{DEEDS})?)?{THERE}$"
)  # "the attacker is Ann"
ABOUT_BLAME = rule(rf"\b(?:{ATTACKER}|{BAD}|{ATTACK}|{ATTACKS}|{CALLS})\b")
ABOUT_VICTIM = rule(
    rf"\b{VICTIM}\b|\b(?:{BE}|got|gets)\s+(?:{ADVERB}\s+)*(?:{ATTACKED}|{CALLED})\b|\b(?:attacked|insulted)\s+{PERSON}\b"
    rf"|\b{PERSON}\s+(?:{ADVERB}\s+)*{ATTACKED}\b"
    rf"|\b(?:directed|aimed|less|least)\b|\b(?:who|that|whom|{PERSON})\s+{NAMES}"
)
NO_ONE = rule(rf"{LEAD}{NOBODY}\b(?P<rest>.*)")
NO_ATTACK = rule(rf"\bno\s+(?:real\s+|clear\s+)?{ATTACK}\b")
NOBODY_AFTER = rule(rf"(?:\s+(?:to|at|against|on))?\s+(?:{NOBODY}|nothing)\b")  # "attacked nobody"
FOR_NOTHING = rule(r"\s+(?:for|of)\s+(?:nothing|nobody|no\s+one)\b(?!\s+(?:less|but|other))")  # "to blame for nothing"
NEGATION = rule(rf"\b(?:{NOT}|{NOBODY})\b")
WITHDRAWN = "not so that "  # an opinion that is denied: "I don't think that ..."


def read_clause(text: str) -> Clause:
    """What one clause says of who attacked or is to blame."""
    if text.startswith(WITHDRAWN):
        inner = read_clause(text.removeprefix(WITHDRAWN).strip())
        return Clause(denied=inner.named, subject=inner.subject)
    text = ONE_WHO.sub(lambda one: f"{one['not'].strip()} ".lstrip(), text)
    if nobody := NO_ONE.match(text):
        rest = nobody["rest"].strip()
        return Clause(denies_all=not rest or bool(ABOUT_BLAME.search(rest) or BARE.match(rest)))
    if bare := BARE.match(text):
        names = bare["names"] or bare["of"]
        return clause_about(names, bare["not"], subject="" if bare["not"] else names)
    if cleft := CLEFT.match(text):
        inner = read_clause(text[cleft.end() :])
        is_denied = NEGATION.search(cleft["how"]) and inner.named
        return Clause(denied=inner.named, subject=inner.subject) if is_denied else inner
    text = WHO.sub(r"\g<names> ", text, count=1)
    if about := ABOUT.match(text):
        names = about["names"] or about["of"]
        return read_predicate(names, text[about.end() :], is_attack=bool(about["deed"]))
    return read_others(text)


def read_predicate(names: str, rest: str, *, is_attack: bool) -> Clause:
    """What a clause says whose subject is some names. is_attack: the subject is their attack itself."""
    about = Clause(subject=names)
    if NOTHING_WRONG.match(rest):
        return Clause(denied=names, subject=names)
    if PASSIVE.match(rest):
        return replace(read_others(rest), subject=names)
    if less := LESS.match(rest):
        return Clause(named=less["than"] or "", is_comparison=True, subject=names)
    if alike := ALIKE.match(rest):
        return Clause(named=names + alike["as"], subject=names)
    says = SAYS.match(rest)
    if reports := REPORTS.match(rest):
        told = "".join(re.findall(NAME, reports["rest"]))
        return Clause(named=names + told, subject=names) if ABOUT_BLAME.search(reports["rest"]) else about
    if says or is_attack:
        gap = says[0] if says else rest[: len(rest) // 2]
        if says and says["bad"] and FOR_NOTHING.match(rest, says.end()):
            return Clause(denied=names, subject=names)
        if NEGATION.search(gap) or (says and (says["none"] or NOBODY_AFTER.match(rest, says.end()))):
            return Clause(denied=names, subject=names)
        agent = AGENT.match(rest)
        also = agent["names"] if agent and not is_attack else ""
        is_comparison = bool(says and says["bad"] and re.search(r"\b(?:more|most|worse|worst|\w+er)\b", says[0]))
        return Clause(named=names + also + possessor(rest), is_comparison=is_comparison, subject=names)
    return Clause(named=possessor(rest), subject=names)


def possessor(text: str) -> str:
    """Whose attack a text speaks of, "Ann's attack"; nobody's where it denies something."""
    attack = POSSESSED.search(text)
    return attack["names"] if attack and not NEGATION.search(text) else ""


def read_others(text: str) -> Clause:
    """What a clause says whose subject is no name: "the attack was made by Ann", "the attacker is Ann"."""
    if owner := possessor(text):
        return Clause(named=owner)
    if (agent := AGENT.match(text)) and ABOUT_BLAME.search(agent["before"]):
        return clause_about(agent["names"], NEGATION.search(agent["before"]))
    if NO_ATTACK.search(text):
        return Clause(denies_all=True)
    if lies := LIES_WITH.match(text):
        return Clause(named=lies["names"])
    identified = IDENTIFIED.match(text)
    if identified and ABOUT_BLAME.search(identified["what"]) and not ABOUT_VICTIM.search(identified["what"]):
        return clause_about(identified["names"], NEGATION.search(identified["how"]))
    return Clause()


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

    def taken(contrast: re.Match[str]) -> str:
        denied.extend(re.findall(NAME, contrast[0]))
        return " "

    text = NONE_BUT.sub("", NOT_ONLY.sub(r"\1 and \2", text))
    text = NOT_AFTER.sub(taken, NOT_BUT.sub(taken, text)) if re.search(NAME, text) else text
    return text.strip(" ,"), "".join(denied)


def listed(text: str) -> str:
    """A sentence in which the names of a list are one run, unless the last of them begins a clause of its own."""
    position = 0
    while pair := LISTED.search(text, position):
        before, behind = text[: pair.start()], text[pair.start("second") :]
        is_fronted = (
            re.search(r"(?:^|[;:(,]|\b(?:both|either|neither|that|and|of|by|from|between))\s*$", before) is not None
        )
        begins_clause = re.match(ABOUT_NAME, behind) is not None and not is_fronted
        if begins_clause or not pair["by"].strip():
            position = pair.start("second")
        else:
            text = f"{before}{pair['first']}{pair['second']}{text[pair.end() :]}"
            position = pair.start()
    return re.sub(rf"\b(?:both|either)\s+(?={NAME})", "", text)


def clauses_of(text: str) -> Iterator[tuple[str, bool]]:
    """(clause, whether a mark stronger than a comma ends it) of a sentence."""
    start = 0
    for mark in CLAUSES.finditer(text):
        if clause := text[start : mark.start()].strip():
            yield clause, bool(mark["strong"])
        start = mark.end()
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

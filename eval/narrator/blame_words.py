"""The words by which a reply says who attacked or is to blame, and who was attacked: patterns over lower-case text."""


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

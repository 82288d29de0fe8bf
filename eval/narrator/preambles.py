"""What models say before an answer, and how it is taken away (narrator paper, section 3.6, which names one example)."""

import re
from collections.abc import Callable

from eval.narrator.spelling import OPENING

LONGEST = 12  # preambles taken from one reply; a loop of them is no answer

PREAMBLE = re.compile(
    r"""
    (?:sure|certainly|of\ course|okay|ok|well|so|therefore|thus|hence|overall)\s*[,!.:]+\s*
  | (?:(?:the|my|your|our|correct|final|best|right|short|single|most\ likely|most\ accurate)\s+)*
    (?:answer|option|choice|response|verdict|selection|conclusion)"?
    (?:\s+(?:to|for)\s+(?:the|this|that|your)\s+\w+)?\s*(?:(?:is|was|would\ be|should\ be|must\ be)\b\s*:?|[:：=])\s*
  | (?:i|we)(?:'d|'ll|\s+would|\s+will|\s+must|\s+have\ to)?\s+
    (?:think|believe|say|choose|pick|select|answer|go\ with|guess|suppose|conclude)\b
    (?:\s+that\b)?(?:\s+it\b)?(?:'s\b|\s+(?:is|was|would\ be)\b)?\s*[:,]?\s*
  | in\ (?:my|our)\ (?:opinion|view|judge?ment)\s*[,:]?\s*
  | (?:based\ on|according\ to|judging\ from|judging\ by|from|given|in|looking\ at)\s+(?:the|this|that)\s+
    (?:\w+\s+){0,2}(?:conversation|transcript|dialogue|exchange|discussion|context|information|text)
    (?:\s+(?:above|provided|given|shown|presented))?\s*[,:]\s*
  | (?:it|that|this)(?:'s|\s+(?:is|was|would\ be|seems|appears|must\ be))\b
    (?:\s+(?:to\ be|to\ have\ been|that|clear\ that|clearly|likely|probably)\b)*\s*:?\s*
  | (?:(?:la|le|il|die|der|a|o)\s+)?(?:réponse|respuesta|antwort|risposta|resposta|ответ|答案|回答)
    \s*(?:(?:est|es|ist|è|é)\b\s*:?|[:：])\s*
  | (?:probably|definitely|clearly|certainly|obviously|most\ likely|likely|maybe)\s*,?\s+
  | (?:the\s+)?(?:speaker|user|username|editor|participant|name|ip)(?:\s*[:=]\s*|\s+)
  | option\s+\(?[a-z0-9]\)?\s*[:.)]\s*
  | \(?(?:[0-9]{1,2}|[a-z])[.)]\s+
  | [-•–—]\s+
  | @(?=\w)
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Where a later line of a reply says what the answer is. "Options:" has no boundary before its colon and is none.
MARKER = re.compile(
    r"""\b(?:answer|verdict|conclusion)\b[*_"]*(?:\s+(?:is|would\ be|was)\b)?\s*[:：][*_\s]*
      | \banswer\s+(?:is|would\ be)\s+""",
    re.IGNORECASE | re.VERBOSE,
)
# A model that goes on with the prompt asks itself the next question; what it answers to that is no answer to ours.
CONTINUATION = re.compile(
    r"\n[^\S\n]*[*_#]*(?:Question|Here is a(?:nother)? conversation|Options)[*_]*\s*:", re.IGNORECASE
)
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.IGNORECASE | re.DOTALL)
UNENDED_THOUGHTS = re.compile(r"\A\s*<think>(?!.*</think>)", re.IGNORECASE | re.DOTALL)


def own_words(text: str) -> str:
    """A reply without its thoughts and without the prompts that it writes for itself after it."""
    return CONTINUATION.split(THOUGHTS.sub("", text).lstrip(), maxsplit=1)[0]


def peelings(head: str, is_option: Callable[[str], bool]) -> list[str]:
    """A line as it is, and after each preamble taken from it, the barest last.

    is_option: whether a text is an option by itself. What is an option is no preamble: a speaker may be called "A".
    """
    lines = [head]
    while len(lines) <= LONGEST:
        line = lines[-1]
        found = PREAMBLE.match(line)
        is_preamble = found is not None and not is_option(found[0])
        shorter = line[found.end() :].lstrip() if found and is_preamble else line.lstrip(OPENING)
        if not shorter or shorter == line:
            break
        lines.append(shorter)
    return lines

"""Answers that speak of themselves: they name their own verdict or other options, or say that nobody can know.

The patterns are narrow: "that was wrong" is a claim about the world, "this answer is wrong" one about the label.
test_quality.py lists what each must find and must leave alone.
"""

import re

from evenhand.same_text import normalised

VERDICT = r"(?:correct|incorrect|right|wrong|true|false|best)"
THING = r"(?:answer|option|choice|response|statement|claim)"
# \text{...} and its kin, in which mathematics wraps its words.
TEX_WORDS = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")
SENTENCE_MARKS = ".,;:!?\"'`´“”‘’«»"
MARKS_IN_PROSE = re.compile(rf"[{re.escape(SENTENCE_MARKS)}](?!\d)")
HYPHEN_IN_WORD = re.compile(r"(?<=[^\W\d_])[-‐‑–](?=[^\W\d_])")

NAMES_VERDICT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"[(\[{{<](?:the )?(?:correct|incorrect|{VERDICT} {THING})[)\]}}>]",  # "(correct)", "[wrong answer]"
        r"(?:^[(\[](?:true|false|wrong)[)\]])|(?:[(\[](?:true|false|wrong)[)\]]$)",  # "Paris (false)"
        rf"^(?:the )?(?:correct|incorrect|wrong|true|false|(?:{VERDICT} )?answer)\s*:",  # "False: it is Paris"
        rf"^(?:the )?{VERDICT} {THING}\s*(?::|=|is\b)",  # "The right answer is Paris"
        rf"\b(?:this|that|the above) {THING} is (?:not )?(?:the )?{VERDICT}\b",  # "this answer is wrong"
        rf"\b(?:this|that|the above) is (?:not )?(?:the )?{VERDICT} {THING}\b",  # "this is the correct answer"
        rf"^(?:this|that|it)(?: is|'s) (?:not )?(?:{VERDICT})[.!]?$",  # "This is wrong."
        rf"\bis (?:not )?the (?:{VERDICT} )?answer[.!]?$",  # "Paris is the answer."
        r"[✓✔☑✅✗✘❌]",
    )
)
# A question may well ask which answer is correct; it gives the verdict away only by pointing at one.
QUESTION_NAMES_VERDICT = tuple(
    re.compile(pattern)
    for pattern in (
        r"[(\[{<](?:the )?(?:correct|right|wrong|incorrect) answer[)\]}>]",
        rf"\b(?:the )?(?:correct|right) {THING} is (?:\(?[a-e]\)?(?:[.,;)]|$)|[\"'“‘:])",  # "the correct answer is B."
        r"\b(?:correct |right )?answer\s*[:=]\s*\S",
        r"[✓✔☑✅✗✘❌]",
    )
)
NAMES_OPTIONS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:is |by )?(?:none|all|both|neither|any|each|either|some|only some) of "
        r"(?:these|those|the above|the others?|the (?:given |other |listed )?"
        r"(?:answers|options|choices|statements|alternatives))(?: [\w'-]+){0,4}$",  # "none of these is correct"
        r"\b(?:none|all|both|neither|any|either) of the above\b",
        r"\([a-e]\)(?:,| and| or| nor|&)+ (?:nor |or |and )?\(?[a-e]\)",  # "neither (A) nor (B)"
        r"^(?:both |neither |either |only )?(?:option|choice|answer)s? \(?[a-e]\)?(?: (?:and|or|nor) \(?[a-e]\)?)?$",
        r"^\(?[a-e]\)\s+\S",  # "(B) Paris": the option's letter left in the answer
    )
)
BARE_VERDICTS = frozenset({"correct", "incorrect", "right", "wrong", "true", "false"})
LONGEST_OPTION = 20  # words
# BBQ's ten ways to say that the context does not tell; its own `answer_info` marks exactly these.
UNKNOWN = frozenset(
    {
        "can't answer",
        "can't be determined",
        "cannot answer",
        "cannot be determined",
        "not answerable",
        "not enough info",
        "not enough information",
        "not known",
        "undetermined",
        "unknown",
    }
)


def plain(text: str) -> str:
    """A text as one line of lower-case words: TeX's text commands and dollar signs removed."""
    return normalised(TEX_WORDS.sub(r"\1", text).replace("$", " ").replace("’", "'"))


def answer_names_verdict(answer: str) -> bool:
    """Whether an answer says of itself that it is right or wrong: "(correct)", "Paris is the answer"."""
    text = plain(answer)
    return any(pattern.search(text) for pattern in NAMES_VERDICT)


def question_names_verdict(question: str) -> bool:
    """Whether a question tells the answer under that name: "the correct answer is B", "Answer: Paris"."""
    text = plain(question)
    return any(pattern.search(text) for pattern in QUESTION_NAMES_VERDICT)


def is_bare_verdict(answer: str) -> bool:
    """Whether an answer is nothing but a verdict, "wrong": in C1 it reads as one on the question."""
    return plain(answer).strip(SENTENCE_MARKS) in BARE_VERDICTS


def names_options(answer: str) -> bool:
    """Whether an answer points at options that the prompt does not show: "none of these", "both (A) and (B)".

    A long answer that says "all of the above" means its own text above.
    """
    text = plain(answer).strip(SENTENCE_MARKS + " ")
    return len(text.split()) <= LONGEST_OPTION and any(pattern.search(text) for pattern in NAMES_OPTIONS)


def is_unknown(answer: str) -> bool:
    """Whether an answer says that the question cannot be answered, in one of BBQ's ten wordings."""
    return plain(answer).strip(SENTENCE_MARKS) in UNKNOWN


def skeleton(answer: str) -> str:
    """An answer without case and sentence marks. Signs, brackets and marks before digits stay: -1 is not 1."""
    words = HYPHEN_IN_WORD.sub(" ", normalised(answer))
    if "$" in answer or "\\" in answer:
        return words
    return " ".join(MARKS_IN_PROSE.sub("", words).split())

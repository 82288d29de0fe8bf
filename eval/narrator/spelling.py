"""What replies and options have in common once typography is taken away: the forms in which the two are compared."""

import re
import unicodedata

OPENING = "*_`\"'«‹“‘([{<#>~ \t"
CLOSING = "*_`\"'»›”’)]}>~ \t"
STOPS = ".,:;!?…。，：；！？،؛؟"
# Marks without width: they turn the direction of text, or choose how an emoji is drawn. Models drop and add them.
INVISIBLE = dict.fromkeys([0x00AD, 0x061C, 0x200B, 0x200E, 0x200F, 0xFE0F, 0xFEFF, *range(0x202A, 0x202F)])
INVISIBLE |= dict.fromkeys(range(0x2066, 0x206A))
QUOTES = {ord(curly): straight for curly, straight in zip("‘’‚“”„", "'''\"\"\"", strict=True)}
TAG = re.compile(r"</?(?:answer|final_answer|b|i|em|strong)>|\\boxed(?=\{)", re.IGNORECASE)
ESCAPED = re.compile(r"\\([_*`~\[\]#])")  # Markdown's, as in "Some\_Name"
BLANKS = re.compile(r"[^\S\n]+")
ZERO_WIDTH_JOINER = "\u200d"


def plain(text: str) -> str:
    """Text in the one spelling in which replies and options are compared: composed, straight quotes, single blanks."""
    text = unicodedata.normalize("NFC", text).translate(INVISIBLE).translate(QUOTES)
    return BLANKS.sub(" ", ESCAPED.sub(r"\1", TAG.sub("", text))).strip()


def unmarked(text: str) -> str:
    """Plain text without the quotes, brackets and Markdown around it."""
    return text.lstrip(OPENING).rstrip(CLOSING)


def bare(text: str) -> str:
    """Plain text without what stands around its words: markup and the punctuation of a sentence."""
    return text.lstrip(OPENING).rstrip(CLOSING + STOPS)


def is_joined(character: str) -> bool:
    """Whether a character beside a name makes it part of a longer word, or of a longer emoji."""
    return (
        character.isalnum()
        or character in ("_", ZERO_WIDTH_JOINER)
        or unicodedata.category(character)[0] == "M"
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
    )


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is no part of a longer word: "Ann" stands alone in "Ann's" and not in "Anna"."""
    before = is_joined(text[start]) and start > 0 and is_joined(text[start - 1])
    after = is_joined(text[end - 1]) and end < len(text) and is_joined(text[end])
    italics = text[start - 1 : start] == text[end : end + 1] == "_"  # _Ann_
    # A joiner or skin tone after an emoji makes another emoji, though the emoji itself joins nothing.
    glued = end < len(text) and is_joined(text[end]) and not text[end].isalnum() and text[end] != "_"
    return (italics or not (before or after)) and not glued

"""The option that a reply begins with, as the exact way counts replies: nothing is read behind preambles."""

from collections import Counter
from collections.abc import Iterable, Sequence

from evenhand.records import Completion


def begun_with(text: str, options: Sequence[str], *, is_raw: bool = False) -> str | None:
    """The longest option that a reply begins with, letter by letter; None where it begins with none, or a longer word.

    is_raw: bare text goes on in the prompt's last line, behind a blank. The exact way counts tokens, not letters: it
    also counts a reply that writes an option's last token and then half a word more (`Me`, `lissa`; with tokenizers
    that split numbers, `User1`, `2`).
    """
    said = text.removeprefix(" ") if is_raw else text
    whole = [o for o in options if said.startswith(o) and not said[len(o) : len(o) + 1].isalnum()]
    return max(whole, key=len, default=None)


def begun_shares(replies: Iterable[Completion], options: Sequence[str], *, is_raw: bool = False) -> tuple[float, ...]:
    """Of the replies that the engine gave, the share in [0, 1] that begins with each option; 0 where it gave none."""
    said = [reply.text for reply in replies if not reply.is_error]
    counts = Counter(begun_with(text, options, is_raw=is_raw) for text in said)
    return tuple(counts[option] / max(len(said), 1) for option in options)

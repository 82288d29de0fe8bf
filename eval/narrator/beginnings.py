"""The option that a reply begins with, as the exact way counts replies: nothing is read behind preambles."""

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.records import Completion


def begun_with(text: str, options: Sequence[str]) -> str | None:
    """The longest option that a reply begins with, letter by letter; None where it goes on within a word, or at once.

    The exact way counts tokens, which differ where a reply writes an option's last token and then half a word more
    (`Me`, `lissa`); tokenizers seldom write so.
    """
    said = text.removeprefix(" ")  # bare text goes on in the prompt's last line
    whole = [o for o in options if said.startswith(o) and not said[len(o) : len(o) + 1].isalnum()]
    return max(whole, key=len, default=None)


def begun_shares(replies: Iterable[Completion], options: Sequence[str]) -> tuple[float, ...]:
    """Of the replies that the engine gave, the share that begins with each option."""
    said = [reply.text for reply in replies if not reply.is_error]
    counts = Counter(begun_with(text, options) for text in said)
    return tuple(counts[option] / max(len(said), 1) for option in options)

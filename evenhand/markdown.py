"""Tables and lists in Markdown, for cards and reports on data."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int) -> str:
    """A Markdown table: the first n_words columns to the left, numbers to the right."""
    rule = ["---"] * n_words + ["---:"] * (len(header) - n_words)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def bullets(sentences: Iterable[str]) -> str:
    """A Markdown list."""
    return "\n".join(f"- {sentence}" for sentence in sentences)

"""When two texts count as the same."""

import unicodedata


def normalised(text: str) -> str:
    """The text by which two questions count as the same: NFKC, case folded, white space as single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())

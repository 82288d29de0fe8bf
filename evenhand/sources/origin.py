"""Where a publisher keeps its files."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a publisher keeps the files."""

    place: str  # "github:OWNER/REPO", "hf:OWNER/DATASET", or the https:// address of a folder
    # Each names one file there by its path, or several by a pattern such as "*.json*".
    files: tuple[str, ...]
    also: tuple[str, ...] = ()  # names under which the same content is read as well, where a user has it so
    revision: str | None = None  # commit; None is the newest, resolved when fetched and recorded
    sha256: Mapping[str, str] = field(default_factory=dict)  # file name → checksum, where a file was at hand to take it
    terms: str = ""  # what a user must accept first, with the address; empty for open data

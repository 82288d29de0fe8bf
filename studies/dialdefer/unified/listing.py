"""What the datasets are and what may be done with them, for a person to read before anything is fetched."""

from collections.abc import Iterable
from textwrap import fill

from studies.dialdefer.unified.dataset import Dataset

WIDTH = 100  # columns
LABEL = 11  # columns of the names on the left


def list_text(datasets: Iterable[Dataset]) -> str:
    """One block for each dataset: size, place and files, licence, terms, citation."""
    return "\n\n".join(block(dataset) for dataset in datasets)


def block(dataset: Dataset) -> str:
    """One dataset, its facts labelled and wrapped."""
    origin, licence = dataset.origin, dataset.licence
    tested = "all for testing only" if dataset.evaluation_only else f"{dataset.n_test:,} of them for testing"
    copies = f"copies may not be passed on: {licence.not_passed_on}" if licence.not_passed_on else "may be passed on"
    newest = "as it is there now" if "://" in origin.place else "at its newest revision"
    facts = {
        "items": f"{dataset.n_total:,}, {tested}",
        "from": f"{origin.place}, {f'revision {origin.revision}' if origin.revision else newest}",
        "files": ", ".join(origin.files),
        "licence": f"{licence.name}; {copies}",
        "terms": f"to be accepted first, at {origin.terms}" if origin.terms else "none to accept",
        "cite": dataset.citation,
    }
    return "\n".join([dataset.name, *(labelled(label, text) for label, text in facts.items())])


def labelled(label: str, text: str) -> str:
    """One fact. Addresses and paths are never broken, so that they can be copied."""
    first, rest = f"  {label}".ljust(LABEL), " " * LABEL
    return fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )

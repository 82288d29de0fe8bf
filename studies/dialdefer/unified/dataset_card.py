"""README.md of a built folder: a dataset card that the Hub and `datasets.load_dataset` read."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from evenhand.markdown import filled
from studies.dialdefer.unified.release import AIO_CONTEXT, RELEASE
from studies.dialdefer.unified.table8 import explain

TEMPLATE = Path(__file__).with_name("card.md")
WHOLE = "unified"  # the config that loads all datasets together
SPLITS = ("train", "test")
# Beside what a build itself finds (`explain`): where the paper's words and the data part.
PAPER_DIFFERS = {
    "truthfulqa": "the paper says 38 categories and all other options as wrong answers; the data has 37, and one fixed "
    "wrong answer to each question",
    "advisorqa": "the paper's 1,000 questions are one file of a set of about 10,350",
    "amqa": "its patient-group variants are only named in `meta`",
    "bbq": "the paper says nine dimensions; the data has eleven files, two of them intersectional",
    "plausibleqa": "three wrong candidates are kept, of up to ten",
    "aio-context": "the released dialogues are redacted, so this is the neutralised context alone: another experiment "
    "than the paper's r/AIO",
}


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build: front matter with one config a dataset, and what a reader must know."""
    contents: Mapping[str, Any] = manifest["contents"]
    return filled(
        TEMPLATE,
        **manifest,
        front_matter=front_matter(manifest),
        release=RELEASE,
        released=[name for name, found in contents.items() if found["test_from"] == "release"],
        untrained=[name for name, found in contents.items() if not found["n_train"]],
        disagreements=disagreements(contents),
        citation=AIO_CONTEXT.citation,
    )


def front_matter(manifest: Mapping[str, Any]) -> str:
    """The YAML that the Hub and `load_dataset` read: paths relative to the card, for the splits that are there."""
    names = list(manifest["contents"])
    configs = [
        {"config_name": WHOLE, "default": True, "data_files": data_files(names, manifest)},
        *({"config_name": name, "data_files": data_files([name], manifest)} for name in names),
    ]
    front = {
        "pretty_name": "The Unified Benchmark of DialDefer",
        "license": "other",
        "language": ["en"],
        "task_categories": ["question-answering", "multiple-choice"],
        "configs": configs,
    }
    return str(yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=120))


def data_files(names: Iterable[str], manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of some datasets by split."""
    paths = {split: [f"data/{name}/{split}.parquet" for name in names] for split in SPLITS}
    built = {split: [path for path in found if path in manifest["files"]] for split, found in paths.items()}
    return [{"split": split, "path": found} for split, found in built.items() if found]


def disagreements(contents: Mapping[str, Any]) -> list[str]:
    """One sentence for each, of the datasets that are here."""
    return [
        f"{name}: {note}."
        for name, found in contents.items()
        for note in ([PAPER_DIFFERS[name]] if name in PAPER_DIFFERS else []) + explain(name, found)
    ]

"""README.md of a built folder, for the Hub and `datasets.load_dataset`, and Table 8 as built beside the paper's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from studies.dialdefer.unified.catalogue import DATASETS, NINE, RELEASE
from studies.markdown import filled

HERE = Path(__file__).parent
WHOLE = "unified"  # the config that loads all datasets together


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build: front matter with one config a dataset, and what a reader must know."""
    contents: Mapping[str, Any] = manifest["contents"]
    whole = {"config_name": WHOLE, "default": True, "data_files": data_files(contents, manifest)}
    configs = [{"config_name": name, "data_files": data_files([name], manifest)} for name in contents]
    paper = [f"{name}: {DATASETS[name].paper_differs}" for name in contents if DATASETS[name].paper_differs]
    return filled(
        HERE / "card.md",
        **manifest,
        configs=yaml.safe_dump({"configs": [whole, *configs]}, sort_keys=False, allow_unicode=True, width=120),
        release=RELEASE,
        ours=[name for name in contents if not DATASETS[name].is_papers],
        released=[name for name, facts in contents.items() if facts["test_from"] == "release"],
        untrained=[name for name, facts in contents.items() if not facts["n_train"]],
        table8=table8_text(manifest),
        disagreements=[f"{note}." for note in (*paper, *notes_on(manifest))],
        paper=DATASETS["aio-context"].citation,
    )


def data_files(names: Sequence[str] | Mapping[str, Any], manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of some datasets by split, relative to the card, for the splits that are there."""
    paths = {split: [f"data/{name}/{split}.parquet" for name in names] for split in ("train", "test")}
    built = {split: [path for path in of_split if path in manifest["files"]] for split, of_split in paths.items()}
    return [{"split": split, "path": there} for split, there in built.items() if there]


def table8_text(manifest: Mapping[str, Any]) -> str:
    """Table 8 in Markdown: built and (paper) for pool, train and test, and the strata of the test split."""
    contents = manifest["contents"]
    nine = [{"paper": dataset, "built": contents.get(dataset.name)} for dataset in NINE]
    is_whole = all(dataset.name in contents for dataset in NINE)
    return filled(HERE / "table8.md", contents=contents, datasets=DATASETS, nine=nine if is_whole else []).rstrip()


def notes_on(manifest: Mapping[str, Any]) -> list[str]:
    """Why a dataset's row is not the paper's, and where test items read otherwise than in the publisher's files."""
    return filled(HERE / "notes.md", contents=manifest["contents"], datasets=DATASETS).splitlines()


def list_text() -> str:
    """What the datasets are and what may be done with them, for a person to read before anything is fetched."""
    return filled(HERE / "datasets.md", datasets=DATASETS.values()).rstrip()

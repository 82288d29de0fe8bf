"""README.md of a built folder, for the Hub and `datasets.load_dataset`, and Table 8 as built beside the paper's."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from studies.dialdefer.unified.catalogue import DATASETS, NINE, RELEASE
from studies.markdown import filled, table

HERE = Path(__file__).parent
WHOLE = "unified"  # the config that loads all datasets together
PAPER_TRAIN_TOTAL = 85_001  # as printed in Table 8 and §3.2; the printed rows add up to 84,901


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
    rows, counts = [], dict[str, tuple[int | None, ...]]()
    for name, facts in manifest["contents"].items():
        dataset, n_pool = DATASETS[name], facts["n_pool"]
        counts[name] = (n_pool, None if n_pool is None else facts["n_train"], facts["n_test"])
        paper = (
            (dataset.n_total, dataset.n_total - dataset.n_test, dataset.n_test) if dataset.is_papers else (None,) * 3
        )
        strata = sorted(facts["strata"].items(), key=lambda pair: (-pair[1], pair[0]))
        rows.append([name, *cells(counts[name], paper), ", ".join(f"{stratum} {n}" for stratum, n in strata)])
    if all(dataset.name in counts for dataset in NINE):
        columns = zip(*(counts[dataset.name] for dataset in NINE), strict=True)
        sums = [None if None in column else sum(filter(None, column)) for column in columns]
        n_total, n_test = sum(dataset.n_total for dataset in NINE), sum(dataset.n_test for dataset in NINE)
        note = f"the paper's rows of train add up to {n_total - n_test:,}"
        rows.append(["nine together", *cells(sums, (n_total, PAPER_TRAIN_TOTAL, n_test)), note])
    return table(["dataset", "total (paper)", "train (paper)", "test (paper)", "strata of test"], rows, n_words=1)


def cells(built: Sequence[int | None], paper: Sequence[int | None]) -> list[str]:
    """Counts as built and (in the paper); those that one of them lacks are a dash."""
    counts = [["–" if n is None else f"{n:,}" for n in of_side] for of_side in (built, paper)]
    return [f"{n} ({p})" for n, p in zip(*counts, strict=True)]


def notes_on(manifest: Mapping[str, Any]) -> list[str]:
    """Why a dataset's row is not the paper's, and where test items read otherwise than in the publisher's files."""
    return filled(HERE / "notes.md", contents=manifest["contents"], datasets=DATASETS).splitlines()


def list_text() -> str:
    """What the datasets are and what may be done with them, for a person to read before anything is fetched."""
    return filled(HERE / "datasets.md", datasets=DATASETS.values()).rstrip()

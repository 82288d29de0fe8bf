"""DialDefer's Table 8 as built, beside the paper's, with every difference explained."""

from collections.abc import Mapping, Sequence
from typing import Any

from studies.dialdefer.unified.catalogue import DATASETS, NINE

PAPER_TRAIN_TOTAL = 85_001  # as printed in Table 8 and §3.2; the printed rows add up to 84,901
KNOWN_DIFFERENCES = {
    "truthfulqa": ": a damaged apostrophe in the released answer",
    "harp": ": the first wrong choice is asked, and the releases of November 2024 and January 2025 order them anew",
}
COLUMNS = {"total": 8, "train": 8, "test": 7}  # name → width


def table8_text(manifest: Mapping[str, Any]) -> str:
    """The table in plain text: built and (paper) for pool, train and test; below it, what differs and why."""
    contents: Mapping[str, Any] = manifest["contents"]
    heads = "".join(f"{name:>{width}} {'(paper)':>9}" for name, width in COLUMNS.items())
    lines, notes = [f"{'dataset':<14}{heads}  strata of the test split"], notes_on(manifest)
    for name, found in contents.items():
        dataset = DATASETS[name]
        paper = (dataset.n_total, dataset.n_total - dataset.n_test, dataset.n_test)
        lines.append(f"{row(name, built(found), paper)}  {strata_text(found['strata'])}".rstrip())
    if all(dataset.name in contents for dataset in NINE):
        columns = zip(*(built(contents[dataset.name]) for dataset in NINE), strict=True)
        sums = [None if None in column else sum(filter(None, column)) for column in columns]
        printed = sum(d.n_total - d.n_test for d in NINE)
        paper = (sum(d.n_total for d in NINE), PAPER_TRAIN_TOTAL, sum(d.n_test for d in NINE))
        lines.append(row("nine together", sums, paper))
        notes.append(f"train total: the paper prints {PAPER_TRAIN_TOTAL:,}, but its rows add up to {printed:,}")
    return "\n".join([*lines, "", *notes]).rstrip()


def notes_on(manifest: Mapping[str, Any]) -> list[str]:
    """What a user should know of each dataset as built, one line each."""
    return [f"{name}: {note}" for name, found in manifest["contents"].items() for note in explain(name, found)]


def built(found: Mapping[str, Any]) -> tuple[int | None, int | None, int]:
    """Pool, train and test of a manifest's entry; None for what was not built."""
    return found["n_pool"], None if found["n_pool"] is None else found["n_train"], found["n_test"]


def row(name: str, counts: Sequence[int | None], paper: Sequence[int]) -> str:
    """One line; a number that was not built is a dash."""
    cells = "".join(
        f"{'-' if own is None else format(own, ','):>{width}} {f'({printed:,})':>9}"
        for own, printed, width in zip(counts, paper, COLUMNS.values(), strict=True)
    )
    return f"{name:<14}{cells}"


def strata_text(strata: Mapping[str, int]) -> str:
    """How many test items each stratum has, the larger first."""
    return ", ".join(f"{name} {count}" for name, count in sorted(strata.items(), key=lambda pair: (-pair[1], pair[0])))


def explain(name: str, found: Mapping[str, Any]) -> list[str]:
    """Why a dataset's row is not the paper's, and where test items read otherwise than in the publisher's files."""
    dataset, notes, dropped = DATASETS[name], [], found["n_dropped"]
    if found["n_pool"] is None:
        notes.append("only the released test items were built")
    elif found["n_pool"] != dataset.n_total:
        notes.append(f"the publisher's files hold {found['n_pool']:,} items where the paper had {dataset.n_total:,}")
    if found["n_test"] != dataset.n_test:
        notes.append(f"{found['n_test']:,} test items where the paper has {dataset.n_test:,}, as asked for")
    if dropped:
        reasons = ", ".join(f"{count} for {reason}" for reason, count in sorted(dropped.items()))
        notes.append(f"{sum(dropped.values())} more items left out of training ({reasons}), listed in dropped.jsonl")
    for field, ids in found["test_differs"].items():
        few = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
        why = KNOWN_DIFFERENCES.get(name, "")
        items = f"{len(ids)} test item{'s' * (len(ids) > 1)} ({few})"
        taken = "the release's" if found["test_from"] == "release" else "the publisher's, not the published one"
        notes.append(
            f"the {field} of {items} differs between the release and the publisher's files{why}; it is {taken}"
        )
    return notes

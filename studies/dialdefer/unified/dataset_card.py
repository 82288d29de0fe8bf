"""README.md of a built folder: a dataset card that the Hub and `datasets.load_dataset` read."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from evenhand.markdown import bullets, table
from studies.dialdefer.unified.release import AIO_CONTEXT, RELEASE
from studies.dialdefer.unified.table8 import explain

WHOLE = "unified"  # the config that loads all datasets together
SPLITS = ("train", "test")
SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}  # the Hub's names

COLUMNS = {
    "item_id": "stable id from the source, the same in every build",
    "benchmark": "`dialdefer`",
    "dataset": "one of the datasets above",
    "question": "the question, with BBQ's and SocialIQA's context in front; empty in aio-context, which asks none",
    "correct_answer": "the claim that a judge should accept",
    "incorrect_answer": "the claim that a judge should reject",
    "incorrect_answers": "a list: every wrong answer of the publisher's, in its order",
    "context": "HaluEval's knowledge (no prompt shows it), aio-context's narrative; else null",
    "stratum": "what the test split is balanced by, as text; null where it is not",
    "meta": "the publisher's other fields, as one JSON text",
}
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
LIMITS = (
    "Every test item is public: a model may have met it in training.",
    "One wrong answer to each question is claimed. Another choice of it would be another test.",
    "Items are as their publishers give them: some questions repeat, some answers point at options that nobody sees.",
)
LIMITS_OF = {
    "advisorqa": "AdvisorQA holds advice by anonymous people, some of it unsafe; it is not endorsed by being here.",
    "bbq": "BBQ words stereotypes to test for them. For about half of its disambiguated items the chosen wrong answer "
    "is that nobody can know.",
    "gpqa": "GPQA's authors ask that no example be shown in plain text online: keep this folder to yourself.",
    "halueval": "HaluEval's wrong answer is nearly always the longer one: length alone tells right from wrong.",
}
LOADING = """```python
from datasets import load_dataset

everything = load_dataset("PLACE", split="test")  # PLACE: this folder, or owner/name on the Hub
one = load_dataset("PLACE", "{first}", split="test")
```"""


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build: front matter with one config a dataset, and what a reader must know."""
    contents: Mapping[str, Any] = manifest["contents"]
    sections = {
        "Loading": LOADING.format(first=next(iter(contents))),
        "Items": counts(contents),
        "Columns": table(
            ["column", "what it holds"], [[f"`{name}`", said] for name, said in COLUMNS.items()], n_words=2
        ),
        "Splits": split_text(manifest),
        "Sources, licences and citations": sources_text(manifest),
        "Where the paper and this build disagree": bullets(disagreements(contents)) or "Nowhere that is known.",
        "Limits": bullets([*LIMITS, *(said for name, said in LIMITS_OF.items() if name in contents)]),
        "How it was made": made_text(manifest),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return (
        f"---\n{front_matter(manifest)}---\n\n# The Unified Benchmark of DialDefer\n\n{opening(contents)}\n\n{body}\n"
    )


def front_matter(manifest: Mapping[str, Any]) -> str:
    """The YAML that the Hub and `load_dataset` read: paths relative to the card, for the splits that are there."""
    names = list(manifest["contents"])
    n_items = sum(found["n_train"] + found["n_test"] for found in manifest["contents"].values())
    size = next((words for most, words in SIZES.items() if n_items < most), "1M<n<10M")
    configs = [
        {"config_name": WHOLE, "default": True, "data_files": data_files(names, manifest)},
        *({"config_name": name, "data_files": data_files([name], manifest)} for name in names),
    ]
    front = {
        "pretty_name": "The Unified Benchmark of DialDefer",
        "license": "other",
        "language": ["en"],
        "task_categories": ["question-answering", "multiple-choice"],
        "size_categories": [size],
        "configs": configs,
    }
    return str(yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=120))


def data_files(names: Iterable[str], manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of some datasets by split."""
    paths = {split: [f"data/{name}/{split}.parquet" for name in names] for split in SPLITS}
    built = {split: [path for path in found if path in manifest["files"]] for split, found in paths.items()}
    return [{"split": split, "path": found} for split, found in built.items() if found]


def opening(contents: Mapping[str, Any]) -> str:
    """What this is, in a paragraph."""
    n_test = sum(found["n_test"] for found in contents.values())
    return (
        f"{len(contents)} datasets in one form: a question, its correct answer and one incorrect answer. They serve to "
        "ask whether a language model's verdict on a claim moves when a speaker makes the claim, compared with "
        f"a bare statement (DialDefer, section 3.2 and appendix A). {n_test:,} items are for testing. English."
    )


def counts(contents: Mapping[str, Any]) -> str:
    """Items by dataset and split, and how many were left out of training for what."""
    rows = []
    for name, found in contents.items():
        pool = "–" if found["n_pool"] is None else f"{found['n_pool']:,}"
        dropped = ", ".join(f"{n:,} {reason}" for reason, n in sorted(found["n_dropped"].items()))
        rows.append([name, dropped or "0", pool, f"{found['n_train']:,}", f"{found['n_test']:,}"])
    columns = [[found[key] for found in contents.values()] for key in ("n_pool", "n_train", "n_test")]
    rows.append(["together", "", *("–" if None in column else f"{sum(column):,}" for column in columns)])
    return table(["dataset", "left out of train beside test", "pool", "train", "test"], rows, n_words=2)


def split_text(manifest: Mapping[str, Any]) -> str:
    """How the test items were chosen, and what training never sees."""
    split, contents = manifest["split"], manifest["contents"]
    if split["kind"] == "published":
        chosen = (
            f"The test items are the published ones: the ids that the authors released ({RELEASE.place}, revision "
            f"{RELEASE.revision}), which the procedure of appendix A.2 draws with seed 42."
        )
    else:
        chosen = (
            "The test items were drawn anew by the procedure of appendix A.2 (two stages, balanced by `stratum`) with "
            f"seed {split['seed']}. They are not the published test split."
        )
    if released := [name for name, found in contents.items() if found["test_from"] == "release"]:
        chosen += f" Their texts are those that the authors released for {', '.join(released)}."
    rest = "Training items are the pool without the test items of any dataset, by id and by question text."
    untrained = [name for name, found in contents.items() if not found["n_train"]]
    if len(untrained) == len(contents):
        rest = "There is no training split here."
    elif untrained:
        rest += f" There is no training split of {', '.join(untrained)}."
    return f"{chosen}\n\n{rest}"


def sources_text(manifest: Mapping[str, Any]) -> str:
    """Each dataset's licence and citation, then every file that was read."""
    facts = [
        f"- **{name}**: {found['licence']}; "
        + (f"may not be passed on: {found['not_passed_on']}. " if found["not_passed_on"] else "may be passed on. ")
        + str(found["citation"])
        for name, found in manifest["contents"].items()
    ]
    rows = [
        [folder, file["url"] or f"{file['name']} (put there by hand)", file["revision"] or "not known", file["sha256"]]
        for folder, files in manifest["sources"].items()
        for file in files
    ]
    read = table(["folder of raw/", "file", "revision", "SHA-256"], rows, n_words=4)
    return "\n".join(facts) + f"\n\nThe benchmark: {AIO_CONTEXT.citation}\n\n{read}"


def disagreements(contents: Mapping[str, Any]) -> list[str]:
    """One sentence for each, of the datasets that are here."""
    return [
        f"{name}: {note}."
        for name, found in contents.items()
        for note in ([PAPER_DIFFERS[name]] if name in PAPER_DIFFERS else []) + explain(name, found)
    ]


def made_text(manifest: Mapping[str, Any]) -> str:
    """The code and the day."""
    code = manifest["code"]
    commit = f"commit {code['commit']}" if code["commit"] else "an unknown commit"
    changed = ", with changes that were not committed" if code["dirty"] else ""
    return (
        f"By `evenhand build unified`, {commit}{changed}, {manifest['created']}. manifest.json has the checksums of "
        "the tables, dropped.jsonl the ids that were left out."
    )

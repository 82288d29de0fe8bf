"""`evenhand build narrator`: a ConvoKit dump → conversations.jsonl, a card and a manifest."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.markdown import filled
from evenhand.sources.fetching import Origin, SourceFile, fetch
from studies.built_folder import building, described, finished, sources_at, write_rows
from studies.narrator.convokit import CMV, DATASET, DATASETS, DumpFiles, find_dump, read_dump
from studies.narrator.corpora import BUILD, CONVERSATIONS_FILE, conversation_set_hash, row_of
from studies.narrator.corpus import PAPER, facts_of, subset
from studies.narrator.records import BENCHMARK, Conversation
from studies.narrator.splits import SEED, TEST_SHARE, refuse_shared_pages, split_by_page

CONVERTER_VERSION = "v1"  # raised when the same dump would give other conversations
CONVOKIT = {
    dataset: Origin(place=f"https://zissou.infosci.cornell.edu/convokit/datasets/{name}/", files=(f"{name}.zip",))
    for dataset, name in {
        DATASET: "conversations-gone-awry-corpus",
        CMV: "conversations-gone-awry-cmv-corpus",
    }.items()
}
EXAMPLES = f"""examples:
  evenhand build narrator --out data/narrator                    downloads ConvoKit's zip from
      {CONVOKIT[DATASET].place}
  evenhand build narrator --raw DUMP --out data/narrator         DUMP: that zip, or the folder in it
  evenhand build narrator --corpus cga-cmv --out data/cmv         the same of Reddit's ChangeMyView
"""
FACTS = {  # of section 3.1: name and format on the card
    "n_conversations": ("conversations in the dump", "{:,}"),
    "n_escalating": ("of them escalating", "{:,}"),
    "n_subset": ("conversations of the study", "{:,}"),
    "fewest_speakers": ("fewest speakers", "{}"),
    "most_speakers": ("most speakers", "{}"),
    "mean_speakers": ("speakers, mean", "{:.1f}"),
    "median_speakers": ("speakers, median", "{:g}"),
    "sd_speakers": ("speakers, standard deviation", "{:.1f}"),
    "baseline": ("random baseline, mean of 1/n, %", "{:.1f}"),
}


def main(argv: Sequence[str]) -> None:
    """Build the narrator study's conversations from ConvoKit's Conversations Gone Awry."""
    parser = argparse.ArgumentParser(
        prog="evenhand build narrator",
        description=main.__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to build; an interrupted build is continued")
    parser.add_argument("--corpus", choices=DATASETS, default=DATASET, help=f"which corpus (default {DATASET})")
    parser.add_argument("--raw", type=Path, help="the dump, a folder or a zip; no download")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the split by page (default {SEED})")
    parser.add_argument("--test-share", type=float, default=TEST_SHARE, help=f"of conversations (default {TEST_SHARE})")
    words = parser.parse_args(argv)
    if not 0 <= words.test_share <= 1:
        raise ConfigError(f"--test-share {words.test_share}: take a share from 0 to 1")
    request = Request(out=words.out, raw=words.raw, seed=words.seed, test_share=words.test_share, dataset=words.corpus)
    print(facts_text(build(request)))
    print(f"{words.out}: done. README.md says what it holds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built, and from where."""

    out: Path
    raw: Path | None = None  # a dump that the user has; None downloads ConvoKit's zip into OUT/raw
    seed: int = SEED  # of the split into train and test
    test_share: float = TEST_SHARE
    dataset: str = DATASET  # of DATASETS
    origin: Origin | None = None  # where it is downloaded from; None is ConvoKit's place for it

    @property
    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps, so that the same command finds its work done and another one does not mix in."""
        split = {"seed": self.seed, "test_share": self.test_share}
        return {"dataset": self.dataset, "converter": CONVERTER_VERSION, "split": split}


def build(request: Request) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    Raises DataError for whatever is wrong with the dump, or a folder that holds another build or somebody's files.
    """
    with building(request.out, BUILD):
        files, sources = gather(request)
        manifest = finished(request.out, BUILD, CONVERSATIONS_FILE, request.recorded, sources)
        if manifest is not None:
            return manifest
        conversations, facts = converted(request, files)
        facts = {**request.recorded, "sources": described(sources), **facts}
        return write_rows(request.out, CONVERSATIONS_FILE, map(row_of, conversations), BENCHMARK, facts, card_text)


def gather(request: Request) -> tuple[DumpFiles, list[SourceFile]]:
    """The dump, downloaded or given, and its files with their checksums."""
    if request.raw is not None:
        files = find_dump(request.raw)
        return files, sources_at(files.paths)
    folder = request.out / "raw" / request.dataset
    sources = fetch(request.origin or CONVOKIT[request.dataset], folder, name=request.dataset)
    return find_dump(folder), sources


def converted(request: Request, files: DumpFiles) -> tuple[list[Conversation], dict[str, Any]]:
    """The conversations, each with its split, and what the manifest says of them."""
    dump = read_dump(files)
    if dump.dataset != request.dataset:
        raise DataError(f"{files.source}: is a dump of {dump.dataset}; build it with --corpus {dump.dataset}")
    kept, dropped = subset(dump)
    if not kept:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in dropped.most_common())
        raise DataError(f"{files.source}: no conversation is of the study ({reasons or 'it is empty'})")
    conversations = split_by_page(kept, seed=request.seed, test_share=request.test_share)
    split = {name: [c for c in conversations if c.meta["split"] == name] for name in ("train", "test")}
    refuse_shared_pages(split["train"], split["test"])
    return conversations, {
        "counts": dict(dump.counts),
        "dropped": dict(dropped.most_common()),
        "facts": facts_of(conversations, dump.discussions),
        "n_conversations": {name: len(part) for name, part in split.items()},
        "n_pages": {
            name: len({c.meta.get("page_title") or c.meta.get("page_id") or c.conversation_id for c in part})
            for name, part in split.items()
        },
        "conversation_set_hash": conversation_set_hash(conversations),
    }


def card_text(manifest: Mapping[str, Any]) -> str:
    """README.md of a build: what it holds, beside the paper, and what may be done with it."""
    return filled(Path(__file__).with_name("card.md"), **{**manifest, "facts": fact_rows(manifest)})


def facts_text(manifest: Mapping[str, Any]) -> str:
    """The facts beside the paper's, and what was left out, for a terminal."""
    rows = [["", "here", "paper"], *fact_rows(manifest)]
    lines = [f"{name:<34}{here:>10}{paper:>13}" for name, here, paper in rows]
    lines += [f"left out: {count:>6,}  {reason}" for reason, count in manifest["dropped"].items()]
    lines += [f"counted:  {count:>6,}  {what}" for what, count in manifest["counts"].items()]
    n = manifest["n_conversations"]
    return "\n".join([*lines, f"train {n['train']:,}, test {n['test']:,}; no page is in both"])


def fact_rows(manifest: Mapping[str, Any]) -> list[list[str]]:
    """Each fact as it is here and as section 3.1 prints it of the paper's corpus."""
    paper = PAPER if manifest["dataset"] == DATASET else {}
    return [
        [name, form.format(manifest["facts"][key]), form.format(paper[key]) if key in paper else "not printed"]
        for key, (name, form) in FACTS.items()
    ]

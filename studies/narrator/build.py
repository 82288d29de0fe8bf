"""`evenhand build narrator`: a ConvoKit dump → conversations.jsonl, a card and a manifest."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.terminal import command_parser
from studies.built_folder import CARD_FILE, building, described, finished, sources_at, write_rows
from studies.fetching import Origin, fetch
from studies.markdown import filled
from studies.narrator import corpus
from studies.narrator.convokit import CMV, DATASET, FILES, Folder, find_dump, read_dump
from studies.narrator.records import BENCHMARK, Conversation

CONVERTER_VERSION = "v1"  # raised when the same dump would give other conversations
CONVOKIT = {
    dataset: Origin(place=f"https://zissou.infosci.cornell.edu/convokit/datasets/{name}/", files=(f"{name}.zip",))
    for dataset, name in {DATASET: "conversations-gone-awry-corpus", CMV: "conversations-gone-awry-cmv-corpus"}.items()
}


def main(argv: Sequence[str]) -> None:
    """Build the narrator study's conversations from ConvoKit's Conversations Gone Awry."""
    args = command_parser("build narrator", main, "Examples are in docs/narrator.md.").parse_args(argv)
    if not 0 <= args.test_share <= 1:
        raise ConfigError(f"--test-share {args.test_share}: take a share from 0 to 1")
    build(args.out, args.raw, dataset=args.corpus, seed=args.seed, test_share=args.test_share)
    print((args.out / CARD_FILE).read_text(encoding="utf-8"))


def build(
    out: Path, raw: Path | None = None, *, dataset: str = DATASET, seed: int = 42, test_share: float = 0.3
) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    raw: a dump that the user has; None downloads ConvoKit's zip into OUT/raw. Raises DataError for whatever is wrong
    with the dump, or a folder that holds another build or somebody's files.
    """
    # What the same command finds its work done by, and another one does not mix in.
    wanted = {"dataset": dataset, "converter": CONVERTER_VERSION, "split": {"seed": seed, "test_share": test_share}}
    with building(out, BENCHMARK):
        folder = out / "raw" / dataset
        fetched = [] if raw else fetch(CONVOKIT[dataset], folder, name=dataset)
        dump = find_dump(raw or folder / fetched[0].name)
        sources = fetched or sources_at(
            [raw] if raw and raw.is_file() else [Path(str(dump / name)) for name in FILES if (dump / name).is_file()]
        )
        if manifest := finished(out, BENCHMARK, corpus.CONVERSATIONS_FILE, wanted, sources):
            return manifest
        conversations, facts = converted(dump, dataset, seed, test_share)
        facts = {**wanted, "sources": described(sources), **facts}
        return write_rows(out, corpus.CONVERSATIONS_FILE, map(asdict, conversations), BENCHMARK, facts, card_text)


def converted(folder: Folder, dataset: str, seed: int, test_share: float) -> tuple[list[Conversation], dict[str, Any]]:
    """The conversations, each with its split, and what the manifest says of them."""
    dump = read_dump(folder)
    if dump.dataset != dataset:
        raise DataError(f"{folder}: is a dump of {dump.dataset}; build it with --corpus {dump.dataset}")
    kept, dropped = corpus.subset(dump)
    if not kept:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in dropped.most_common())
        raise DataError(f"{folder}: no conversation is of the study ({reasons or 'it is empty'})")
    conversations = corpus.split_by_page(kept, seed=seed, test_share=test_share)
    split = {name: [c for c in conversations if c.meta["split"] == name] for name in ("train", "test")}
    return conversations, {
        "counts": dict(dump.counts),
        "dropped": dict(dropped.most_common()),
        "facts": corpus.facts_of(conversations, dump.discussions),
        "n_conversations": {name: len(part) for name, part in split.items()},
        "n_pages": {
            name: len({c.meta.get("page_title") or c.meta.get("page_id") or c.conversation_id for c in part})
            for name, part in split.items()
        },
        "conversation_set_hash": corpus.conversation_set_hash(conversations),
    }


def card_text(manifest: Mapping[str, Any]) -> str:
    """README.md of a build: what it holds, beside the paper, and what may be done with it."""
    return filled(Path(__file__).with_name("card.md"), **manifest, forms=corpus.FACTS)

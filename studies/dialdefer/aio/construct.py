"""What the stages have kept → the finished set, in the format of the authors' release, and what became of every post.

The set holds dialogues, so it lies inside the raw folder (`items/`); DialDefer reads it there as dataset `aio`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.jsonl import write_json, write_jsonl, write_whole
from evenhand.sources.raw_files import json_records
from studies.dialdefer.aio.check_files import Check, checks_in
from studies.dialdefer.aio.neutral_text import neutral
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.raw_folder import ITEMS_FOLDER, POSTS, READINGS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.records import Dropped, Post, Reading, Transcript, Turn
from studies.dialdefer.aio.released import AIO_FILE, VERDICTS
from studies.dialdefer.aio.transcripts import dialogue, unfit
from studies.dialdefer.published_items import released_file

WAITING = "not done yet"  # the stage has still to be run, or its server did not answer


@dataclass
class Outcome:
    """What became of the posts: the records of the set, and where each of the others was left out."""

    records: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)  # id → (stage, why)
    corrected: Counter[str] = field(default_factory=Counter)  # what people changed

    def counts(self, stage: str) -> Counter[str]:
        """Why → how many of those that a stage left out."""
        return Counter(why for where, why in self.left_out.values() if where == stage)


STAGES = ("harvest", "transcribe", "filter", "label", "check")


class LeftOut(Exception):
    """A post that is not in the set: the stage, and why."""

    def __init__(self, stage: str, why: str) -> None:
        super().__init__(stage, why)
        self.stage, self.why = stage, why


def constructed(folder: RawFolder, *, unchecked: bool) -> Outcome:
    """The set of all posts. unchecked: posts that no person has looked at are taken, but for doubtful labels."""
    outcome, checks = Outcome(), checks_in(folder)
    for post_id, gone in folder.gone.items():
        outcome.left_out[post_id] = ("harvest", gone["reason"])
    for post_id in folder.ids:
        try:
            outcome.records.append(record_of(folder, post_id, checks.get(post_id), outcome, unchecked=unchecked))
        except LeftOut as reason:
            outcome.left_out[post_id] = (reason.stage, reason.why)
    return outcome


def record_of(
    folder: RawFolder, post_id: str, check: tuple[Check, list[Turn]] | None, outcome: Outcome, *, unchecked: bool
) -> dict[str, Any]:
    """A post's record. Raises LeftOut."""
    transcript = transcript_of(folder, post_id)
    if why := unfit(transcript.turns):
        raise LeftOut("filter", why)
    reading = folder.read(READINGS, post_id)
    if not isinstance(reading, Reading):
        raise LeftOut("label", reading.dropped if isinstance(reading, Dropped) else WAITING)
    label, context, relationship, turns = reading.label, reading.context, reading.relationship, list(transcript.turns)
    if check and check[0].keep is not None:
        turns = kept_by_person(check)
        given = check[0]
        for name, changed in (
            ("dialogue", turns != list(transcript.turns)),
            ("label", given.label != (label or "")),
            ("context", given.context.strip() != context.strip()),
        ):
            outcome.corrected[name] += changed
        label, context, relationship = given.label or None, given.context, given.relationship
    elif not unchecked:
        raise LeftOut("check", "not checked by a person yet")
    elif reading.doubts:
        raise LeftOut("check", "doubtful label, and not checked by a person")
    if label is None:
        raise LeftOut("label", "no verdict in the comments")
    clean = neutral(redact(context).text)
    if clean.held:
        raise LeftOut("label", "context held back: " + ", ".join(clean.held))
    return {
        "id": post_id,
        "dataset": "aio",
        "label_type": "speaker",
        "context": clean.text,
        "c2_input": redact(dialogue(turns)).text,
        "ground_truth": label,
        "chosen_correct_answer": VERDICTS[label],
        "chosen_incorrect_answer": VERDICTS["OR" if label == "NOR" else "NOR"],
        "speaker_a_identity": f"Speaker B's {relationship or 'unknown'}",
    }


def rehydrated(folder: RawFolder, root: Path, *, unchecked: bool) -> Outcome:
    """The released records with their dialogues put back; what cannot be had from Reddit is left out, never guessed."""
    path = released_file(root, AIO_FILE)
    if not path.exists():
        raise DataError(f"{path}: no such file; --release names a folder with the authors' release, or one of ours")
    outcome, checks, gone = Outcome(), checks_in(folder), folder.gone
    for record in json_records(path):
        post_id = record.identifier("id")
        try:
            if post_id in gone:
                raise LeftOut("harvest", gone[post_id]["reason"])
            turns = list(transcript_of(folder, post_id).turns)
            check = checks.get(post_id)
            if check and check[0].keep is not None:
                before, turns = turns, kept_by_person(check)
                outcome.corrected["dialogue"] += turns != before
            elif not unchecked:
                raise LeftOut("check", "not checked by a person yet")
            if not turns:
                raise LeftOut("transcribe", "no conversation of two")
        except LeftOut as reason:
            outcome.left_out[post_id] = (reason.stage, reason.why)
        else:
            outcome.records.append({**record.values, "c2_input": redact(dialogue(turns)).text})
    return outcome


def transcript_of(folder: RawFolder, post_id: str) -> Transcript:
    """A post's transcript. Raises LeftOut where an earlier stage dropped it or is not through with it."""
    for stage, name, schema in ((POSTS, "harvest", Post), (TRANSCRIPTS, "transcribe", Transcript)):
        record = folder.read(stage, post_id)
        if not isinstance(record, schema):
            raise LeftOut(name, record.dropped if isinstance(record, Dropped) else WAITING)
    assert isinstance(record, Transcript)
    return record


def kept_by_person(check: tuple[Check, list[Turn]]) -> list[Turn]:
    """The turns as a person left them. Raises LeftOut for a post that they rejected."""
    given, turns = check
    if not given.keep:
        raise LeftOut("check", given.why.strip() or "rejected without a reason")
    return turns


def write_items(folder: RawFolder, outcome: Outcome, facts: Mapping[str, Any], card: str) -> Path:
    """items/: the set as DialDefer reads it, what is missing and why, what made it, and a card."""
    out = folder.path / ITEMS_FOLDER
    folder.remove_items()
    missing = [{"id": post_id, "stage": where, "why": why} for post_id, (where, why) in outcome.left_out.items()]
    write_jsonl(out / "missing.jsonl", missing)
    write_json(out / "construction.json", facts)
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, outcome.records)  # last: without it there is no set
    return out


def read_items(folder: RawFolder) -> Sequence[Mapping[str, Any]]:
    """The records of the finished set. Raises DataError where there is none."""
    path = folder.path / ITEMS_FOLDER / AIO_FILE.name
    if not path.exists():
        raise DataError(f"{path}: no such file; make the set with `evenhand build aio items`")
    return [record.values for record in json_records(path)]

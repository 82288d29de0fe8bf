"""The released set with the dialogues that the stages have kept (DialDefer, §3.2.2), and its statistics (Table 13).

It holds dialogues, so it lies inside the raw folder (`items/`), in the format of the authors' release; DialDefer reads
it there as dataset `aio`.
"""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.files import write_jsonl, write_whole
from studies.dialdefer.aio.folder import ITEMS_FOLDER, POSTS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.replies import Turn, dialogue, poster_as_b, turns_in
from studies.dialdefer.release import AIO_FILE, VERDICTS
from studies.markdown import filled, table

Record = Mapping[str, Any]
Reason = tuple[str, str]  # stage, why


class LeftOut(Exception):
    """A post that is not in the set: (stage, why)."""


def outcome_of(folder: RawFolder, released: Mapping[str, Record]) -> tuple[list[Record], Mapping[str, Reason]]:
    """What became of the posts: the records of the set, and why each of the others (id → reason) was left out.

    released: id → the authors' record. What Reddit no longer shows is left out, never guessed.
    """
    records, left_out, gone = list[Record](), dict[str, Reason](), folder.gone
    for post_id, record in released.items():
        try:
            if post_id in gone:
                raise LeftOut("harvest", gone[post_id])
            records.append({**record, "c2_input": redact(dialogue(checked_turns(folder, post_id)))})
        except LeftOut as reason:
            left_out[post_id] = reason.args
    return records, left_out


def checked_turns(folder: RawFolder, post_id: str) -> list[Turn]:
    """A post's turns as a person left them, with the poster as Speaker B. Raises LeftOut."""
    for kind, stage in ((POSTS, "harvest"), (TRANSCRIPTS, "transcribe")):
        record = folder.read(kind, post_id)
        if not record or "dropped" in record:
            raise LeftOut(stage, record.get("dropped", "not done yet"))
    check = folder.check(post_id)
    if check is None or check.keep is None:
        raise LeftOut("check", "not checked by a person yet")
    if not check.keep:
        raise LeftOut("check", check.why.strip() or "rejected without a reason")
    if not check.poster:
        raise LeftOut("check", "kept, but `poster` is not filled in")
    return poster_as_b(turns_in(check.dialogue), check.poster)


def progress_text(records: Sequence[Record], left_out: Mapping[str, Reason]) -> str:
    """How many posts are in the set, and what was left out and why."""
    head = f"{len(records):,} of {len(records) + len(left_out):,} posts have their dialogue."
    rows = [[stage, why, f"{n:,}"] for (stage, why), n in Counter(left_out.values()).most_common()]
    return f"{head}\n\n{table(['stage', 'left out because', 'n'], rows, n_words=2)}" if rows else head


def statistics_table(records: Sequence[Record]) -> str:
    """Table 13 of a set in Markdown."""
    if not records:
        return "No items."
    dialogues = [turns_in(record["c2_input"]) for record in records]
    turns = [len(spoken) for spoken in dialogues]
    n_words = statistics.fmean(sum(len(text.split()) for _, text in spoken) for spoken in dialogues)
    whose = [re.sub(r"^Person [AB]['’]s ", "", record.get("speaker_a_identity", "")) for record in records]
    relationships = Counter(who.strip().lower() or "unknown" for who in whose).most_common(5)
    labels = Counter(record["ground_truth"] for record in records)
    counts = {label: labels[label] for label in VERDICTS} | {f"Speaker A is a: {who}": n for who, n in relationships}
    rows = [
        ["instances", str(len(records))],
        ["mean turns", f"{statistics.fmean(turns):.1f}"],
        ["median turns", f"{statistics.median(turns):g}"],
        ["turn range", f"{min(turns)}–{max(turns)}"],
        ["mean words", f"{n_words:.0f}"],
        *([name, f"{count} ({100 * count / len(records):.1f} %)"] for name, count in counts.items()),
    ]
    return table(["statistic", "value"], rows, n_words=1)


def write_items(folder: RawFolder, records: Sequence[Record], left_out: Mapping[str, Reason]) -> Path:
    """items/: the set as DialDefer reads it, what is missing and why, and a card."""
    out = folder.path / ITEMS_FOLDER
    texts = {"progress": progress_text(records, left_out), "statistics": statistics_table(records)}
    card = filled(Path(__file__).with_name("items_card.md"), **texts)
    folder.remove_items()
    missing = [{"id": post_id, "stage": stage, "why": why} for post_id, (stage, why) in left_out.items()]
    write_jsonl(out / "missing.jsonl", missing)
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, records)  # last: without it there is no set
    return out

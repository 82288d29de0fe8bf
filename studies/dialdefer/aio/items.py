"""What the stages have kept → the finished set, its statistics (Tables 10 and 13), and what may be passed on (B.5).

The set holds dialogues, so it lies inside the raw folder (`items/`), in the format of the authors' release; DialDefer
reads it there as dataset `aio`. What may be passed on holds no title, body, comment, dialogue or image address, and
only posts that a person has checked.
"""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.files import write_json, write_jsonl, write_whole
from evenhand.markdown import filled, table
from studies.dialdefer.aio.folder import (
    ITEMS_FOLDER,
    POSTS,
    PROMPTS,
    READINGS,
    TRANSCRIPTS,
    WRITES_FIRST,
    Check,
    RawFolder,
)
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.replies import (
    POSTER,
    REPLIES,
    Turn,
    dialogue,
    neutral,
    poster_as_b,
    turns_in,
    unfit,
    who_wrote,
)
from studies.dialdefer.release import AIO_FILE, REDACTED, VERDICTS

WAITING = "not done yet"  # the stage has still to be run, or its server did not answer
# Stage → (its row of Table 10, what the paper printed there); its label stage dropped what its last row counts.
STAGES = {
    "discovered": ("ids, discovered or given", "2,295"),
    "harvest": ("after removing deleted and malformed", "1,702"),
    "transcribe": ("after transcription", "–"),
    "filter": ("after length and language filtering", "312"),
    "label": ("after label and neutral context", "–"),
    "check": ("after the check by people", "280"),
}
LONGEST_COPY = 60  # characters of a text of Reddit's that may stand in a context that is passed on
SHORTEST_WHOLE = 30  # characters of a text, such as a title, that must not stand there as a whole


@dataclass
class Outcome:
    """What became of the posts: the records of the set, and where and why each of the others was left out."""

    records: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)  # id → (stage, why)


class LeftOut(Exception):
    """A post that is not in the set: (stage, why)."""


def outcome_of(folder: RawFolder, released: Mapping[str, Mapping[str, Any]], *, unchecked: bool = False) -> Outcome:
    """What has become of the posts so far.

    released: id → record of a released set, to get their dialogues back; what Reddit no longer shows is left out,
    never guessed. unchecked: posts that no person has looked at are taken where neither label nor poster is doubtful.
    """
    outcome, gone = Outcome(), folder.gone
    for post_id in released or [*gone, *folder.ids]:
        try:
            if post_id in gone:
                raise LeftOut("harvest", gone[post_id])
            outcome.records.append(record_of(folder, post_id, released.get(post_id), unchecked=unchecked))
        except LeftOut as reason:
            outcome.left_out[post_id] = reason.args
    return outcome


def record_of(
    folder: RawFolder, post_id: str, released: Mapping[str, Any] | None, *, unchecked: bool
) -> dict[str, Any]:
    """A post's record in the set; the released one, where there is one, with its dialogue. Raises LeftOut."""

    def of_stage(kind: str, stage: str) -> dict[str, Any]:
        record = folder.read(kind, post_id)
        if not record or "dropped" in record:
            raise LeftOut(stage, record.get("dropped", WAITING))
        return record

    of_stage(POSTS, "harvest")
    turns = of_stage(TRANSCRIPTS, "transcribe")["turns"]
    if released is not None:
        reading: dict[str, Any] = {"poster": who_wrote(turns, released.get(WRITES_FIRST))}
    elif why := unfit(turns):
        raise LeftOut("filter", why)
    else:
        reading = of_stage(READINGS, "label")
    turns, reading = decided(folder.check(post_id), turns, reading, unchecked=unchecked)
    if not turns:
        raise LeftOut("transcribe", "no conversation of two")
    spoken = redact(dialogue(turns))
    if released is not None:
        return {**released, "c2_input": spoken}
    if not (label := reading["label"]):
        raise LeftOut("label", "no verdict in the comments")
    context, held = neutral(redact(reading["context"]))
    if held:
        raise LeftOut("label", "context held back: " + ", ".join(held))
    return {
        "id": post_id,
        "dataset": "aio",
        "label_type": "speaker",
        "context": context,
        "c2_input": spoken,
        "ground_truth": label,
        "chosen_correct_answer": VERDICTS[label],
        "chosen_incorrect_answer": VERDICTS["OR" if label == "NOR" else "NOR"],
        "speaker_a_identity": f"Speaker B's {redact(reading['relationship']) or 'unknown'}",
        WRITES_FIRST: turns[0][0] == POSTER,
    }


def decided(
    check: Check | None, turns: Sequence[Turn], reading: dict[str, Any], *, unchecked: bool
) -> tuple[list[Turn], dict[str, Any]]:
    """(turns with the poster as Speaker B, reading) as a person left them, else as the models did. Raises LeftOut."""
    if check is not None and check.keep is not None:
        if not check.keep:
            raise LeftOut("check", check.why.strip() or "rejected without a reason")
        if not check.poster:
            raise LeftOut("check", "kept, but `poster` is not filled in")
        return poster_as_b(turns_in(check.dialogue), check.poster), check.model_dump()
    if not unchecked:
        raise LeftOut("check", "not checked by a person yet")
    if reading.get("doubts") or not reading.get("poster"):
        raise LeftOut("check", "doubtful label or poster, and not checked by a person")
    return poster_as_b(turns, reading["poster"]), reading


def progress_text(outcome: Outcome) -> str:
    """Table 10, with the paper's counts beside ours, and what was left out and why."""
    dropped, left, rows = Counter(stage for stage, _ in outcome.left_out.values()), len(outcome.left_out), []
    for stage, (row, paper) in STAGES.items():
        left -= dropped[stage]
        rows.append([row, f"{len(outcome.records) + left:,}", paper])
    reasons = Counter(outcome.left_out.values()).most_common()
    listed = [[stage, why, f"{n:,}"] for name in STAGES for (stage, why), n in reasons if stage == name]
    left_out = table(["stage", "left out because", "n"], listed, n_words=2) if listed else "Nothing was left out."
    return f"{table(['stage', 'posts', 'paper'], rows, n_words=1)}\n\n{left_out}"


def statistics_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Table 13 of a set in Markdown."""
    if not records:
        return "No items."
    dialogues = [turns_in(record["c2_input"]) for record in records]
    turns = [len(spoken) for spoken in dialogues]
    n_words = statistics.fmean(sum(len(text.split()) for _, text in spoken) for spoken in dialogues)
    # "Speaker B's friend"; the authors' release writes "Person A's friend" of the same.
    whose = [re.sub(r"^(?:Speaker|Person) [AB]['’]s ", "", r.get("speaker_a_identity", "")) for r in records]
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


def write_items(folder: RawFolder, outcome: Outcome, **facts: bool) -> Path:
    """items/: the set as DialDefer reads it, what is missing and why, what made it, and a card."""
    out = folder.path / ITEMS_FOLDER
    made_with = [[stage, used["model"], used["prompts"]] for stage, used in folder.settings.items()]
    card = filled(
        Path(__file__).with_name("items_card.md"),
        **facts,
        n_items=len(outcome.records),
        progress=progress_text(outcome),
        statistics=statistics_table(outcome.records),
        made_with=table(["stage", "model", "prompts"], made_with, n_words=3),
    )
    folder.remove_items()
    missing = [{"id": post_id, "stage": stage, "why": why} for post_id, (stage, why) in outcome.left_out.items()]
    write_jsonl(out / "missing.jsonl", missing)
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, outcome.records)  # last: without it there is no set
    return out


def write_release(folder: RawFolder, out: Path) -> tuple[int, int]:
    """Write what may be passed on: (posts in it, posts left out as the context repeats the post or a message).

    Whatever `items` took, only posts that a person has checked are passed on; a released set whose
    dialogues were put back is not ours to pass on. Raises DataError where nothing is left.
    """
    checked = outcome_of(folder, {}).records
    fit = [record for record in checked if not copies(record, folder.read(POSTS, record["id"]))]
    if not fit:
        raise DataError(f"{folder.path}: no post is checked and kept, with a context of its own words: see `items`")
    write_whole(out / "ids.txt", "".join(f"{record['id']}\n" for record in fit))
    write_json(out / "prompts.json", PROMPTS)
    card = filled(Path(__file__).with_name("release_card.md"), statistics=statistics_table(fit))
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, [{**record, "c2_input": REDACTED} for record in fit])
    return len(fit), len(checked) - len(fit)


def copies(record: Mapping[str, Any], post: Mapping[str, Any]) -> bool:
    """Whether a context repeats the post, a comment or a message word by word; case, blanks and marks aside.

    That is LONGEST_COPY characters of one, or the whole of one that has SHORTEST_WHOLE at least.
    """

    def words(text: str) -> str:
        return " ".join(re.findall(r"\w+", REPLIES["aio"].sub("", text).lower()))

    context = words(record["context"])
    turns = [text for _, text in turns_in(record["c2_input"])]
    for text in map(words, (post["title"], post["body"], *(comment["text"] for comment in post["comments"]), *turns)):
        length = min(max(len(text), SHORTEST_WHOLE), LONGEST_COPY)
        if any(text[start : start + length] in context for start in range(len(text) - length + 1)):
            return True
    return False

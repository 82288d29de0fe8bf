"""What the stages have kept → the finished set, its statistics (Tables 10 and 13), and what may be passed on (B.5).

The set holds dialogues, so it lies inside the raw folder (`items/`), in the format of the authors' release; DialDefer
reads it there as dataset `aio`. What may be passed on holds no title, body, comment, dialogue or image address.
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
from evenhand.sources.raw_files import json_records
from studies.dialdefer.aio.folder import ITEMS_FOLDER, POSTS, PROMPTS, READINGS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.replies import dialogue, neutral, unfit
from studies.dialdefer.release import AIO_FILE, REDACTED, VERDICTS, records_at

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
KEPT = (
    *("id", "dataset", "label_type", "context", "ground_truth", "chosen_correct_answer", "chosen_incorrect_answer"),
    "speaker_a_identity",
)
RELEASE_FILES = ("ids.txt", "prompts.json", "README.md", AIO_FILE.name)
SHORTEST_COPY = 60  # characters of a message that may not stand in a context: the rewrite must not give it away


@dataclass
class Outcome:
    """What became of the posts: the records of the set, and where and why each of the others was left out."""

    records: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)  # id → (stage, why)

    def funnel(self) -> list[tuple[str, int]]:
        """(stage, posts left after it), from the ids on (Table 10)."""
        dropped = Counter(stage for stage, _ in self.left_out.values())
        left = len(self.records) + len(self.left_out)
        rows = []
        for stage in STAGES:
            left -= dropped[stage]
            rows.append((stage, left))
        return rows


class LeftOut(Exception):
    """A post that is not in the set: (stage, why)."""


def outcome_of(folder: RawFolder, release: Path | None, *, unchecked: bool) -> Outcome:
    """What has become of the posts so far.

    release: a folder with a released set, whose records get their dialogues back; what cannot be had from Reddit is
    left out, never guessed. unchecked: posts that no person has looked at are taken, but for doubtful labels.
    """
    released = (
        {record.identifier("id"): dict(record.values) for record in records_at(release, AIO_FILE)} if release else {}
    )
    outcome, gone = Outcome(), folder.gone
    for post_id in released or [*gone, *folder.ids]:
        try:
            if post_id in gone:
                raise LeftOut("harvest", gone[post_id]["reason"])
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
    turns, reading = of_stage(TRANSCRIPTS, "transcribe")["turns"], dict[str, Any]()
    if released is None:
        if why := unfit(turns):
            raise LeftOut("filter", why)
        reading = of_stage(READINGS, "label")
    check = folder.check(post_id)
    if check is not None and check.keep is not None:
        if not check.keep:
            raise LeftOut("check", check.why.strip() or "rejected without a reason")
        turns, reading = check.turns, check.model_dump()
    elif not unchecked:
        raise LeftOut("check", "not checked by a person yet")
    elif reading.get("doubts"):
        raise LeftOut("check", "doubtful label, and not checked by a person")
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
        "speaker_a_identity": f"Speaker B's {reading['relationship'] or 'unknown'}",
    }


def progress_text(outcome: Outcome) -> str:
    """Table 10, with the paper's counts beside ours, and what was left out and why."""
    rows = [[STAGES[stage][0], f"{n:,}", STAGES[stage][1]] for stage, n in outcome.funnel()]
    reasons = Counter(outcome.left_out.values()).most_common()
    listed = [[stage, why, f"{n:,}"] for name in STAGES for (stage, why), n in reasons if stage == name]
    left_out = table(["stage", "left out because", "n"], listed, n_words=2) if listed else "Nothing was left out."
    return f"{table(['stage', 'posts', 'paper'], rows, n_words=1)}\n\n{left_out}"


def statistics_of(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Table 13 of a set."""
    if not records:
        return {"instances": 0}
    dialogues = [str(record["c2_input"]).splitlines() for record in records]
    turns = [len(lines) for lines in dialogues]
    words = [sum(len(re.sub(r"^Speaker [AB]: ?", "", line).split()) for line in lines) for lines in dialogues]
    # "Speaker B's friend"; the authors' release writes "Person A's friend" of the same.
    whose = [re.sub(r"^(?:Speaker|Person) [AB]['’]s ", "", str(r.get("speaker_a_identity", ""))) for r in records]
    labels = Counter(str(record["ground_truth"]) for record in records)
    return {
        "instances": len(records),
        "OR": labels["OR"],
        "NOR": labels["NOR"],
        "mean turns": round(statistics.fmean(turns), 1),
        "median turns": statistics.median(turns),
        "turn range": f"{min(turns)}–{max(turns)}",
        "mean words": round(statistics.fmean(words)),
        "relationships": dict(Counter(who.strip().lower() or "unknown" for who in whose).most_common(5)),
    }


def statistics_table(records: Sequence[Mapping[str, Any]]) -> str:
    """Table 13 in Markdown."""
    facts = statistics_of(records)
    counts = {f"Speaker A is a: {who}": n for who, n in facts.pop("relationships", {}).items()}
    rows = [[name, str(value)] for name, value in facts.items() if name not in ("OR", "NOR")]
    counts = {name: facts[name] for name in ("OR", "NOR") if name in facts} | counts
    rows += [[name, f"{count} ({100 * count / facts['instances']:.1f} %)"] for name, count in counts.items()]
    return table(["statistic", "value"], rows, n_words=1)


def write_items(folder: RawFolder, outcome: Outcome, facts: Mapping[str, Any]) -> Path:
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
    construction = {"funnel": dict(outcome.funnel()), "statistics": statistics_of(outcome.records)}
    folder.remove_items()
    missing = [{"id": post_id, "stage": stage, "why": why} for post_id, (stage, why) in outcome.left_out.items()]
    write_jsonl(out / "missing.jsonl", missing)
    write_json(out / "construction.json", {**facts, "settings": folder.settings, **construction})
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, outcome.records)  # last: without it there is no set
    return out


def write_release(folder: RawFolder, out: Path) -> int:
    """Write what may be passed on of a set; how many contexts were left out as they repeat a message.

    Raises DataError where there is no set, or for a folder with other files.
    """
    path = folder.path / ITEMS_FOLDER / AIO_FILE.name
    if not path.exists():
        raise DataError(f"{path}: no such file; make the set with `evenhand build aio items`")
    if out.is_dir() and any(path.name not in RELEASE_FILES and path.suffix != ".partial" for path in out.iterdir()):
        raise DataError(f"{out}: holds other files; choose an empty or a new folder for --out")
    records = [record.values for record in json_records(path)]
    fit = [record for record in records if not copies(record)]
    write_whole(out / "ids.txt", "".join(f"{record['id']}\n" for record in fit))
    write_json(out / "prompts.json", PROMPTS)
    card = filled(Path(__file__).with_name("release_card.md"), statistics=statistics_table(fit))
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, [{**{key: r.get(key) for key in KEPT}, "c2_input": REDACTED} for r in fit])
    return len(records) - len(fit)


def copies(record: Mapping[str, Any]) -> bool:
    """Whether a context repeats so many characters of the dialogue word by word; case, blanks and marks aside."""

    def words(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.lower()))

    context = words(str(record["context"]))
    turns = [words(line.partition(": ")[2]) for line in str(record["c2_input"]).splitlines()]
    starts = ((turn, start) for turn in turns for start in range(len(turn) - SHORTEST_COPY + 1))
    return any(turn[start : start + SHORTEST_COPY] in context for turn, start in starts)

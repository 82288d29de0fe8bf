"""`evenhand build aio`: stage by stage to the released set with the dialogues that the stages have kept (DialDefer,
§3.2.2), and its statistics (Table 13).

It holds dialogues, so it lies inside the raw folder (`items/`), in the format of the authors' release; DialDefer reads
it there as dataset `aio`.
"""

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.files import write_jsonl, write_whole
from evenhand.terminal import command_parser, say
from studies.dialdefer.aio.folder import ITEMS_FOLDER, POSTS, TRANSCRIPTS, RawFolder, opened
from studies.dialdefer.aio.models import Model, transcribe
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.reddit import harvest, reddit_client
from studies.dialdefer.aio.replies import OTHER, SWAPPED, Turn, dialogue, turns_in
from studies.dialdefer.release import AIO_FILE, VERDICTS, records_at
from studies.markdown import filled, table

LIBRARIES = ("PIL", "json_repair", "openai", "phonenumbers", "praw")
STAGES = ("harvest", "transcribe", "check", "items")
HERE = Path(__file__).parent

Record = Mapping[str, Any]
Reason = tuple[str, str]  # stage, why


def main(argv: Sequence[str]) -> None:
    """Put the dialogues of the released r/AIO back, from Reddit's screenshots (DialDefer, appendix B)."""
    epilog = "The stages come in the order that they are listed in; docs/aio.md has whole examples."
    parser = command_parser("build aio", main, epilog)
    parser.add_argument("stage", choices=STAGES)
    options = parser.parse_args(argv)
    if options.stage == "transcribe" and not (options.server and options.model):
        parser.error("transcribe asks a model: give --server http://HOST:PORT/v1 and --model NAME")
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        install = "pip install --no-deps -r requirements/aio.lock"
        raise ConfigError(f"`evenhand build aio` needs {', '.join(missing)}, not installed here: {install}")
    released = {record.identifier("id"): record.values for record in records_at(options.release, AIO_FILE)}
    if wrong := [post_id for post_id in released if not re.fullmatch("[a-z0-9]{4,10}", post_id)]:
        raise DataError(f"{options.release}: '{wrong[0][:40]}' is not an id of a post on Reddit, such as 1oh8hfn")
    with opened(options.raw) as folder:
        if options.stage == "harvest":
            harvest(folder, reddit_client(), [*released])
        elif options.stage == "transcribe":
            model = Model(options.server, options.model, options.api_key_env, options.concurrency)
            if n_unanswered := transcribe(folder, model, released):
                say(f"{n_unanswered:,} posts got no answer; run the same command again")
        elif options.stage == "check":
            n_new = folder.write_checks(released)
            say(f"{folder.path / 'check'}: {n_new:,} new files. Fill in `keep` and `poster` of each, then run `items`")
        records, left_out = outcome_of(folder, released)
        say(progress_text(records, left_out))
        if options.stage == "items":
            out = write_items(folder, records, left_out)
            say(f"\n{statistics_text(records)}\n\n{out}: a root of dataset aio; missing.jsonl has the others")


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
    turns = turns_in(check.dialogue)
    return [(SWAPPED[who], text) for who, text in turns] if check.poster == OTHER else turns


def progress_text(records: Sequence[Record], left_out: Mapping[str, Reason]) -> str:
    """How many posts are in the set, and what was left out and why."""
    head = f"{len(records):,} of {len(records) + len(left_out):,} posts have their dialogue."
    rows = [[stage, why, f"{n:,}"] for (stage, why), n in Counter(left_out.values()).most_common()]
    return f"{head}\n\n{table(['stage', 'left out because', 'n'], rows, n_words=2)}" if rows else head


def statistics_text(records: Sequence[Record]) -> str:
    """Table 13 of a set in Markdown."""
    if not records:
        return "No items."
    dialogues = [turns_in(record["c2_input"]) for record in records]
    n_turns = [len(spoken) for spoken in dialogues]
    whose = [re.sub(r"^Person [AB]['’]s ", "", record.get("speaker_a_identity", "")) for record in records]
    relationships = Counter(who.strip().lower() or "unknown" for who in whose).most_common(5)
    labels = Counter(record["ground_truth"] for record in records)
    counts = {label: labels[label] for label in VERDICTS} | {f"Speaker A is a: {who}": n for who, n in relationships}
    n_words = sum(len(text.split()) for spoken in dialogues for _, text in spoken)
    facts = {"n_turns": n_turns, "median": statistics.median(n_turns), "n_words": n_words, "counts": counts}
    return filled(HERE / "statistics.md", **facts).rstrip()


def write_items(folder: RawFolder, records: Sequence[Record], left_out: Mapping[str, Reason]) -> Path:
    """items/: the set as DialDefer reads it, what is missing and why, and a card."""
    out = folder.path / ITEMS_FOLDER
    texts = {"progress": progress_text(records, left_out), "statistics": statistics_text(records)}
    card = filled(HERE / "items_card.md", **texts)
    folder.remove_items()
    missing = [{"id": post_id, "stage": stage, "why": why} for post_id, (stage, why) in left_out.items()]
    write_jsonl(out / "missing.jsonl", missing)
    write_whole(out / "README.md", card)
    write_jsonl(out / AIO_FILE.name, records)  # last: without it there is no set
    return out

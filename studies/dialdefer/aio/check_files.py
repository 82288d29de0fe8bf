"""What people check (B.1.4, B.2.3): a YAML file a post in `check/`, with what was found and room for what they decide.

The screenshots and comments are looked at on Reddit, behind the link: they are not copied here.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from evenhand.config import Closed, parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.jsonl import write_whole
from studies.dialdefer.aio.raw_folder import CHECKS, READINGS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.records import Label, Post, Reading, Speaker, Transcript, Turn
from studies.dialdefer.aio.transcripts import dialogue, swapped, turns_in, unfit

HEAD = """\
# Open the link, compare the screenshots and comments with what is below, and put right what is wrong.
# keep: yes, or no with a reason in `why`: not a chat, more than two speakers, deleted, not English, label unclear ...
# poster: who of the two is the original poster; in the finished set that one becomes Speaker B.
"""
AS_FOUND = """# No verdict was read from the comments: write OR or NOR into `label`, or leave the post out.
"""
LABEL_GONE = """# A comment was deleted on Reddit, and the label with it: give `label` and `keep` anew, from the others.
"""


class Check(Closed):
    """One post as a person sees and leaves it."""

    link: str
    keep: bool | None = None
    why: str = ""
    poster: Speaker = "Speaker B"
    dialogue: str
    label: Label | Literal[""] = ""
    doubts: tuple[str, ...] = ()
    context: str = ""
    held: tuple[str, ...] = ()
    relationship: str = ""


class Lines(yaml.SafeDumper):
    """YAML whose texts of several lines stand as they are."""


Lines.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def write_checks(folder: RawFolder, *, with_readings: bool) -> tuple[int, int]:
    """(new files, all files). A file that is there stays: a person may have worked in it."""
    n_new, n_all = 0, 0
    for post_id, transcript in folder.kept(TRANSCRIPTS, Transcript):
        reading = folder.read(READINGS, post_id)
        if with_readings and (unfit(transcript.turns) or not isinstance(reading, Reading)):
            continue
        n_all += 1
        if not (path := folder.file(CHECKS, post_id)).exists():
            found = reading if isinstance(reading, Reading) and with_readings else None
            write_whole(path, sheet_text(post_id, transcript, found))
            n_new += 1
    return n_new, n_all


def sheet_text(post_id: str, transcript: Transcript, reading: Reading | None) -> str:
    """The file of a post."""
    found: dict[str, Any] = {"dialogue": dialogue(transcript.turns)}
    if reading:
        found |= {
            "label": reading.label or "",
            "doubts": list(reading.doubts),
            "context": reading.context,
            "held": list(reading.held),
            "relationship": reading.relationship,
        }
    asked = {"link": f"https://www.reddit.com/comments/{post_id}", "keep": None, "why": "", "poster": "Speaker B"}
    return HEAD + (AS_FOUND if reading and not reading.label else "") + yaml_text({**asked, **found})


def yaml_text(tree: Mapping[str, Any]) -> str:
    """The keys as a person reads them."""
    return yaml.dump(dict(tree), Dumper=Lines, allow_unicode=True, sort_keys=False, width=110)


def forget_label(folder: RawFolder, post: Post, deleted: Collection[str]) -> None:
    """Take the label out of a post's file, unless it was read from a comment that is none of the deleted ones.

    What a person put right stays, and `keep` is asked for again. A file in which nobody worked is removed: `check`
    writes it anew. Raises ConfigError.
    """
    path = folder.file(CHECKS, post.post_id)
    check = parse_config(Check, read_yaml(path), str(path)) if path.exists() else None
    if check is None or not (check.label or check.doubts):
        return
    reading, transcript = folder.read(READINGS, post.post_id), folder.read(TRANSCRIPTS, post.post_id)
    if isinstance(reading, Reading) and isinstance(transcript, Transcript):
        if check.label == reading.label and post.comments["best"][reading.comment].comment_id not in deleted:
            return
        if path.read_text(encoding="utf-8") == sheet_text(post.post_id, transcript, reading):
            path.unlink()
            return
    keep = False if check.keep is False else None
    left = check.model_copy(update={"label": "", "doubts": (), "keep": keep})
    write_whole(path, HEAD + LABEL_GONE + yaml_text(left.model_dump(mode="json")))


def read_check(path: Path) -> tuple[Check, list[Turn]]:
    """(what a person left, the corrected turns with the poster as Speaker B). Raises ConfigError and DataError."""
    check = parse_config(Check, read_yaml(path), str(path))
    try:
        turns = turns_in(check.dialogue)
    except ValueError as error:
        raise DataError(f"{path}: dialogue: {error}") from None
    return check, swapped(turns) if check.poster == "Speaker A" else turns


def checks_in(folder: RawFolder) -> Mapping[str, tuple[Check, list[Turn]]]:
    """Post → what a person left of it, of the posts that have such a file."""
    paths = {post_id: folder.file(CHECKS, post_id) for post_id in folder.ids}
    return {post_id: read_check(path) for post_id, path in paths.items() if path.exists()}

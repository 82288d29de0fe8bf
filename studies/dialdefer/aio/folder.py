"""The folder of raw text: named so, ignored by git wherever it lies, one file a post and stage; and what people check.

Every file appears whole or not at all, so a stage that was killed goes on with the posts that have no file yet. A
stage's record is a JSON object; {"dropped": why} says that the stage left the post out. No author's name is in any.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import field_validator

from evenhand.config import Closed, parse_config, read_yaml
from evenhand.errors import ConfigError
from evenhand.files import locked, shipped_yaml, write_json, write_whole
from evenhand.records import digest
from evenhand.run_directory import read_json
from studies.dialdefer.aio.replies import dialogue, turns_in, unfit, who_wrote

POSTS, TRANSCRIPTS, READINGS, CHECKS = "posts", "transcripts", "readings", "check"
ITEMS_FOLDER = "items"
WRITES_FIRST = "poster_writes_first"  # in a record of a set: so that a later transcript's speakers can be told apart
NOTICE = "# Texts of people on Reddit: not for git, not to be passed on.\n*\n"
PROMPTS = shipped_yaml(Path(__file__).with_name("prompts.yaml"))
VERSIONS = {  # of the prompts of a stage
    "transcribe": digest(PROMPTS["transcription"], 12),
    "label": digest([PROMPTS[key] for key in ("label", "neutral", "relationship", "body_characters")], 12),
}
HEAD = """\
# Open the link, compare the screenshots and comments with what is below, and put right what is wrong.
# keep: yes, or no with a reason in `why`: not a chat, more than two speakers, deleted, not English, label unclear ...
# poster: Speaker A or Speaker B, whoever wrote the post (in most screenshots on the right); the set calls that one B.
"""
NO_LABEL = "# No verdict was read from the comments: write OR or NOR into `label`, or leave the post out.\n"


class Check(Closed):
    """One post as a person sees and leaves it."""

    link: str
    keep: bool | None = None
    why: str = ""
    poster: Literal["Speaker A", "Speaker B"] | None = None
    dialogue: str
    label: Literal["OR", "NOR", ""] = ""
    doubts: tuple[str, ...] = ()
    context: str = ""
    held: tuple[str, ...] = ()
    relationship: str = ""

    @field_validator("dialogue")
    @classmethod
    def has_speakers(cls, text: str) -> str:
        turns_in(text)
        return text


class CheckDumper(yaml.SafeDumper):
    """YAML whose texts of several lines stand as they are."""


CheckDumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


class RawFolder:
    """What is known of each post. Use `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def discovery(self) -> dict[str, Any]:
        """{"ids": id → listing that showed it first, "done": listings of an unfinished pass}."""
        return {"ids": {}, "done": [], **json_at(self.path / "discovery.json")}

    @property
    def gone(self) -> dict[str, str]:
        """Id → why, of posts that Reddit does not show any more."""
        return json_at(self.path / "gone.json")

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """Stage → model and prompts."""
        return json_at(self.path / "settings.json")

    @property
    def ids(self) -> list[str]:
        """The posts that were discovered or given, in the order they came, without those that are gone."""
        gone = self.gone
        return [post_id for post_id in self.discovery["ids"] if post_id not in gone]

    def file(self, stage: str, post_id: str) -> Path:
        """Where a stage keeps a post."""
        return self.path / stage / f"{post_id}.{'yaml' if stage == CHECKS else 'json'}"

    def owed(self, stage: str, ids: Iterable[str]) -> list[str]:
        """The posts that a stage has still to do."""
        return [post_id for post_id in ids if not self.file(stage, post_id).exists()]

    def read(self, stage: str, post_id: str) -> dict[str, Any]:
        """A stage's record of a post, empty where there is none yet. Raises DataError for a damaged one."""
        return json_at(self.file(stage, post_id))

    def kept(self, stage: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(id, record) of the posts that a stage did not drop, in the order of the ids."""
        for post_id in self.ids:
            if (record := self.read(stage, post_id)) and "dropped" not in record:
                yield post_id, record

    def write(self, stage: str, post_id: str, record: Mapping[str, Any]) -> None:
        """Keep a stage's record of a post."""
        write_json(self.file(stage, post_id), record)

    def purge(self, reasons: Mapping[str, str]) -> None:
        """Remove all that is kept of posts (id → why). They are listed first: after a kill `opened` goes on."""
        if reasons:
            write_json(self.path / "gone.json", {**reasons, **self.gone})
            self.sweep()

    def sweep(self) -> None:
        """Remove what is kept of posts that are gone: first the set, which would not be missed after a kill."""
        stages = (POSTS, TRANSCRIPTS, READINGS, CHECKS)
        files = [self.file(stage, post_id) for post_id in self.gone for stage in stages]
        if there := [file for file in files if file.exists()]:
            self.remove_items()
            for file in there:
                file.unlink()

    def remove_items(self) -> None:
        """Remove the finished set, which would hold deleted texts; `items` makes it anew."""
        for file in (self.path / ITEMS_FOLDER).glob("*"):
            file.unlink()

    def begin(self, stage: str, model: str) -> None:
        """Note what a stage is done with. Raises ConfigError where it was begun with another model or prompts."""
        now = {"model": model, "prompts": VERSIONS[stage]}
        if (before := self.settings.get(stage, now)) != now:
            differs = ", ".join(f"{key}: {before[key]}, now {value}" for key, value in now.items())
            raise ConfigError(
                f"{self.path / 'settings.json'}: {stage} was begun otherwise ({differs}), and two ways are not "
                "mixed in one set. Go on as it was begun, or remove its entry and the stage's folder to begin anew"
            )
        write_json(self.path / "settings.json", {**self.settings, stage: now})

    def check(self, post_id: str) -> Check | None:
        """What a person left of a post, None where nobody was asked. Raises ConfigError for what cannot be meant."""
        path = self.file(CHECKS, post_id)
        return parse_config(Check, read_yaml(path), str(path)) if path.exists() else None

    def write_checks(self, released: Mapping[str, Mapping[str, Any]]) -> tuple[int, int]:
        """(new files, all files). A file that is there stays: a person may have worked in it.

        released: id → record of a released set whose dialogues are put back, which says who its posters are.
        """
        n_new, n_all = 0, 0
        for post_id, transcript in self.kept(TRANSCRIPTS):
            reading, turns = {} if released else self.read(READINGS, post_id), transcript["turns"]
            if not released and (not reading or unfit(turns)):
                continue
            n_all += 1
            if self.owed(CHECKS, [post_id]):
                n_new += 1
                keys_of_check = {
                    "link": f"https://www.reddit.com/comments/{post_id}",
                    "keep": None,
                    "why": "",
                    "poster": None,
                }
                poster = who_wrote(turns, released.get(post_id, {}).get(WRITES_FIRST))
                keys = {**keys_of_check, "dialogue": dialogue(turns), **reading, "poster": poster}
                text = yaml.dump(keys, Dumper=CheckDumper, allow_unicode=True, sort_keys=False, width=110)
                head = HEAD if reading.get("label", True) else HEAD + NO_LABEL
                write_whole(self.file(CHECKS, post_id), head + text)
        return n_new, n_all

    def forget(self, post_id: str) -> None:
        """Remove a post's texts and all that may repeat them, for the stages to make anew; the transcript stays."""
        self.remove_items()
        for stage in (CHECKS, READINGS, POSTS):  # the post last: a kill before it repeats all of this
            self.file(stage, post_id).unlink(missing_ok=True)


def json_at(path: Path) -> dict[str, Any]:
    """What a file holds; empty where there is none."""
    return read_json(path) if path.exists() else {}


@contextmanager
def opened(path: Path) -> Iterator[RawFolder]:
    """The folder, alone in it. Raises ConfigError for a name that does not say what it holds."""
    if not path.name.startswith("raw"):
        raise ConfigError(
            f"--raw {path}: this folder holds what people wrote on Reddit, and its name must say so: begin it with "
            "`raw`, such as raw-reddit"
        )
    with locked(path, "build aio"):
        write_whole(path / ".gitignore", NOTICE)
        folder = RawFolder(path)
        folder.sweep()
        yield folder

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
from evenhand.files import shipped_yaml, write_json, write_whole
from evenhand.lease import locked
from evenhand.run_directory import read_json
from studies.dialdefer.aio.replies import dialogue, turns_in

POSTS, TRANSCRIPTS, CHECKS = "posts", "transcripts", "check"
ITEMS_FOLDER, GONE = "items", "gone.json"
TEXTS = shipped_yaml(Path(__file__).with_name("prompts.yaml"))


class Check(Closed):
    """One post as a person sees and leaves it."""

    link: str
    keep: bool | None = None
    why: str = ""
    poster: Literal["Speaker A", "Speaker B"] | None = None
    dialogue: str

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
    def gone(self) -> dict[str, str]:
        """Id → why, of posts that Reddit does not show any more."""
        return json_at(self.path / GONE)

    def file(self, stage: str, post_id: str) -> Path:
        """Where a stage keeps a post."""
        return self.path / stage / f"{post_id}.{'yaml' if stage == CHECKS else 'json'}"

    def read(self, stage: str, post_id: str) -> dict[str, Any]:
        """A stage's record of a post, empty where there is none yet. Raises DataError for a damaged one."""
        return json_at(self.file(stage, post_id))

    def owed(self, stage: str, before: str, ids: Iterable[str]) -> list[str]:
        """The posts that a stage has still to do: those that the stage before it has, and did not drop."""
        there = ((post_id, self.read(before, post_id)) for post_id in ids if not self.file(stage, post_id).exists())
        return [post_id for post_id, record in there if record and "dropped" not in record]

    def write(self, stage: str, post_id: str, record: Mapping[str, Any]) -> None:
        """Keep a stage's record of a post."""
        write_json(self.file(stage, post_id), record)

    def sweep(self) -> None:
        """Remove all that is kept of posts that are gone: first the set, which would not be missed after a kill."""
        files = [self.file(stage, post_id) for post_id in self.gone for stage in (POSTS, TRANSCRIPTS, CHECKS)]
        if there := [file for file in files if file.exists()]:
            self.remove_items()
            for file in there:
                file.unlink()

    def remove_items(self) -> None:
        """Remove the finished set, which would hold deleted texts; `items` makes it anew."""
        for file in (self.path / ITEMS_FOLDER).glob("*"):
            file.unlink()

    def check(self, post_id: str) -> Check | None:
        """What a person left of a post, None where nobody was asked. Raises ConfigError for what cannot be meant."""
        path = self.file(CHECKS, post_id)
        return parse_config(Check, read_yaml(path), str(path)) if path.exists() else None

    def write_checks(self, ids: Iterable[str]) -> int:
        """How many new files there are. One that is there stays: a person may have worked in it."""
        owed = self.owed(CHECKS, TRANSCRIPTS, ids)
        for post_id in owed:
            link, spoken = f"https://www.reddit.com/comments/{post_id}", self.read(TRANSCRIPTS, post_id)["turns"]
            keys = Check.model_construct(link=link, dialogue=dialogue(spoken)).model_dump()
            text = yaml.dump(keys, Dumper=CheckDumper, allow_unicode=True, sort_keys=False, width=110)
            write_whole(self.file(CHECKS, post_id), TEXTS["check"] + text)
        return len(owed)


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
        write_whole(path / ".gitignore", TEXTS["gitignore"])
        folder = RawFolder(path)
        folder.sweep()
        yield folder

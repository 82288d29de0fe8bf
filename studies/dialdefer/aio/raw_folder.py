"""The folder of raw text: named so, ignored by git wherever it lies, one file a post and stage.

Every file appears whole or not at all, so a stage that was killed goes on with the posts that have no file yet.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from evenhand.config import Closed, parse_config
from evenhand.errors import ConfigError
from evenhand.jsonl import write_json, write_whole
from evenhand.run_directory import read_json
from evenhand.sources.fetching import locked
from studies.dialdefer.aio.records import Dropped, Post, Reading, Transcript

POSTS, TRANSCRIPTS, READINGS, CHECKS = "posts", "transcripts", "readings", "check"
SCHEMAS: Mapping[str, type[Closed]] = {POSTS: Post, TRANSCRIPTS: Transcript, READINGS: Reading}
ITEMS_FOLDER = "items"
NOTICE = "# Texts of people on Reddit: not for git, not to be passed on.\n*\n"

R = TypeVar("R", bound=Closed)


class RawFolder:
    """What is known of each post. Use `opened`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def ids(self) -> list[str]:
        """The posts that were discovered or given, in the order they came, without those that are gone."""
        gone = self.gone
        return [post_id for post_id in self.discovery["ids"] if post_id not in gone]

    @property
    def discovery(self) -> dict[str, Any]:
        """{"ids": id → listing that showed it first, "without_image": ids, "done": listings of an unfinished pass}."""
        path = self.path / "discovery.json"
        return read_json(path) if path.exists() else {"ids": {}, "without_image": [], "done": []}

    def write_discovery(self, found: Mapping[str, Any]) -> None:
        """Keep the ids."""
        write_json(self.path / "discovery.json", found)

    @property
    def gone(self) -> dict[str, dict[str, str]]:
        """Id → reason and date of posts that Reddit does not show any more."""
        path = self.path / "gone.json"
        return read_json(path) if path.exists() else {}

    def file(self, stage: str, post_id: str) -> Path:
        """Where a stage keeps a post."""
        return self.path / stage / f"{post_id}.{'yaml' if stage == CHECKS else 'json'}"

    def has(self, stage: str, post_id: str) -> bool:
        """Whether a stage is through with a post."""
        return self.file(stage, post_id).exists()

    def owed(self, stage: str, ids: Iterable[str]) -> list[str]:
        """The posts that a stage has still to do."""
        return [post_id for post_id in ids if not self.has(stage, post_id)]

    def read(self, stage: str, post_id: str) -> Closed | None:
        """A stage's record of a post, Dropped, or None where there is none yet. Raises ConfigError if damaged."""
        path = self.file(stage, post_id)
        if not path.exists():
            return None
        tree = read_json(path)
        return parse_config(Dropped if "dropped" in tree else SCHEMAS[stage], tree, str(path))

    def kept(self, stage: str, schema: type[R]) -> Iterator[tuple[str, R]]:
        """(id, record) of the posts that a stage has kept, in the order of the ids."""
        for post_id in self.ids:
            record = self.read(stage, post_id)
            if isinstance(record, schema):
                yield post_id, record

    def write(self, stage: str, post_id: str, record: Closed) -> None:
        """Keep a stage's record of a post."""
        write_json(self.file(stage, post_id), record.model_dump(mode="json"))

    def purge(self, reasons: Mapping[str, str]) -> None:
        """Remove all that is kept of posts (id → why). They are listed first: a kill in between is made good by opened.

        Raises nothing for a post of which nothing is kept.
        """
        if not reasons:
            return
        today = datetime.now(UTC).date().isoformat()
        noted = {post_id: {"reason": reason, "noted": today} for post_id, reason in reasons.items()}
        write_json(self.path / "gone.json", {**noted, **self.gone})
        self.sweep()

    def sweep(self) -> None:
        """Remove what is kept of posts that are gone: first the set, which would not be missed after a kill."""
        files = [self.file(stage, post_id) for post_id in self.gone for stage in (*SCHEMAS, CHECKS)]
        if there := [file for file in files if file.exists()]:
            self.remove_items()
            for file in there:
                file.unlink()

    def remove_items(self) -> None:
        """Remove the finished set, which holds what is no more to be kept; `items` makes it anew."""
        for file in (self.path / ITEMS_FOLDER).glob("*"):
            file.unlink()

    def settle(self, stage: str, facts: Mapping[str, Any]) -> None:
        """Note what a stage is done with. Raises ConfigError where it was begun with something else."""
        path = self.path / f"{stage}.settings.json"
        if not path.exists():
            write_json(path, facts)
        elif (before := read_json(path)) != facts:
            differs = ", ".join(f"{key}: {before.get(key)}, now {facts.get(key)}" for key in {**before, **facts})
            raise ConfigError(
                f"{path}: this stage was begun otherwise ({differs}), and two ways are not mixed in one set. Go on as "
                f"it was begun, or remove {path.name} and the folder {self.path / stage} to begin anew"
            )

    def settings(self) -> dict[str, Any]:
        """Stage → what it was done with."""
        names = {path.name.partition(".")[0]: path for path in sorted(self.path.glob("*.settings.json"))}
        return {name: read_json(path) for name, path in names.items()}


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

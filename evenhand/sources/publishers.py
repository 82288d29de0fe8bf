"""The three kinds of places where publishers keep files: GitHub, the hub, a folder on the web.

A place and a revision become a full commit, the files that are wanted, and the address of each.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from evenhand.errors import DataError
from evenhand.sources.http_get import BY_HAND, Address, Connection, ask_json, without_secrets
from evenhand.sources.origin import Origin
from evenhand.sources.source_record import RECORD_FILE

PLACE = re.compile(r"(github|hf):([\w.-]+/[\w.-]+)")
FULL_COMMIT = re.compile(r"[0-9a-f]{40}")
FILE_NAME = re.compile(r"\w[\w.+=@() -]*")  # so that nothing a publisher lists leads out of the folder or hides in it
N_SHOWN = 20  # files named in an error


def hub_endpoint() -> str:
    """Where the hub is, by the user's wish or by default."""
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """Where the publishers' hosts answer."""

    github_api: str = "https://api.github.com"
    github_raw: str = "https://raw.githubusercontent.com"
    hub: str = field(default_factory=hub_endpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The files wanted of a place, at one revision."""

    revision: str | None  # full commit; None for a folder on the web, whose files have a version each
    paths: tuple[str, ...]


def wanted_files(origin: Origin, revision: str | None, connection: Connection, hosts: Hosts) -> Wanted:
    """What to fetch. Nothing is asked when the revision is a full commit and every file is named by its path."""
    kind, where = place_parts(origin.place)
    plain = not any(is_pattern(file) for file in origin.files)
    if kind == "folder" and not plain:
        raise DataError(f"{origin.place}: a folder on the web cannot be listed; name its files instead of a pattern")
    if kind == "folder" or (plain and revision and FULL_COMMIT.fullmatch(revision)):
        found = Wanted(revision=None if kind == "folder" else revision, paths=origin.files)
    elif kind == "github":
        found = github_files(origin, where, revision, connection, hosts)
    else:
        found = hub_files(origin, where, revision, connection, hosts)
    refuse_unfit_names(origin, found.paths)
    return found


def file_address(origin: Origin, revision: str | None, path: str, hosts: Hosts) -> Address:
    """Where one file is. Content at an address with a commit in it never changes."""
    kind, where = place_parts(origin.place)
    if kind == "github":
        # Without token: the raw host answers 404 to a token that has expired, and public files need none.
        url = f"{hosts.github_raw}/{where}/{revision}/{quote(path)}"
        return Address(url=url, way_in="is it private now?", never_changes=True)
    if kind == "hf":
        asked = hub_address(origin, where, f"/datasets/{where}/resolve/{revision}/{quote(path)}", hosts)
        return replace(asked, never_changes=True)
    terms = f"accept its terms at {origin.terms}" if origin.terms else "look there with a browser"
    return Address(url=f"{where.rstrip('/')}/{quote(path)}", way_in=terms)


def place_parts(place: str) -> tuple[str, str]:
    """("github" or "hf", "owner/name"), or ("folder", address)."""
    if match := PLACE.fullmatch(place):
        return match[1], match[2]
    if place.startswith(("https://", "http://")):
        return "folder", place
    raise DataError(f"place '{place}' is none of github:OWNER/REPO, hf:OWNER/DATASET and https://FOLDER")


def github_files(origin: Origin, repository: str, revision: str | None, connection: Connection, hosts: Hosts) -> Wanted:
    """The commit that a branch, a short commit or None (the newest) stands for, and the files that match."""

    def api(path: str) -> Address:
        return Address(
            url=f"{hosts.github_api}/repos/{repository}/{path}",
            token=os.environ.get("GITHUB_TOKEN"),
            way_in="GitHub answers strangers 60 times an hour: wait, or set GITHUB_TOKEN to a valid token "
            "(https://github.com/settings/tokens)",
        )

    asked = api(f"commits/{quote(revision or 'HEAD', safe='')}")
    commit = commit_in(ask_json(asked, connection), asked)
    if not any(is_pattern(file) for file in origin.files):
        return Wanted(revision=commit, paths=origin.files)
    asked = api(f"git/trees/{commit}?recursive=1")
    tree = ask_json(asked, connection)
    entries = objects_in(tree, "tree", asked)
    if tree.get("truncated"):
        raise DataError(f"{origin.place}: has more files than GitHub lists; name the files by their paths")
    there = [str(entry.get("path")) for entry in entries if entry.get("type") == "blob"]
    return Wanted(revision=commit, paths=matching(origin, there))


def hub_files(origin: Origin, dataset: str, revision: str | None, connection: Connection, hosts: Hosts) -> Wanted:
    """The commit that a revision stands for, and the files that match."""
    asked = hub_address(
        origin, dataset, f"/api/datasets/{dataset}/revision/{quote(revision or 'main', safe='')}", hosts
    )
    answer = ask_json(asked, connection)
    there = [str(sibling.get("rfilename")) for sibling in objects_in(answer, "siblings", asked)]
    return Wanted(revision=commit_in(answer, asked), paths=matching(origin, there))


def hub_address(origin: Origin, dataset: str, path: str, hosts: Hosts) -> Address:
    """An address at the hub, asked with the user's token if there is one."""
    from huggingface_hub import get_token

    terms = origin.terms or without_secrets(f"{hosts.hub}/datasets/{dataset}")
    return Address(
        url=f"{hosts.hub}{path}",
        token=get_token(),
        way_in=f"accept the terms at {terms} with your account, make a read token at "
        "https://huggingface.co/settings/tokens, set HF_TOKEN to it and run again",
    )


def commit_in(answer: Any, asked: Address) -> str:
    """The full commit that an answer names."""
    commit = answer.get("sha") if isinstance(answer, dict) else None
    if not isinstance(commit, str) or not FULL_COMMIT.fullmatch(commit):
        raise DataError(f"{asked}: the answer names no commit; is a proxy between? Try later, {BY_HAND}")
    return commit


def objects_in(answer: Any, key: str, asked: Address) -> list[dict[str, Any]]:
    """The objects that an answer lists under a key."""
    listed = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        raise DataError(f"{asked}: the answer lists no files; is a proxy between? Try later, {BY_HAND}")
    return [entry for entry in listed if isinstance(entry, dict)]


def is_pattern(file: str) -> bool:
    """Whether an origin's file is a pattern rather than a path."""
    return any(mark in file for mark in "*?[")


def matching(origin: Origin, there: Sequence[str]) -> tuple[str, ...]:
    """The paths that the origin's files name, each once. `*` matches any characters, `/` among them."""
    wanted: dict[str, None] = {}
    for file in origin.files:
        found = sorted(path for path in there if (fnmatchcase(path, file) if is_pattern(file) else path == file))
        if not found:
            more = f" and {len(there) - N_SHOWN} more" if len(there) > N_SHOWN else ""
            raise DataError(
                f"{origin.place}: holds no file '{file}'; there are {', '.join(there[:N_SHOWN]) or 'none'}{more}. "
                f"The publisher may have moved it; look there, {BY_HAND}"
            )
        wanted.update(dict.fromkeys(found))
    return tuple(wanted)


def refuse_unfit_names(origin: Origin, paths: Sequence[str]) -> None:
    """Raises DataError for a name that cannot lie in one flat folder with the others on any file system."""
    seen: dict[str, str] = {}
    for path in paths:
        name = PurePosixPath(path).name
        if not FILE_NAME.fullmatch(name) or name == RECORD_FILE or ".partial" in name:
            raise DataError(f"{origin.place}: file '{path}' has a name that cannot be kept here; {BY_HAND[3:]}")
        if name.casefold() in seen:
            raise DataError(
                f"{origin.place}: '{seen[name.casefold()]}' and '{path}' would both be {name}; "
                "put the one that is wanted into DIR/DATASET/ yourself and give --raw DIR"
            )
        seen[name.casefold()] = path

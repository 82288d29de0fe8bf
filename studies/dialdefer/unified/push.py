"""Upload a finished build to a dataset repository of the Hub, when every licence in it lets copies be passed on."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.hub_upload import hub_api, told
from evenhand.manifest import MANIFEST_FILE, dataset_of, is_built, read_manifest
from evenhand.sources.source_record import sha256_of
from studies.dialdefer.unified.catalogue import DATASETS

# Beside the tables that the manifest names. pool/ and raw/ are the publishers' to give.
PAPERS = ("README.md", MANIFEST_FILE, "dropped.jsonl")
REPO_TYPE = "dataset"


def push_to_hub(folder: Path, repo: str, *, private: bool, api: Any = None) -> str:
    """Upload the tables and papers of a built folder as one commit; returns the repository's address.

    repo: "owner/name", made when it does not exist. Tables of an earlier push that are not in this build are deleted.
    api: a `huggingface_hub.HfApi`; None takes the Hub that HF_ENDPOINT names, with the token of this machine.
    Raises ConfigError before any request for a build that is not finished, data that may not be passed on, no token, no
    network; DataError for a changed table; either for what the Hub refuses. Each says what to do.
    """
    # The Hub's client takes it from its network library, which has changed its name before.
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    paths = files_to_push(folder)
    api = api or hub_api(repo)
    try:
        return upload(folder, paths, repo, private, api)
    except (HTTPError, OSError, ValueError) as error:  # ValueError: a name or a card that the Hub's client refuses
        raise told(error, repo) from None


def files_to_push(folder: Path) -> list[str]:
    """The paths to upload, relative to the folder, after every check that needs no network."""
    if not is_built(folder):
        raise ConfigError(f"{folder}: holds no finished build (no {MANIFEST_FILE}); `evenhand build unified` makes one")
    manifest = read_manifest(folder)
    refuse_what_is_not_ours(dict.fromkeys([*manifest["contents"], *map(dataset_of, manifest["files"])]))
    paths = [*PAPERS, *manifest["files"]]
    if lacking := [path for path in paths if not (folder / path).is_file()]:
        raise ConfigError(
            f"{folder}: lacks {', '.join(lacking)}; remove {MANIFEST_FILE}, then `evenhand build unified` again"
        )
    for path, facts in manifest["files"].items():
        if sha256_of(folder / path) != facts["sha256"]:
            raise DataError(f"{folder / path}: is not the table that was built; remove {MANIFEST_FILE}, build again")
    return paths


def refuse_what_is_not_ours(names: Iterable[str]) -> None:
    """Raises ConfigError naming each dataset whose copies may not be passed on, why, and how to build without it."""
    known = list(names)
    reasons = {
        name: DATASETS[name].licence.not_passed_on if name in DATASETS else "this version of Evenhand does not know it"
        for name in known
    }
    refused = {name: reason for name, reason in reasons.items() if reason}
    if not refused:
        return
    why = "\n".join(f"  {name}: {reason}" for name, reason in refused.items())
    allowed = [name for name in known if name not in refused]
    way_out = (
        f"Build the others in another folder: evenhand build unified --out FOLDER --datasets {' '.join(allowed)}"
        if allowed
        else "Nothing is left to push; others can build it themselves with `evenhand build unified`"
    )
    raise ConfigError(f"not pushed: {len(refused)} of {len(known)} datasets may not be passed on\n{why}\n{way_out}")


def upload(folder: Path, paths: list[str], repo: str, private: bool, api: Any) -> str:
    """Make the repository and commit the files. Raises ConfigError when it is public and should not be."""
    address = str(api.create_repo(repo, repo_type=REPO_TYPE, private=private, exist_ok=True))
    if private and not api.repo_info(repo, repo_type=REPO_TYPE).private:
        # The Hub takes `private` for new repositories only.
        raise ConfigError(f"{repo}: exists and is public; add --public to push to it, or name another repository")
    api.upload_folder(
        repo_id=repo,
        repo_type=REPO_TYPE,
        folder_path=folder,
        allow_patterns=paths,
        delete_patterns=["data/**"],
        commit_message="Built by `evenhand build unified`",
    )
    return address

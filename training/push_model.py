"""Upload a merged checkpoint to a model repository of the Hub, when it has a card and judges as what was trained."""

from pathlib import Path
from typing import Any

from evenhand.checkpoints import check_folder
from evenhand.errors import ConfigError
from evenhand.hub_upload import hub_api, told
from evenhand.run_directory import DONE_FILE, is_done, read_json
from training.model_card import CARD_FILE

REPO_TYPE = "model"


def push_to_hub(folder: Path, repo: str, *, private: bool, min_agreement: float, api: Any = None) -> str:
    """Upload every file of a merged checkpoint as one commit; returns the repository's address.

    repo: "owner/name", made when it does not exist. Weight files of an earlier push that are not in this checkpoint
    are deleted. api: a `huggingface_hub.HfApi`; None takes the Hub that HF_ENDPOINT names, with this machine's token.
    Raises ConfigError before any request for a folder that is no checked merge with a card, a check below
    min_agreement, no token, no network; ModelError for missing weights; DataError for what the Hub says. Each says
    what to do.
    """
    # The Hub's client takes it from its network library, which has changed its name before.
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    refuse_unchecked(folder, min_agreement)
    api = api or hub_api(repo)
    try:
        return upload(folder, repo, private, api)
    except (HTTPError, OSError, ValueError) as error:  # ValueError: a name or a card that the Hub's client refuses
        raise told(error, repo) from None


def refuse_unchecked(folder: Path, min_agreement: float) -> None:
    """Raises ConfigError for a folder without a passed check or a card, ModelError when weights lack."""
    if not is_done(folder):
        raise ConfigError(
            f"{folder}: not pushed, for it is no checked merge (no {DONE_FILE}); `evenhand merge` makes one"
        )
    if not (folder / CARD_FILE).is_file():
        raise ConfigError(f"{folder}: not pushed, for it has no model card ({CARD_FILE}); `evenhand merge` writes it")
    agreement = read_json(folder / DONE_FILE)["agreement_rate"]
    if agreement < min_agreement:
        raise ConfigError(
            f"{folder}: not pushed, for only {agreement:.1%} of its verdicts agree with base + adapter "
            f"({min_agreement:.0%} asked for); push the other merge, or lower --min-agreement if that is meant"
        )
    check_folder(folder)


def upload(folder: Path, repo: str, private: bool, api: Any) -> str:
    """Make the repository and commit the files. Raises ConfigError when it is public and should not be."""
    address = str(api.create_repo(repo, repo_type=REPO_TYPE, private=private, exist_ok=True))
    if private and not api.repo_info(repo, repo_type=REPO_TYPE).private:
        # The Hub takes `private` for new repositories only.
        raise ConfigError(f"{repo}: exists and is public; add --public to push to it, or name another repository")
    api.upload_folder(
        repo_id=repo,
        repo_type=REPO_TYPE,
        folder_path=folder,
        allow_patterns=[file.name for file in folder.iterdir() if file.is_file()],
        delete_patterns=["*.safetensors", "*.safetensors.index.json"],
        commit_message="Merged by `evenhand merge`",
    )
    return address

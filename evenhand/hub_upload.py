"""The Hub as a place to upload to: a client that may, and what it says in words."""

from collections.abc import Mapping
from typing import Any

from evenhand.errors import ConfigError, DataError


def hub_api(repo: str) -> Any:
    """The Hub. Raises ConfigError without a token, or where the hub is offline."""
    from huggingface_hub import HfApi, constants, get_token

    if constants.HF_HUB_OFFLINE:
        raise ConfigError(f"{repo}: not pushed, for HF_HUB_OFFLINE is set; unset it on a machine with internet")
    if not get_token():
        raise ConfigError(
            f"{repo}: not pushed, for there is no token; make one with write permission at "
            "https://huggingface.co/settings/tokens and set HF_TOKEN to it, or run `hf auth login`"
        )
    return HfApi()


def told(error: Exception, repo: str) -> ConfigError | DataError:
    """What the Hub or the network said, with the way out."""
    from huggingface_hub.errors import HFValidationError

    if isinstance(error, HFValidationError):
        return ConfigError(f"--push-to-hub {repo}: is no name of a repository; write owner/name")
    status = getattr(getattr(error, "response", None), "status_code", None)
    answers: Mapping[int | None, str] = {
        401: "the Hub does not know the token; make a new one at https://huggingface.co/settings/tokens, set HF_TOKEN",
        403: f"the token may not write to {repo}; it needs write permission for its owner: "
        "https://huggingface.co/settings/tokens",
        404: f"there is no {repo.partition('/')[0]} to whom the token could write; check the spelling",
    }
    if status in answers:
        return ConfigError(f"{repo}: not pushed ({status}): {answers[status]}")
    said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return DataError(f"{repo}: not pushed ({said}); run again, and look at the connection if that does not help")

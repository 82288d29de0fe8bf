"""Whether the Hub can be asked, and as whom. Whether it gives a model is asked for each (model_checks)."""

from evenhand.checkpoints import failures_of_asking
from evenhand.cli.doctor.check import Check, ok, unknown, wrong


def hub_check() -> Check:
    """One request, or none where the Hub is offline. Not to be reached is no fault: all may be in the cache."""
    from huggingface_hub import HfApi, constants, get_session, get_token
    from huggingface_hub.errors import HfHubHTTPError

    if constants.HF_HUB_OFFLINE:
        return unknown("Hub", "HF_HUB_OFFLINE=1: not asked; models must be in the cache")
    try:
        if get_token() is None:
            get_session().head(constants.ENDPOINT, timeout=10)
            return ok("Hub", f"{constants.ENDPOINT} answers; gated models need a token (HF_TOKEN)")
        return ok("Hub", f"{constants.ENDPOINT} answers to {HfApi().whoami()['name']}")
    except HfHubHTTPError as error:
        return wrong(
            "Hub", f"{constants.ENDPOINT} refuses the token ({error})", "set HF_TOKEN to a valid one, or unset it"
        )
    except failures_of_asking() as error:
        why = f"{constants.ENDPOINT} is not reached ({type(error).__name__})"
        return unknown("Hub", why, "where models are in the cache, set HF_HUB_OFFLINE=1, and nothing waits for it")

"""In what two runs of one config differ beside their replies: software, device, engine settings, model, code."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.estimates.comparability import (
    ABSENT,
    Difference,
    config_differences,
    flattened,
    rendering_differences,
)
from eval.sampling_runs import FinishedRun

# Keys of provenance.json that are another run's in any case, or follow from the config.
OWN = ("created", "config_sha256", "item_set_hash", "inputs", "plan_grows")


def environment_differences(first: FinishedRun, again: FinishedRun) -> list[Difference]:
    """All that is known to differ. Serious ones make the re-run one of something else: model, prompts as rendered."""
    return [
        *rendering_differences(first, again),
        *facts_differences(first.provenance, again.provenance),
        *config_differences(first.config, again.config),
        *server_differences(first, again),
    ]


def facts_differences(first: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[Difference]:
    """Of what provenance.json says."""
    ours, theirs = flattened(first), flattened(again)
    for key in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(key, ABSENT), theirs.get(key, ABSENT)
        if one != other and key.partition(".")[0] not in OWN:
            is_model = key in ("model.revision", "model.checkpoint_hash")
            yield Difference(key.removeprefix("packages."), str(one), str(other), serious=is_model)


def server_differences(first: FinishedRun, again: FinishedRun) -> Iterator[Difference]:
    """Of the model and fingerprint that a server's replies name."""
    ours, theirs = named_by_server(first), named_by_server(again)
    if ours != theirs:
        yield Difference("what the server says it is", words(ours), words(theirs), serious=True)


def named_by_server(run: FinishedRun) -> list[str]:
    """What the replies of a run name."""
    return sorted({reply.answered_by for of in run.replies.values() for reply in of if reply.answered_by is not None})


def words(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join(names) or "nothing"

"""What differs between two runs of the study beside the model: a change means nothing when the question changed too."""

from collections.abc import Mapping
from typing import Any

from eval.estimates.comparability import Difference, differences
from eval.narrator.judged_runs import NarratorRun
from evenhand.errors import DataError

# Of a conversation: measures pair within what both were asked.
WHAT_WAS_ASKED = ("narrator.tasks", "narrator.visibilities", "narrator.option_orders")
OTHER_STUDIES = ("narrator.corpus.dataset", "narrator.seed", "verdict")  # no conversation can be paired then


def refuse_other_study(base: NarratorRun, after: NarratorRun, names: tuple[str, str] | None = None) -> None:
    """Raises DataError naming both runs, and what each was asked, where corpus, seed, verdict kind or conversations
    differ: their answers cannot be paired. names: what to call them, by default their models.
    """
    one, other = names or (base.judge, after.judge)
    for key in OTHER_STUDIES:
        ours, theirs = (setting_of(run.config, key) for run in (base, after))
        if ours != theirs:
            raise DataError(
                f"narrator runs {base.path.name} ({one}) and {after.path.name} ({other}) cannot be compared: {key} is "
                f"{ours} there and {theirs} here; sample both alike"
            )
    ours, theirs = base.conversations, after.conversations
    if ours != theirs:
        lone = min(ours ^ theirs)
        raise DataError(
            f"narrator runs {base.path.name} ({one}) and {after.path.name} ({other}) cannot be compared: they are over "
            f"{len(ours):,} and {len(theirs):,} conversations, of which {len(ours & theirs):,} are the same (only "
            f"{one if lone in ours else other} has {lone}); sample both over the same ones"
        )


def setting_of(config: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key; None where it is absent."""
    found: Any = config
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def narrator_differences(base: NarratorRun, after: NarratorRun) -> list[Difference]:
    """All differences in prompts, rendering, config and software, the serious ones first."""
    return differences(base, after, WHAT_WAS_ASKED)

"""What differs between two runs of the study beside the model: a change means nothing when the question changed too."""

from collections.abc import Iterator, Mapping
from typing import Any

from eval.estimates.comparability import Difference, config_differences, provenance_differences
from eval.narrator.judged_runs import NarratorRun
from evenhand.errors import DataError

FREE = ("narrator.corpus.root",)  # the conversations' own hash tells more than the path
# What was asked of a conversation: measures pair within what both were asked.
MILD = ("narrator.tasks", "narrator.visibilities", "narrator.option_orders")
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
    found = [
        *prompt_differences(base, after),
        *rendering_differences(base, after),
        *asked_differences(base, after),
        *(d for d in config_differences(base.config, after.config) if not d.what.startswith((*FREE, *MILD))),
        *provenance_differences(base.provenance, after.provenance),
    ]
    return sorted(found, key=lambda difference: not difference.serious)


def prompt_differences(base: NarratorRun, after: NarratorRun) -> Iterator[Difference]:
    """Prompts that ask the same of a conversation and are not the same text."""
    ours, theirs = ({(j.conversation, j.factors): j.prompt_hash for j in run.judgments} for run in (base, after))
    shared = ours.keys() & theirs.keys()
    changed = sorted({key[0] for key in shared if ours[key] != theirs[key]})
    if not shared:
        yield Difference("planned prompts", f"{len(ours)}", f"{len(theirs)}, none of them the same", True)
    if changed:
        what = f"the words of the prompts about {len(changed)} conversations ({', '.join(changed[:5])})"
        yield Difference(what, "one text", "another", True)


def rendering_differences(base: NarratorRun, after: NarratorRun) -> Iterator[Difference]:
    """Prompts that the two tokenizers' chat templates rendered differently."""
    shared = base.rendered.keys() & after.rendered.keys()
    n_changed = sum(base.rendered[key] != after.rendered[key] for key in shared)
    if n_changed:
        what = f"what the chat template made of {n_changed} of {len(shared)} prompts"
        yield Difference(what, "one text", "another", True)


def asked_differences(base: NarratorRun, after: NarratorRun) -> Iterator[Difference]:
    """Tasks, visibilities and option orders that only one of them was asked."""
    for key in MILD:
        ours, theirs = (setting_of(run.config, key) for run in (base, after))
        if ours != theirs:
            yield Difference(key, words(ours), words(theirs), serious=False)


def words(values: Any) -> str:
    """A list of names, or that it is not set."""
    return ", ".join(map(str, values)) if isinstance(values, list | tuple) else "not set"

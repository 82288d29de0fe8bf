"""Sampling runs, and thresholds on the base run, → the arms of a scorecard, refused where they are no like for like."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from eval.card_arms import BASE
from eval.dialdefer.compare import paired_panels
from eval.dialdefer.panels import Panel
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.scorecard.cost import MERGED, Cost, cost_of
from eval.dialdefer.scores import FIXED, OWN
from eval.judge_names import judge_names
from evenhand.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arm:
    """One row of a scorecard: a judge's untreated prompts in one wording, with both sources of C1."""

    name: str
    kind: str  # "base", "trained", or "calibrated": thresholds on the base run
    run: JudgedRun
    panels: Mapping[str, Mapping[str, Panel]]  # "own" | "fixed" → dataset → panel; own lacks what has no C1
    cost: Cost
    note: str = ""  # where the arm comes from, if not from a run of its own


def base_arm(run: JudgedRun, wording: str) -> Arm:
    """The base run as an arm: its C1 is everybody's fixed C1.

    Raises DataError when it has no dataset with both framings in the wording.
    """
    panels = panels_of(run.panels, run.panels, wording)[OWN]
    if not panels:
        worded = f"wording '{wording}'" if wording else "its main wording"
        raise DataError(f"{run.name}: no dataset has both C1 and C2 without a prompt mitigation in {worded}")
    return Arm(name=BASE, kind=BASE, run=run, panels={OWN: panels, FIXED: panels}, cost=Cost())


def trained_arm(name: str, run: JudgedRun, base: JudgedRun, wording: str) -> Arm:
    """A checkpoint's sampling run as an arm. Raises DataError when it shares no dataset with the base, or other items.

    Its cost is read from the training run that it comes from.
    """
    return Arm(
        name=name, kind="trained", run=run, panels=arm_panels(name, base, run.panels, wording), cost=cost_of(run)
    )


def arm_panels(name: str, base: JudgedRun, after: Sequence[Panel], wording: str) -> dict[str, dict[str, Panel]]:
    """An arm's panels with each source of C1. Raises DataError when there are none, or items differ."""
    try:
        panels = panels_of(base.panels, after, wording)
    except DataError as error:
        raise DataError(f"{name} against {base.name}: {error}") from None
    if not panels[FIXED]:
        raise DataError(f"{name} and {base.name} have no dataset in common; nothing can be compared")
    return panels


def panels_of(base: Sequence[Panel], after: Sequence[Panel], wording: str) -> dict[str, dict[str, Panel]]:
    """Source of C1 → dataset → panel of the after judge, for what both were asked without a prompt mitigation."""
    group = ("none", "2->1", wording)
    return {
        source: {panel.dataset: panel for _, panel in paired_panels(base, after, source).get(group, [])}
        for source in (OWN, FIXED)
    }


def split_word(word: str) -> tuple[str, Path]:
    """(name or "", path) of `RUN` or `NAME=RUN`. A path that exists may hold a "="."""
    name, equals, path = word.partition("=")
    return ("", Path(word)) if not equals or Path(word).exists() else (name.strip(), Path(path))


def arm_names(given: Sequence[str], runs: Sequence[JudgedRun], taken: Iterable[str] = ()) -> list[str]:
    """A name for each arm: the given one, else its model's; where models share one, the sampling run's is added.

    taken: names that other arms have. Raises DataError when two arms were given one name, or one is called as the base.
    """
    others = [BASE, *taken]
    said = [name for name in given if name]
    twice = [name for i, name in enumerate(said) if name in (*others, *said[:i])]
    if twice:
        raise DataError(f"two rows would be called '{twice[0]}'; give each NAME=RUN a name of its own")
    unnamed = [run for name, run in zip(given, runs, strict=True) if not name]
    own = iter(judge_names([model_name(run) for run in unnamed], [run.name for run in unnamed], taken=[*others, *said]))
    return [name or next(own) for name in given]


def model_name(run: JudgedRun) -> str:
    """The model's label; else for a merged checkpoint its training run's name without digest; else the model's name."""
    model = run.config["model"]
    folder = Path(str(model["name"]))
    if model.get("label") or folder.name not in MERGED:
        return run.model
    return re.sub(r"-[0-9a-f]{8}$", "", folder.parent.name)


def as_untreated(panel: Panel) -> Panel:
    """The panel of an arm that answers the untreated prompts, such as `calibrated`, as one of arm `none`."""
    return replace(panel, factors=replace(panel.factors, arm="none"))

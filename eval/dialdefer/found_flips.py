"""Verdicts → flips: claims that were decided differently in two framings, or before and after training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eval.dialdefer.accuracy import majority
from eval.dialdefer.answer_orders import BOTH_ORDERS
from eval.dialdefer.dds import CONDITIONS
from eval.dialdefer.flip_examples import WITHHELD
from eval.dialdefer.flip_sources import FlipSource
from eval.dialdefer.panels import ACCEPT, C1, C2, ERROR, UNREADABLE, Panel, refuse_unequal_items
from eval.dialdefer.prompt_variants import variant_of
from evenhand.errors import DataError
from studies.flips import Flip, FlipSide

WORDS = {"c1": "a bare statement", "c2": "a speaker's turn"}
COLUMNS = {"c1": C1, "c2": C2}  # the true claim's, then the false one's


@dataclass(frozen=True, slots=True)
class Framing:
    """Which prompts stand on one side: "c1", "c2/honest", "c2/none/v1"."""

    name: str  # c1 or c2
    arm: str = "none"
    variant: str = ""  # "" is each dataset's main one
    when: str = ""  # "before" or "after", where two runs are held against each other

    def __str__(self) -> str:
        parts = [WORDS[self.name], f"arm {self.arm}" * (self.arm != "none"), self.variant, self.when]
        return ", ".join(part for part in parts if part)


def framing_of(text: str, when: str = "") -> Framing:
    """A framing as the command line names it. Raises DataError for one that is none."""
    name, *rest = text.split("/")
    if name not in WORDS or len(rest) > 2:
        raise DataError(f"framing '{text}': write c1 or c2, or with an arm and a prompt variant c2/honest, c2/none/v1")
    arm, variant = [*rest, "none", ""][:1] + [*rest[1:], ""][:1]
    return Framing(name, arm, variant, when)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Verdicts in one framing."""

    source: FlipSource
    framing: Framing
    roles: str

    def panels(self) -> dict[str, Panel]:
        """Dataset → its panel. Raises DataError where no dataset was asked so, or one twice."""
        found: dict[str, Panel] = {}
        single = [p for p in self.source.panels if p.factors.answer_order != BOTH_ORDERS]
        for panel in single:
            is_asked = panel.has_c1 if self.framing.name == "c1" else panel.has_c2
            named = (panel.factors.arm, panel.roles, variant_of(panel, single))
            if not is_asked or named != (self.framing.arm, self.roles, self.framing.variant):
                continue
            if panel.dataset in found:
                raise DataError(f"{self.source.model}: {panel.dataset} was judged twice as {self.framing}")
            found[panel.dataset] = panel
        if not found:
            arms = ", ".join(dict.fromkeys(panel.factors.arm for panel in single))
            raise DataError(f"{self.source.model}: no dataset was judged as {self.framing} (arms: {arms})")
        return found


@dataclass(slots=True, kw_only=True)
class FoundFlips:
    """The flips of one model, and what they were looked for in."""

    model: str
    flips: list[Flip] = field(default_factory=list)
    items: dict[str, list[str]] = field(default_factory=dict)  # dataset → items, without those lost to engine errors
    # Dataset → [item, whether the claim is true] of claims without a verdict on one side or both: never a flip.
    undecided: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)
    n_errors: int = 0  # items lost to engine errors


def flips_between(first: Side, second: Side, kinds: Sequence[str]) -> FoundFlips:
    """The flips from one side to the other over the same items. kinds: "lost" and "gained".

    Lost is a right verdict that becomes the wrong one, which is what the paper calls a flip; gained the reverse. Of
    several samples the majority counts.
    """
    found = FoundFlips(model=second.source.model)
    ours, theirs = first.panels(), second.panels()
    for dataset in (name for name in ours if name in theirs):
        before, after = ours[dataset], theirs[dataset]
        refuse_unequal_items(f"{dataset}, {first.framing} against {second.framing}", before, after)
        lost = failed(before, COLUMNS[first.framing.name]) | failed(after, COLUMNS[second.framing.name])
        found.n_errors += int(lost.sum())
        kept = np.flatnonzero(~lost).tolist()
        found.items[dataset] = [before.item_ids[row] for row in kept]
        said = [majority(panel.replies) for panel in (before, after)]
        for columns in zip(COLUMNS[first.framing.name], COLUMNS[second.framing.name], strict=True):
            for row in kept:
                choices = tuple(int(of[row, column]) for of, column in zip(said, columns, strict=True))
                if min(choices) <= UNREADABLE:
                    claim = before.item_ids[row], CONDITIONS[columns[0]].claim_is_true
                    found.undecided.setdefault(dataset, []).append(claim)
                elif choices[0] != choices[1]:
                    flip = flip_at((first, second), (before, after), row, columns, choices)
                    if ("lost" if flip.is_loss else "gained") in kinds:
                        found.flips.append(flip)
    if not found.items:
        raise DataError(f"{found.model}: no dataset was judged both as {first.framing} and as {second.framing}")
    return found


def failed(panel: Panel, columns: Sequence[int]) -> NDArray[np.bool_]:
    """Which items the engine failed to answer in some of the conditions, (n_items,)."""
    errors: NDArray[np.bool_] = (panel.replies[:, columns] == ERROR).all(axis=2).any(axis=1)
    return errors


def flip_at(
    sides: tuple[Side, Side], panels: tuple[Panel, Panel], row: int, columns: tuple[int, int], choices: tuple[int, ...]
) -> Flip:
    """The flip of one item's claim."""
    first, second = (
        FlipSide(
            framing=str(side.framing),
            accepts=choice == ACCEPT,
            reason=whole(side.source.reason(panel, row, column, choice)),
        )
        for side, panel, column, choice in zip(sides, panels, columns, choices, strict=True)
    )
    question, claim = sides[0].source.asked(panels[0], row, columns[0])
    return Flip(
        model=sides[1].source.model,
        dataset=panels[0].dataset,
        item_id=panels[0].item_ids[row],
        question=whole(question),
        claim=whole(claim),
        claim_is_true=CONDITIONS[columns[0]].claim_is_true,
        is_withheld=panels[0].dataset in WITHHELD,
        first=first,
        second=second,
    )


def whole(text: str) -> str:
    """A text without half surrogate pairs, which JSON can spell and no file takes."""
    return text.encode("utf-8", "replace").decode()


def facts_of(found: Sequence[FoundFlips]) -> Mapping[str, object]:
    """What the manifest of a folder says of some models' flips."""
    return {
        "models": [of.model for of in found],
        "items": {of.model: of.items for of in found},
        "n_flips": {of.model: len(of.flips) for of in found},
        "undecided": {of.model: of.undecided for of in found},
        "n_errors": {of.model: of.n_errors for of in found},
    }

"""Everything that is computed of some runs of the taxonomy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.estimates.comparability import refuse_serious
from eval.estimates.observed import Drawing
from eval.taxonomy.code_agreement import Agreement, agreements
from eval.taxonomy.coded_flips import CodedRun, load_coded, pooled
from eval.taxonomy.fates import Moved, moved_from
from evenhand.errors import DataError
from studies.taxonomy.own_flips import planted


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonomyFindings:
    """Some runs; the first is the base where the others are after it."""

    coded: Sequence[CodedRun]  # each model of each run
    pooled: CodedRun | None  # all models together, where they stand side by side
    agreements: Sequence[Agreement]
    moved: Sequence[Moved]  # from the base to each other one; empty where they stand side by side
    drawing: Drawing

    @property
    def shown(self) -> list[CodedRun]:
        """What tables have: all models together first."""
        return [*([self.pooled] if self.pooled else []), *self.coded]


def find_taxonomy(
    paths: Sequence[Path], drawing: Drawing, *, allow_differences: bool, is_before_after: bool
) -> TaxonomyFindings:
    """What there is to say of some runs. Raises DataError where they are no like for like."""
    coded = load_coded(paths)
    moved = list[Moved]()
    if is_before_after and len(paths) > 1:
        if len(coded) > len(paths):
            raise DataError(
                f"{paths[0]}: before and after is of one model a run, and some run here has flips of several; say "
                "--side-by-side, or build flips of each model apart"
            )
        moved = moved_from(coded[0], coded[1:], drawing)
        if not allow_differences:
            refuse_serious(coded[0].name, {one.name: one.differences for one in moved})
    return TaxonomyFindings(
        coded=coded,
        pooled=None if moved else pooled(coded),
        agreements=agreements(coded, drawing),
        moved=moved,
        drawing=drawing,
    )


def planted_hits(one: CodedRun) -> tuple[int, int] | None:
    """(flips of ours whose primary code is the one that they were written to show, all of ours); None of others."""
    codes = planted()
    own = [flip for flip in one.all_flips if flip.item_id in codes]
    return (sum(flip.primary == codes[flip.item_id] for flip in own), len(own)) if own else None

"""Everything that is computed of some runs of the taxonomy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference, refuse_serious
from eval.estimates.observed import Drawing
from eval.estimates.scores import Score
from eval.taxonomy.code_agreement import agreements
from eval.taxonomy.coded_flips import CodedRun, all_flips, load_coded
from eval.taxonomy.flip_states import flip_states, judge_differences
from eval.taxonomy.scores import scores_of
from evenhand.errors import DataError


@dataclass(frozen=True, slots=True, kw_only=True)
class TaxonomyFindings:
    """Some runs; the first is the base where the others are after it."""

    coded: Sequence[CodedRun]  # each model of each run
    flips: pd.DataFrame  # those of all models together first, where they stand side by side; see all_flips
    scores: Sequence[Score]
    counts: pd.DataFrame  # see flip_states; empty where runs stand side by side, as the two below
    changes: Sequence[Change]
    differences: Mapping[str, Sequence[Difference]]  # run after the base → in what it differs


def find_taxonomy(
    paths: Sequence[Path], drawing: Drawing, *, allow_differences: bool, is_before_after: bool
) -> TaxonomyFindings:
    """What there is to say of some runs. Raises DataError where they are no like for like."""
    coded, is_compared = load_coded(paths), is_before_after and len(paths) > 1
    counts, states, changes, differences = pd.DataFrame(), list[Score](), list[Change](), dict[str, list[Difference]]()
    if is_compared:
        if len(coded) > len(paths):
            raise DataError(
                f"{paths[0]}: before and after is of one model a run, and some run here has flips of several; say "
                "--side-by-side, or build flips of each model apart"
            )
        base, *afters = coded
        counts, states, changes = flip_states(base, afters, drawing)
        differences = {after.name: judge_differences(base, after) for after in afters}
        if not allow_differences:
            refuse_serious(base.name, differences)
    flips = all_flips(coded, is_pooled=not is_compared)
    scores = [score for _, of_name in flips.groupby("name", sort=False) for score in scores_of(of_name, drawing)]
    return TaxonomyFindings(
        coded=coded,
        flips=flips,
        scores=[*scores, *agreements(coded, drawing), *states],
        counts=counts,
        changes=changes,
        differences=differences,
    )

"""Verdicts from anywhere: files → judges → scores. A million rows never become a million objects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eval.dialdefer.external.checks import refuse_other_labels, refuse_repeats, refuse_unequal, unscorable
from eval.dialdefer.external.columns import Coder
from eval.dialdefer.external.judges import groups_of, items_of, judges_of
from eval.dialdefer.external.verdict_files import LAYOUT
from eval.dialdefer.panels import Judge
from eval.dialdefer.scores import Scored, score_panels
from eval.estimates.observed import Drawing
from eval.estimates.scores import Score
from eval.verdict_files import read_batches
from evenhand.errors import DataError

EXTERNAL = "external"  # the verdict mode of what was not asked by us


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExternalVerdicts:
    """What some verdict files hold, checked: every judge can be scored."""

    paths: tuple[Path, ...]
    n_rows: int
    judges: tuple[Judge, ...]  # one a model, in order of first appearance
    parsers: Mapping[str, str | None]  # model → how its replies were read; None where every choice was given
    ignored: tuple[str, ...]  # columns without a meaning here
    left_out: tuple[str, ...] = ()  # arms of a dataset in which no shift can be scored, and why

    @property
    def name(self) -> str:
        """What tables call the files."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0].name}{more}"


def load_external(paths: Sequence[Path], parser: str = "strict", *, is_strict: bool = False) -> ExternalVerdicts:
    """The verdicts of some files taken together; `parser` reads responses where there is no choice.

    An arm that lacks a framing on a dataset is left out there, and named. Raises DataError for whatever else is wrong:
    with a row, naming file and line; with the whole, naming the items; and for such an arm too where is_strict, or
    where nothing is left.
    """
    coder = Coder(parser)
    for path in paths:
        coder.open(path)
        for batch in read_batches(path, LAYOUT):
            coder.add(batch)
    rows = coder.finish()
    items, groups = items_of(rows), groups_of(rows)
    refuse_repeats(rows, items, groups)
    refuse_other_labels(rows, items)
    judges, left_out = [], list[str]()
    for judge in judges_of(rows, items, groups):
        refuse_unequal(judge)
        reasons = unscorable(judge)
        kept = tuple(panel for index, panel in enumerate(judge.panels) if index not in reasons)
        if reasons and (is_strict or not kept):
            raise DataError(next(iter(reasons.values())))
        judges.append(replace(judge, panels=kept))
        left_out += reasons.values()
    parsed = set(np.unique(rows.codes["model"][rows.parsed]).tolist())
    return ExternalVerdicts(
        paths=tuple(paths),
        n_rows=len(rows.lines),
        judges=tuple(judges),
        parsers={name: parser if code in parsed else None for code, name in enumerate(rows.names["model"])},
        ignored=tuple(rows.ignored),
        left_out=tuple(left_out),
    )


def score_external(found: ExternalVerdicts, denominators: Sequence[str], drawing: Drawing) -> Iterator[Score]:
    """All scores of all judges, one judge after the other."""
    for judge in found.judges:
        scored = Scored(
            run=found.name,
            model=judge.model,
            verdict=EXTERNAL,
            parser=found.parsers[judge.model],
            drawing=drawing,
        )
        yield from score_panels(judge.panels, scored, denominators)

"""Score rows → groups: one judge under one arm, roles, variant and source of C1, over its datasets and averages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from eval.dialdefer.change_rows import ChangeRow
from eval.dialdefer.panels import Panel
from eval.dialdefer.prompt_variants import main_panels
from eval.dialdefer.row_groups import arm_words
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.scores import FIXED, OWN

MAIN_ROLES = "2->1"

Row = TypeVar("Row", ScoreRow, ChangeRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreGroup:
    """Rows that make one table."""

    judge: str
    rows: tuple[ScoreRow, ...]  # averages over a single dataset, which would repeat it, are left out
    is_main: bool  # what the judge's headline is about: untreated with own C1, or its first group

    @property
    def key(self) -> tuple[str, str, str]:
        """Arm, roles and prompt variant."""
        return self.rows[0].arm, self.rows[0].roles, self.rows[0].variant

    @property
    def c1_source(self) -> str:
        """ "own" or "fixed"."""
        return self.rows[0].c1_source

    @property
    def setting(self) -> str:
        """Arm, variant and roles in words, as far as they are not the usual ones; "no mitigation" for the usual."""
        arm, roles, variant = self.key
        # r/AIO's opposite direction asks for no other datasets, so its roles are all that tells it apart.
        words = [arm_words(arm)] if arm != "none" or not (variant or roles != MAIN_ROLES) else []
        return ", ".join([*words, *filter(None, [variant]), *([f"roles {roles}"] if roles != MAIN_ROLES else [])])

    @property
    def words(self) -> str:
        """The setting, and the source of C1 where it is not the group's own."""
        return self.setting + (", fixed C1" if self.c1_source == FIXED else "")

    @property
    def by_dataset(self) -> dict[str, ScoreRow]:
        """Dataset or average → row."""
        return {row.dataset: row for row in self.rows}


def groups_of(judge: str, rows: Sequence[ScoreRow]) -> list[ScoreGroup]:
    """A judge's rows of one denominator as groups, the main one first."""
    found: dict[tuple[str, ...], list[ScoreRow]] = {}
    for row in rows:
        found.setdefault((row.arm, row.roles, row.variant, row.c1_source), []).append(row)
    untreated = [key for key in found if key[0] == "none" and key[-1] == OWN]
    main = next((key for key in untreated if key[1:3] == (MAIN_ROLES, "")), (untreated or list(found))[0])
    return [
        ScoreGroup(judge=judge, rows=tuple(worth_showing(found[key])), is_main=key == main)
        for key in sorted(found, key=lambda key: key != main)
    ]


def worth_showing(rows: Sequence[Row]) -> list[Row]:
    """Rows without averages over a single dataset, which would repeat it."""
    return [row for row in rows if row.datasets == (row.dataset,) or len(row.datasets) > 1]


def believed(groups: Sequence[ScoreGroup]) -> list[ScoreGroup]:
    """One group for each judge and setting: with own C1 where there is one, else with fixed C1."""
    own = {(group.judge, group.key) for group in groups if group.c1_source == OWN}
    return [group for group in groups if group.c1_source == OWN or (group.judge, group.key) not in own]


def main_groups(groups: Sequence[ScoreGroup]) -> Mapping[str, ScoreGroup]:
    """Judge → its main group."""
    return {group.judge: group for group in groups if group.is_main}


def untreated_panels(panels: Sequence[Panel]) -> list[Panel]:
    """Panels of arm `none` in the main variant with both framings, or of all arms when that arm was not asked."""
    whole = [panel for panel in main_panels(panels) if panel.has_c1 and panel.has_c2]
    return [panel for panel in whole if panel.factors.arm == "none"] or whole

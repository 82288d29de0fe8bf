"""Which of a judge's panels an analysis is about: one for each dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.dialdefer.judges import Judge
from eval.dialdefer.panels import Panel
from eval.dialdefer.prompt_variants import variant_of
from evenhand.errors import DataError


@dataclass(frozen=True, slots=True)
class Setting:
    """An arm, for r/AIO who judges whom, and a variant ("" is each dataset's main one). By default the paper's main."""

    arm: str = "none"
    roles: str = "2->1"
    variant: str = ""  # as variants.variant_of names it

    def __str__(self) -> str:
        return f"arm {self.arm}, roles {self.roles}{f', {self.variant}' if self.variant else ''}"


MAIN = Setting()
REVERSED = Setting(roles="1->2")  # r/AIO only: Speaker 1 judges the original poster


def setting_panels(judge: Judge, setting: Setting = MAIN) -> dict[str, Panel]:
    """Dataset → the judge's panel in a setting, with both framings of its own; empty when it has none.

    Raises DataError when two panels of one dataset fit.
    """
    wanted = (setting.arm, setting.roles, setting.variant)
    found: dict[str, Panel] = {}
    for panel in judge.panels:
        is_meant = (panel.factors.arm, panel.roles, variant_of(panel, judge.panels)) == wanted
        if not (is_meant and panel.has_c1 and panel.has_c2):
            continue
        if panel.dataset in found:
            raise DataError(f"{judge.name}: {panel.dataset} was judged twice in {setting}; give each its own judge")
        found[panel.dataset] = panel
    return found


def panels_by_judge(judges: Sequence[Judge], setting: Setting = MAIN) -> dict[str, dict[str, Panel]]:
    """Judge's name → dataset → panel. Raises DataError for two judges of one name, or one with nothing to analyse."""
    found: dict[str, dict[str, Panel]] = {}
    for judge in judges:
        if judge.name in found:
            raise DataError(f"two judges are called '{judge.name}'; give them names of their own")
        found[judge.name] = setting_panels(judge, setting)
        if not found[judge.name]:
            raise DataError(f"{judge.name}: no dataset has both C1 and C2 in {setting}; sample both, or name another")
    return found


def all_datasets(panels: Mapping[str, Mapping[str, Panel]]) -> list[str]:
    """Every dataset that some judge was asked, in order of first appearance."""
    return list(dict.fromkeys(dataset for of_judge in panels.values() for dataset in of_judge))

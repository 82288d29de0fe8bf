"""When a dataset was asked in several variants (template, speaker labels, answer order), each is a table of its own."""

from collections.abc import Sequence

from eval.dialdefer.panels import Panel
from studies.dialdefer.records import Factors
from studies.dialdefer.render import own_labels


def variant_of(panel: Panel, panels: Sequence[Panel]) -> str:
    """What names a panel's variant among its judge's panels: "" for the main one, else such as "v1" or "A/B, no_first".

    The main variant is that of the dataset's first panel: a plan asks it first. Only what differs from it is named, so
    datasets that differ by nature (r/AIO has its own template and labels) still make one table, and one average,
    whichever of them was asked in other prompt variants as well.
    """
    f, main = panel.factors, next(p.factors for p in panels if p.dataset == panel.dataset)
    words = []
    if f.template != main.template:
        words.append(f.template)
    if f.template_version != main.template_version and f.template == main.template:
        words.append(f"{f.template} version {f.template_version}")
    if f.answer_form != main.answer_form:
        words.append(f.answer_form)
    if (f.speaker1, f.speaker2) != main_labels(panel.dataset, f.arm, main):
        words.append(f"{f.speaker1}/{f.speaker2}")
    if f.answer_order != main.answer_order:
        words.append(f.answer_order)
    return ", ".join(words)


def main_labels(dataset: str, arm: str, main: Factors) -> tuple[str, str]:
    """The labels of an arm in the main variant: its own (one renames the speakers), unless others were asked for."""
    labels = main.speaker1, main.speaker2
    return own_labels(dataset, arm) if labels == own_labels(dataset, main.arm) else labels


def main_panels(panels: Sequence[Panel]) -> list[Panel]:
    """Each dataset's panels in the main variant and the main roles (those of its first panel), one for each arm."""
    roles: dict[str, str] = {}
    for panel in panels:
        roles.setdefault(panel.dataset, panel.roles)
    return [p for p in panels if p.roles == roles[p.dataset] and not variant_of(p, panels)]

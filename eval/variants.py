"""When one arm was asked in several wordings or with several speaker labels, each is a table of its own."""

from collections.abc import Sequence

from eval.panels import Panel

Wording = tuple[str, int, str, str, str]


def wording(panel: Panel) -> Wording:
    """What names a wording: template, version, answer form, both speaker labels."""
    f = panel.factors
    return f.template, f.template_version, f.answer_form, f.speaker1, f.speaker2


def variant_of(panel: Panel, panels: Sequence[Panel]) -> str:
    """ "" when its dataset has one wording in its arm and roles, else the wording in words.

    Datasets may differ in wording by nature (r/AIO has its own template and labels), which makes no variant.
    """
    key = (panel.dataset, panel.factors.arm, panel.roles)
    alike = {wording(p) for p in panels if (p.dataset, p.factors.arm, p.roles) == key}
    if len(alike) == 1:
        return ""
    template, version, answer_form, speaker1, speaker2 = wording(panel)
    return f"{template} v{version}, {answer_form}, {speaker1}/{speaker2}"

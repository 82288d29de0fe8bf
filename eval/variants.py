"""When a dataset was asked in several wordings or with several speaker labels, each is a table of its own."""

from collections.abc import Sequence

from eval.panels import Panel

Wording = tuple[str, int, str, str, str, str]


def wording(panel: Panel) -> Wording:
    """What names a wording: template, version, answer form, both speaker labels, order of the answers."""
    f = panel.factors
    return f.template, f.template_version, f.answer_form, f.speaker1, f.speaker2, f.answer_order


def variant_of(panel: Panel, panels: Sequence[Panel]) -> str:
    """ "" for the wording that a dataset was asked in first, under an arm and roles; else what differs from that.

    Datasets may differ in wording by nature (r/AIO has its own template and labels), which makes no variant. So the
    datasets of the main wording share one table and one average, whichever of them was asked in others as well.
    """
    key = (panel.dataset, panel.factors.arm, panel.roles)
    first = next(p for p in panels if (p.dataset, p.factors.arm, p.roles) == key)
    return ", ".join(difference(wording(first), wording(panel)))


def difference(main: Wording, other: Wording) -> list[str]:
    """In what a wording differs from the main one, in words."""
    template, version, answer_form, speaker1, speaker2, answer_order = other
    words = []
    if (template, version) != main[:2]:
        words.append(f"template {template}" + (f" version {version}" if template == main[0] else ""))
    if answer_form != main[2]:
        words.append(f"answer form {answer_form}")
    if (speaker1, speaker2) != main[3:5]:
        words.append(f"labels {speaker1}/{speaker2}")
    if answer_order != main[5]:
        words.append(f"answer order {answer_order}")
    return words

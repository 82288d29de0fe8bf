"""Agreement of people and judges, for a console."""

from collections.abc import Sequence

from eval.annotation.label_files import Labels
from eval.estimates.estimate import Estimate
from eval.estimates.scores import Score
from eval.report.console import block
from eval.report.shown_numbers import p_value

HEADER = ["", "", "95 % interval", "units"]


def agreement_text(all_labels: Sequence[Labels], scores: Sequence[Score]) -> str:
    """Tables of each person against the judge, or of each person's preference, and of people among each other."""
    return "\n\n".join([*(part for labels in all_labels for part in one_person(labels, scores)), *people(scores)])


def figures_of(scores: Sequence[Score], annotator: str, against: str) -> dict[str, Estimate]:
    """The figures of one person against the judge or another person, by measure; counts are left out."""
    return {
        score.measure: score.estimate
        for score in scores
        if (score.setting["annotator"], score.setting["against"]) == (annotator, against) and score.measure != "n"
    }


def one_person(labels: Labels, scores: Sequence[Score]) -> list[str]:
    """One person's labels."""
    task = labels.draw.task
    of = figures_of(scores, labels.annotator, "" if task.is_comparison else "judge")
    labelled = f"{len(labels.answers)} of {len(labels.draw.items)} items labelled"
    title = f"{task.name} of {' and '.join(task.runs)}: {labels.annotator}, {labelled}; judge: {task.judge}"
    names = {
        "preferred": f"prefers {task.runs[0]} (of no ties)",
        "leniency": f"leniency: judge {task.answers[0]}, {labels.annotator} {task.answers[1]}",
        "strictness": f"strictness: judge {task.answers[1]}, {labels.annotator} {task.answers[0]}",
        **NAMES,
    }
    found = [block(title, [HEADER, *(line(names[name], one) for name, one in of.items())])]
    counts = {
        (score.setting["judge_says"], score.setting["person_says"]): score.estimate.value or 0
        for score in scores
        if score.measure == "n" and score.setting["annotator"] == labels.annotator
    }
    if counts:
        lines = [[judge, *(f"{counts[judge, said]:.0f}" for said in task.answers)] for judge in task.answers]
        found.append(block(f"judge (rows) and {labels.annotator} (columns)", [["", *task.answers], *lines]))
    return found


NAMES = {
    "agreement": "agreement",
    "kappa": "Cohen's κ",
    "agreement_in_run": "agreement at the run's shares of answers",
    "mcnemar_p": "McNemar p of leniency against strictness",
    "sign_test_p": "sign test p",
    "ties": "ties",
}


def people(scores: Sequence[Score]) -> list[str]:
    """Two people each."""
    pairs = dict.fromkeys((str(s.setting["annotator"]), str(s.setting["against"])) for s in scores)
    return [
        block(
            f"{one} and {other}, over the items that both labelled",
            [HEADER, *(line(NAMES[name], of) for name, of in figures_of(scores, one, other).items())],
        )
        for one, other in pairs
        if other not in ("", "judge")
    ]


def line(name: str, of: Estimate) -> list[str]:
    """A figure."""
    if of.value is None:
        return [name, "–", "–", str(of.n_units)]
    if name.startswith(("McNemar", "sign")):
        return [name, p_value(of.value), "", str(of.n_units)]
    form = ".2f" if "κ" in name else ".1f"
    ends = "–" if of.low is None or of.high is None else f"[{of.low:{form}}, {of.high:{form}}]"
    return [name, f"{of.value:{form}}", ends, str(of.n_units)]

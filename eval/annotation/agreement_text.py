"""Agreement of people and judges, for a console."""

from collections.abc import Sequence

from eval.annotation.label_files import Labels
from eval.annotation.tasks import Task
from eval.estimates.scores import Score
from eval.report.console import block
from eval.report.shown_numbers import number, p_value

DIGITS = {"%": 1, "ratio": 2, "count": 0}


def agreement_text(all_labels: Sequence[Labels], scores: Sequence[Score]) -> str:
    """A table a task: a column for each person against the judge, and for each two people; a row a figure."""
    tasks = {labels.draw.task.name: labels.draw.task for labels in all_labels}
    return "\n\n".join(
        table_of(task, [labels for labels in all_labels if labels.draw.task is task], scores) for task in tasks.values()
    )


def table_of(task: Task, people: Sequence[Labels], scores: Sequence[Score]) -> str:
    """One task's table."""
    cells, columns = dict[str, dict[str, str]](), dict[str, None]()
    for score in (score for score in scores if score.setting["what"] == task.name):
        person, against = (str(score.setting[name]) for name in ("annotator", "against"))
        column = person if against in ("", "judge") else f"{person} and {against}"
        columns[column] = None
        cells.setdefault(row_name(score, task), {})[column] = cell(score)
    labelled = [f"{len(labels.answers)} of {len(labels.draw.items)}" for labels in people]
    judge = "" if task.is_comparison else f", judge: {task.judge}"
    lines = [
        ["", *columns],
        ["items labelled", *labelled, *[""] * (len(columns) - len(labelled))],
        *([name, *(of.get(column, "") for column in columns)] for name, of in cells.items()),
    ]
    return block(f"{task.name} of {' and '.join(task.runs)}{judge}; % with 95 % intervals", lines)


def row_name(score: Score, task: Task) -> str:
    """What a figure is called."""
    both = "judge {}, person {}"
    return {
        "n": "n: " + both.format(score.setting.get("judge_says"), score.setting.get("person_says")),
        "agreement_in_run": "agreement at the run's shares of answers",
        "kappa": "Cohen's κ",
        "leniency": f"leniency: {both.format(*task.answers)}",
        "strictness": f"strictness: {both.format(*task.answers[::-1])}",
        "mcnemar_p": "McNemar's p of these two",
        "preferred": f"prefers {task.runs[0]} (without ties)",
        "sign_test_p": "sign test's p",
    }.get(score.measure, score.measure)


def cell(score: Score) -> str:
    """A figure with its interval, if it has one."""
    of = score.estimate
    if score.unit == "p":
        return p_value(of.value or 0)
    digits = DIGITS[score.unit]
    ends = "" if of.low is None else f" [{number(of.low, digits)}, {number(of.high, digits)}]"
    return number(of.value, digits) + ends

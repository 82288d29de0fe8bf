"""Which numbers of speakers Figure 3 shows, and why it is absent where it is."""

from eval.narrator.measures import Effect
from eval.narrator.observe import DETECTION
from eval.narrator.study import StudyResults
from eval.narrator.tables import TASK_WORDS, first_order, tasks_of
from studies.narrator.records import OptionOrder, Task


def rows_by_size(found: StudyResults, judge: str, task: Task, order: OptionOrder) -> list[Effect]:
    """A judge's effects by number of speakers, of sizes with enough conversations."""
    fewest = found.definitions.fewest_conversations
    return [
        row
        for row in found.sizes
        if (row.judge, row.task, row.option_order) == (judge, task, order) and row.n_conversations >= fewest
    ]


def why_absent(found: StudyResults) -> list[str]:
    """Why Figure 3 of a judge is not drawn, a sentence for each. Detection, whose options are no names, has none."""
    tasks = [task for task in tasks_of(found) if task != DETECTION]
    if not tasks:
        return ["Figure 3 is left out: neither blame nor identification was asked."]
    reasons = []
    for judge in found.shown:
        for task in tasks:
            sizes = sorted({row.n_speakers or 0 for row in rows_by_size(found, judge, task, first_order(found))})
            if len(sizes) < 2:
                there = f"only that of {sizes[0]}" if sizes else "none"
                reasons.append(
                    f"Figure 3 of {judge}, {TASK_WORDS[task].lower()}, is left out: it needs two numbers of speakers "
                    f"with {found.definitions.fewest_conversations} conversations or more, and {there} has so many."
                )
    return reasons

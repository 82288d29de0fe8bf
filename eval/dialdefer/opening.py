"""How a report opens: the findings in words, and what to know before believing them."""

from eval.dialdefer.change_rows import ChangeRow, change_rows
from eval.dialdefer.findings import Findings
from eval.dialdefer.headline import (
    arm_sentence,
    change_sentence,
    doubt_sentences,
    doubt_summary,
    judges_sentence,
    main_row,
    run_sentence,
)
from eval.dialdefer.runs import doubts_of
from eval.dialdefer.score_groups import ScoreGroup, main_groups
from eval.dialdefer.scores import OWN
from eval.estimates.comparability import serious_sentence
from eval.report.page import box, element, unfolding

MOST_SENTENCES = 6  # judges that have a sentence each; more are counted
MOST_WARNINGS = 3  # that are shown whole
CARE = (
    "To be read with care: where nearly all answers are the same a DDS near 0 says little, and where many replies "
    "cannot be read DDS says more about format than about judgement."
)


def opening(found: Findings) -> list[str]:
    """The headline and the warnings."""
    return [*(element("p", sentence, "headline") for sentence in headline(found)), *warnings(found)]


def headline(found: Findings) -> list[str]:
    """The findings in plain sentences."""
    mains = {judge: main_row(group.rows) for judge, group in main_groups(found.groups).items()}
    if found.changes:
        base = next(iter(mains))
        changes = [sentence_of_change(label, change_rows(of)) for label, of in found.changes.items()]
        return [run_sentence(base, mains[base], found.rows), *changes]
    sentences = [judges_sentence(mains, found.rows)] if len(mains) > 1 else []
    if len(mains) <= MOST_SENTENCES:
        sentences += [run_sentence(judge, row, found.rows) for judge, row in mains.items()]
    return [*sentences, *(arm_sentences(found) if len(mains) == 1 else [])]


def arm_sentences(found: Findings) -> list[str]:
    """One sentence for each other arm in the main prompt variant and roles."""
    main = next(group for group in found.groups if group.is_main)
    arms: dict[str, dict[str, ScoreGroup]] = {}
    for group in found.groups:
        arm, roles, variant = group.key
        if arm != main.key[0] and (roles, variant) == main.key[1:]:
            arms.setdefault(arm, {})[group.c1_source] = group
    rows = {arm: {source: main_row(group.rows) for source, group in of.items()} for arm, of in arms.items()}
    return [arm_sentence(arm, of.get("own"), of.get("fixed")) for arm, of in rows.items()]


def sentence_of_change(label: str, rows: list[ChangeRow]) -> str:
    """How one run changed from the base, in the first arm and prompt variant that both have."""
    first = rows[0].arm, rows[0].roles, rows[0].variant
    same = [row for row in rows if (row.arm, row.roles, row.variant) == first]
    own = [row for row in same if row.c1_source == OWN]
    both = [row for row in rows if row.c1_source == OWN and row.arm == first[0] and "deference" in row.by_measure]
    fixed = main_row([row for row in same if row.c1_source != OWN])
    return change_sentence(label, main_row(own) if own else None, fixed, main_row(both) if both else None)


def warnings(found: Findings) -> list[str]:
    """A box for every reason to doubt; where there are many, one for all, a sentence for each judge."""
    doubts = {judge: doubt_sentences(judge, group.rows) for judge, group in main_groups(found.groups).items()}
    sentences = [sentence for of_judge in doubts.values() for sentence in of_judge]
    if len(sentences) <= MOST_WARNINGS:
        boxes = [element("p", sentence, "warning") for sentence in sentences]
    else:
        mains = main_groups(found.groups)
        summary = [element("p", doubt_summary(judge, mains[judge].rows)) for judge, of in doubts.items() if of]
        whole = unfolding(f"{len(sentences)} warnings in full", [element("p", sentence) for sentence in sentences])
        boxes = [box("warning", [element("p", CARE), *summary, whole])]
    boxes += [element("p", sentence, "warning") for sentence in doubts_of(found.runs)]
    first = next(iter(found.judges))
    for label, differences in found.differences.items():
        if sentence := serious_sentence(first, label, differences):
            boxes.append(element("p", sentence, "warning"))
    return boxes

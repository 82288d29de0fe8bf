"""The paper's four research questions, each answered in one sentence with its figures, for the runs at hand.

Where both option orders were asked the answers are of the one with Me in its name's slot, in which the attacker's place
does not depend on who is Me.
"""

from collections.abc import Sequence

from eval.estimates.estimate import Estimate
from eval.narrator.conditioned import Conditioned
from eval.narrator.measures import Effect, find_effect
from eval.narrator.observe import DETECTION
from eval.narrator.sizes import rows_by_size
from eval.narrator.study import POOLED, StudyResults
from eval.narrator.tables import ORDER_WORDS, TASK_WORDS, orders_of, plus_minus, tasks_of, visibilities_of
from studies.narrator.records import OptionOrder, Task, Visibility

MOST_JUDGES = 3  # that are asked one by one where no row is pooled


def answered_questions(found: StudyResults) -> list[str]:
    """RQ1 to RQ3 of the models together, or of each of the first, and RQ4 of all; a sentence each."""
    order = orders_of(found)[-1]
    side = visibilities_of(found)[0]
    task = tasks_of(found)[0]
    sentences = []
    for judge in found.shown[:MOST_JUDGES]:
        of_tasks = [find_effect(found.effects, judge, one, side, order) for one in tasks_of(found)]
        if effects := [effect for effect in of_tasks if effect is not None]:
            sentences.append(moved_sentence(judge, effects, order))
        if task != DETECTION:
            sentences.append(detected_sentence(found, judge, task, side, order))
            sentences.append(gain_sentence(found, judge, task, side, order))
    return [*sentences, *models_sentence(found, task, side, order)]


def moved_sentence(judge: str, effects: Sequence[Effect], order: OptionOrder) -> str:
    """RQ1: how perspective moves each task, and which side of it."""
    prs = ", ".join(f"{pp(effect.pr)} in {words_of(effect.task)}" for effect in effects)
    clear = [words_of(effect.task) for effect in effects if effect.pr.excludes(0)]
    main = effects[0]
    verdict = f"it moves {' and '.join(clear)}" if clear else "no shift is shown"
    return (
        f"RQ1, how does perspective affect judgments across tasks? {judge}, attack {main.visibility}, "
        f"{ORDER_WORDS[order]}: {verdict}: PR is {prs}; in {words_of(main.task)} the attacker as Me changes M by "
        f"{pp(main.delta_att)}, another speaker by {pp(main.delta_non_att)}."
    )


def detected_sentence(found: StudyResults, judge: str, task: Task, side: Visibility, order: OptionOrder) -> str:
    """RQ2: whether the attacker as Me is named less among attacks that the judge detects, and among those it misses."""
    question = f"RQ2, does it persist where the attack is detected? {judge}, {words_of(task)}, attack {side}: "
    asked = (judge, task, side, order, "attacker")
    rows: dict[bool, Conditioned] = {
        row.is_detected: row
        for row in found.conditioned
        if (row.judge, row.task, row.visibility, row.option_order, row.perspective) == asked
    }
    if not rows:
        return f"{question}unknown: detection was not asked."
    detected, missed = rows[True].delta, rows[False].delta
    return (
        f"{question}{persists(detected)}: among detected attacks the attacker as Me changes M by {pp(detected)}, "
        f"among missed ones by {pp(missed)}."
    )


def persists(delta: Estimate | None) -> str:
    """What a change of M among detected attacks says."""
    if delta is None or delta.value is None or delta.low is None:
        return "unknown"
    if not delta.excludes(0):
        return "no shift is shown there"
    return "yes" if delta.value < 0 else "it is turned around there"


def gain_sentence(found: StudyResults, judge: str, task: Task, side: Visibility, order: OptionOrder) -> str:
    """RQ3: whether a non-attacker's perspective helps, or striking Me off the options would do."""
    question = f"RQ3, does a non-attacker's perspective improve judgments? {judge}, {words_of(task)}, attack {side}: "
    rows = sorted(
        (row for row in rows_by_size(found, judge, task, order) if row.visibility == side),
        key=lambda row: row.n_speakers or 0,
    )
    if len(rows) < 2:
        return f"{question}unknown: it needs two numbers of speakers with enough conversations."
    first, last = rows[0], rows[-1]
    return (
        f"{question}{gained(first.delta_non_att, last.delta_non_att)}: it gains {pp(first.delta_non_att)} among "
        f"{first.n_speakers} speakers and {pp(last.delta_non_att)} among {last.n_speakers}, where striking Me off the "
        f"options alone would gain {pp(first.eliminator_gain)} and {pp(last.eliminator_gain)}."
    )


def gained(first: Estimate, last: Estimate) -> str:
    """What the gains among few and among many speakers say."""
    if first.value is None or last.value is None or first.low is None or last.high is None:
        return "unknown"
    if not first.excludes(0) or first.value < 0:
        return "no gain is shown, even where elimination would give most"
    if last.high < first.low:
        return "its gain falls as speakers are added, as that of elimination does"
    return "it gains, and no fall with the number of speakers is shown"


def models_sentence(found: StudyResults, task: Task, side: Visibility, order: OptionOrder) -> list[str]:
    """RQ4: between which models Δ_att lies, and their FAR; nothing where there is one model."""
    effects = [find_effect(found.effects, run.judge, task, side, order) for run in found.runs]
    known = sorted(
        (effect for effect in effects if effect is not None and effect.delta_att.value is not None),
        key=lambda effect: effect.delta_att.value or 0.0,
    )
    if len(known) < 2 or found.not_pooled or POOLED not in found.judges:
        return []
    first, last = known[0], known[-1]
    ends = first.delta_att.high, last.delta_att.low
    is_clear = ends[0] is not None and ends[1] is not None and ends[0] < ends[1]
    fars = [
        f"FAR is {plus_minus(effect.far)} % of {effect.judge}" for effect in (first, last) if effect.far is not None
    ]
    return [
        f"RQ4, do models differ? {words_of(task).capitalize()}, attack {side}: "
        f"{'yes' if is_clear else 'no difference is shown'}: Δ_att goes from {pp(first.delta_att)} of {first.judge} to "
        f"{pp(last.delta_att)} of {last.judge}" + "".join(f"; {far}" for far in fars) + "."
    ]


def words_of(task: Task) -> str:
    """A task in a sentence."""
    return TASK_WORDS[task].lower()


def pp(estimate: Estimate | None) -> str:
    """A difference with its interval."""
    text = plus_minus(estimate, "+.1f")
    return "unknown" if text is None else f"{text} pp"

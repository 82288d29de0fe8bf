"""The study in plain sentences: what each judge does when a speaker is called Me, and what to be careful about."""

from statistics import fmean

from benchmarks.narrator.records import Task, Visibility
from eval.narrator.agreement import Agreement, Match
from eval.narrator.measures import ALL, DETECTION, Effect, find_effect
from eval.narrator.study import StudyResults
from eval.narrator.tables import TASK_WORDS, first_order, plus_minus, tasks_of

MANY_UNREAD = 10.0  # percent of replies that name no option, from which on measures say more about format
SIDE_WORDS: dict[Visibility, str] = {"visible": "with the attack shown", "hidden": "with the attack hidden"}
RAMBLES = (
    " So the two ways measure different things of this judge, which often does not begin with its answer: believe the "
    "sampled one."
)
LEAN_WORDS = {
    "protects": "it protects the narrator: whoever is called Me is blamed less",
    "accuses": "it accuses the narrator: whoever is called Me is blamed more",
    "slot": "its PR may come from where Me stands among the options: with Me in its name's slot no shift is clear",
    "reversed": "where Me stands among the options turns its PR around, so it says nothing about the narrator",
    "unclear": "no clear shift: the interval of its PR includes 0",
    "unknown": "its shift is unknown",
}


def headline(found: StudyResults) -> list[str]:
    """One sentence for each judge, about blame with the attack shown where that was asked, and every doubt."""
    sentences = []
    for judge in found.judges:
        sentences += [sentence_about(found, judge), *doubts(found, judge)]
    return [*sentences, *notes(found)]


def sentence_about(found: StudyResults, judge: str) -> str:
    """What one judge does."""
    main = main_effect(found, judge)
    return judge_sentence(main, control_of(found, main))


def notes(found: StudyResults) -> list[str]:
    """What is to be known about the runs together: pooling, agreement, what was left out."""
    return [
        *([f"The runs are not pooled: {found.not_pooled}."] if found.not_pooled else []),
        *(agreement_sentence(pair) for pair in found.agreements if pair.task is None),
        *(left_out(run.judge, len(run.excluded)) for run in found.runs if run.excluded),
    ]


def short_sentence(found: StudyResults, judge: str) -> str:
    """The same in a few words, for where another study's findings stand beside it."""
    main = main_effect(found, judge)
    words = LEAN_WORDS[lean(main, control_of(found, main))]
    pr = "unknown" if main.pr.value is None else f"{plus_minus(main.pr, '+.1f')} pp"
    return f"{judge}, when a speaker of a conflict is called Me: {words} (PR {pr})."


def control_of(found: StudyResults, main: Effect) -> Effect | None:
    """The same effect with Me in its name's slot, where that is another one."""
    control = find_effect(found.effects, main.judge, main.task, main.visibility, "fixed_slot")
    return None if control is main else control


def main_effect(found: StudyResults, judge: str) -> Effect:
    """The effect that a headline speaks of: the most subjective task that was asked, with the attack shown."""
    order = first_order(found)
    asked = [e for e in found.effects if (e.judge, e.option_order, e.group) == (judge, order, ALL)]
    tasks = tasks_of(found)
    return min(asked, key=lambda effect: (tasks.index(effect.task), effect.visibility != "visible"))


def lean(main: Effect, control: Effect | None) -> str:
    """Which way a judge leans, a key of LEAN_WORDS. control: the same with Me in its name's slot."""
    if main.pr.value is None or main.pr.low is None:
        return "unknown"
    if not main.pr.excludes(0):
        return "unclear"
    if control is not None and control.pr.value is not None:
        if not control.pr.excludes(0):
            return "slot"
        if (control.pr.value > 0) != (main.pr.value > 0):
            return "reversed"
    return "protects" if main.pr.value > 0 else "accuses"


def judge_sentence(main: Effect, control: Effect | None) -> str:
    """What one judge does. control: the same with Me in its name's slot, where that was asked as well."""
    says = "it says Yes to" if main.task == DETECTION else "it names the attacker in"
    slot = f" ({plus_minus(control.pr, '+.1f') or 'unknown'} with Me in its name's slot)" if control else ""
    far = plus_minus(main.far)
    accused = f"; an innocent Me is named in {far} % of prompts" if far else ""
    asked = (
        f"{main.judge}: over {main.n_conversations:,} conversations, {TASK_WORDS[main.task].lower()} "
        f"{SIDE_WORDS[main.visibility]}, "
    )
    levels = (main.neutral, main.attacker, main.non_attacker)
    if all(level.value is None for level in levels):
        return f"{asked}it never names an option, so nothing is known of it."
    neutral, attacker, other = (
        "an unknown share" if level.value is None else f"{plus_minus(level)} %" for level in levels
    )
    return (
        f"{asked}{says} {neutral} when nobody is Me, {attacker} when the attacker is, {other} when another speaker is: "
        f"PR {plus_minus(main.pr, '+.1f') or 'unknown'} pp{slot}{accused}. In words, {LEAN_WORDS[lean(main, control)]}."
    )


def doubts(found: StudyResults, judge: str) -> list[str]:
    """What to be careful about with one judge."""
    main = main_effect(found, judge)
    sentences = []
    if main.task != DETECTION and main.neutral.low is not None and not main.neutral.excludes(main.chance):
        sentences.append(
            f"{judge}: its neutral answers are no better than chance ({main.chance:.1f} %), so a shift shows how it "
            "treats the word Me, not how it weighs a conflict."
        )
    for task in tasks_of(found):
        rates = [row for row in found.states if row.judge == judge and row.task == task]
        unread = 100 - fmean(row.chosen + row.error for row in rates) if rates else 0.0
        if unread >= MANY_UNREAD:
            is_exact = all(run.verdict == "options" for run in found.runs if run.judge == judge)
            sentences.append(unread_sentence(judge, task, unread, is_exact))
    return sentences


def unread_sentence(judge: str, task: Task, unread: float, is_exact: bool) -> str:
    """That many answers name no option."""
    if is_exact:
        return (
            f"{judge}: {unread:.0f} % of the probability of its replies to {TASK_WORDS[task].lower()} is on none that "
            "begins with an option; sampled replies (verdict: answer) are read further, so believe those of this judge."
        )
    return (
        f"{judge}: {unread:.0f} % of its answers to {TASK_WORDS[task].lower()} name no option (see the states "
        "of its replies), so its measures speak of the rest only."
    )


def agreement_sentence(pair: Agreement) -> str:
    """How a sampled and an exact run of one model agree."""
    sampled, exact = pair.temperature_sampled, pair.temperature_exact
    apart = "" if sampled == exact else f" (at temperatures {sampled:g} and {exact:g}, so they are not one judge)"
    verdict = {True: "they agree within sampling error", False: "they do not agree", None: "too few to tell"}
    rambles = "" if pair.reads.is_within_error or not pair.begins.is_within_error else RAMBLES
    return (
        f"{pair.model}, sampled against exact{apart}, over {pair.n_prompts:,} prompts: replies that begin with the "
        f"target differ from its probability by {match_words(pair.begins)}: {verdict[pair.begins.is_within_error]}. As "
        f"replies are read here, behind preambles too, M differs by {match_words(pair.reads)}.{rambles}"
    )


def match_words(match: Match) -> str:
    """The difference, and how much the replies scatter."""
    if match.scatter is None or match.scatter_low is None or match.scatter_high is None:
        return f"{plus_minus(match.difference, '+.2f')} pp"
    ends = f"{match.scatter:.2f} [{match.scatter_low:.2f}, {match.scatter_high:.2f}]"
    return f"{plus_minus(match.difference, '+.2f')} pp and scatter {ends} times as much as draws from it would"


def left_out(judge: str, n_excluded: int) -> str:
    """That conversations did not fit the context window."""
    return f"{judge}: {n_excluded:,} of the conversations did not fit its context window (they are in narrator.json)."

"""The study in plain sentences: what each judge does when a speaker is called Me, and what to be careful about."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from eval.narrator.agreement import Agreement, is_held_to_options
from eval.narrator.answers import State
from eval.narrator.measures import ALL, Effect, find_effect
from eval.narrator.observe import DETECTION
from eval.narrator.states import StateDifference, clear_differences, state_differences
from eval.narrator.study import POOLED, StudyResults
from eval.narrator.tables import TASK_WORDS, first_order, plus_minus, pooled_note, tasks_of
from studies.narrator.records import Perspective, Task, Visibility

MANY_UNREAD = 10.0  # percent of replies that name no option, from which on measures say more about format
SIDE_WORDS: dict[Visibility, str] = {"visible": "with the attack shown", "hidden": "with the attack hidden"}
WHO_WORDS: dict[Perspective, str] = {
    "neutral": "nobody is Me",
    "attacker": "the attacker is Me",
    "non_attacker": "another speaker is Me",
}
STATE_WORDS: dict[State, str] = {
    "chosen": "answers that name an option",
    "ambiguous": "ambiguous",
    "negated_only": "denials alone",
    "continues_transcript": "turns of the transcript",
    "refusal": "refusals",
    "off_list": "off the list",
    "cut_off": "cut off",
    "empty": "empty",
}
LEAN_WORDS = {
    "protects": "it protects the narrator: whoever is called Me is blamed less",
    "accuses": "it accuses the narrator: whoever is called Me is blamed more",
    "slot": "its PR may come from where Me stands among the options: with Me in its name's slot no shift is clear",
    "reversed": "where Me stands among the options turns its PR around, so it says nothing about the narrator",
    "unclear": "no clear shift: the interval of its PR includes 0",
    "unknown": "its shift is unknown: too few conversations, or answers, for an interval",
}
ONE_ORDER = (
    "only Me last was asked, so Me's place may explain this: ask both orders with "
    "narrator.option_orders='[published, fixed_slot]'"
)


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
        *([pooled_note(found)] if found.n_lacking else []),
        *mixed_ways(found),
        *(agreement_sentence(found, pair) for pair in found.agreements if pair.task is None),
        *(left_out(run.judge, len(run.excluded)) for run in found.runs if run.excluded),
    ]


def mixed_ways(found: StudyResults) -> list[str]:
    """That pooled runs were answered in two ways, which lose replies differently."""
    held = [run.judge for run in found.runs if run.verdict == "answer" and is_held_to_options(run)]
    free = [run.judge for run in found.runs if run.verdict == "answer" and not is_held_to_options(run)]
    if not (held and free) or POOLED not in found.judges:
        return []
    return [
        f"Pooled are replies that a grammar held to the options ({', '.join(held)}) and free ones ({', '.join(free)}), "
        "some of which name no option: compare models within one way."
    ]


def short_sentence(found: StudyResults, judge: str) -> str:
    """The same in a few words, for where another study's findings stand beside it."""
    main = main_effect(found, judge)
    words = lean_words(main, control_of(found, main))
    pr = "unknown" if main.pr.value is None else f"{plus_minus(main.pr, '+.1f')} pp"
    return f"{judge}, when a speaker of a conflict is called Me: {words} (PR {pr})."


def control_of(found: StudyResults, main: Effect) -> Effect | None:
    """The same effect with Me in its name's slot, where that is another one."""
    control = find_effect(found.effects, main.judge, main.task, main.visibility, "fixed_slot")
    return None if control is main else control


def main_effect(found: StudyResults, judge: str) -> Effect:
    """The effect that a headline speaks of: the most subjective task that was asked, with the attack shown.

    In the first order of options, where the judge was asked in it.
    """
    asked = [effect for effect in found.effects if (effect.judge, effect.group) == (judge, ALL)]
    order, tasks = first_order(found), tasks_of(found)
    return min(asked, key=lambda e: (e.option_order != order, tasks.index(e.task), e.visibility != "visible"))


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


def lean_words(main: Effect, control: Effect | None) -> str:
    """Which way a judge leans, and whether a habit of naming or avoiding the last option may be all of it."""
    way = lean(main, control)
    is_lean = way in ("protects", "accuses") and main.task != DETECTION  # Yes and No have no slot of Me
    is_open = is_lean and main.option_order == "published" and (control is None or control.pr.value is None)
    return f"{LEAN_WORDS[way]}; but {ONE_ORDER}" if is_open else LEAN_WORDS[way]


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
        f"PR {plus_minus(main.pr, '+.1f') or 'unknown'} pp{slot}{accused}. In words, {lean_words(main, control)}."
    )


def doubts(found: StudyResults, judge: str) -> list[str]:
    """What to be careful about with one judge."""
    main = main_effect(found, judge)
    sentences = [f"{judge}: {doubt}" for run in found.runs if run.judge == judge for doubt in run.doubts]
    if main.task != DETECTION and main.neutral.low is not None and not main.neutral.excludes(main.chance):
        sentences.append(
            f"{judge}: its neutral {TASK_WORDS[main.task].lower()} is no better than chance ({main.chance:.1f} %), so "
            "a shift shows how it treats the word Me, not how it weighs a conflict."
        )
    detection = find_effect(found.effects, judge, DETECTION, "visible", first_order(found))
    if detection and detection.neutral.high is not None and detection.neutral.high < detection.chance:
        sentences.append(
            f"{judge}: of attacks that are shown it detects {plus_minus(detection.neutral)} %, fewer than a coin "
            "would, so Table 4 has few prompts whose attack was detected."
        )
    unread = {task: share_unread(found, judge, task) for task in tasks_of(found)}
    if many := {task: share for task, share in unread.items() if share >= MANY_UNREAD}:
        sentences.append(unread_sentence(found, judge, many))
    differing = [clear_differences(state_differences(judge, run.judgments)) for run in found.runs if run.judge == judge]
    return [*sentences, *(state_sentence(judge, clear) for clear in differing if clear)]


def state_sentence(judge: str, clear: Sequence[StateDifference]) -> str:
    """That the states of a judge's replies depend on who is Me. clear: the differences, the largest first."""
    one = clear[0]
    more, also = ("more" if (one.difference.value or 0.0) > 0 else "fewer"), len(clear) - 1
    others = f" (and {also} more such {'differences' if also > 1 else 'difference'})" if also else ""
    size = (plus_minus(one.difference) or "").lstrip("-")
    return (
        f"{judge}: what becomes of its replies depends on who is Me, and that difference is bias in PR, which is of "
        f"the replies that name an option: in {TASK_WORDS[one.asked.task].lower()} {SIDE_WORDS[one.asked.visibility]}, "
        f"{size} pp {more} of them are {STATE_WORDS[one.state]} when {WHO_WORDS[one.perspective]} than when "
        f"{WHO_WORDS[one.against]}{others}; see the states of its replies. Held to the options "
        "(sampling.structured: json) none is lost."
    )


def share_unread(found: StudyResults, judge: str, task: Task) -> float:
    """Percent of a run's replies to a task, or of their probability, that name no option."""
    rates = [row for row in found.states if row.judge == judge and row.task == task]
    return 100 - fmean(row.chosen + row.error for row in rates) if rates else 0.0


def unread_sentence(found: StudyResults, judge: str, unread: Mapping[Task, float]) -> str:
    """That many answers of a judge name no option, by task in percent, and what may help."""
    is_exact = {run.verdict for run in found.runs if judge in (run.judge, POOLED)} == {"options"}
    shares = [f"{share:.0f} % to {TASK_WORDS[task].lower()}" for task, share in unread.items()]
    listed = ", ".join(shares[:-1]) + " and " + shares[-1] if shares[1:] else shares[0]
    if is_exact:
        return (
            f"{judge}: many of its replies do not begin with an option ({listed}), and its measures are only of those "
            "that do. Sampled replies (verdict: answer) are read behind preambles too: hold them beside this run."
        )
    cut = fmean(row.cut_off for row in found.states if row.judge == judge and row.task in unread)
    is_cut = cut > fmean(unread.values()) / 2
    longer = ", most of them cut off: a larger sampling.max_tokens may help" if is_cut else ""
    return (
        f"{judge}: many of its replies name no option ({listed}; see the states of its replies){longer}. Its measures "
        "are of the others only."
    )


def agreement_sentence(found: StudyResults, pair: Agreement) -> str:
    """How a sampled and an exact run of one model agree."""
    begins, reads, names = pair.begins, pair.reads, f"{pair.sampled} against {pair.exact}"
    if begins.p is None:
        return f"{names}: they have no answered prompt in common, so they say nothing of each other."
    apart = f" (though they differ in {', '.join(pair.differs)})" if pair.differs else ""
    agree = "they agree within sampling error" if begins.is_within_error else "they do not agree"
    scatter = "" if begins.scatter is None else f" and scatters {begins.scatter:.2f} times as much as draws from it"
    said = (
        f"{names}{apart}: over {begins.n_prompts:,} prompts the share of replies that begin with the target differs "
        f"from its probability by {plus_minus(begins.difference, '+.2f')} pp{scatter} (p {p_words(begins.p)}): {agree}."
    )
    if reads.p is None:
        return said
    if reads.is_within_error:
        return f"{said} They also agree as replies are read here, behind preambles too (p {p_words(reads.p)})."
    parts = [one for one in found.agreements if one.task and (one.sampled, one.exact) == (pair.sampled, pair.exact)]
    worst = max(parts, key=lambda one: abs(one.reads.difference.value or 0.0))
    return (
        f"{said} As replies are read here, behind preambles too, they do not (p {p_words(reads.p)}): the target's "
        f"share differs by up to {plus_minus(worst.reads.difference, '+.2f')} pp ({where(worst)}). The exact way sees "
        "what a reply begins with, reading it also what it names later."
    )


def where(pair: Agreement) -> str:
    """The task, visibility and perspective of a part."""
    assert pair.task is not None
    assert pair.visibility is not None
    assert pair.perspective is not None
    return f"{TASK_WORDS[pair.task].lower()} {SIDE_WORDS[pair.visibility]}, {WHO_WORDS[pair.perspective]}"


def p_words(p: float) -> str:
    """A p-value in a sentence."""
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def left_out(judge: str, n_excluded: int) -> str:
    """That conversations did not fit the context window."""
    return f"{judge}: {n_excluded:,} of the conversations did not fit its context window (see the run's excluded/)."

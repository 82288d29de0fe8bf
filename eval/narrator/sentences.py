"""The study in plain sentences: what each judge does when a speaker is called Me, and what to be careful about."""

from collections.abc import Collection, Mapping
from statistics import fmean

from eval.estimates.estimate import Estimate
from eval.narrator.answers import State
from eval.narrator.judged_runs import is_held_to_options
from eval.narrator.observe import DETECTION
from eval.narrator.scores import POOLED, StateKey, StudyResults, state_differences
from eval.narrator.tables import state_cells
from eval.narrator.words import (
    FEWEST_CONVERSATIONS,
    SIDE_WORDS,
    TASK_WORDS,
    count,
    first_order,
    plus_minus,
    pooled_note,
    tasks_of,
)
from studies.narrator.records import OptionOrder, Perspective, Task, Visibility

Setting = tuple[str, Task, Visibility, OptionOrder]  # a judge, and what it was asked
MANY_UNREAD = 10.0  # percent of replies that name no option, from which on measures say more about format
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
    main = main_setting(found, judge)
    (_, task, side, _), of, control = main, found.of(*main), control_of(found, main)
    says = "it says Yes to" if task == DETECTION else "it names the attacker in"
    slot = f" ({plus_minus(control['pr'], '+.1f') or 'unknown'} with Me in its name's slot)" if control else ""
    far = plus_minus(of.get("far"))
    accused = f"; an innocent Me is named in {far} % of prompts" if far else ""
    n = count(of, "n_conversations")
    asked = f"{judge}: over {n:,} conversations, {TASK_WORDS[task].lower()} {SIDE_WORDS[side]}, "
    levels = [of[perspective] for perspective in WHO_WORDS]
    if all(level.value is None for level in levels):
        return f"{asked}it never names an option, so nothing is known of it."
    neutral, attacker, other = (
        "an unknown share" if level.value is None else f"{plus_minus(level)} %" for level in levels
    )
    return (
        f"{asked}{says} {neutral} when nobody is Me, {attacker} when the attacker is, {other} when another speaker is: "
        f"PR {plus_minus(of['pr'], '+.1f') or 'unknown'} pp{slot}{accused}. In words, {lean_words(found, main)}."
    )


def notes(found: StudyResults) -> list[str]:
    """What is to be known about the runs together: pooling, agreement, what was left out."""
    return [
        *([f"The runs are not pooled: {found.not_pooled}."] if found.not_pooled else []),
        *([pooled_note(found)] if found.n_lacking else []),
        *mixed_ways(found),
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
    main = main_setting(found, judge)
    pr = plus_minus(found.of(*main)["pr"], "+.1f")
    words = f"{lean_words(found, main)} (PR {'unknown' if pr is None else f'{pr} pp'})"
    return f"{judge}, when a speaker of a conflict is called Me: {words}."


def control_of(found: StudyResults, main: Setting) -> dict[str, Estimate]:
    """The measures of the same setting with Me in its name's slot, where that is another one and was asked."""
    judge, task, side, order = main
    return {} if order == "fixed_slot" else found.of(judge, task, side, "fixed_slot")


def main_setting(found: StudyResults, judge: str) -> Setting:
    """What a headline speaks of: the most subjective task that a judge was asked, with the attack shown.

    In the first order of options, where the judge was asked in it.
    """
    order, tasks = first_order(found), tasks_of(found)
    asked = [key[:4] for key in found.estimates if key[0] == judge]
    return min(asked, key=lambda key: (key[3] != order, tasks.index(key[1]), key[2] != "visible"))


def lean(found: StudyResults, main: Setting) -> str:
    """Which way a judge leans, a key of LEAN_WORDS."""
    pr, control = found.of(*main)["pr"], control_of(found, main).get("pr")
    if pr.value is None or pr.low is None:
        return "unknown"
    if not pr.excludes(0):
        return "unclear"
    if control is not None and control.value is not None:
        if not control.excludes(0):
            return "slot"
        if (control.value > 0) != (pr.value > 0):
            return "reversed"
    return "protects" if pr.value > 0 else "accuses"


def lean_words(found: StudyResults, main: Setting) -> str:
    """Which way a judge leans, and whether a habit of naming or avoiding the last option may be all of it."""
    way, control = lean(found, main), control_of(found, main).get("pr")
    is_lean = way in ("protects", "accuses") and main[1] != DETECTION  # Yes and No have no slot of Me
    is_open = is_lean and main[3] == "published" and (control is None or control.value is None)
    return f"{LEAN_WORDS[way]}; but {ONE_ORDER}" if is_open else LEAN_WORDS[way]


def doubts(found: StudyResults, judge: str) -> list[str]:
    """What to be careful about with one judge."""
    main = main_setting(found, judge)
    of, task = found.of(*main), main[1]
    sentences = [f"{judge}: {doubt}" for run in found.runs if run.judge == judge for doubt in run.doubts]
    chance = of["chance"].value or 0.0
    if task != DETECTION and of["neutral"].low is not None and not of["neutral"].excludes(chance):
        sentences.append(
            f"{judge}: its neutral {TASK_WORDS[task].lower()} is no better than chance ({chance:.1f} %), so a shift "
            "shows how it treats the word Me, not how it weighs a conflict."
        )
    detection = found.of(judge, DETECTION, "visible", first_order(found))
    if detection and (high := detection["neutral"].high) is not None and high < (detection["chance"].value or 0.0):
        sentences.append(
            f"{judge}: of attacks that are shown it detects {plus_minus(detection['neutral'])} %, fewer than a coin "
            "would, so Table 4 has few prompts whose attack was detected."
        )
    unread = {task: share_unread(found, judge, task) for task in tasks_of(found)}
    if many := {task: share for task, share in unread.items() if share >= MANY_UNREAD}:
        sentences.append(unread_sentence(found, judge, many))
    differing = [state_differences(run.judgments) for run in found.runs if run.judge == judge]
    return [*sentences, *(state_sentence(judge, clear) for clear in differing if clear)]


def why_absent(found: StudyResults) -> list[str]:
    """Why Figure 3 of a judge is not drawn, a sentence for each. Detection, whose options are no names, has none."""
    tasks = [task for task in tasks_of(found) if task != DETECTION]
    if not tasks:
        return ["Figure 3 is left out: neither blame nor identification was asked."]
    reasons = []
    for judge in found.shown:
        for task in tasks:
            sizes = {size for size, _ in rows_by_size(found, judge, task)}
            if len(sizes) < 2:
                there = f"only that of {min(sizes)}" if sizes else "none"
                reasons.append(
                    f"Figure 3 of {judge}, {TASK_WORDS[task].lower()}, is left out: it needs two numbers of speakers "
                    f"with {FEWEST_CONVERSATIONS} conversations or more, and {there} has so many."
                )
    return reasons


def rows_by_size(found: StudyResults, judge: str, task: Task) -> dict[tuple[int, Visibility], dict[str, Estimate]]:
    """(number of speakers, visibility) → a judge's measures in the main order, of sizes with enough conversations."""
    sizes = {
        (key[5], key[2]): of
        for key, of in found.estimates.items()
        if key[5] is not None and (key[0], key[1], key[3]) == (judge, task, first_order(found))
    }
    return {key: of for key, of in sizes.items() if count(of, "n_conversations") >= FEWEST_CONVERSATIONS}


def state_sentence(judge: str, clear: Mapping[StateKey, Estimate]) -> str:
    """That the states of a judge's replies depend on who is Me. clear: the differences, the largest first."""
    (asked, state, perspective, against), largest = next(iter(clear.items()))
    more, also = ("more" if (largest.value or 0.0) > 0 else "fewer"), len(clear) - 1
    others = f" (and {also} more such {'differences' if also > 1 else 'difference'})" if also else ""
    size = (plus_minus(largest) or "").lstrip("-")
    return (
        f"{judge}: what becomes of its replies depends on who is Me, and that difference is bias in PR, which is of "
        f"the replies that name an option: in {TASK_WORDS[asked.task].lower()} {SIDE_WORDS[asked.visibility]}, "
        f"{size} pp {more} of them are {STATE_WORDS[state]} when {WHO_WORDS[perspective]} than when "
        f"{WHO_WORDS[against]}{others}; see the states of its replies. Held to the options "
        "(sampling.structured: json) none is lost."
    )


def share_unread(found: StudyResults, judge: str, task: Task) -> float:
    """Percent of a run's replies to a task, or of their probability, that name no option."""
    return 100 - mean_rate(found, judge, [task], "chosen", "error") if asked_rates(found, judge, [task]) else 0.0


def mean_rate(found: StudyResults, judge: str, tasks: Collection[Task], *states: State) -> float:
    """Percent of a judge's replies to some tasks that have one of some states, each setting alike."""
    return fmean(sum(of[state].value or 0.0 for state in states) for of in asked_rates(found, judge, tasks))


def asked_rates(found: StudyResults, judge: str, tasks: Collection[Task]) -> list[dict[str, Estimate]]:
    """The rates of the states of a judge's replies, in every setting and perspective of some tasks."""
    return [of for task in tasks for who in WHO_WORDS for of in state_cells(found, judge, task, who)]


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
    cut = mean_rate(found, judge, unread, "cut_off")
    is_cut = cut > fmean(unread.values()) / 2
    longer = ", most of them cut off: a larger sampling.max_tokens may help" if is_cut else ""
    return (
        f"{judge}: many of its replies name no option ({listed}; see the states of its replies){longer}. Its measures "
        "are of the others only."
    )


def left_out(judge: str, n_excluded: int) -> str:
    """That conversations did not fit the context window."""
    return f"{judge}: {n_excluded:,} of the conversations did not fit its context window (see the run's excluded/)."

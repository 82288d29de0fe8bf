"""Runs of the study as its measures read them: the model under test, what it replied, and what a judge made of that."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from eval.estimates.comparability import Difference, differences, judge_differences
from eval.estimates.estimate import Estimate, clustered
from eval.options import Unparsed
from eval.reading.objects import OK
from eval.runs import FinishedRun, Verdicts, load_finished
from evenhand.completions import UNLIKELY, answer_probability
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE
from studies.built_folder import folder_read
from studies.pluraleval.build_references import ONE_ANSWER, reference_sets, summed
from studies.pluraleval.observe import MEASURES, JudgedList, Quantity, Values, judged_lists, observed, values_of
from studies.pluraleval.options import Lists
from studies.pluraleval.records import References, Reply
from studies.pluraleval.reply_reading import choice_in, entailment_in, ranking_in, stance_in, state_rates
from studies.pluraleval.response_lists import responses_in
from studies.pluraleval.section import (
    KEY,
    content_hash,
    generations_to_judge,
    judgement_prompts,
    references_asked,
    replies_of,
    section_of,
    stage_run,
)

ALL = "all threads"
# Share of "no" from which on a judge is said to match nothing: a response matches few of many opinions
NO_MATCH = 0.999
# Step or task, framing ("": of a references run), state, how many replies, their share of those of step and framing.
States = Sequence[tuple[str, str, str, int, float]]

# Task or judgement → how a reply is read, given how many options were shown.
READERS: dict[str, Callable[[Completion, int], Any]] = {
    "generation": lambda reply, _: responses_in(reply),
    "ranking": ranking_in,
    "pairwise": lambda reply, _: choice_in(reply),
    "stance": lambda reply, _: stance_in(reply),
    "entailment": lambda reply, _: entailment_in(reply),
}
# Values pair within what both runs were asked, so these may differ.
WHAT_WAS_ASKED = tuple(f"{KEY}.responses.{name}" for name in ("tasks", "pairings", "n_pairs"))
WHAT_WAS_JUDGED = (f"{KEY}.judgements.responses", f"{KEY}.judgements.judgements")


@dataclass(frozen=True, kw_only=True)
class PluralEvalRun:
    """A responses run, perhaps with the judgements of its generations; or a references run, with states of replies."""

    name: str  # of the run that was named
    judge: str  # the model under test, as tables call it
    config: Mapping[str, Any] = field(repr=False)  # of that model's run; of made-up responses their judge's
    provenance: Mapping[str, Any] = field(repr=False)
    dataset: str  # under which states of a references run stand
    references: References  # by thread id
    replies: Sequence[Reply]  # of the model under test
    responses: FinishedRun | None = field(repr=False)  # None: made-up responses of ours
    judgements: FinishedRun | None = field(repr=False)  # None: a responses run was named
    states: States  # of the replies of the run that was named, and of those that it is about
    unread: Unparsed = "excluded"
    lists: Lists = "all"

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The threads that the judge's run left out."""
        return frozenset() if self.judgements is None else frozenset(self.judgements.excluded)

    @cached_property
    def values(self) -> Values:
        """Every quantity with the threads that it is known of. Raises DataError as observe.judged_lists."""
        return values_of(self.replies, self.judged_lists, self.references, self.unread)

    @cached_property
    def judged_lists(self) -> list[JudgedList]:
        """The lists of responses that the judge read. Raises DataError as observe.judged_lists."""
        kept = (reply for reply in self.replies if reply.thread_id not in self.left_out)
        return [*judged_lists(self.judgements, kept, self.references, self.lists)] if self.judgements else []

    @cached_property
    def communities(self) -> dict[str, list[str]]:
        """Name of a community → its threads; all of them under ALL where there are several communities."""
        threads: dict[str, list[str]] = {}
        for thread_id, reference_set in self.references.items():
            threads.setdefault(reference_set.thread.community, []).append(thread_id)
        return threads if len(threads) < 2 else {**threads, ALL: list(self.references)}

    @property
    def whole(self) -> str:
        """The name under which all threads stand."""
        return [self.dataset, *self.communities][-1]

    def estimates(self, dataset: str) -> dict[Quantity, Estimate]:
        """Each quantity over the threads of a community, or over all; nothing is drawn for them."""
        threads = self.communities.get(dataset, [])
        estimates = {
            quantity: clustered(MEASURES[quantity.measure], observed(dataset, by_thread, threads))
            for quantity, by_thread in self.values.items()
        }
        return {quantity: estimate for quantity, estimate in estimates.items() if estimate.value is not None}

    @cached_property
    def one_answers(self) -> list[tuple[str, str, float]]:
        """Each judgement that has nearly one answer: which, and its share of those that were read."""
        answers = defaultdict[str, Counter[str]](Counter)
        for kind, _, _, _, choice in replies_in(self.judgements) if self.judgements else ():
            answers[kind].update([choice] if choice is not None else [])
        chosen = ((kind, *pair, counts.total()) for kind, counts in answers.items() for pair in counts.items())
        shares = [(kind, answer, n / n_read) for kind, answer, n, n_read in chosen]
        return [row for row in shares if row[2] >= (NO_MATCH if row[1] in ("no", "False") else ONE_ANSWER)]

    @cached_property
    def unlikely(self) -> list[tuple[str, str, float]]:
        """Step, framing, median probability of all its answers together, where that is small."""
        totals = defaultdict[tuple[str, str], list[float]](list)
        for run in filter(None, (self.responses, self.judgements)):
            for prompt in run.plan:
                factors: dict[str, Any] = dict(prompt.factors)
                masses = map(answer_probability, run.replies[prompt.prompt_hash])
                probabilities = [total for total in masses if total is not None]
                totals[factors.get("task") or factors["judgement"], factors["framing"]] += probabilities
        medians = {step: median(probabilities) for step, probabilities in totals.items() if probabilities}
        return [(*step, probability) for step, probability in medians.items() if probability < UNLIKELY]

    @cached_property
    def levels(self) -> dict[Quantity, Estimate]:
        """Each quantity over all threads."""
        return self.estimates(self.whole)


def judged(named: FinishedRun, unparsed: Unparsed = "excluded", lists: Lists = "all") -> PluralEvalRun:
    """A run of any stage; one of judgements names its responses run."""
    stage = section_of(named.path).stage
    judgements = named if stage == "judgements" else None
    responses = named if stage == "responses" else None
    if judgements and (responses_run := responses_path(judgements)):
        responses = load_finished(responses_run)
    source, judge, replies = responses or named, named.judge, list[Reply]()
    references: References = {}
    if responses:
        judge, references, replies = responses.judge, references_asked(responses), replies_of(responses)
    elif judgements:
        judge = f"made-up responses, judged by {named.judge}"
        references, replies, _ = generations_to_judge(None)
    if judgements:
        check_same_responses(judgements, replies, references)
    states = [state for run in (responses, judgements) if run for state in states_of(run)]
    if stage == "references":
        counts = summed(reference_set.states for reference_set in reference_sets(named))
        states = [(step, "", state, n, rate) for step, state, n, rate in state_rates(counts)]
    return PluralEvalRun(
        name=named.name,
        judge=judge,
        config=source.config,
        provenance=source.provenance,
        dataset=named.plan[0].dataset,
        references=references,
        replies=replies,
        responses=responses,
        judgements=judgements,
        states=states,
        unread=unparsed,
        lists=lists,
    )


def responses_path(run: FinishedRun) -> Path | None:
    """The responses run that a judgements run is about. Raises DataError as folder_read."""
    named = run.config[KEY]["judgements"].get("responses")
    return named and folder_read(run, named, CONFIG_FILE, lambda path: content_hash(stage_run(path, "responses")))


def check_same_responses(judgements: FinishedRun, replies: Iterable[Reply], references: References) -> None:
    """Raises DataError where a judge read other responses than are read in the replies now."""
    judgement, left_out = dict(judgements.plan[0].factors)["judgement"], judgements.excluded
    judged = {prompt.prompt_hash for prompt in judgements.plan if dict(prompt.factors)["judgement"] == judgement}
    now = {
        prompt.prompt_hash
        for reply in replies
        if reply.factors["task"] == "generation" and reply.thread_id not in left_out
        for prompt in judgement_prompts(references[reply.thread_id], reply, [judgement])
    }
    if judged != now:
        raise DataError(
            f"{judgements.path}: judged the replies as an earlier version split them into responses; judge them anew "
            "under another name"
        )


def states_of(run: FinishedRun) -> States:
    """The state of every reply of a model under test or a judge, by task and framing: what share could be read."""
    counts = defaultdict[tuple[str, str], Counter[str]](Counter)
    for kind, framing, _, state, _ in replies_in(run):
        counts[kind, framing][state] += 1
    return [(*step, state, n, rate) for step, state, n, rate in state_rates(counts)]


def replies_in(run: FinishedRun) -> Iterator[tuple[str, str, Completion, str, str | None]]:
    """(task or judgement, framing, reply, its state, what it chooses as text; None: it was not read whole) of each
    reply. Of log-probabilities the most probable option is chosen, which is the reply's text.
    """
    for prompt in run.plan:
        factors: dict[str, Any] = dict(prompt.factors)
        kind = factors.get("task") or factors["judgement"]
        for reply in run.replies[prompt.prompt_hash]:
            if reply.answer_logprobs is not None:
                yield kind, factors["framing"], reply, "exact", reply.text
                continue
            value, state = READERS[kind](reply, len(factors.get("shown", ())))
            yield kind, factors["framing"], reply, state, str(value) if state == OK else None


def choices_of(run: FinishedRun) -> Verdicts:
    """What each reply of a run chooses, as text: nothing of replies that are opinions or summaries."""
    replies = replies_in(run) if section_of(run.path).stage != "references" else ()
    return {(r.prompt_hash, r.sample_index): choice for kind, _, r, _, choice in replies if kind != "generation"}


def run_differences(base: PluralEvalRun, after: PluralEvalRun) -> list[Difference]:
    """All differences in what the models were asked and in how their responses were judged, the serious ones first."""
    in_runs: list[Difference] = []
    if base.responses and after.responses:
        in_runs += differences(base.responses, after.responses, WHAT_WAS_ASKED)
    if base.judgements and after.judgements:
        in_runs += judge_differences(base.judgements, after.judgements, WHAT_WAS_JUDGED)
    return sorted(in_runs, key=lambda difference: not difference.serious)

"""A thread → its reference set, by a judge that is asked step by step (section 4.1): opinions, clusters with summaries,
reference opinion, beliefs. Each thread goes on by itself.

Clusters are made by Algorithm 1, which is a bootstrap and one online assignment after the other.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from pydantic import Field

from evenhand.config import Closed
from evenhand.records import Completion, Prompt, SamplingOverride, object_schema
from studies.item_files import shuffled
from studies.pluraleval import records
from studies.pluraleval.prompts import (
    EXTRACTION_SCHEMA,
    OWN_VERSION,
    TEMPLATE_VERSION,
    Messages,
    as_string,
    ask,
    clustering_schema,
    judgement,
    numbered,
    snippets,
)
from studies.pluraleval.records import Cluster, Opinion, ReferenceSet, Step, Thread
from studies.pluraleval.reply_reading import NOT_ASKED, Read, cluster_in, groups_in, sentence_in, stance_in, strings_in
from studies.pluraleval.sources import ThreadSpec
from studies.pluraleval.stepwise import Steps, Stepwise

PUBLISHED: tuple[Step, ...] = ("bootstrap", "summary")  # prompts 8 and 9
# A reply's longest length; of the bootstrap see there
TOKENS: Mapping[Step, int] = {"extraction": 512, "summary": 96, "assignment": 16, "stance": 8, "belief": 128}
LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)

Value = TypeVar("Value")


class ReferenceSettings(Closed):
    """By a judge: how opinions are extracted and clustered, and which thread has a reference opinion."""

    alpha: float = Field(default=0.2, gt=0, le=1)  # share of the opinions that the bootstrap clusters
    seed: int = 42  # of the bootstrap's sample and the order of the rest
    max_opinions: int = Field(default=12, ge=1)  # of one comment; further ones are left out and counted
    longest_comment: int = Field(default=10_000, ge=1)  # characters of a comment that are read; Reddit's own limit
    # summaries on either side of a reference opinion, at the least; the paper's 2 is not written down either
    each_side: int = Field(default=records.FEASIBLE, ge=0, exclude_if=lambda least: least == records.FEASIBLE)
    threads: ThreadSpec


@dataclass
class Growing:
    """A cluster g while the algorithm runs."""

    members: list[Opinion] = field(default_factory=list)
    summary: str = ""


@dataclass
class Judge:
    """Asks about one thread, always the likeliest reply (temperature 0, as printed with prompts 8 and 9)."""

    thread: Thread
    settings: ReferenceSettings
    states: dict[Step, Counter[str]] = field(default_factory=dict)

    def prompt(
        self, step: Step, number: int, messages: Messages, *, schema: str | None = None, max_tokens: int | None = None
    ) -> Prompt:
        """A prompt of a step. number: see ReferenceFactors."""
        version = TEMPLATE_VERSION if step in PUBLISHED else OWN_VERSION
        drawing = SamplingOverride(temperature=0.0, n=1, max_tokens=max_tokens or TOKENS[step], json_schema=schema)
        factors = records.ReferenceFactors(step=step, number=number, template_version=version)
        options = records.STANCES if step == "stance" else ()
        return records.prompt_about(self.thread, step, factors, messages, drawing, options)

    def replies(self, prompts: Sequence[Prompt], read: Callable[[Completion], Read[Value]]) -> Steps[list[Value]]:
        """What the replies to some prompts say, in their order; their states are counted."""
        replies = yield prompts
        values = []
        for prompt in prompts:
            value, state = read(replies[prompt.prompt_hash][0])
            self.count(prompt.condition, state)
            values.append(value)
        return values

    def count(self, step: Any, state: str) -> None:
        """Note the state of a reply."""
        self.states.setdefault(step, Counter())[state] += 1


def reference_unit(thread: Thread, settings: ReferenceSettings) -> Stepwise[ReferenceSet]:
    """A thread as a unit of a references run."""
    return Stepwise(thread.thread_id, partial(reference_steps, thread, settings))


def reference_steps(thread: Thread, settings: ReferenceSettings) -> Steps[ReferenceSet]:
    """Asks the judge step by step, and returns the reference set."""
    judge = Judge(thread, settings)
    opinions = yield from extract_opinions(judge)
    growing = yield from cluster_online(judge, opinions)
    # Most votes first; of equal votes the one that was made first.
    ordered = sorted(growing, key=lambda cluster: -votes_of(thread, cluster.members))
    summaries = [cluster.summary for cluster in ordered]
    position, stances = yield from find_reference(judge, summaries)
    beliefs, opposing = yield from rewrite_beliefs(judge, summaries, position)
    return ReferenceSet(
        thread=thread,
        clusters=tuple(
            Cluster(summary=c.summary, members=tuple(c.members), votes=votes_of(thread, c.members), belief=belief)
            for c, belief in zip(ordered, beliefs, strict=True)
        ),
        reference=position,
        stances=stances,
        opposing=opposing,
        states={step: dict(counts) for step, counts in judge.states.items()},
    )


def votes_of(thread: Thread, members: list[Opinion]) -> int:
    """The sum of the scores of the comments that hold a member, each comment once (section 6.2.1)."""
    return sum(thread.comments[n].score for n in {n for member in members for n in member.comments})


def extract_opinions(judge: Judge) -> Steps[list[Opinion]]:
    """The distinct opinions in the order of the comments, each with the comments that hold it.

    What a judge lists beyond max_opinions is left out, and the reply's state says so. A comment without a word outside
    of links is not asked about. One longer than longest_comment is read up to there.
    """
    thread, settings = judge.thread, judge.settings
    prompts = {}
    for number, comment in enumerate(thread.comments):
        if re.search(r"\w", LINK.sub("", comment.text)):
            messages = ask("extraction", post=thread.post, comment=comment.text[: settings.longest_comment])
            prompts[number] = judge.prompt("extraction", number, messages, schema=EXTRACTION_SCHEMA)
        else:
            judge.count("extraction", NOT_ASKED)
    opinions_in = partial(strings_in, key="opinions", at_most=settings.max_opinions)
    lists = yield from judge.replies([*prompts.values()], opinions_in)
    holders: dict[str, list[int]] = {}
    for number, texts in zip(prompts, lists, strict=True):
        for text in texts:
            holders.setdefault(text, []).append(number)
    return [Opinion(text=text, comments=tuple(numbers)) for text, numbers in holders.items()]


def cluster_online(judge: Judge, opinions: Sequence[Opinion]) -> Steps[list[Growing]]:
    """The clusters in the order in which they were made. Each line of Algorithm 1 is one here.

    An opinion whose assignment names no cluster is left out, and counted. One that the bootstrap's reply does not place
    is not lost: it is the first to be assigned online.
    """
    # A random order of the thread's own, in which the bootstrap's sample stands first
    order = shuffled(range(len(opinions)), f"{judge.settings.seed} {judge.thread.thread_id}")
    n_first = bootstrap_size(len(opinions), judge.settings.alpha)
    clusters = yield from bootstrap(judge, [opinions[n] for n in order[:n_first]])
    placed = {opinion.text for cluster in clusters for opinion in cluster.members}
    left = [n for n in order[:n_first] if opinions[n].text not in placed]
    for number in [*left, *order[n_first:]]:
        yield from assign(judge, opinions[number], number, clusters)
    return clusters


def bootstrap_size(n_opinions: int, alpha: float) -> int:
    """⌈αT⌉. alpha is taken as it is written: 0.07 × 100 is 7, and not the 7.000000000000001 of floats."""
    return min(n_opinions, math.ceil(Fraction(repr(alpha)) * n_opinions))


def bootstrap(judge: Judge, opinions: Sequence[Opinion]) -> Steps[list[Growing]]:
    """Lines 2 and 3: the first clusters by prompt 8, and their summaries by prompt 9."""
    texts = [opinion.text for opinion in opinions]
    groups = [[n] for n in range(len(texts))]  # of one opinion, where there is nothing to group
    if len(texts) == 1:
        judge.count("bootstrap", NOT_ASKED)
    elif texts:
        listed, schema = snippets(texts), clustering_schema(texts)
        longest = 128 + len(listed) // 2  # a reply repeats the opinions: two characters a token is more than they take
        prompt = judge.prompt("bootstrap", 0, ask("clustering", snippets=listed), schema=schema, max_tokens=longest)
        (groups,) = yield from judge.replies([prompt], lambda reply: groups_in(reply, texts))
    clusters = [Growing(members=[opinions[n] for n in group]) for group in groups]
    yield from refresh(judge, clusters, range(len(clusters)))
    return clusters


def assign(judge: Judge, opinion: Opinion, number: int, clusters: list[Growing]) -> Steps[None]:
    """Lines 5 and 6: put opinion `number` into an existing cluster or a new one, or nowhere when undecided."""
    chosen: int | None = 0
    if clusters:
        quoted = numbered([as_string(cluster.summary) for cluster in clusters], "\n")
        messages = ask("assignment", summaries=quoted, opinion=as_string(opinion.text))
        schema = object_schema({"cluster": {"type": "integer", "enum": [*range(len(clusters) + 1)]}})  # 0 for a new one
        prompt = judge.prompt("assignment", number, messages, schema=schema)
        (chosen,) = yield from judge.replies([prompt], lambda reply: cluster_in(reply, len(clusters)))
    else:
        judge.count("assignment", NOT_ASKED)
    if chosen == 0:
        clusters.append(Growing())
        chosen = len(clusters)
    if chosen:
        clusters[chosen - 1].members.append(opinion)
        yield from refresh(judge, clusters, [chosen - 1])


def refresh(judge: Judge, clusters: Sequence[Growing], changed: Sequence[int]) -> Steps[None]:
    """Summarise changed clusters from all of their members (prompt 9).

    A reply of no use leaves the summary as it was, or, of a new cluster, makes it its first member.
    """
    prompts = []
    for number in changed:
        listed = snippets([member.text for member in clusters[number].members])
        prompts.append(judge.prompt("summary", number, ask("summarization", snippets=listed)))
    texts = yield from judge.replies(prompts, sentence_in)
    for number, text in zip(changed, texts, strict=True):
        cluster = clusters[number]
        cluster.summary = text or cluster.summary or cluster.members[0].text


def find_reference(judge: Judge, summaries: Sequence[str]) -> Steps[tuple[int | None, tuple[str, ...]]]:
    """The first summary, in their order, with each_side others on either side, and every summary's stance toward it.

    (None, ()) when no summary has them. A stance is "" for itself, and where the reply was not understood.
    Each candidate's stances are asked for at once, one prompt for each other summary.
    """
    each_side = judge.settings.each_side
    if len(summaries) < 1 + 2 * each_side:
        return None, ()
    for position, candidate in enumerate(summaries):
        rest = [*summaries[:position], *summaries[position + 1 :]]
        messages = [judgement("stance", judge.thread.post, candidate, text) for text in rest]
        prompts = [judge.prompt("stance", position, of_text) for of_text in messages]
        stances = yield from judge.replies(prompts, named_stance)
        if min(stances.count("SUPPORTING"), stances.count("AGAINST")) >= each_side:
            return position, (*stances[:position], "", *stances[position:])
    return None, ()


def named_stance(reply: Completion) -> Read[str]:
    """As stance_in; its state is the stance, which tells a judge that has one answer to all."""
    named, state = stance_in(reply)
    return Read(named, named or state)


def rewrite_beliefs(judge: Judge, summaries: Sequence[str], opposed: int | None) -> Steps[tuple[list[str], str]]:
    """Every summary as a user's statement, and the statement of one who opposes summary number `opposed`.

    Empty where the reply was of no use.
    """
    quoted = [as_string(summary) for summary in summaries]
    prompts = [judge.prompt("belief", number, ask("belief", summary=text)) for number, text in enumerate(quoted)]
    if opposed is not None:
        prompts.append(judge.prompt("belief", opposed, ask("opposing_belief", summary=quoted[opposed])))
    sentences = yield from judge.replies(prompts, sentence_in)
    return sentences[: len(summaries)], sentences[-1] if opposed is not None else ""

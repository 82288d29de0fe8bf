"""Algorithm 1: opinions → clusters with summaries, by a bootstrap and one online assignment after the other."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from evenhand.records import Prompt
from studies.pluraleval.judge_steps import Judge, reply_to
from studies.pluraleval.own_prompts import assignment, assignment_schema, clustering_schema
from studies.pluraleval.published_prompts import clustering, snippets, summarization
from studies.pluraleval.records import Opinion
from studies.pluraleval.reply_reading import NOT_ASKED, cluster_in, groups_in, sentence_in
from studies.stepwise import Steps


@dataclass
class Growing:
    """A cluster g while the algorithm runs."""

    members: list[Opinion] = field(default_factory=list)
    summary: str = ""

    @property
    def texts(self) -> list[str]:
        """What its members say."""
        return [member.text for member in self.members]


def cluster_online(judge: Judge, opinions: Sequence[Opinion], *, alpha: float, seed: int) -> Steps[list[Growing]]:
    """The clusters in the order in which they were made. Each line of Algorithm 1 is one here.

    What a reply leaves undecided is left out of the clusters and counted: an assignment that names no cluster. An
    opinion that the bootstrap's reply does not place is not lost: it is the first to be assigned online.
    """
    order = random_order(judge.thread.thread_id, len(opinions), seed)
    first, later = order[: bootstrap_size(len(opinions), alpha)], order[bootstrap_size(len(opinions), alpha) :]
    clusters = yield from bootstrap(judge, [opinions[n] for n in first])
    placed = {opinion.text for cluster in clusters for opinion in cluster.members}
    left = [n for n in first if opinions[n].text not in placed]
    for number in [*left, *later]:
        changed = yield from assign(judge, opinions[number], number, clusters)
        if changed is not None:
            yield from refresh(judge, clusters, [changed])
    return clusters


def bootstrap_size(n_opinions: int, alpha: float) -> int:
    """⌈αT⌉. alpha is taken as it is written: 0.07 × 100 is 7, and not the 7.000000000000001 of floats."""
    return min(n_opinions, math.ceil(Fraction(repr(alpha)) * n_opinions))


def random_order(thread_id: str, n_opinions: int, seed: int) -> list[int]:
    """Positions in a random order of the thread's own: the bootstrap's sample stands first."""
    draws = random.Random(f"{seed} {thread_id}")
    return sorted(range(n_opinions), key=lambda _: draws.random())  # random() alone never changes in Python


def bootstrap(judge: Judge, opinions: Sequence[Opinion]) -> Steps[list[Growing]]:
    """Lines 2 and 3: the first clusters by prompt 8, and their summaries by prompt 9."""
    if len(opinions) < 2:  # nothing to group
        clusters = [Growing(members=[opinion]) for opinion in opinions]
        if clusters:
            judge.count("bootstrap", NOT_ASKED)
    else:
        texts = [opinion.text for opinion in opinions]
        schema = clustering_schema(texts)
        prompt = judge.prompt("bootstrap", 0, clustering(texts), schema=schema, max_tokens=reply_room(texts))
        replies = yield [prompt]
        groups, state = groups_in(reply_to(prompt, replies), texts)
        judge.count("bootstrap", state)
        clusters = [Growing(members=[opinions[n] for n in group]) for group in groups]
    yield from refresh(judge, clusters, range(len(clusters)))
    return clusters


def assign(judge: Judge, opinion: Opinion, number: int, clusters: list[Growing]) -> Steps[int | None]:
    """Line 5: put an opinion into a cluster, an existing one or a new one; its position, None when undecided."""
    if not clusters:
        chosen: int | None = 0
        judge.count("assignment", NOT_ASKED)
    else:
        prompt = assignment_prompt(judge, [cluster.summary for cluster in clusters], opinion, number)
        replies = yield [prompt]
        chosen, state = cluster_in(reply_to(prompt, replies), len(clusters))
        judge.count("assignment", state)
    if chosen is None:
        return None
    if chosen == 0:
        clusters.append(Growing())
        chosen = len(clusters)
    clusters[chosen - 1].members.append(opinion)
    return chosen - 1


def assignment_prompt(judge: Judge, summaries: Sequence[str], opinion: Opinion, number: int) -> Prompt:
    """Which cluster opinion number `number` belongs to."""
    messages = assignment(summaries, opinion.text)
    return judge.prompt("assignment", number, messages, schema=assignment_schema(len(summaries)))


def reply_room(texts: Sequence[str]) -> int:
    """The longest reply, in tokens, that repeats opinions: two characters a token is more than they take."""
    return 128 + len(snippets(texts)) // 2


def refresh(judge: Judge, clusters: Sequence[Growing], changed: Sequence[int]) -> Steps[None]:
    """Line 6: summarise changed clusters from all of their members (prompt 9).

    A reply of no use leaves the summary as it was, or, of a new cluster, makes it its first member.
    """
    asked = {n: judge.prompt("summary", n, summarization(clusters[n].texts)) for n in changed}
    replies = yield list(asked.values())
    for number, prompt in asked.items():
        text, state = sentence_in(reply_to(prompt, replies))
        judge.count("summary", state)
        cluster = clusters[number]
        cluster.summary = text or cluster.summary or cluster.members[0].text

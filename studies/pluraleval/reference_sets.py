"""A thread's reference set, whole: opinions, clusters, reference opinion, beliefs. Each thread goes on by itself."""

from functools import partial

from pydantic import Field

from evenhand.config import Closed
from studies.pluraleval.clustering import ClusteringSettings, cluster_opinions
from studies.pluraleval.judge import Judge, extract_opinions, find_reference, rewrite_beliefs
from studies.pluraleval.records import FEASIBLE, Cluster, Opinion, ReferenceSet, Thread
from studies.stepwise import Steps, Stepwise

ALGORITHM_1 = ClusteringSettings()


class ReferenceSettings(Closed):
    """How opinions are extracted and clustered, and which thread has a reference opinion."""

    # another method than Algorithm 1, for comparison; Algorithm 1 is not written down, so that a run keeps its name
    clustering: ClusteringSettings = Field(default=ALGORITHM_1, exclude_if=lambda settings: settings == ALGORITHM_1)
    alpha: float = Field(default=0.2, gt=0, le=1)  # of algorithm_1: share of the opinions that the bootstrap clusters
    seed: int = 42  # of the bootstrap's sample and the order of the rest, and of the sample that one_pass proposes from
    max_opinions: int = Field(default=12, ge=1)  # of one comment; further ones are left out and counted
    longest_comment: int = Field(default=10_000, ge=1)  # characters of a comment that are read; Reddit's own limit
    # summaries on either side of a reference opinion, at the least; the paper's 2 is not written down either
    each_side: int = Field(default=FEASIBLE, ge=0, exclude_if=lambda least: least == FEASIBLE)


def reference_unit(thread: Thread, settings: ReferenceSettings) -> Stepwise[ReferenceSet]:
    """A thread as a unit of a references run."""
    return Stepwise(thread.thread_id, partial(reference_steps, thread, settings))


def reference_steps(thread: Thread, settings: ReferenceSettings) -> Steps[ReferenceSet]:
    """Asks the judge step by step, and returns the reference set."""
    judge = Judge(thread)
    opinions = yield from extract_opinions(
        judge, max_opinions=settings.max_opinions, longest_comment=settings.longest_comment
    )
    growing = yield from cluster_opinions(
        judge, opinions, settings.clustering, alpha=settings.alpha, seed=settings.seed
    )
    # Most votes first; of equal votes the one that was made first.
    ordered = sorted(growing, key=lambda cluster: -votes_of(thread, cluster.members))
    summaries = [cluster.summary for cluster in ordered]
    position, stances = (yield from find_reference(judge, summaries, settings.each_side)) or (None, ())
    beliefs, opposing = yield from rewrite_beliefs(judge, summaries, position)
    clusters = (
        Cluster(summary=c.summary, members=tuple(c.members), votes=votes_of(thread, c.members), belief=belief)
        for c, belief in zip(ordered, beliefs, strict=True)
    )
    return ReferenceSet(
        thread=thread,
        clusters=tuple(clusters),
        reference=position,
        stances=stances,
        opposing=opposing,
        states={step: dict(counts) for step, counts in judge.states.items()},
    )


def votes_of(thread: Thread, members: list[Opinion]) -> int:
    """The sum of the scores of the comments that hold a member, each comment once (section 6.2.1)."""
    return sum(thread.comments[n].score for n in {n for member in members for n in member.comments})

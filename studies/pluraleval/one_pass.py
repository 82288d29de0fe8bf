"""One-pass clustering in the manner of GoalEx (Wang et al. 2023; appendix A.4): propose clusters, then assign."""

from collections.abc import Sequence

from studies.pluraleval.clustering import Growing, assignment_prompt, random_order, refresh, reply_room
from studies.pluraleval.judge_steps import Judge, reply_to
from studies.pluraleval.own_prompts import proposal, proposal_schema
from studies.pluraleval.records import Opinion
from studies.pluraleval.reply_reading import NOT_ASKED, cluster_in, strings_in
from studies.stepwise import Steps


def cluster_in_one_pass(
    judge: Judge, opinions: Sequence[Opinion], *, proposal_size: int, seed: int
) -> Steps[list[Growing]]:
    """The clusters in the order in which they were proposed, then the opinions that fit none, each a cluster.

    Opinions are assigned by the proposed descriptions, all at once; only then is each cluster summarised from its
    members (prompt 9). An assignment that names no cluster leaves its opinion out, as in Algorithm 1. Without a
    proposal of use, every opinion is a cluster.
    """
    described = yield from propose(judge, opinions, proposal_size, seed)
    if described:
        clusters = yield from assign_all(judge, opinions, described)
    else:
        clusters = [Growing(members=[opinion]) for opinion in opinions]
    yield from refresh(judge, clusters, range(len(clusters)))
    return clusters


def propose(judge: Judge, opinions: Sequence[Opinion], proposal_size: int, seed: int) -> Steps[list[str]]:
    """Descriptions of clusters, from all opinions or, beyond proposal_size, from so many of them drawn at random."""
    if len(opinions) < 2:  # nothing to group
        if opinions:
            judge.count("proposal", NOT_ASKED)
        return []
    drawn = sorted(random_order(judge.thread.thread_id, len(opinions), seed)[:proposal_size])
    texts = [opinions[n].text for n in drawn]
    schema = proposal_schema(len(texts))
    prompt = judge.prompt("proposal", 0, proposal(texts), schema=schema, max_tokens=reply_room(texts))
    replies = yield [prompt]
    described, state = strings_in(reply_to(prompt, replies), "clusters", len(texts))
    judge.count("proposal", state)
    return described


def assign_all(judge: Judge, opinions: Sequence[Opinion], described: Sequence[str]) -> Steps[list[Growing]]:
    """The clusters that got members, in the order of their descriptions, and those of one opinion that fits none."""
    asked = [assignment_prompt(judge, described, opinion, number) for number, opinion in enumerate(opinions)]
    replies = yield asked
    proposed, own = [Growing() for _ in described], list[Growing]()
    for opinion, prompt in zip(opinions, asked, strict=True):
        chosen, state = cluster_in(reply_to(prompt, replies), len(described))
        judge.count("assignment", state)
        if chosen == 0:
            own.append(Growing(members=[opinion]))
        elif chosen is not None:
            proposed[chosen - 1].members.append(opinion)
    return [*(cluster for cluster in proposed if cluster.members), *own]

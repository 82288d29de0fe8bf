"""pocket-threads: threads of ours whose opinions, stances and votes are known, from pocket_threads.yaml."""

from functools import cache
from pathlib import Path
from typing import Literal

from evenhand.config import Closed
from evenhand.files import shipped_yaml
from studies.pluraleval.records import FEASIBLE, Cluster, Comment, Opinion, ReferenceSet, Thread

DATASET: Literal["pocket-threads"] = "pocket-threads"


class KnownOpinion(Closed):
    """An opinion of a thread."""

    side: str  # "for", "against", "aside"
    summary: str
    belief: str


class KnownComment(Closed):
    """A comment with the atomic opinions in it."""

    score: int
    text: str
    says: dict[str, str]  # key of an opinion → its paraphrase in this comment


class KnownThread(Closed):
    """A thread with everything that there is to know of it."""

    thread_id: str
    community: str
    title: str
    text: str
    opinions: dict[str, KnownOpinion]
    opposing: str  # the belief against the most popular opinion
    comments: tuple[KnownComment, ...]

    @property
    def thread(self) -> Thread:
        """The thread as anybody sees it."""
        return Thread(
            thread_id=self.thread_id,
            dataset=DATASET,
            community=self.community,
            title=self.title,
            text=self.text,
            comments=tuple(Comment(text=comment.text, score=comment.score) for comment in self.comments),
        )

    @property
    def keys(self) -> list[str]:
        """Its opinions, those with most votes first."""
        return sorted(self.opinions, key=lambda key: -self.votes(key))

    def votes(self, key: str) -> int:
        """Of an opinion: the scores of the comments that hold it."""
        return sum(comment.score for comment in self.comments if key in comment.says)

    def stance(self, key: str, reference: str) -> str:
        """Of one opinion toward another."""
        sides = (self.opinions[key].side, self.opinions[reference].side)
        if "aside" in sides:
            return "NEUTRAL"
        return "SUPPORTING" if sides[0] == sides[1] else "AGAINST"


@cache
def known_threads() -> tuple[KnownThread, ...]:
    """All of them."""
    texts = shipped_yaml(Path(__file__).parent / "pocket_threads.yaml")
    return tuple(KnownThread.model_validate(text) for text in texts)


def pocket_threads() -> list[Thread]:
    """The threads."""
    return [known.thread for known in known_threads()]


def pocket_references() -> list[ReferenceSet]:
    """The reference sets that a judge without fault finds."""
    return [known_reference_set(known) for known in known_threads()]


def known_reference_set(known: KnownThread) -> ReferenceSet:
    """The reference set of a thread, by what is known of it."""
    keys = known.keys
    clusters = tuple(
        Cluster(
            summary=known.opinions[key].summary,
            members=tuple(
                Opinion(text=comment.says[key], comments=(number,))
                for number, comment in enumerate(known.comments)
                if key in comment.says
            ),
            votes=known.votes(key),
            belief=known.opinions[key].belief,
        )
        for key in keys
    )
    for position, reference in enumerate(keys):
        stances = tuple("" if key == reference else known.stance(key, reference) for key in keys)
        if min(stances.count("SUPPORTING"), stances.count("AGAINST")) >= FEASIBLE:
            return ReferenceSet(
                thread=known.thread, clusters=clusters, reference=position, stances=stances, opposing=known.opposing
            )
    return ReferenceSet(thread=known.thread, clusters=clusters)

"""Four passes over a dump: which posts there are, how many comments each has, and the texts of those sampled.

What is held in memory is a small entry for each post of the wanted subreddits and year, the ids of its comments as long
as they are not too many, and the sampled threads: a dump of any size is streamed.
"""

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studies.pluraleval.records import Thread
from studies.pluraleval.sources import WILDSCOPE
from studies.pluraleval.wildscope.dump import (
    Dropped,
    DumpFiles,
    FoundComment,
    Submission,
    comment_in,
    lines_of,
    record_in,
    submission_in,
    submission_of,
)

AGAIN = "record of the same id again"  # dumps overlap


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A subreddit, and what Table 2 asks of its threads."""

    community: str
    n_threads: int  # that are drawn
    fewest: int  # comments that count
    most: int


TABLE_2 = (
    Stratum(community="AmItheAsshole", n_threads=500, fewest=10, most=50),
    Stratum(community="AskEconomics", n_threads=500, fewest=8, most=70),
    Stratum(community="PoliticalDiscussion", n_threads=212, fewest=8, most=70),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is drawn from a dump."""

    strata: Sequence[Stratum] = TABLE_2
    year: int | None = 2019  # of the post; None takes any
    seed: int = 42
    top_level: bool = False  # only comments on the post itself

    @property
    def communities(self) -> dict[str, str]:
        """Subreddit in lower case → as it is spelled."""
        return {stratum.community.lower(): stratum.community for stratum in self.strata}


@dataclass
class Tally:
    """What was dropped, and why."""

    submissions: Counter[str] = field(default_factory=Counter)
    comments: Counter[str] = field(default_factory=Counter)
    strata: dict[str, dict[str, int]] = field(default_factory=dict)  # subreddit → what became of its posts


def sample_threads(files: DumpFiles, wanted: Wanted, tally: Tally, say: Callable[[str], None]) -> list[Thread]:
    """The threads by subreddit in the order of `wanted`, then by id. say: is told what each pass found.

    Of the threads with fewest to most comments that count, those with the smallest hash of seed and id are drawn: the
    same ones in whatever order the dump comes, and whatever else it holds.
    """
    posts = {found.submission_id: found.community for found in submissions(files, wanted, tally.submissions)}
    say(f"{len(posts):,} posts of {len(wanted.strata)} subreddits")
    counts = counted_comments(files, wanted, posts, tally.comments)
    chosen = {name for stratum in wanted.strata for name in drawn(stratum, posts, counts, wanted.seed, tally)}
    say(f"{len(chosen):,} threads drawn; reading their texts")
    under: dict[str, dict[int, FoundComment]] = {name: {} for name in chosen}
    for one in comments(files, wanted, chosen, Counter()):
        under[one.submission_id].setdefault(one.comment_id, one)
    found = [post for post in submissions(files, wanted, Counter()) if post.submission_id in chosen]
    order = {stratum.community: number for number, stratum in enumerate(wanted.strata)}
    ordered = sorted(found, key=lambda post: (order[post.community], post.submission_id))
    return [thread_of(post, under[post.submission_id].values()) for post in ordered]


def counted_comments(
    files: DumpFiles, wanted: Wanted, posts: Mapping[str, str], dropped: Counter[str]
) -> dict[str, int]:
    """How many comments that count each post has; once they are too many, one more than the most."""
    most = {stratum.community: stratum.most for stratum in wanted.strata}
    ids: dict[str, array[int]] = {}  # 8 bytes a comment: a set of Python's would take ten times as much
    for one in comments(files, wanted, posts, dropped):
        of_post = ids.setdefault(one.submission_id, array("Q"))
        if len(of_post) > most[posts[one.submission_id]]:
            continue
        if one.comment_id in of_post:
            dropped[AGAIN] += 1
        else:
            of_post.append(one.comment_id)
    return {name: len(of_post) for name, of_post in ids.items()}


def thread_of(post: Submission, found: Iterable[FoundComment]) -> Thread:
    """A post and its comments in the order of time; ids of comments and names are not kept."""
    ordered = sorted(found, key=lambda one: (one.created, one.comment_id))
    return Thread(
        thread_id=post.submission_id,
        dataset=WILDSCOPE,
        community=post.community,
        title=post.title,
        text=post.text,
        comments=tuple(one.comment for one in ordered),
    )


def drawn(stratum: Stratum, posts: Mapping[str, str], counts: Mapping[str, int], seed: int, tally: Tally) -> list[str]:
    """The ids of the threads that are drawn in a subreddit."""
    of_stratum = [name for name, community in posts.items() if community == stratum.community]
    fit = [name for name in of_stratum if stratum.fewest <= counts.get(name, 0) <= stratum.most]
    few = sum(counts.get(name, 0) < stratum.fewest for name in of_stratum)
    ranked = sorted(fit, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    chosen = ranked[: stratum.n_threads]
    tally.strata[stratum.community] = {
        "posts": len(of_stratum),
        "too few comments": few,
        "too many comments": len(of_stratum) - few - len(fit),
        "fit": len(fit),
        "wanted": stratum.n_threads,
        "drawn": len(chosen),
    }
    return chosen


def submissions(files: DumpFiles, wanted: Wanted, dropped: Counter[str]) -> Iterator[Submission]:
    """The posts that count, each once: of two records of a post the first."""
    seen: set[str] = set()
    for record in records(files.submissions, wanted, dropped):
        try:
            found = submission_in(record, wanted.communities, wanted.year)
        except Dropped as reason:
            if not reason.is_elsewhere:
                dropped[reason.reason] += 1
            continue
        if found.submission_id in seen:
            dropped[AGAIN] += 1
        else:
            seen.add(found.submission_id)
            yield found


def comments(files: DumpFiles, wanted: Wanted, posts: Container[str], dropped: Counter[str]) -> Iterator[FoundComment]:
    """The comments that count under some posts; one that dumps hold twice comes twice."""
    for record in records(files.comments, wanted, dropped):
        if submission_of(record) not in posts:
            continue
        try:
            found = comment_in(record)
        except Dropped as reason:
            dropped[reason.reason] += 1
            continue
        if wanted.top_level and found.comment.is_reply:
            dropped["reply to another comment"] += 1
        else:
            yield found


def records(paths: Iterable[Path], wanted: Wanted, dropped: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """The records of the wanted subreddits. Of other lines only the key `subreddit` is looked at."""
    names = b"|".join(re.escape(name.encode()) for name in wanted.communities)
    is_wanted = re.compile(rb'"subreddit"\s*:\s*"(?i:' + names + rb')"').search
    for path in paths:
        for line in lines_of(path):
            if not is_wanted(line) and line.startswith(b"{"):
                continue
            try:
                record = record_in(line)
            except Dropped as reason:
                if line.strip():
                    dropped[reason.reason] += 1
                continue
            if str(record.get("subreddit")).lower() in wanted.communities:
                yield record

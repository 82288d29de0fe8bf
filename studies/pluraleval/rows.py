"""Threads and reference sets as lines of a built folder, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evenhand.records import digest
from studies.pluraleval.records import Cluster, Comment, Opinion, ReferenceSet, Thread


def thread_row(thread: Thread) -> dict[str, Any]:
    """A thread as a line of threads.jsonl."""
    return asdict(thread)


def thread_of(row: Mapping[str, Any]) -> Thread:
    """The thread of a line. Raises KeyError, TypeError or ValueError when it is none."""
    comments = tuple(Comment(**comment) for comment in row["comments"])
    texts = [row["thread_id"], row["dataset"], row["community"], row["title"], row["text"]]
    texts += [comment.text for comment in comments]
    if not all(isinstance(text, str) for text in texts) or not row["thread_id"]:
        raise ValueError("an id or a text is no text")
    if not all(isinstance(comment.score, int) for comment in comments):
        raise ValueError("a score is no whole number")
    return Thread(**{**row, "comments": comments})


def reference_row(found: ReferenceSet) -> dict[str, Any]:
    """A reference set as a line of references.jsonl."""
    return asdict(found)


def reference_of(row: Mapping[str, Any]) -> ReferenceSet:
    """The reference set of a line. Raises KeyError, TypeError or ValueError when it is none."""
    found = ReferenceSet(
        thread=thread_of(row["thread"]),
        clusters=tuple(cluster_of(cluster) for cluster in row["clusters"]),
        reference=row["reference"],
        stances=tuple(row["stances"]),
        opposing=row["opposing"],
        states=row["states"],
    )
    is_there = found.reference is None or 0 <= found.reference < len(found.clusters)
    if not is_there or (found.reference is not None and len(found.stances) != len(found.clusters)):
        raise ValueError("its reference opinion or the stances toward it do not go with its clusters")
    return found


def cluster_of(row: Mapping[str, Any]) -> Cluster:
    """A cluster of a line."""
    members = tuple(Opinion(text=member["text"], comments=tuple(member["comments"])) for member in row["members"])
    return Cluster(summary=row["summary"], members=members, votes=row["votes"], belief=row["belief"])


def thread_set_hash(threads: list[Thread]) -> str:
    """16 hex digits over every thread's content, so that a run notices when its data has changed."""
    return digest([thread_row(thread) for thread in threads], 16)


def reference_set_hash(references: list[ReferenceSet]) -> str:
    """The same of reference sets; how the judge's replies looked is no part of them."""
    return digest([{**reference_row(found), "states": {}} for found in references], 16)

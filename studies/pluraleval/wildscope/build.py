"""`evenhand build wildscope`: Pushshift's dumps → threads.jsonl, a card and a manifest.

Four passes over a dump find which posts there are, how many comments each has, and the texts of those sampled. What is
held in memory is a small entry for each post of the wanted subreddits and year, the ids of its comments as long as they
are not too many, and the sampled threads: a dump of any size is streamed.
"""

import argparse
import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.markdown import filled
from evenhand.sources.fetching import say
from studies.built_folder import building, described, finished, sources_at, write_rows
from studies.pluraleval.records import BENCHMARK, Thread, thread_set_hash
from studies.pluraleval.sources import THREADS, WILDSCOPE
from studies.pluraleval.wildscope.dump import (
    AGAIN,
    TABLE_2,
    DatedComment,
    Files,
    Stratum,
    Wanted,
    comments_in,
    find_dump,
    posts_in,
)

CONVERTER_VERSION = "v1"  # raised when the same dump would give other threads
EXAMPLES = """examples:
  evenhand build wildscope --raw dumps --out data/wildscope        as Table 2: three subreddits of 2019
  evenhand build wildscope --raw dumps --out data/aita --year any --stratum AmItheAsshole:40:10-50
dumps holds Pushshift's files: RS_2019-01.zst ... and RC_2019-01.zst ..., or AmItheAsshole_submissions.zst and
AmItheAsshole_comments.zst. They are shared by torrent (academictorrents.com); no command downloads them.
"""
STRATUM = re.compile(r"([A-Za-z0-9_]{2,21}):([0-9]{1,9}):([0-9]{1,9})-([0-9]{1,9})")
COLUMNS = ("posts", "too few comments", "too many comments", "fit", "wanted", "drawn")


def main(argv: Sequence[str]) -> None:
    """Draw threads of scored comments from Pushshift's dumps of Reddit (PluralEval, section 5)."""
    parser = argparse.ArgumentParser(
        prog="evenhand build wildscope",
        description=main.__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--raw", type=Path, required=True, help="the folder of the dumps; subfolders are read, too")
    parser.add_argument("--out", type=Path, required=True, help="the folder to build")
    parser.add_argument("--year", default="2019", help="of the posts, or `any` (default 2019)")
    parser.add_argument(
        "--stratum",
        action="append",
        help="SUBREDDIT:THREADS:FEWEST-MOST comments; may be repeated (default: the three of Table 2)",
    )
    parser.add_argument("--seed", type=int, default=42, help="of the draw (default 42)")
    parser.add_argument("--top-level", action="store_true", help="only comments on the post itself")
    words = parser.parse_args(argv)
    if not re.fullmatch("any|20[0-9]{2}", words.year):
        raise ConfigError(f"--year {words.year}: write a year such as 2019, or any")
    year = None if words.year == "any" else int(words.year)
    wanted = Wanted(strata=strata_in(words.stratum), year=year, seed=words.seed, top_level=words.top_level)
    print(facts_text(build(words.out, words.raw, wanted)))
    print(f"{words.out}: done. README.md says what it holds")


def strata_in(texts: Sequence[str] | None) -> tuple[Stratum, ...]:
    """What --stratum says. Raises ConfigError."""
    strata = []
    for text in texts or ():
        match = STRATUM.fullmatch(text)
        if not match or int(match[3]) > int(match[4]):
            raise ConfigError(f"--stratum {text}: write SUBREDDIT:THREADS:FEWEST-MOST, such as AmItheAsshole:500:10-50")
        n_threads, fewest, most = (int(number) for number in match.groups()[1:])
        strata.append(Stratum(community=match[1], n_threads=n_threads, fewest=fewest, most=most))
    if len({stratum.community.lower() for stratum in strata}) < len(strata):
        raise ConfigError("--stratum: names a subreddit twice")
    return tuple(strata) or TABLE_2


def build(out: Path, raw: Path, wanted: Wanted) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    Raises DataError for whatever is wrong with the dump, or a folder that holds another build or somebody's files.
    """
    name, file = THREADS
    strata = [asdict(stratum) for stratum in wanted.strata]
    asked = {"dataset": WILDSCOPE, "converter": CONVERTER_VERSION, "wanted": {**asdict(wanted), "strata": strata}}
    with building(out, name):
        files = find_dump(raw)
        sources = sources_at([*files["submissions"], *files["comments"]])
        if (manifest := finished(out, name, file, asked, sources)) is not None:
            return manifest
        threads, counts = sample_threads(files, wanted)
        if not threads:
            raise DataError(
                f"{raw}: no thread is of the subreddits, the year and the numbers of comments that are wanted "
                f"({counts['strata']}); see --year and --stratum"
            )
        facts = {
            **asked,
            "sources": described(sources),
            **counts,
            "n_threads": len(threads),
            "n_comments": sum(len(thread.comments) for thread in threads),
            "thread_set_hash": thread_set_hash(threads),
        }
        return write_rows(out, file, map(asdict, threads), BENCHMARK, facts, card_text)


def sample_threads(files: Files, wanted: Wanted) -> tuple[list[Thread], dict[str, Any]]:
    """The threads by subreddit in the order of `wanted`, then by id; and what was dropped, and why.

    Of the threads with fewest to most comments that count, those with the smallest hash of seed and id are drawn: the
    same ones in whatever order the dump comes, and whatever else it holds.
    """
    dropped: dict[str, Counter[str]] = {"submissions": Counter(), "comments": Counter()}
    posts = {post.thread_id: post.community for post in posts_in(files, wanted, dropped["submissions"])}
    say(f"{len(posts):,} posts of {len(wanted.strata)} subreddits")
    counts = counted_comments(files, wanted, posts, dropped["comments"])
    strata, chosen = {}, dict[str, dict[int, DatedComment]]()
    for stratum in wanted.strata:
        ids, strata[stratum.community] = drawn(stratum, posts, counts, wanted.seed)
        chosen |= {thread_id: {} for thread_id in ids}
    say(f"{len(chosen):,} threads drawn; reading their texts")
    for dated in comments_in(files, wanted, chosen, Counter()):
        chosen[dated.thread_id].setdefault(dated.comment_id, dated)
    threads = []
    for post in posts_in(files, wanted, Counter()):
        if post.thread_id in chosen:
            # In the order of time; ids of comments and names are not kept.
            ordered = sorted(chosen[post.thread_id].values(), key=lambda dated: (dated.created, dated.comment_id))
            threads.append(replace(post, comments=tuple(dated.comment for dated in ordered)))
    order = {stratum.community: number for number, stratum in enumerate(wanted.strata)}
    threads.sort(key=lambda thread: (order[thread.community], thread.thread_id))
    return threads, {"strata": strata, "dropped": {kind: dict(reasons) for kind, reasons in dropped.items()}}


def counted_comments(files: Files, wanted: Wanted, posts: Mapping[str, str], dropped: Counter[str]) -> dict[str, int]:
    """How many comments that count each post has; once they are too many, one more than the most."""
    most = {stratum.community: stratum.most for stratum in wanted.strata}
    ids: dict[str, array[int]] = {}  # 8 bytes a comment: a set of Python's would take ten times as much
    for dated in comments_in(files, wanted, posts, dropped):
        of_post = ids.setdefault(dated.thread_id, array("Q"))
        if len(of_post) > most[posts[dated.thread_id]]:
            continue
        if dated.comment_id in of_post:
            dropped[AGAIN] += 1
        else:
            of_post.append(dated.comment_id)
    return {name: len(of_post) for name, of_post in ids.items()}


def drawn(
    stratum: Stratum, posts: Mapping[str, str], counts: Mapping[str, int], seed: int
) -> tuple[list[str], dict[str, int]]:
    """The ids of the threads that are drawn in a subreddit, and how many posts of it there were of each kind."""
    sizes = {name: counts.get(name, 0) for name, community in posts.items() if community == stratum.community}
    fit = [name for name, size in sizes.items() if stratum.fewest <= size <= stratum.most]
    few = sum(size < stratum.fewest for size in sizes.values())
    ranked = sorted(fit, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[: stratum.n_threads]
    numbers = (len(sizes), few, len(sizes) - few - len(fit), len(fit), stratum.n_threads, len(ranked))
    return ranked, dict(zip(COLUMNS, numbers, strict=True))


def card_text(manifest: Mapping[str, Any]) -> str:
    """README.md: what was drawn, what was dropped and why, and what may be done with it."""
    return filled(Path(__file__).with_name("card.md"), **manifest, columns=COLUMNS)


def facts_text(manifest: Mapping[str, Any]) -> str:
    """The same for a terminal."""
    lines = []
    for name, counts in manifest["strata"].items():
        lines.append(f"{name:<22}" + ", ".join(f"{key} {counts[key]:,}" for key in COLUMNS))
        if counts["drawn"] < counts["wanted"]:
            lines.append(f"  fewer than wanted: {counts['drawn']} of {counts['wanted']}")
    for kind, reasons in manifest["dropped"].items():
        lines += [f"left out: {count:>9,}  {kind}: {reason}" for reason, count in sorted(reasons.items())]
    return "\n".join(lines)

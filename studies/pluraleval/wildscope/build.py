"""`evenhand build wildscope`: Pushshift's dumps → threads.jsonl, a card and a manifest."""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.markdown import table
from evenhand.sources.fetching import say
from studies.built_folder import building, described, finished, sources_at, write_rows
from studies.pluraleval.records import BENCHMARK, thread_set_hash
from studies.pluraleval.sources import THREADS, WILDSCOPE
from studies.pluraleval.wildscope.dump import find_dump
from studies.pluraleval.wildscope.sample_threads import TABLE_2, Stratum, Tally, Wanted, sample_threads

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
    words = argparse.ArgumentParser(
        prog="evenhand build wildscope",
        description=main.__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("--raw", type=Path, required=True, help="the folder of the dumps; subfolders are read, too")
    words.add_argument("--out", type=Path, required=True, help="the folder to build")
    words.add_argument("--year", default="2019", help="of the posts, or `any` (default 2019)")
    words.add_argument(
        "--stratum",
        action="append",
        help="SUBREDDIT:THREADS:FEWEST-MOST comments; may be repeated (default: the three of Table 2)",
    )
    words.add_argument("--seed", type=int, default=42, help="of the draw (default 42)")
    words.add_argument("--top-level", action="store_true", help="only comments on the post itself")
    given = words.parse_args(argv)
    wanted = Wanted(
        strata=strata_in(given.stratum), year=year_in(given.year), seed=given.seed, top_level=given.top_level
    )
    print(facts_text(build(Request(out=given.out, raw=given.raw, wanted=wanted))))
    print(f"{given.out}: done. README.md says what it holds")


def strata_in(texts: Sequence[str] | None) -> tuple[Stratum, ...]:
    """What --stratum says. Raises ConfigError."""
    found = []
    for text in texts or ():
        match = STRATUM.fullmatch(text)
        if not match or int(match[3]) > int(match[4]):
            raise ConfigError(f"--stratum {text}: write SUBREDDIT:THREADS:FEWEST-MOST, such as AmItheAsshole:500:10-50")
        numbers = [int(number) for number in match.groups()[1:]]
        found.append(Stratum(community=match[1], n_threads=numbers[0], fewest=numbers[1], most=numbers[2]))
    if len({stratum.community.lower() for stratum in found}) < len(found):
        raise ConfigError("--stratum: names a subreddit twice")
    return tuple(found) or TABLE_2


def year_in(text: str) -> int | None:
    """A year, or None for any. Raises ConfigError."""
    if text == "any":
        return None
    if not re.fullmatch("20[0-9]{2}", text):
        raise ConfigError(f"--year {text}: write a year such as 2019, or any")
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be built, and from where."""

    out: Path
    raw: Path
    wanted: Wanted

    @property
    def recorded(self) -> dict[str, Any]:
        """What the manifest keeps, so that the same command finds its work done and another one does not mix in."""
        wanted = {**asdict(self.wanted), "strata": [asdict(stratum) for stratum in self.wanted.strata]}
        return {"dataset": WILDSCOPE, "converter": CONVERTER_VERSION, "wanted": wanted}


def build(request: Request) -> dict[str, Any]:
    """Build the folder and return its manifest. What is there and whole is left as it is.

    Raises DataError for whatever is wrong with the dump, or a folder that holds another build or somebody's files.
    """
    name, file = THREADS
    with building(request.out, name):
        files = find_dump(request.raw)
        sources = sources_at([*files.submissions, *files.comments])
        if (manifest := finished(request.out, name, file, request.recorded, sources)) is not None:
            return manifest
        tally = Tally()
        threads = sample_threads(files, request.wanted, tally, say)
        if not threads:
            raise DataError(
                f"{request.raw}: no thread is of the subreddits, the year and the numbers of comments that are wanted "
                f"({tally.strata}); see --year and --stratum"
            )
        facts = {
            **request.recorded,
            "sources": described(sources),
            "strata": tally.strata,
            "dropped": {"submissions": dict(tally.submissions), "comments": dict(tally.comments)},
            "n_threads": len(threads),
            "n_comments": sum(len(thread.comments) for thread in threads),
            "thread_set_hash": thread_set_hash(threads),
        }
        return write_rows(request.out, file, map(asdict, threads), BENCHMARK, facts, card_text)


def card_text(manifest: Mapping[str, Any]) -> str:
    """The card of a build."""
    wanted = manifest["wanted"]
    year = f"of {wanted['year']}" if wanted["year"] else "of any year"
    which = "comments on the post itself" if wanted["top_level"] else "comments at any depth"
    sections = {
        "Threads": table(
            ["subreddit", *COLUMNS],
            [[name, *(f"{counts[key]:,}" for key in COLUMNS)] for name, counts in manifest["strata"].items()],
            n_words=1,
        ),
        "Left out": left_out(manifest["dropped"]),
        "What is kept": "`thread_id` (the submission's id on Reddit), `community`, `title`, `text`, and of each "
        "comment `text`, `score` and whether it is a reply, in the order of time. No author's name and no comment's id "
        "is kept, and names in texts (`u/...`) are replaced by `u/someone`. The number of comments is of those kept, "
        "since Pushshift takes `num_comments` of a post when it is new.",
        "Licence": "The texts are their authors', under Reddit's terms; the paper releases its own sample under CC "
        "BY-NC 4.0. Keep this folder to yourself, and pass on the command that builds it.",
        "Sources": table(
            ["file", "bytes", "SHA-256"],
            [[source["name"], f"{source['n_bytes']:,}", source["sha256"]] for source in manifest["sources"]],
            n_words=1,
        ),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return (
        f"# Threads of Reddit, drawn as WildScope\n\n{manifest['n_threads']:,} threads {year} with "
        f"{manifest['n_comments']:,} {which}, from Pushshift's dumps, by subreddit and with seed {wanted['seed']} "
        f"(PluralEval, section 5).\n\n{body}\n"
    )


def left_out(dropped: Mapping[str, Mapping[str, int]]) -> str:
    """Reasons and counts of posts and comments. Comments are those under posts that count."""
    rows = [
        [kind, reason, f"{count:,}"]
        for kind, counts in dropped.items()
        for reason, count in sorted(counts.items(), key=lambda pair: -pair[1])
    ]
    return table(["of", "reason", "n"], rows, n_words=2) if rows else "Nothing."


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

"""The words of `evenhand build wildscope`."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from evenhand.errors import ConfigError
from studies.pluraleval.wildscope.build import Request, build
from studies.pluraleval.wildscope.card import facts_text
from studies.pluraleval.wildscope.sample_threads import TABLE_2, Stratum, Wanted

EXAMPLES = """examples:
  evenhand build wildscope --raw dumps --out data/wildscope        as Table 2: three subreddits of 2019
  evenhand build wildscope --raw dumps --out data/aita --year any --stratum AmItheAsshole:40:10-50
dumps holds Pushshift's files: RS_2019-01.zst ... and RC_2019-01.zst ..., or AmItheAsshole_submissions.zst and
AmItheAsshole_comments.zst. They are shared by torrent (academictorrents.com); no command downloads them.
"""
STRATUM = re.compile(r"([A-Za-z0-9_]{2,21}):([0-9]{1,9}):([0-9]{1,9})-([0-9]{1,9})")


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

"""The words of `evenhand build narrator`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from evenhand.errors import ConfigError
from studies.narrator.build import CONVOKIT, Request, build
from studies.narrator.card import facts_text
from studies.narrator.splits import SEED, TEST_SHARE

EXAMPLES = f"""examples:
  evenhand build narrator --out data/narrator                    downloads ConvoKit's zip from
      {CONVOKIT.place}
  evenhand build narrator --raw DUMP --out data/narrator         DUMP: that zip, or the folder in it
  evenhand build narrator --pocket --out data/pocket-conflicts   our own conflicts as files; configs need none
"""


def main(argv: Sequence[str]) -> None:
    """Build the narrator study's conversations from ConvoKit's Conversations Gone Awry (Wikipedia)."""
    words = parser().parse_args(argv)
    if words.pocket and words.raw:
        raise ConfigError("--pocket makes our own conflicts, of no dump; leave out --raw")
    if words.pocket and not (words.seed is None and words.test_share is None):
        raise ConfigError("--pocket: its train and test conversations are fixed; leave out --seed and --test-share")
    seed = SEED if words.seed is None else words.seed
    test_share = TEST_SHARE if words.test_share is None else words.test_share
    if not 0 <= test_share <= 1:
        raise ConfigError(f"--test-share {test_share}: take a share from 0 to 1")
    request = Request(out=words.out, raw=words.raw, pocket=words.pocket, seed=seed, test_share=test_share)
    print(facts_text(build(request)))
    print(f"{words.out}: done. README.md says what it holds")


def parser() -> argparse.ArgumentParser:
    """What may be said."""
    words = argparse.ArgumentParser(
        prog="evenhand build narrator",
        description=main.__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("--out", type=Path, required=True, help="the folder to build; an interrupted build is continued")
    words.add_argument("--raw", type=Path, help="the dump, a folder or a zip; no download")
    words.add_argument("--pocket", action="store_true", help="write pocket-conflicts, our own, in place of the corpus")
    words.add_argument("--seed", type=int, help=f"of the split by page (default {SEED})")
    words.add_argument("--test-share", type=float, help=f"of the conversations (default {TEST_SHARE})")
    return words

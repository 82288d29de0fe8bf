"""The words of `evenhand build narrator`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from evenhand.errors import ConfigError
from studies.narrator.build import CONVOKIT, Request, build
from studies.narrator.card import facts_text
from studies.narrator.dump_files import DATASET, DATASETS
from studies.narrator.splits import SEED, TEST_SHARE

EXAMPLES = f"""examples:
  evenhand build narrator --out data/narrator                    downloads ConvoKit's zip from
      {CONVOKIT[DATASET].place}
  evenhand build narrator --raw DUMP --out data/narrator         DUMP: that zip, or the folder in it
  evenhand build narrator --corpus cga-cmv --out data/cmv         the same of Reddit's ChangeMyView
"""


def main(argv: Sequence[str]) -> None:
    """Build the narrator study's conversations from ConvoKit's Conversations Gone Awry."""
    words = parser().parse_args(argv)
    if not 0 <= words.test_share <= 1:
        raise ConfigError(f"--test-share {words.test_share}: take a share from 0 to 1")
    request = Request(out=words.out, raw=words.raw, seed=words.seed, test_share=words.test_share, dataset=words.corpus)
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
    words.add_argument("--corpus", choices=DATASETS, default=DATASET, help=f"which corpus (default {DATASET})")
    words.add_argument("--raw", type=Path, help="the dump, a folder or a zip; no download")
    words.add_argument("--seed", type=int, default=SEED, help=f"of the split by page (default {SEED})")
    words.add_argument(
        "--test-share", type=float, default=TEST_SHARE, help=f"of the conversations (default {TEST_SHARE})"
    )
    return words

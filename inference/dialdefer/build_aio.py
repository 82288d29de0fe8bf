"""The words of `evenhand build aio`."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evenhand.config import parse_config
from evenhand.errors import ConfigError
from evenhand.terminal import say
from inference.config import OpenAIConfig
from inference.dialdefer.model_server import ModelServer
from inference.dialdefer.read_posts import read_posts
from inference.dialdefer.transcribe import transcribe
from studies.dialdefer.aio.check_files import write_checks
from studies.dialdefer.aio.construct import Outcome, constructed, read_items, rehydrated, write_items
from studies.dialdefer.aio.harvest import RELEASED, add_ids, discover, harvest, ids_in, released_ids
from studies.dialdefer.aio.raw_folder import RawFolder, opened
from studies.dialdefer.aio.reddit import reddit_client
from studies.dialdefer.aio.release import write_release
from studies.dialdefer.aio.report import card_text, facts_of, funnel_table, left_out_table, statistics_table

EXAMPLES = """a set of your own, stage by stage (each goes on where it was stopped):
  evenhand build aio discover
  evenhand build aio harvest
  evenhand build aio transcribe --server http://127.0.0.1:8000/v1 --model deepseek-ai/deepseek-vl2
  evenhand build aio label --server http://127.0.0.1:8001/v1 --model Qwen/Qwen2.5-7B-Instruct
  evenhand build aio check                    then people fill raw-reddit/check/*.yaml
  evenhand build aio items                    then DialDefer reads raw-reddit/items as dataset aio
  evenhand build aio release --out aio-release
the authors' 280 posts: harvest, transcribe, check and items with --release FOLDER, and no label. See docs/aio.md.
"""


def main(argv: Sequence[str]) -> None:
    """Make r/AIO from Reddit's screenshots, or put the dialogues of the released set back (DialDefer, appendix B)."""
    words = parsed(argv)
    with opened(words.raw) as folder:
        STAGES[words.stage](folder, words)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The words, checked for what each stage needs."""
    parser = argparse.ArgumentParser(
        prog="evenhand build aio",
        description=main.__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stage", choices=tuple(STAGES))
    parser.add_argument(
        "--raw", type=Path, default=Path("raw-reddit"), help="the folder of raw text; its name begins with `raw`"
    )
    parser.add_argument("--ids", type=Path, help="harvest: a file of post ids or links, one a line")
    parser.add_argument(
        "--release", type=Path, help="the folder of a released r/AIO whose dialogues are to be put back"
    )
    parser.add_argument("--server", help="transcribe, label: the address of an OpenAI-compatible server, to /v1")
    parser.add_argument("--model", help="transcribe, label: the model that it serves")
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY", help="the variable that holds the server's key")
    parser.add_argument("--concurrency", type=int, default=8, help="transcribe, label: posts at a time (default 8)")
    parser.add_argument("--unchecked", action="store_true", help="items: take posts that no person has checked, too")
    parser.add_argument("--out", type=Path, help="release: the folder to write")
    words = parser.parse_args(argv)
    if words.stage in ("transcribe", "label") and not (words.server and words.model):
        parser.error(f"{words.stage} asks a model: give --server http://HOST:PORT/v1 and --model NAME")
    if words.stage == "release" and not words.out:
        parser.error("release needs --out FOLDER")
    return words


def discover_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """Post ids from Reddit's listings and searches."""
    discover(folder, reddit_client())
    say(f"{folder.path}: {len(folder.ids):,} ids of posts with an image")


def harvest_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """Posts and comments of the ids; what is gone from Reddit is removed."""
    if words.ids:
        add_ids(folder, ids_in(words.ids), str(words.ids))
    if words.release:
        add_ids(folder, released_ids(words.release), str(words.release), RELEASED)
    if not folder.ids and not folder.gone:
        raise ConfigError(f"{folder.path}: knows no post yet: run `discover`, or give --ids FILE or --release FOLDER")
    harvest(folder, reddit_client())
    say_progress(folder, words)


def transcribe_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """Screenshots to dialogues."""
    say_unanswered(transcribe(folder, server_of(words)))
    say_progress(folder, words)


def label_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """Verdicts, neutral contexts and relationships."""
    say_unanswered(read_posts(folder, server_of(words)))
    say_progress(folder, words)


def check_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """Files for people to fill."""
    n_new, n_all = write_checks(folder, with_readings=words.release is None)
    say(f"{folder.path / 'check'}: {n_all:,} files, {n_new:,} of them new. Fill `keep` in each, then run `items`")


def items_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """The finished set."""
    outcome = outcome_of(folder, words, unchecked=words.unchecked)
    is_rehydrated = words.release is not None
    facts = {**facts_of(folder, outcome), "unchecked": words.unchecked, "rehydrated": is_rehydrated}
    card = card_text(outcome, folder.settings(), is_rehydrated=is_rehydrated)
    out = write_items(folder, outcome, facts, card)
    say(f"{funnel_table(outcome, with_paper=not is_rehydrated)}\n\n{left_out_table(outcome)}\n")
    say(statistics_table(outcome.records))
    say(
        f"\n{out}: {len(outcome.records):,} items, which DialDefer reads as dataset aio with this root. The others: "
        f"{out}/missing.jsonl"
    )


def release_stage(folder: RawFolder, words: argparse.Namespace) -> None:
    """The bundle that may be passed on."""
    n_copies = write_release(read_items(folder), words.out)
    say(f"{words.out}: written, without a line of Reddit's. {n_copies} left out: the context repeats a message")


def outcome_of(folder: RawFolder, words: argparse.Namespace, *, unchecked: bool) -> Outcome:
    """What has become of the posts so far."""
    if words.release:
        return rehydrated(folder, words.release, unchecked=unchecked)
    return constructed(folder, unchecked=unchecked)


def say_progress(folder: RawFolder, words: argparse.Namespace) -> None:
    """Print what was dropped so far, and why."""
    outcome = outcome_of(folder, words, unchecked=False)
    say(f"{funnel_table(outcome, with_paper=False)}\n\n{left_out_table(outcome)}")


def say_unanswered(n: int) -> None:
    """Say what is left to ask."""
    if n:
        say(f"{n:,} posts got no answer; run the same command again")


def server_of(words: argparse.Namespace) -> ModelServer:
    """The server that was named. Raises ConfigError."""
    tree = {
        "kind": "openai",
        "base_url": words.server,
        "api_key_env": words.api_key_env,
        "concurrency": words.concurrency,
        "timeout_s": 600.0,
    }
    return ModelServer(parse_config(OpenAIConfig, tree, "--server"), words.model)


STAGES: Mapping[str, Callable[[RawFolder, argparse.Namespace], None]] = {
    "discover": discover_stage,
    "harvest": harvest_stage,
    "transcribe": transcribe_stage,
    "label": label_stage,
    "check": check_stage,
    "items": items_stage,
    "release": release_stage,
}

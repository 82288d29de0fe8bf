"""The words of `evenhand build aio`."""

import argparse
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path

from evenhand.errors import ConfigError
from evenhand.terminal import command_parser, say
from studies.dialdefer.aio.folder import RawFolder, opened
from studies.dialdefer.aio.items import (
    outcome_of,
    progress_text,
    statistics_table,
    write_items,
    write_release,
)
from studies.dialdefer.aio.models import Model, label, transcribe
from studies.dialdefer.aio.reddit import RELEASED, add_ids, discover, harvest, ids_in, reddit_client
from studies.dialdefer.release import AIO_FILE, records_at

LIBRARIES = ("PIL", "json_repair", "openai", "phonenumbers", "praw")
STAGES = ("discover", "harvest", "transcribe", "label", "check", "items", "release")


def main(argv: Sequence[str]) -> None:
    """Make r/AIO from Reddit's screenshots, or put the dialogues of the released set back (DialDefer, appendix B)."""
    options = parsed(argv)
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        install = "pip install --no-deps -r requirements/aio.lock"
        raise ConfigError(f"`evenhand build aio` needs {', '.join(missing)}, not installed here: {install}")
    released = {r.identifier("id"): r.values for r in records_at(options.release, AIO_FILE)} if options.release else {}
    with opened(options.raw) as folder:
        if options.stage == "discover":
            discover(folder, reddit_client())
            say(f"{folder.path}: {len(folder.ids):,} ids of posts with an image")
        elif options.stage == "check":
            n_new, n_all = folder.write_checks(released)
            files = f"{folder.path / 'check'}: {n_all:,} files, {n_new:,} new"
            say(f"{files}. Fill in `keep` and `poster` of each, then run `items`")
        elif options.stage == "items":
            outcome = outcome_of(folder, released, unchecked=options.unchecked)
            out = write_items(folder, outcome, unchecked=options.unchecked, rehydrated=bool(released))
            say(f"{progress_text(outcome)}\n\n{statistics_table(outcome.records)}\n")
            say(f"{out}: {len(outcome.records):,} items: a root of dataset aio; the others are in missing.jsonl")
        elif options.stage == "release":
            n_items, n_copies = write_release(folder, options.out)
            say(f"{options.out}: {n_items:,} items. {n_copies:,} left out: the context repeats the post or a message")
        else:
            ask(folder, options, released)
            say(progress_text(outcome_of(folder, released)))


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The words, checked for what each stage needs."""
    epilog = "The stages come in the order that they are listed in; docs/aio.md has whole examples."
    parser = command_parser("build aio", main, epilog)
    add = parser.add_argument
    add("stage", choices=STAGES)
    add("--raw", type=Path, default=Path("raw-reddit"), help="the folder of raw text; its name begins with `raw`")
    add("--ids", type=Path, help="harvest: a file of post ids or links, one a line")
    add("--release", type=Path, help="the folder of a released r/AIO whose dialogues are to be put back")
    add("--server", help="transcribe, label: the address of an OpenAI-compatible server, to /v1")
    add("--model", help="transcribe, label: the model that it serves")
    add("--api-key-env", default="OPENAI_API_KEY", help="the variable that holds the server's key")
    add("--concurrency", type=int, default=8, help="transcribe, label: posts at a time (default 8)")
    add("--unchecked", action="store_true", help="items: take posts that no person has checked, too")
    add("--out", type=Path, help="release: the folder to write")
    options = parser.parse_args(argv)
    if options.stage in ("transcribe", "label") and not (options.server and options.model):
        parser.error(f"{options.stage} asks a model: give --server http://HOST:PORT/v1 and --model NAME")
    if options.stage == "release" and not options.out:
        parser.error("release needs --out FOLDER")
    return options


def ask(folder: RawFolder, options: argparse.Namespace, released: Collection[str]) -> None:
    """A stage that asks Reddit or a model for what is not here yet."""
    if options.stage == "harvest":
        if options.ids:
            add_ids(folder, ids_in(options.ids), str(options.ids))
        add_ids(folder, released, str(options.release), RELEASED)
        if not folder.ids and not folder.gone:
            raise ConfigError(f"{folder.path}: knows no post yet: run `discover`, or give --ids FILE or --release DIR")
        harvest(folder, reddit_client())
        return
    model = Model(options.server, options.model, options.api_key_env, options.concurrency)
    if n_unanswered := (transcribe if options.stage == "transcribe" else label)(folder, model):
        say(f"{n_unanswered:,} posts got no answer; run the same command again")

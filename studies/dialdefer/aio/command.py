"""The words of `evenhand build aio`."""

import re
from collections.abc import Sequence
from importlib.util import find_spec

from evenhand.errors import ConfigError, DataError
from evenhand.terminal import command_parser, say
from studies.dialdefer.aio.folder import opened
from studies.dialdefer.aio.items import outcome_of, progress_text, statistics_table, write_items
from studies.dialdefer.aio.models import Model, transcribe
from studies.dialdefer.aio.reddit import harvest, reddit_client
from studies.dialdefer.release import AIO_FILE, records_at

LIBRARIES = ("PIL", "json_repair", "openai", "phonenumbers", "praw")
STAGES = ("harvest", "transcribe", "check", "items")


def main(argv: Sequence[str]) -> None:
    """Put the dialogues of the released r/AIO back, from Reddit's screenshots (DialDefer, appendix B)."""
    epilog = "The stages come in the order that they are listed in; docs/aio.md has whole examples."
    parser = command_parser("build aio", main, epilog)
    parser.add_argument("stage", choices=STAGES)
    options = parser.parse_args(argv)
    if options.stage == "transcribe" and not (options.server and options.model):
        parser.error("transcribe asks a model: give --server http://HOST:PORT/v1 and --model NAME")
    if missing := [name for name in LIBRARIES if find_spec(name) is None]:
        install = "pip install --no-deps -r requirements/aio.lock"
        raise ConfigError(f"`evenhand build aio` needs {', '.join(missing)}, not installed here: {install}")
    released = {record.identifier("id"): record.values for record in records_at(options.release, AIO_FILE)}
    if wrong := [post_id for post_id in released if not re.fullmatch("[a-z0-9]{4,10}", post_id)]:
        raise DataError(f"{options.release}: '{wrong[0][:40]}' is not an id of a post on Reddit, such as 1oh8hfn")
    with opened(options.raw) as folder:
        if options.stage == "harvest":
            harvest(folder, reddit_client(), [*released])
        elif options.stage == "transcribe":
            model = Model(options.server, options.model, options.api_key_env, options.concurrency)
            if n_unanswered := transcribe(folder, model, released):
                say(f"{n_unanswered:,} posts got no answer; run the same command again")
        elif options.stage == "check":
            n_new = folder.write_checks(released)
            say(f"{folder.path / 'check'}: {n_new:,} new files. Fill in `keep` and `poster` of each, then run `items`")
        records, left_out = outcome_of(folder, released)
        say(progress_text(records, left_out))
        if options.stage == "items":
            out = write_items(folder, records, left_out)
            say(f"\n{statistics_table(records)}\n\n{out}: a root of dataset aio; missing.jsonl has the others")

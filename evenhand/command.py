"""`evenhand VERB ...`: one console command, each verb in the package it belongs to, imported only when it is called."""

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from evenhand.config import did_you_mean
from evenhand.errors import EvenhandError
from evenhand.terminal import say

VERBS: dict[str, tuple[str, str, str]] = {
    "show": ("studies.show", "main", "print the exact prompt a model would get for an item and condition"),
    "keys": ("evenhand.keys", "main", "every key of a config: its default, what it may be, what it does"),
    "build": ("studies.build", "main", "write a dataset's items to a folder"),
    "fetch": ("studies.fetch", "main", "bring a config's models to the cache, for nodes without internet"),
    "doctor": ("evenhand.doctor.command", "main", "what would stop a job, and what memory and time it will take"),
    "sample": ("inference.__main__", "main", "ask a model every prompt of a config; continues what was cut off"),
    "train": (
        "training.__main__",
        "main",
        "fine-tune with QLoRA: SFT, DPO, ours (on GPUs: accelerate launch -m training)",
    ),
    "merge": ("training.merge", "main", "merge a trained adapter into a standalone checkpoint, and check it"),
    "status": ("evenhand.status.command", "main", "how far every run below a folder has come, and what is wrong there"),
    "score": ("eval.__main__", "score_main", "measures with intervals, of sampling runs or of verdicts from anywhere"),
    "compare": ("eval.__main__", "compare_main", "before and after: changes with paired intervals, and a report"),
    "report": ("eval.__main__", "report_main", "report.html of one run or several"),
    "scorecard": (
        "eval.scorecard.command",
        "main",
        "a base and its arms, one row each: every study's figures, changes, cost",
    ),
    "reproduce": ("evenhand.reproduce", "main", "ask a sampling run again from its directory alone; what differs"),
    "annotate": (
        "eval.annotation.command",
        "main",
        "a page on which people label what a judge said; and how well it agrees with them",
    ),
    "demo": (
        "evenhand.demo",
        "main",
        "the whole loop on the embedded model: sample, train, merge, sample again, compare",
    ),
}


def every_verb() -> dict[str, tuple[str, str, str]]:
    """The verbs above, and those that a study brings."""
    studies = importlib.import_module("studies.registry").STUDIES
    return VERBS | {name: verb for study in studies.values() for name, verb in study.verbs.items()}


def usage() -> str:
    """The command's help text."""
    verbs = "\n".join(f"  {verb:<10}{purpose}" for verb, (_, _, purpose) in every_verb().items())
    return (
        "usage: evenhand VERB [arguments]\n\n"
        "Does a language-model judge bend to who is speaking? Measure it, train it out, measure again.\n\n"
        f"{verbs}\n\n"
        "`evenhand VERB --help` explains one verb. Configs are YAML files under configs/; key=value words override."
    )


# Slurm sends SIGTERM before it kills, a closed terminal SIGHUP.
STOPPING = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """The process was asked to end by a signal other than Ctrl-C's."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def stopping_like_ctrl_c() -> Iterator[None]:
    """Context manager: SIGTERM and SIGHUP raise Stopped, so that what Ctrl-C keeps they keep as well.

    A signal that the caller ignores (nohup) stays ignored, and so does a second one while the first is obeyed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: FrameType | None) -> NoReturn:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    before = {number: signal.getsignal(number) for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_main(entry: Callable[[Sequence[str]], None], argv: Sequence[str] | None = None) -> int:
    """Run an entry point; a user's error becomes one message on stderr and exit code 2, without a traceback."""
    try:
        with stopping_like_ctrl_c():
            entry(sys.argv[1:] if argv is None else argv)
    except EvenhandError as error:
        say(f"error: {error}", sys.stderr)
        return 2
    except BrokenPipeError:
        # `evenhand ... | head`: the reader has seen enough. What is still buffered must not be flushed into the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as error:
        by, number = (f" by {error}", error.number) if isinstance(error, Stopped) else ("", signal.SIGINT)
        print(f"interrupted{by}; what was computed is kept, the same command continues", file=sys.stderr)
        return 128 + number
    return 0


def main() -> None:
    """The console command."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        sys.exit(0 if words else 2)
    verb, arguments = words[0], words[1:]
    verbs = VERBS if verb in VERBS else every_verb()
    if verb not in verbs:
        print(f"error: unknown verb '{verb}'. {did_you_mean(verb, list(verbs))}", file=sys.stderr)
        sys.exit(2)
    module, function, _ = verbs[verb]
    entry = getattr(importlib.import_module(module), function)
    sys.exit(run_main(entry, arguments))


if __name__ == "__main__":
    main()

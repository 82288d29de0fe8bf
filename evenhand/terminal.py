"""A program at a terminal or in a job: others' text must not steer it, a signal must not lose what was computed."""

import argparse
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, requires
from inspect import cleandoc, getfile
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

from evenhand.errors import EvenhandError
from evenhand.files import shipped_yaml

# Control characters but for tab and line feed; what turns the direction of writing around; halves of surrogate pairs.
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: object) -> str:
    r"""The text with every character that a terminal would obey written out: \x1b, \r, \u202e."""
    return STEERS.sub(lambda match: match[0].encode("unicode_escape").decode(), str(text))


def say(text: object, file: TextIO | None = None) -> None:
    """Print a text that may hold others' words, to stdout unless a file is given."""
    print(harmless(text), file=file or sys.stdout)


TYPES: dict[str, Callable[[str], object]] = {"path": Path, "int": int, "float": float}  # of arguments.yaml


def command_parser(name: str, main: Callable[..., None], epilog: str = "") -> argparse.ArgumentParser:
    """The parser of a command's words, described by its docstring: those that stand under its name in arguments.yaml
    beside its module, as keys of add_argument. epilog: printed as it stands."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog=f"evenhand {name}", description=cleandoc(main.__doc__ or ""), epilog=epilog, formatter_class=raw
    )
    file = Path(getfile(main)).with_name("arguments.yaml")
    for word, keys in (shipped_yaml(file).get(name, {}) if file.is_file() else {}).items():
        types = {"type": TYPES[keys["type"]]} if "type" in keys else {}
        parser.add_argument(word, **{**keys, **types})
    return parser


UNITS = (("days", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def lasting(seconds: float) -> str:
    """A time in the largest unit of which it has two."""
    unit, size = next((unit for unit in UNITS if seconds >= 2 * unit[1]), UNITS[-1])
    return f"{seconds / size:.{1 if size >= 3600 else 0}f} {unit}"


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


def silence_libraries() -> None:
    """Here and in processes that start from here, by the variables of quiet.yaml; what the user sets stays."""
    if "PYTHONWARNINGS" not in os.environ and not sys.warnoptions:
        warnings.simplefilter("ignore")
    for name, value in shipped_yaml(Path(__file__).with_name("quiet.yaml")).items():
        os.environ.setdefault(name, value)


def extra_with(module: str) -> str | None:
    """The first extra of pyproject.toml that installs a top-level module; None where no extra does."""
    distribution = module.partition(".")[0].replace("_", "-")
    with suppress(PackageNotFoundError):
        for line in requires("evenhand") or []:
            name, _, extra = line.partition("extra ==")
            if extra and re.match(rf"{re.escape(distribution)}(-cpu)?(?![\w-])", name):
                return extra.strip(" \"')")
    return None


def run_main(entry: Callable[[Sequence[str]], None], argv: Sequence[str] | None = None) -> int:
    """Run an entry point; a user's error becomes one message on stderr and exit code 2, without a traceback."""
    silence_libraries()
    try:
        with stopping_like_ctrl_c():
            entry(sys.argv[1:] if argv is None else argv)
    except EvenhandError as error:
        say(f"error: {error}", sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        extra = extra_with(error.name or "")
        if extra is None:
            raise
        say(f"error: {error.name} is not installed; `pip install 'evenhand[{extra}]'` brings it", sys.stderr)
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


# What a job script (slurm/time_limit.sh) and the programs in it tell each other by files, since no signal arrives:
# `accelerate launch` passes none on to its one process, and torchrun kills its processes 30 s after a SIGTERM, which is
# too short for a large checkpoint.
STOP_VARIABLE = "EVENHAND_STOP_FILE"  # the script makes this file when the time limit is near
PROGRESS_VARIABLE = "EVENHAND_PROGRESS_FILE"  # a program makes this one when it has kept something


def is_watched() -> bool:
    """Whether a job script may ask this program to stop."""
    return STOP_VARIABLE in os.environ


def is_stop_asked() -> bool:
    """Whether the job script has asked this program to stop."""
    file = os.environ.get(STOP_VARIABLE)
    return file is not None and Path(file).exists()


def note_progress() -> None:
    """Tell the job script that something was written which the same command need not compute again."""
    if file := os.environ.get(PROGRESS_VARIABLE):
        with suppress(OSError):  # the script then takes it for no progress, which it bears a few times
            Path(file).touch()

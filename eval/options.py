"""The words of `evenhand score | compare | report | scorecard | calibrate` → one frozen record for all of eval."""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from inspect import getfile
from pathlib import Path
from typing import Any, Literal, TypeVar

from eval.estimates.resampling import N_DRAWS, SEED, Drawing
from eval.runs import is_data_file
from evenhand.data_files import HUB, downloaded
from evenhand.files import shipped_yaml
from evenhand.registry import STUDIES, load_part

Verb = Literal["score", "compare", "report", "scorecard", "calibrate", "card"]
STUDY_VERBS: tuple[Verb, ...] = ("score", "compare", "report", "scorecard")  # that take studies' options
Unparsed = Literal["wrong", "excluded"]  # how a reply that cannot be read counts
StudyOptions = TypeVar("StudyOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the words of a verb say. A field that the verb has no word for keeps its default."""

    verb: Verb = "score"
    # Runs, or files of verdicts: of compare, report and scorecard the base first; of calibrate the run that thresholds
    # are fitted on, then the run that they are for.
    sources: tuple[Path, ...] = ()
    out: Path | None = None
    n_draws: int = N_DRAWS
    seed: int = SEED
    is_all: bool = False  # print everything
    allow_differences: bool = False
    side_by_side: bool = False
    drift: bool = False
    study: Mapping[str, Any] = field(default_factory=dict)  # studies' own options that were written; see `of`
    mapping: str = ""  # a file or a shipped name: which rows the records of the sources are
    mapping_keys: tuple[str, ...] = ()  # key=value
    fail_if: tuple[str, ...] = ()  # as eval.publishing.condition reads them
    report_to: tuple[str, ...] = ()
    junit: Path | None = None  # where the conditions are written as test cases
    card: Path | None = None  # README.md of a model
    arms: tuple[str, ...] = ()  # [NAME=]RUN
    references: tuple[str, ...] = ()  # arms that the others are also compared with
    margin: float = 2.0  # points of what is right that an arm may lose
    with_runs: tuple[str, ...] = ()  # NAME=RUN of another study
    calibrated: Path | None = None  # thresholds.json
    objective: Literal["dds", "acceptance"] = "dds"
    pooled: bool = False

    @property
    def drawing(self) -> Drawing:
        """How intervals and p-values are drawn."""
        return Drawing(n_draws=self.n_draws, seed=self.seed)

    @property
    def are_files(self) -> bool:
        """Whether the sources are files of verdicts."""
        return any(map(is_data_file, self.sources))

    @property
    def is_before_after(self) -> bool:
        """Whether the first of several runs is the base of the others."""
        is_report = self.verb == "report" and not self.side_by_side and not self.are_files
        return is_report or self.verb in ("compare", "scorecard", "card")

    def of(self, kind: type[StudyOptions]) -> StudyOptions:
        """The options of one study, which its registered class holds."""
        known: Sequence[Any] = fields(kind)  # type: ignore[arg-type]
        return kind(**{option.name: self.study[option.name] for option in known if option.name in self.study})


def positive(text: str, least: int = 1) -> int:
    """A whole number above zero."""
    if (number := int(text)) < least:
        raise argparse.ArgumentTypeError(f"{number} is below {least}")
    return number


def points(text: str) -> float:
    """A finite number from zero on."""
    if not 0 <= (number := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of points from 0 on")
    return number


DRAWS = partial(positive, least=100)
TYPES: dict[str, Callable[[str], Any]] = {"path": Path, "draws": DRAWS, "int": int, "points": points}
COMMANDS = shipped_yaml(Path(__file__).with_name("options.yaml"))  # words, verbs, renamed


def verb_options(verb: Verb, argv: Sequence[str]) -> Options:
    """The words of a verb as a record. Ends the program with code 2 for words that do not fit."""
    command = COMMANDS["verbs"][verb]
    parser = argparse.ArgumentParser(
        prog=f"evenhand {verb}",
        description=command["description"],
        epilog="docs/verdict-files.md lists the columns that files of verdicts have.",
        argument_default=argparse.SUPPRESS,
    )
    own = {study: load_part(study, part.options) for study, part in STUDIES.items() if part.options}
    add_study_options(parser, verb, own)
    for name in command["words"]:
        keys = COMMANDS["words"][name]
        types = {"type": TYPES[keys["type"]]} if "type" in keys else {}
        words = keys["help"].format(n_draws=N_DRAWS, seed=SEED, folder=command["folder"])
        parser.add_argument(name, **{**keys, **types, "help": words})
    for name in (word.partition("=")[0] for word in argv if word.startswith("--")):
        if new := COMMANDS["renamed"].get(name.rpartition("-")[2]):
            parser.error(f"{name} is now {new}")
    given = vars(parser.parse_args([str(downloaded(word)) if word.startswith(HUB) else word for word in argv]))
    named = [given.pop(name) for name in ("base", "train", "test") if name in given]
    given["sources"] = [*named, *given.pop("after", ()), *given.get("sources", ())]
    of_all: dict[str, Any] = {
        option.name: tuple(value) if isinstance(value := given.pop(option.name), list) else value
        for option in fields(Options)
        if option.name in given
    }
    return Options(verb=verb, study=given, **of_all)


def add_study_options(parser: argparse.ArgumentParser, verb: Verb, own: Mapping[str, type]) -> None:
    """Add the own options of all studies: each once, with what it means to each study that has it."""
    meant: dict[str, dict[str, dict[str, Any]]] = {}
    for study, kind in own.items():
        for name, keys in shipped_yaml(Path(getfile(kind)).with_name("options.yaml")).items():
            if verb in keys.pop("verbs", STUDY_VERBS):
                meant.setdefault(name, {})[study] = keys
    for name, by_study in meant.items():
        words = "; ".join(f"{study}: {keys['help']}" for study, keys in by_study.items())
        parser.add_argument(f"--{name.replace('_', '-')}", **{**next(iter(by_study.values())), "help": words})

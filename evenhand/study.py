"""A study as the machinery sees it: units that say what to ask next, in a section of a sampling config.

`inference` knows nothing else of a study. What it gives back are a plan whose lines hold each prompt's factors and
answer space, and completions; the study's part of `eval` knows what they mean.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar

from pydantic import Field, model_validator

from evenhand.config import Closed, check_no_secret
from evenhand.errors import ConfigError, DataError
from evenhand.records import Completion, Prompt

Source = TypeVar("Source")
Replies = Mapping[str, Sequence[Completion]]  # prompt hash → the replies to it, in the order of their samples
ALL: Literal["all"] = "all"
HELD_UNITS = 2048  # of LazyUnits
# How many of its prompt variants a unit is trained in, the main one counted as one: a key of a section.
VariantsPerItem = Annotated[
    Literal["all", "one_per_item"] | Annotated[int, Field(ge=1, strict=True)],
    Field(exclude_if=lambda number: number == ALL),
]


class Unit(Protocol):
    """An item, a conversation, a thread: what is comparable only as a whole, and is left out as a whole."""

    @property
    def unit_id(self) -> str: ...

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """What to ask now, as a pure function of the replies so far: all those to earlier prompts. Empty at the end."""
        ...


@dataclass(frozen=True, slots=True)
class OneRound:
    """A unit whose prompts are all known from the start."""

    unit_id: str
    prompts: tuple[Prompt, ...]

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """All of them until they are answered, then none."""
        return () if all(prompt.prompt_hash in replies for prompt in self.prompts) else self.prompts


class LazyUnits(Sequence[Unit]):
    """Units that are made when they are looked at, so that their prompts need not be held all at once. Those of a run
    that is not long are made once.
    """

    def __init__(self, sources: Sequence[Source], make: Callable[[Source], Unit]) -> None:
        self.n_units = len(sources)
        self.unit = lru_cache(HELD_UNITS)(lambda index: make(sources[index]))

    def __len__(self) -> int:
        return self.n_units

    def __iter__(self) -> Iterator[Unit]:
        # Sequence's own would take an IndexError of `make` for the end.
        return map(self.unit, range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return self.unit(index)


class Units(NamedTuple):
    """What a run asks about: units of one kind."""

    units: Sequence[Unit]
    content_hash: str  # 16 hex digits over their content, so that a run notices when its data has changed under it

    @property
    def plan_grows(self) -> bool:
        """Whether replies lead to further prompts."""
        return len(self.units) > 0 and not isinstance(self.units[0], OneRound)


class StudySection(Closed):
    """The section of a config that names a study: which units, asked in which ways."""

    key: ClassVar[str]  # the config's key for it
    verdicts: ClassVar[tuple[str, ...]]  # ways to get a verdict that make sense for its prompts
    # Whether a unit that does not fit the context window is left out, and named. Else it stops the run.
    skips_long_units: ClassVar[bool] = True
    # Whether its prompts have a JSON schema of their own, which `sampling.structured: json` holds replies to
    has_schemas: ClassVar[bool] = False

    @abstractmethod
    def units(self, verdict: str) -> Units:
        """Every unit in a stable order. Raises DataError when the data are absent or damaged."""

    def statement_first(self, verdict: str) -> Units:
        """As `units`, but each framed prompt goes on behind the judge's reply to the bare statement.

        Raises ConfigError where there is none.
        """
        raise ConfigError(f"patch.statement_first: `{self.key}` has no bare statement to judge first; leave it out")

    def inputs(self) -> Mapping[str, str]:
        """Built folders and runs that the units are made of, each with a hash of its content, for provenance.json."""
        return {}

    @property
    def left_out(self) -> Sequence[str]:
        """Why each of the items cannot be asked that are counted only, behind its place."""
        return ()

    def supposed_replies(self, prompts: Sequence[Prompt]) -> Replies:
        """Replies to a unit's first prompts that `evenhand show` may suppose, to show what is asked behind them."""
        return {}

    def compared(self) -> tuple[int, int]:
        """How many framings are held against the baseline, and how many placebos. Raises ConfigError for none."""
        raise ConfigError(f"`{self.key}` has no conditions beside a baseline, so `evenhand plan` has no rule for it")

    @abstractmethod
    def on_own_items(self) -> Self:
        """The same section over units of ours, which are always there: what doctor renders without data."""

    def symbol_question(self, prompt: Prompt) -> str | None:
        """What asks the judge, behind its written reply, for the symbol of its answer alone; None: nothing does."""
        return None

    def check_self_read(self) -> None:
        """Raises ValueError where the judge can be asked for no symbol."""
        if type(self).symbol_question is StudySection.symbol_question:
            raise ValueError(f"self_read: replies of `{self.key}` name no symbol; leave it out")

    @abstractmethod
    def describe(self) -> str:
        """Its data in a few words, with how many there are. Raises DataError as `units` does."""

    def check_verdict(self, verdict: str) -> None:
        """Raises ValueError when its prompts cannot be asked for such a verdict."""
        if verdict not in self.verdicts:
            raise ValueError(f"verdict {verdict} is not for `{self.key}`; set verdict to {' or '.join(self.verdicts)}")


class StudyRun(Closed):
    """A run's config with a study's section in it, under the study's key: registry.with_section makes its schema."""

    study_key: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def holds_no_secret(cls, given: Any) -> Any:
        return check_no_secret(given)

    @property
    def study(self) -> StudySection:
        """The section."""
        section: StudySection = getattr(self, self.study_key)
        return section

    def on_own_items(self) -> Self:
        """The same run on units of ours, which are always there."""
        return self.model_copy(update={self.study_key: self.study.on_own_items()})


def check_no_repeats(ids: Iterable[str], dataset: str) -> None:
    """Raises DataError when two units share an id: their answers could not be told apart."""
    seen: set[str] = set()
    for unit_id in ids:
        if unit_id in seen:
            raise DataError(f"{dataset}: the id '{unit_id}' occurs twice; give each its own, or is a file named twice?")
        seen.add(unit_id)


def reasons(refused: Sequence[str]) -> str:
    """Why items cannot be asked: a line for each of the three commonest reasons, with the first item that has it."""
    alike = dict[str, list[str]]()
    for text in refused:
        alike.setdefault(re.sub(r"^.*?(:|row |item )\d+", "", text).casefold(), []).append(text)
    lines = [f"{len(s)} items like {s[0]}" if s[1:] else s[0] for s in sorted(alike.values(), key=len, reverse=True)]
    return "".join(f"\n  - {line}" for line in [*lines[:3], *["..."] * (len(lines) > 3)])

"""The three kinds of runs, each an ordinary sampling run: references, responses, judgements."""

from typing import Literal, Self

from pydantic import model_validator

from evenhand.config import Closed
from studies.pluraleval.judgements import JudgementSettings
from studies.pluraleval.reference_sets import ReferenceSettings
from studies.pluraleval.responses import ResponseSettings
from studies.pluraleval.thread_sets import ThreadSpec

Stage = Literal["references", "responses", "judgements"]
STAGES: tuple[Stage, ...] = ("references", "responses", "judgements")


class ReferenceStage(ReferenceSettings):
    """By a judge: threads to reference sets (section 4.1)."""

    threads: ThreadSpec


class Stages(Closed):
    """One of three stages; each reads what the one before has made."""

    references: ReferenceStage | None = None  # the judge makes reference sets of threads
    responses: ResponseSettings | None = None  # the model under test generates, ranks, chooses
    judgements: JudgementSettings | None = None  # the judge compares the generated responses with reference sets

    @model_validator(mode="after")
    def is_one(self) -> Self:
        if len(self.given) != 1:
            raise ValueError(f"a run is of one stage; give one of {', '.join(STAGES)}, not {len(self.given)} of them")
        return self

    @property
    def given(self) -> list[Stage]:
        """The stages whose section is there."""
        return [stage for stage in STAGES if getattr(self, stage) is not None]

    @property
    def stage(self) -> Stage:
        """Which stage it is."""
        return self.given[0]

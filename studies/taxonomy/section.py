"""What is asked of the flip taxonomy: the section `taxonomy` of a config."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Self

from evenhand.errors import DataError
from evenhand.records import Prompt, SamplingOverride
from evenhand.study import LazyUnits, OneRound, StudySection, Units
from studies.flips import Flip, flips_hash, read_flips
from studies.taxonomy.codebook import own_flips
from studies.taxonomy.prompts import TEMPLATE_VERSION, messages, schema
from studies.units import set_hash

KEY = "taxonomy"
MAX_TOKENS = 160  # all codes, the primary one and the brackets around them


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipFactors:
    """What a prompt is about."""

    model: str  # whose flip it is
    item_id: str
    claim_is_true: bool
    direction: str  # computed, never asked
    is_loss: bool
    template_version: int


class TaxonomySection(StudySection):
    """Flips, each judged by itself."""

    key: ClassVar[str] = KEY
    verdicts: ClassVar[tuple[str, ...]] = ("answer",)
    has_schemas: ClassVar[bool] = True  # the codes of the codebook

    flips: Path | None = None  # a folder of `evenhand build flips`; null judges made-up flips of ours

    def chosen(self) -> list[Flip]:
        """The flips that are judged. Raises DataError where there is none."""
        flips = [*own_flips().values()] if self.flips is None else read_flips(self.flips)
        if not flips:
            raise DataError(f"{self.flips}: holds no flip, so there is nothing to judge")
        return flips

    def units(self, verdict: str) -> Units:
        """A flip each; see StudySection."""
        flips = self.chosen()
        units = LazyUnits(flips, lambda flip: OneRound(flip.flip_id, (prompt_of(flip),)))
        return Units(units, set_hash(map(asdict, flips)))

    def inputs(self) -> Mapping[str, str]:
        """The folder of flips; see StudySection."""
        return {} if self.flips is None else {str(self.flips): flips_hash(self.flips)}

    def on_own_items(self) -> Self:
        """Our own flips; see StudySection."""
        return self.model_copy(update={"flips": None})

    def describe(self) -> str:
        """How many flips, of whom; see StudySection."""
        flips = self.chosen()
        return f"{len(flips)} flips of {', '.join(dict.fromkeys(flip.model for flip in flips))}"


def prompt_of(flip: Flip) -> Prompt:
    """The one question about a flip."""
    return Prompt(
        item_id=flip.flip_id,
        benchmark=KEY,
        dataset=flip.dataset,
        condition=flip.direction,
        factors=FlipFactors(
            model=flip.model,
            item_id=flip.item_id,
            claim_is_true=flip.claim_is_true,
            direction=flip.direction,
            is_loss=flip.is_loss,
            template_version=TEMPLATE_VERSION,
        ),
        messages=messages(flip),
        answer_space=(),
        drawing=SamplingOverride(max_tokens=MAX_TOKENS, json_schema=schema()),
    )

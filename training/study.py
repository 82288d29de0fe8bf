"""What training knows of a study: units to load, to hold out and to make examples of. The registry names each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from evenhand.errors import ConfigError
from studies.registry import STUDIES, load_part
from studies.study import StudySection

if TYPE_CHECKING:
    from training.config import TrainingConfig
    from training.examples import Example, Excluded


class CardPart(Protocol):
    """What a study says in the model card of a judge that was trained on it: a module with these names."""

    TAG: str  # the Hub's
    PURPOSE: str
    NOT_MEASURED: str  # in place of scores

    def objective_note(self, config: "TrainingConfig") -> str:
        """What has to be added to what a method says of itself."""
        ...

    def usage_text(self, config: "TrainingConfig") -> str:
        """The section "Use"."""
        ...

    def data_words(self, config: "TrainingConfig") -> str:
        """Under which conditions units were asked about, in which words."""
        ...

    def limits_text(self, config: "TrainingConfig", merged: Mapping[str, Any]) -> str:
        """The section "Limits". merged: DONE.json of the merged checkpoint."""
        ...

    def source_of(self, dataset: str) -> str:
        """Licence and citation of a dataset, and what follows from them for a model."""
        ...

    def hub_dataset(self, dataset: str) -> str | None:
        """Its id on the Hub; None where it is not there."""
        ...


class StudyTraining(Protocol):
    """A study that can be trained on. Its units are opaque to everybody else."""

    called: str  # what its units are: "items"
    families_called: str  # what is set aside as a whole: "training items"
    # Whether all units have equally many prompts: then a batch counts prompts, else what optimiser.order keeps in one.
    has_equal_units: bool

    def refuse(self, config: "TrainingConfig") -> None:
        """Raises ValueError when a run cannot train on what its section names, or not in this way."""
        ...

    def n_prompts(self, section: Any) -> int:
        """Prompts of a unit, where all have equally many."""
        ...

    def load(self, section: Any) -> Sequence[Any]:
        """The units. Raises DataError for data that are absent, damaged or too few."""
        ...

    def check_presence(self, section: Any) -> None:
        """Raises DataError or ConfigError for a folder that is not there or was built without what is named."""
        ...

    def dataset_of(self, unit: Any) -> str: ...

    def content_hash(self, units: Sequence[Any]) -> str:
        """16 hex digits over the content."""
        ...

    def refuse_test_data(self, units: Sequence[Any], section: Any) -> None:
        """Raises DataError naming both when something to be trained on gives away what is held out for testing."""
        ...

    def families(self, units: Sequence[Any]) -> Sequence[str]:
        """Of each unit the name of what must lie on one side of training and dev split."""
        ...

    def facts(self, units: Sequence[Any]) -> Mapping[str, Any]:
        """What else is to be known of the training data, for the merged checkpoint's DONE.json."""
        ...

    def notes(self, units: Sequence[Any]) -> Sequence[str]:
        """What a user should know before training on them."""
        ...

    def examples(
        self, units: Sequence[Any], config: "TrainingConfig", tokenizer: Any
    ) -> "tuple[list[Example], list[Excluded]]":
        """The examples, and the prompts left out. Raises DataError when nothing is left."""
        ...

    @property
    def card(self) -> CardPart: ...


def training_of(section: StudySection) -> StudyTraining:
    """The training part of a section's study. Raises ConfigError where nothing can be trained on it."""
    where = STUDIES[section.key].training
    if not where:
        able = ", ".join(key for key, study in STUDIES.items() if study.training)
        raise ConfigError(f"nothing can be trained on `{section.key}`; take one of {able}")
    found: StudyTraining = load_part(section.key, where)
    return found

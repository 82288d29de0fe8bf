"""Training on pairs of opinions: a study's part of training, see training.study."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.errors import DataError
from studies.pluraleval.responses import ResponseSettings
from studies.pluraleval.section import PluralEvalSection
from studies.pluraleval.sources import load_references, side_of
from studies.unit_sets import refuse_repeats
from training.config import TrainingConfig
from training.examples import Example, Excluded
from training.pluraleval.pairs import N_PROMPTS, Pair, pair_set_hash, pairs_of, settings_of
from training.study import CardPart

FOR_SAMPLING = ("generation_tokens", "ranking_tokens", "choice_tokens")


class PluralEvalTraining:
    """Pairs of opinions, each asked in two framings and two orders. Splits go by thread."""

    called = "pairs"
    families_called = "training threads"
    has_equal_units = True

    def refuse(self, config: TrainingConfig) -> None:
        """Other stages and tasks, and threads that are held out; see StudyTraining."""
        section = config.study
        assert isinstance(section, PluralEvalSection)
        if section.responses is None or section.responses.tasks != ("pairwise",):
            raise ValueError(
                "pluraleval: what is trained on are pairs; give `responses` alone, with pluraleval.responses.tasks="
                "[pairwise]"
            )
        split = section.responses.references.split
        if split != "train":
            raise ValueError(
                f"pluraleval.responses.references: split '{split}' must not be trained on; write split: train"
            )
        for key in FOR_SAMPLING:
            if getattr(section.responses, key) != ResponseSettings.model_fields[key].default:
                raise ValueError(f"pluraleval.responses.{key}: is for sampling; take it out")
        if config.optimiser.order == "whole_groups":
            raise ValueError(
                "optimiser.order: whole_groups would part the two orders of a pair's options; write whole_items"
            )

    def n_prompts(self, section: PluralEvalSection) -> int:
        """Of a pair; see StudyTraining."""
        return N_PROMPTS

    def load(self, section: PluralEvalSection) -> list[Pair]:
        """The pairs of the threads that the section names."""
        settings = settings_of(section)
        references = load_references(settings.references)
        pairs = pairs_of(references, settings)
        if not pairs:
            raise DataError(
                f"{settings.references.root}: none of its {len(references)} training threads has two opinions with "
                f"unequal votes (random pairs: {settings.min_gap} votes apart); lower pluraleval.responses.min_gap, or "
                "take other reference sets"
            )
        return pairs

    def check_presence(self, section: PluralEvalSection) -> None:
        """Without reading the reference sets; see StudyTraining."""
        section.inputs()

    def dataset_of(self, unit: Pair) -> str:
        """The thread's."""
        return unit.found.thread.dataset

    def content_hash(self, units: Sequence[Pair]) -> str:
        """Over posts, opinions and votes."""
        return pair_set_hash(units)

    def refuse_test_data(self, units: Sequence[Pair], section: PluralEvalSection) -> None:
        """Raises DataError for a held-out thread, also where it has a training thread's id; see StudyTraining."""
        for unit in units:
            if side_of(unit.found) == "test":
                raise DataError(
                    f"thread '{unit.found.thread.thread_id}' is of the test split and must not be trained on; write "
                    "pluraleval.responses.references.split: train"
                )
        spec = settings_of(section).references
        every = load_references(spec.model_copy(update={"split": "all"}))
        refuse_repeats((one.thread.thread_id for one in every), str(spec.root or spec.dataset))

    def families(self, units: Sequence[Pair]) -> list[str]:
        """A thread's pairs are one family, and those of threads with the same post."""
        return [unit.post for unit in units]

    def facts(self, units: Sequence[Pair]) -> Mapping[str, Any]:
        """n_threads: of how many threads the pairs are."""
        return {"n_threads": len({unit.post for unit in units})}

    def notes(self, units: Sequence[Pair]) -> list[str]:
        """None."""
        return []

    def examples(
        self, units: Sequence[Pair], config: TrainingConfig, tokenizer: Any
    ) -> tuple[list[Example], list[Excluded]]:
        """An example for each prompt; see StudyTraining."""
        from training.pluraleval.examples import make_pair_examples

        return make_pair_examples(units, config, tokenizer)

    @property
    def card(self) -> CardPart:
        """See StudyTraining."""
        from training.pluraleval import model_card_part

        return model_card_part


TRAINING = PluralEvalTraining()

"""Training on pairs of opinions: a study's part of training, see training.config.StudyTraining.

Of two opinions of one thread one has more votes: which is more popular? A group is a pair in both orders of its
options: the neutral prompts, which are its anchors, and those with a stated belief. So "1" and "2" are right equally
often, and verdicts are compared opinion by opinion. A pair is left out whole where one of its prompts cannot be asked:
an order or a framing alone would teach a position, or the belief's side.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from evenhand.errors import DataError
from evenhand.records import normalised
from evenhand.study import check_no_repeats, set_hash
from studies.pluraleval.records import Pairing, ReferenceSet, ResponseFactors
from studies.pluraleval.responses import CHOICES, Asker, ResponseSettings
from studies.pluraleval.section import PluralEvalSection
from studies.pluraleval.sources import POCKET, WILDSCOPE, load_references, pocket_references, side_of
from training.config import StudyTraining, TrainingConfig, check_split
from training.examples import Candidate, Example, Excluded, OneTokenAnswers, sifted

N_PROMPTS = 4  # of a pair: two framings in two orders
NO_BELIEF = "its pair has no belief, so it is asked in one framing alone"
FOR_SAMPLING = ("generation_tokens", "ranking_tokens", "choice_tokens")
SOURCES = {
    POCKET: "written for Evenhand (Apache-2.0); nobody in it is real",
    WILDSCOPE: "posts and comments of Reddit (their authors', under Reddit's terms), whose opinions a judge extracted "
    "and summarised; take this model for research use",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two opinions of a thread with unequal votes, by their positions in the reference set."""

    thread_set: ReferenceSet
    more: int
    less: int
    pairing: Pairing  # that drew it; the first where both did

    @property
    def pair_id(self) -> str:
        """Unique within a folder of reference sets."""
        return f"{self.thread_set.thread.thread_id} {self.more}-{self.less}"

    @property
    def post(self) -> str:
        """The post's text, by which two threads count as the same."""
        return normalised(self.thread_set.thread.post)

    @property
    def dataset(self) -> str:
        """The thread's."""
        return self.thread_set.thread.dataset


def settings_of(section: PluralEvalSection) -> ResponseSettings:
    """Which pairs are asked about, and of which threads."""
    assert section.responses is not None
    return section.responses


def pairs_of(references: Iterable[ReferenceSet], settings: ResponseSettings) -> list[Pair]:
    """The pairs that a responses run with these settings asks about; those that two pairings draw count once."""
    pairs: dict[tuple[str, int, int], Pair] = {}
    for thread_set in references:
        asker = Asker(thread_set, settings)
        for pairing in settings.pairings:
            for more, less in asker.pairs_of(pairing):
                pair = Pair(thread_set=thread_set, more=more, less=less, pairing=pairing)
                pairs.setdefault((thread_set.thread.thread_id, more, less), pair)
    return list(pairs.values())


def opinions_of(pair: Pair) -> list[object]:
    """Everything of a pair that its prompts and label are made of."""
    more, less = pair.thread_set.clusters[pair.more], pair.thread_set.clusters[pair.less]
    return [pair.pairing, pair.more, pair.less, more.summary, more.votes, less.summary, less.votes, less.belief]


def candidates_of(pair: Pair, settings: ResponseSettings, answers: OneTokenAnswers) -> list[Candidate]:
    """The prompts of a pair, for each order of its options: neutral, and biased if the less popular opinion has a
    belief. Right is the option with more votes. Choices are in the order in which the first prompt lists the opinions.
    """
    examples = []
    for is_swapped in (False, True):
        for prompt in Asker(pair.thread_set, settings).pair(pair.pairing, pair.more, pair.less, is_swapped):
            assert isinstance(prompt.factors, ResponseFactors)
            right = prompt.factors.votes.index(max(prompt.factors.votes))
            example = answers.example(
                prompt,
                item_id=pair.pair_id,
                right=1 - right if is_swapped else right,
                group=pair.pair_id,
                is_anchor=prompt.factors.framing == "neutral",
                order=(1, 0) if is_swapped else (),
            )
            examples.append(example)
    return [(example, "" if len(examples) == N_PROMPTS else NO_BELIEF) for example in examples]


class PluralEvalTraining(StudyTraining[PluralEvalSection, Pair]):
    """Pairs of opinions, each asked in two framings and two orders. Splits go by thread."""

    called = "pairs"
    families_called = "training threads"
    tag = "pluralism"

    def validate(self, config: TrainingConfig) -> None:
        """Other stages and tasks, and threads that are held out; see StudyTraining."""
        section = self.section_of(config)
        if section.responses is None or section.responses.tasks != ("pairwise",):
            raise ValueError(
                "pluraleval: what is trained on are pairs; give `responses` alone, with pluraleval.responses.tasks="
                "[pairwise]"
            )
        check_split(section.responses.references.split, "pluraleval.responses.references")
        for key in FOR_SAMPLING:
            if getattr(section.responses, key) != ResponseSettings.model_fields[key].default:
                raise ValueError(f"pluraleval.responses.{key}: is for sampling; take it out")
        if config.optimiser.batch_by == "group":
            raise ValueError("optimiser.batch_by: group is for units with several groups; write item")

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

    def content_hash(self, units: Sequence[Pair]) -> str:
        """Over posts, opinions and votes."""
        threads = groupby(units, key=lambda pair: pair.thread_set)
        return set_hash([asdict(thread.thread), [opinions_of(pair) for pair in pairs]] for thread, pairs in threads)

    def check_test_data(self, units: Sequence[Pair], section: PluralEvalSection) -> None:
        """Raises DataError for a held-out thread, also where it has a training thread's id; see StudyTraining."""
        for unit in units:
            if side_of(unit.thread_set) == "test":
                raise DataError(
                    f"thread '{unit.thread_set.thread.thread_id}' is of the test split and must not be trained on; "
                    "write pluraleval.responses.references.split: train"
                )
        spec = settings_of(section).references
        threads = load_references(spec.model_copy(update={"split": "all"}))
        check_no_repeats((thread.thread.thread_id for thread in threads), str(spec.root or spec.dataset))

    def families(self, units: Sequence[Pair]) -> list[str]:
        """A thread's pairs are one family, and those of threads with the same post."""
        return [unit.post for unit in units]

    def facts(self, units: Sequence[Pair]) -> Mapping[str, Any]:
        """n_threads: of how many threads the pairs are."""
        return {"n_threads": len({unit.post for unit in units})}

    def examples(
        self, units: Sequence[Pair], config: TrainingConfig, tokenizer: Any
    ) -> tuple[list[Example], list[Excluded]]:
        """The examples pair by pair; see StudyTraining."""
        answers = OneTokenAnswers(tokenizer, CHOICES, config.examples, config.model.chat_template_args)
        settings = settings_of(self.section_of(config))
        candidates = (candidates_of(pair, settings, answers) for pair in units)
        return sifted(candidates, config.examples.max_prompt_length, as_a_whole=True)

    def card_facts(self, config: TrainingConfig, datasets: Sequence[str]) -> Mapping[str, Any]:
        """A prompt with a belief about a post of ours, and licences; see StudyTraining."""
        settings = settings_of(self.section_of(config))
        ours = Asker(pocket_references()[0], settings)  # a card shows nothing of any other thread
        _, biased = ours.pair(settings.pairings[0], 0, 1, is_swapped=False)
        system, user = biased.messages
        return {
            "pairs": settings,
            "system": system.content,
            "user": user.content,
            "pocket_only": settings.references.root is None,
            "sources": SOURCES,
        }


TRAINING = PluralEvalTraining()

"""What is trained on: pairs of opinions of one thread, one of which has more votes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby

from evenhand.records import Prompt
from evenhand.same_text import normalised
from studies.pluraleval.records import Pairing, ReferenceSet
from studies.pluraleval.responses import Asker, ResponseSettings
from studies.pluraleval.section import PluralEvalSection
from studies.study import StudySection
from studies.unit_sets import set_hash

N_PROMPTS = 4  # of a pair: two framings in two orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two opinions of a thread with unequal votes, by their positions in the reference set."""

    found: ReferenceSet
    more: int
    less: int
    pairing: Pairing  # that drew it; the first where both did

    @property
    def pair_id(self) -> str:
        """Unique within a folder of reference sets."""
        return f"{self.found.thread.thread_id} {self.more}-{self.less}"

    @property
    def post(self) -> str:
        """The post's text, by which two threads count as the same."""
        return normalised(self.found.thread.post)

    def groups(self, settings: ResponseSettings) -> Iterator[list[Prompt]]:
        """For each order of the two options the prompts that should get one answer: neutral, and biased if the less
        popular opinion has a belief."""
        asker = Asker(self.found, settings)
        for is_swapped in (False, True):
            yield list(asker.pair(self.pairing, self.more, self.less, is_swapped))


def settings_of(section: StudySection) -> ResponseSettings:
    """Which pairs are asked about, and of which threads."""
    assert isinstance(section, PluralEvalSection)
    assert section.responses is not None
    return section.responses


def pairs_of(references: Iterable[ReferenceSet], settings: ResponseSettings) -> list[Pair]:
    """The pairs that a responses run with these settings asks about; those that two pairings draw count once."""
    pairs: dict[tuple[str, int, int], Pair] = {}
    for found in references:
        asker = Asker(found, settings)
        for pairing in settings.pairings:
            for more, less in asker.pairs_of(pairing):
                pair = Pair(found=found, more=more, less=less, pairing=pairing)
                pairs.setdefault((found.thread.thread_id, more, less), pair)
    return list(pairs.values())


def pair_set_hash(pairs: Sequence[Pair]) -> str:
    """The hash of some pairs with their threads; see unit_sets."""
    by_thread = groupby(pairs, key=lambda pair: pair.found)
    return set_hash([asdict(found.thread), [opinions_of(pair) for pair in of_thread]] for found, of_thread in by_thread)


def opinions_of(pair: Pair) -> list[object]:
    """Everything of a pair that its prompts and label are made of."""
    more, less = pair.found.clusters[pair.more], pair.found.clusters[pair.less]
    return [pair.pairing, pair.more, pair.less, more.summary, more.votes, less.summary, less.votes, less.belief]

"""What the model under test is asked (sections 6.1 to 6.3): generation, ranking, pairwise; neutral and biased."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from pydantic import Field, field_validator

from evenhand.config import Closed
from evenhand.records import Drawing, Message, Prompt
from studies.pluraleval import published_prompts as published
from studies.pluraleval.own_prompts import SURFACES_VIEWS
from studies.pluraleval.records import (
    TASKS,
    Framing,
    Pairing,
    ReferenceSet,
    ResponseFactors,
    Task,
    prompt_about,
)
from studies.pluraleval.sources import ReferenceSpec

N_RANKED = 10  # section 6.2.1
CHOICES = ("1", "2")


class ResponseSettings(Closed):
    """Experiments 1 to 3 over reference sets. A thread that has not what a task needs is not asked it."""

    references: ReferenceSpec
    tasks: tuple[Task, ...] = Field(default=TASKS, min_length=1)  # experiments 1, 2 and 3
    seed: int = 42  # of the order in which summaries are listed, and of the pairs
    pairings: tuple[Pairing, ...] = ("most_popular",)  # random: appendix A.6
    n_pairs: int = Field(default=1, ge=1)  # of a thread and pairing; fewer where there are no more
    min_gap: int = Field(default=10, ge=1)  # votes between the two of a random pair
    system: Literal["printed", "diverse"] = "printed"  # diverse: asks for all views besides (A.2; words of ours)
    generation_tokens: int = Field(default=2048, ge=1)  # longest reply of ten responses
    ranking_tokens: int = Field(default=128, ge=1)  # longest ranking; more for a model that reasons first
    choice_tokens: int = Field(default=16, ge=1)  # longest answer to a pair

    @field_validator("tasks", "pairings")
    @classmethod
    def once_each(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError(f"lists a name twice: {', '.join(names)}")
        return names


class Asker:
    """The prompts about one thread."""

    def __init__(self, found: ReferenceSet, settings: ResponseSettings) -> None:
        self.found, self.settings = found, settings
        self.thread, self.clusters = found.thread, found.clusters

    def prompts(self) -> Iterator[Prompt]:
        """All of them; see ResponseSettings.tasks."""
        kinds: dict[Task, Callable[[], Iterator[Prompt]]] = {
            "generation": self.generations,
            "ranking": self.rankings,
            "pairwise": self.pairs,
        }
        for task in self.settings.tasks:
            yield from kinds[task]()

    def generations(self) -> Iterator[Prompt]:
        """Prompts 1 to 3, of a thread that has a reference opinion."""
        if not self.found.is_feasible:
            return
        position = self.found.reference
        assert position is not None
        post, tokens = self.thread.post, self.settings.generation_tokens
        yield self.prompt("generation", "neutral", published.generation(post), tokens)
        beliefs: dict[Framing, str] = {
            "biased_toward": self.clusters[position].belief,
            "biased_opposing": self.found.opposing,
        }
        for framing, belief in beliefs.items():
            messages = published.biased_generation(post, belief)
            yield self.prompt("generation", framing, messages, tokens, believed=position)

    def rankings(self) -> Iterator[Prompt]:
        """Prompts 6 and 7: the ten clusters with most votes in random order; the belief is of the last of the ten."""
        n_ranked = min(N_RANKED, len(self.clusters))
        if n_ranked < 2:
            return
        shown = self.shuffled(range(n_ranked), "ranking")
        texts = [self.clusters[n].summary for n in shown]
        post, tokens = self.thread.post, self.settings.ranking_tokens
        yield self.prompt("ranking", "neutral", published.ranking(post, texts), tokens, shown=shown)
        least = n_ranked - 1
        if belief := self.clusters[least].belief:
            messages = published.biased_ranking(post, texts, belief)
            yield self.prompt("ranking", "biased", messages, tokens, shown=shown, believed=least)

    def pairs(self) -> Iterator[Prompt]:
        """Prompts 4 and 5, each pair in both orders. The belief is of the less popular one."""
        for pairing in self.settings.pairings:
            for more, less in self.pairs_of(pairing):
                for is_swapped in (False, True):
                    yield from self.pair(pairing, more, less, is_swapped)

    def pair(self, pairing: Pairing, more: int, less: int, is_swapped: bool) -> Iterator[Prompt]:
        """One pair in one order."""
        shown = (less, more) if is_swapped else (more, less)
        texts = [self.clusters[n].summary for n in shown]
        post, tokens, belief = self.thread.post, self.settings.choice_tokens, self.clusters[less].belief
        asked: list[tuple[Framing, published.Messages]] = [("neutral", published.pairwise(post, texts))]
        if belief:
            asked.append(("biased", published.biased_pairwise(post, texts, belief)))
        for framing, messages in asked:
            believed = less if framing == "biased" else None
            yield self.prompt(
                "pairwise",
                framing,
                messages,
                tokens,
                shown=shown,
                believed=believed,
                pairing=pairing,
                is_swapped=is_swapped,
            )

    def pairs_of(self, pairing: Pairing) -> list[tuple[int, int]]:
        """(more popular, less popular) positions: the most popular one and others with strictly fewer votes (section
        6.3.1), or any two that are min_gap votes apart (A.6); n_pairs of them by chance.
        """
        votes, n = [cluster.votes for cluster in self.clusters], len(self.clusters)
        if pairing == "most_popular":
            possible = [(0, other) for other in range(1, n) if votes[other] < votes[0]]
        else:
            gap = self.settings.min_gap
            possible = [(a, b) for a in range(n) for b in range(a + 1, n) if votes[a] - votes[b] >= gap]
        draws = random.Random(f"{self.settings.seed} {pairing} {self.thread.thread_id}")
        return sorted(possible, key=lambda _: draws.random())[: self.settings.n_pairs]

    def shuffled(self, positions: Sequence[int], what: str) -> tuple[int, ...]:
        """Positions in a random order of the thread's own, the same in every framing."""
        draws = random.Random(f"{self.settings.seed} {what} {self.thread.thread_id}")
        return tuple(sorted(positions, key=lambda _: draws.random()))

    def prompt(
        self,
        task: Task,
        framing: Framing,
        messages: published.Messages,
        max_tokens: int,
        *,
        shown: tuple[int, ...] = (),
        believed: int | None = None,
        pairing: Pairing | None = None,
        is_swapped: bool = False,
    ) -> Prompt:
        """A prompt with all that was varied in it."""
        if self.settings.system == "diverse":
            system, *rest = messages
            messages = (Message(role="system", content=f"{system.content} {SURFACES_VIEWS}"), *rest)
        factors = ResponseFactors(
            task=task,
            framing=framing,
            shown=shown,
            votes=tuple(self.clusters[n].votes for n in shown),
            believed=believed,
            pairing=pairing or "",
            is_swapped=is_swapped,
            system=self.settings.system,
            template_version=published.TEMPLATE_VERSION,
        )
        options = CHOICES if task == "pairwise" else ()
        return prompt_about(self.thread, framing, factors, messages, Drawing(max_tokens=max_tokens), options)

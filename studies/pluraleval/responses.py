"""What the model under test is asked (sections 6.1 to 6.3): generation, ranking, pairwise; neutral and biased."""

from collections.abc import Iterator
from itertools import chain, product
from typing import Any, Literal

from pydantic import Field

from evenhand.config import Closed
from evenhand.records import Message, Prompt, SamplingOverride, answer_schema, object_schema
from studies.item_files import shuffled
from studies.pluraleval.prompts import TEMPLATE_VERSION, Messages, array, ask, numbered, templates
from studies.pluraleval.records import TASKS, Framing, Pairing, ReferenceSet, ResponseFactors, Task, prompt_about
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


class Asker:
    """The prompts about one thread."""

    def __init__(self, references: ReferenceSet, settings: ResponseSettings) -> None:
        self.references, self.settings = references, settings
        self.thread, self.clusters = references.thread, references.clusters

    def prompts(self) -> Iterator[Prompt]:
        """All of them; see ResponseSettings.tasks."""
        kinds = {"generation": self.generations, "ranking": self.rankings, "pairwise": self.pairs}
        return chain.from_iterable(kinds[task]() for task in self.settings.tasks)

    def generations(self) -> Iterator[Prompt]:
        """Prompts 1 to 3, of a thread that has a reference opinion."""
        position = self.references.reference
        if position is None or not self.references.is_feasible:
            return
        post, tokens = self.thread.post, self.settings.generation_tokens
        yield self.prompt("generation", "neutral", ask("generation", post=post), tokens)
        toward, opposing = (
            ask("biased_generation", post=post, belief=belief)
            for belief in (self.clusters[position].belief, self.references.opposing)
        )
        yield self.prompt("generation", "biased_toward", toward, tokens, believed=position)
        yield self.prompt("generation", "biased_opposing", opposing, tokens, believed=position)

    def rankings(self) -> Iterator[Prompt]:
        """Prompts 6 and 7: the ten clusters with most votes in random order; the belief is of the last of the ten."""
        n_ranked = min(N_RANKED, len(self.clusters))
        if n_ranked < 2:
            return
        # The same in every framing
        listed = tuple(shuffled(range(n_ranked), f"{self.settings.seed} ranking {self.thread.thread_id}"))
        summaries = numbered([self.clusters[n].summary for n in listed])
        texts, tokens = {"post": self.thread.post, "summaries": summaries, "n": n_ranked}, self.settings.ranking_tokens
        yield self.prompt("ranking", "neutral", ask("ranking", **texts), tokens, shown=listed)
        least = n_ranked - 1
        if belief := self.clusters[least].belief:
            messages = ask("biased_ranking", belief=belief, **texts)
            yield self.prompt("ranking", "biased", messages, tokens, shown=listed, believed=least)

    def pairs(self) -> Iterator[Prompt]:
        """Prompts 4 and 5, each pair in both orders. The belief is of the less popular one."""
        post, tokens = self.thread.post, self.settings.choice_tokens
        pairs = [(pairing, *pair) for pairing in self.settings.pairings for pair in self.pairs_of(pairing)]
        for (pairing, more, less), is_swapped in product(pairs, (False, True)):
            listed = (less, more) if is_swapped else (more, less)
            varied = {"shown": listed, "pairing": pairing, "is_swapped": is_swapped}
            texts = [self.clusters[n].summary for n in listed]
            messages = ask("pairwise", post=post, summaries=numbered(texts))
            yield self.prompt("pairwise", "neutral", messages, tokens, **varied)
            if belief := self.clusters[less].belief:
                messages = ask("biased_pairwise", post=post, summaries=numbered(texts, "\n"), belief=belief)
                yield self.prompt("pairwise", "biased", messages, tokens, believed=less, **varied)

    def pairs_of(self, pairing: Pairing) -> list[tuple[int, int]]:
        """(more popular, less popular) positions: the most popular one and others with strictly fewer votes (section
        6.3.1), or any two that are min_gap votes apart (A.6); n_pairs of them by chance.
        """
        votes, n = [cluster.votes for cluster in self.clusters], len(self.clusters)
        if pairing == "most_popular":
            possible = [(0, place) for place in range(1, n) if votes[place] < votes[0]]
        else:
            gap = self.settings.min_gap
            possible = [(a, b) for a in range(n) for b in range(a + 1, n) if votes[a] - votes[b] >= gap]
        return shuffled(possible, f"{self.settings.seed} {pairing} {self.thread.thread_id}")[: self.settings.n_pairs]

    def prompt(self, task: Task, framing: Framing, messages: Messages, max_tokens: int, **varied: Any) -> Prompt:
        """A prompt with all that was varied in it."""
        if self.settings.system == "diverse":
            further = templates()["surfaces_views"]["system"]
            messages = (Message(role="system", content=f"{messages[0].content} {further}"), *messages[1:])
        factors = ResponseFactors(
            task=task,
            framing=framing,
            votes=tuple(self.clusters[n].votes for n in varied.get("shown", ())),
            system=self.settings.system,
            template_version=TEMPLATE_VERSION,
            **varied,
        )
        n = len(factors.shown)
        places = array({"type": "integer", "enum": [*range(1, n + 1)]}, minItems=n, maxItems=n)
        schema = {"pairwise": answer_schema(CHOICES), "ranking": object_schema({"ranking": places})}.get(task)
        options = CHOICES if task == "pairwise" else ()
        drawing = SamplingOverride(max_tokens=max_tokens, json_schema=schema)
        return prompt_about(self.thread, framing, factors, messages, drawing, options)

"""What is asked of the PluralEval study: the section `pluraleval` of a config."""

from collections.abc import Mapping
from typing import ClassVar, Self

from evenhand.errors import DataError
from studies.pluraleval import pocket
from studies.pluraleval.built_folder import REFERENCES_FILE, THREADS_FILE, built_hash
from studies.pluraleval.embedding_clusters import embedding_input
from studies.pluraleval.finished_runs import KEY
from studies.pluraleval.judged_runs import own_responses, responses_of_run
from studies.pluraleval.reference_sets import reference_unit
from studies.pluraleval.reference_sources import ReferenceSpec, load_references
from studies.pluraleval.responses import Asker
from studies.pluraleval.rows import reference_set_hash, thread_set_hash
from studies.pluraleval.stages import Stages
from studies.pluraleval.thread_sets import ThreadSpec, load_threads
from studies.study import Made, OneRound, StudySection, Units


class PluralEvalSection(Stages, StudySection):
    """Which opinions survive a stated belief: one of the stages references, responses, judgements."""

    key: ClassVar[str] = KEY
    verdicts: ClassVar[tuple[str, ...]] = ("answer", "margin", "options")

    @property
    def has_schemas(self) -> bool:
        """The judge's prompts have; those to the model under test are as printed."""
        return self.responses is None

    def refuse_verdict(self, verdict: str) -> None:
        """Text everywhere; margins of pairs alone, options of judgements alone; see StudySection."""
        super().refuse_verdict(verdict)
        if verdict == "margin" and (self.responses is None or set(self.responses.tasks) != {"pairwise"}):
            raise ValueError(
                "verdict margin is for pairs: set pluraleval.responses.tasks to [pairwise], or verdict to answer"
            )
        if verdict == "options" and self.judgements is None:
            raise ValueError("verdict options is for pluraleval.judgements; set verdict to answer")

    def units(self, verdict: str) -> Units:
        """A thread each, but for those of which nothing is asked; see StudySection."""
        found = self.threads_to_ask()
        if not found.units:
            raise DataError(
                f"{self.stage}: no thread has what is asked about: a ranking needs two clusters, a pair two with other "
                "votes, a generation a reference opinion, and a judgement a generation that could be read"
            )
        return found

    def threads_to_ask(self) -> Units:
        """The units of the stage; perhaps none."""
        if self.references is not None:
            threads = load_threads(self.references.threads)
            references = self.references
            return Units(Made(threads, lambda one: reference_unit(one, references)), thread_set_hash(threads))
        if self.responses is not None:
            found = load_references(self.responses.references)
            asked = {one.thread.thread_id: tuple(Asker(one, self.responses).prompts()) for one in found}
            rounds = [OneRound(unit_id, prompts) for unit_id, prompts in asked.items() if prompts]
            return Units(rounds, reference_set_hash(found))
        assert self.judgements is not None
        judged = own_responses() if self.judgements.responses is None else responses_of_run(self.judgements.responses)
        return judged.units(self.judgements.judgements)

    def inputs(self) -> Mapping[str, str]:
        """The built folder or run that it reads, and a checkpoint that makes embeddings; see StudySection."""
        if self.references is not None:
            root = self.references.threads.root
            threads = {str(root): built_hash(root, THREADS_FILE)} if root else {}
            return {**threads, **embedding_input(self.references.clustering.embedding)}
        if self.responses is not None and (root := self.responses.references.root):
            return {str(root): built_hash(root, REFERENCES_FILE)}
        if self.judgements is not None and (path := self.judgements.responses):
            return {str(path): responses_of_run(path).content_hash}
        return {}

    def on_own_items(self) -> Self:
        """The same stage over our own threads; see StudySection."""
        own = ThreadSpec(dataset=pocket.DATASET)
        changes: dict[str, object] = {}
        if self.references is not None:
            changes["references"] = self.references.model_copy(update={"threads": own})
        if self.responses is not None:
            known = ReferenceSpec(dataset=pocket.DATASET)
            changes["responses"] = self.responses.model_copy(update={"references": known})
        if self.judgements is not None:
            changes["judgements"] = self.judgements.model_copy(update={"responses": None})
        return self.model_copy(update=changes)

    def describe(self) -> str:
        """The stage, and how many threads; see StudySection."""
        units = self.units("answer").units
        return f"{self.stage} of {len(units)} threads"

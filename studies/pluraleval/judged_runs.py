"""The responses that a judgements run is about: those of a finished responses run, or made-up ones of ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.records import Completion, digest
from evenhand.run_directory import PROVENANCE_FILE, read_json
from studies.pluraleval.finished_runs import FinishedStage, load_stage
from studies.pluraleval.judgements import judgement_prompts
from studies.pluraleval.pocket import pocket_references
from studies.pluraleval.records import Judgement, ReferenceSet
from studies.pluraleval.reference_sources import load_references
from studies.pluraleval.rows import reference_set_hash
from studies.study import OneRound, Units


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """Generations of feasible threads."""

    references: Mapping[str, ReferenceSet]  # by thread id
    generations: Mapping[str, Sequence[Mapping[str, Any]]]  # thread id → lines of the plan
    replies: Mapping[str, Sequence[Completion]]
    content_hash: str

    def units(self, judgements: Sequence[Judgement]) -> Units:
        """A round of prompts for each thread in which there is something to judge."""
        rounds = []
        for thread_id, lines in self.generations.items():
            prompts = judgement_prompts(self.references[thread_id], lines, self.replies, judgements)
            if asked := tuple(prompts):
                rounds.append(OneRound(thread_id, asked))
        return Units(rounds, self.content_hash)


def responses_of_run(path: Path) -> Responses:
    """Those of a run. Raises DataError when it is not complete, has no generations, or its reference sets changed."""
    run = load_stage(path, "responses")
    found = references_asked(run)
    generations: dict[str, list[Mapping[str, Any]]] = {}
    for line in run.plan:
        if line["factors"]["task"] == "generation":
            generations.setdefault(line["item_id"], []).append(line)
    if not generations:
        raise DataError(f"{path}: has no generations to judge; its rankings and pairs need no judge")
    return Responses(
        references={one.thread.thread_id: one for one in found},
        generations=generations,
        replies=run.replies,
        content_hash=run.content_hash,
    )


def references_asked(run: FinishedStage) -> list[ReferenceSet]:
    """The reference sets that a responses run was asked about. Raises DataError when they changed since."""
    assert run.stages.responses is not None
    spec = run.stages.responses.references
    found = load_references(spec)
    if reference_set_hash(found) != read_json(run.path / PROVENANCE_FILE).get("item_set_hash"):
        raise DataError(f"{spec.root}: the reference sets are not those that {run.path} was asked about; restore them")
    return found


def own_responses() -> Responses:
    """Made-up generations over our own threads that list the summaries of the reference set."""
    found = {one.thread.thread_id: one for one in pocket_references() if one.is_feasible}
    replies = {}
    for thread_id, one in found.items():
        text = "\n".join(f"{number}. {cluster.summary}" for number, cluster in enumerate(one.clusters, start=1))
        reply = Completion(prompt_hash=thread_id, sample_index=0, text=text, finish_reason="stop")
        replies[thread_id] = [reply]
    return Responses(
        references=found,
        generations={name: [{"prompt_hash": name, "factors": {"framing": "neutral"}}] for name in found},
        replies=replies,
        content_hash=digest([reference_set_hash(list(found.values())), "own"], 16),
    )

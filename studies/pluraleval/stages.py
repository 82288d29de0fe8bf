"""The three kinds of runs, each an ordinary sampling run: references, responses, judgements.

A finished run of one stage is an input of the next: what it asked, and what was replied.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from evenhand.completions import read_answers, read_excluded
from evenhand.config import Closed, parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.files import sha256_of
from evenhand.records import Completion, digest
from evenhand.run_directory import (
    CONFIG_FILE,
    PLAN_FILE,
    PROVENANCE_FILE,
    read_json,
    read_plan_lines,
    refuse_incomplete,
)
from studies.pluraleval.judgements import JudgementSettings, judgement_prompts
from studies.pluraleval.pocket import pocket_references
from studies.pluraleval.records import Judgement, ReferenceSet, reference_set_hash
from studies.pluraleval.reference_sets import ReferenceSettings
from studies.pluraleval.responses import ResponseSettings
from studies.pluraleval.sources import ThreadSpec, load_references
from studies.study import OneRound, Units

KEY = "pluraleval"  # of its section in a config
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedStage:
    """A complete run of one stage."""

    path: Path
    stages: Stages  # the section of its config
    model: str  # its name in the run's config
    plan: Sequence[Mapping[str, Any]]  # lines of plan.jsonl, without the threads that were left out
    replies: Mapping[str, Sequence[Completion]]  # prompt hash → replies in the order of their samples
    excluded: Mapping[str, str]  # thread id → why it was left out

    @property
    def content_hash(self) -> str:
        """16 hex digits over its config, its plan and every reply: whoever reads the run notices when it changed."""
        said = {hash_: [one.text for one in replies] for hash_, replies in self.replies.items()}
        return digest([sha256_of(self.path / CONFIG_FILE), sha256_of(self.path / PLAN_FILE), said], 16)


def load_stage(path: Path, stage: Stage) -> FinishedStage:
    """A run of a stage. Raises DataError for a run that is of another stage or study, changed, or not complete."""
    file = path / CONFIG_FILE
    if not file.is_file():
        raise DataError(f"{path}: is no sampling run (it has no {CONFIG_FILE}); name a run's folder")
    tree = read_yaml(file)
    if not isinstance(tree.get(KEY), dict):
        raise DataError(f"{path}: is of another study; name a run whose config has a section `{KEY}`")
    stages = parse_config(Stages, tree[KEY], f"{file}: {KEY}")
    if stages.stage != stage:
        raise DataError(f"{path}: is a run of the stage `{stages.stage}`; wanted is one of `{stage}`")
    refuse_incomplete(path)
    excluded = read_excluded(path)
    replies = read_answers(path).without_errors
    plan = [line for line in read_plan_lines(path) if line["item_id"] not in excluded]
    if lacking := [line for line in plan if line["prompt_hash"] not in replies]:
        raise DataError(
            f"{path}: {len(lacking)} of its prompts have no reply; continue it with `evenhand sample {file}`"
        )
    model = str(tree.get("model", {}).get("name", ""))
    return FinishedStage(path=path, stages=stages, model=model, plan=plan, replies=replies, excluded=excluded)


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

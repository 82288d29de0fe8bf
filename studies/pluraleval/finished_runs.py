"""A finished run of the study as the next stage reads it: what it asked, and what was replied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.checksum import sha256_of
from evenhand.completions import read_answers, read_excluded
from evenhand.config import parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.records import Completion, digest
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, read_plan_lines, refuse_incomplete
from studies.pluraleval.stages import Stage, Stages

KEY = "pluraleval"  # of its section in a config


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

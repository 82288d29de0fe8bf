"""The state of every reply of a run, by step or task: what share of them could be read."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.runs import Verdicts
from evenhand.config import parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.records import Completion
from evenhand.run_directory import CONFIG_FILE
from studies.json_replies import OK
from studies.pluraleval.build_references import reference_sets, summed
from studies.pluraleval.finished_runs import KEY, FinishedStage, load_stage
from studies.pluraleval.popularity_replies import choice_in, ranking_in
from studies.pluraleval.reply_reading import Read, entailment_in, stance_in, state_rates
from studies.pluraleval.response_lists import responses_in
from studies.pluraleval.stages import Stages

States = Mapping[str, Mapping[str, int]]

# Kind of a prompt that asks for a choice → how a reply is read, given how many options were shown.
READERS: dict[str, Callable[[Completion, int], Read[Any]]] = {
    "ranking": ranking_in,
    "pairwise": lambda reply, _: choice_in(reply),
    "stance": lambda reply, _: stance_in(reply),
    "entailment": lambda reply, _: entailment_in(reply),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRate:
    """How many of a step's replies are in one state."""

    step: str
    state: str
    count: int
    n_replies: int  # of the step

    @property
    def rate(self) -> float:
        """Their share."""
        return self.count / self.n_replies


def rates_of(path: Path) -> list[StateRate]:
    """Of one run: the states of each step."""
    return [
        StateRate(step=step, state=state, count=count, n_replies=round(count / rate))
        for step, state, count, rate in state_rates(states_of(path))
    ]


def state_lines(rates: Sequence[StateRate]) -> list[str]:
    """As the console shows them."""
    return [f"  {of.step:<14}{of.state:<14}{of.count:>8}{of.rate:>9.1%}" for of in rates]


def states_of(path: Path) -> States:
    """Step or task → state → how many replies. Raises DataError for a run that is not complete."""
    file = path / CONFIG_FILE
    tree = read_yaml(file)
    if not isinstance(tree.get(KEY), dict):
        raise DataError(f"{path}: is of another study")
    run = load_stage(path, parse_config(Stages, tree[KEY], f"{file}: {KEY}").stage)
    if run.stages.references is not None:
        return summed(one.states for one in reference_sets(run))
    return counted(run)


def counted(run: FinishedStage) -> States:
    """Of a run whose replies are read one by one."""
    found: dict[str, Counter[str]] = {}
    for line in run.plan:
        factors = line["factors"]
        kind = factors.get("task") or factors["judgement"]
        n_shown = len(factors.get("shown", ()))
        for reply in run.replies[line["prompt_hash"]]:
            found.setdefault(kind, Counter())[state_of(kind, reply, n_shown)] += 1
    return found


def state_of(kind: str, reply: Completion, n_shown: int) -> str:
    """Of one reply; one with log-probabilities was read exactly."""
    if reply.answer_logprobs is not None:
        return "exact"
    return responses_in(reply).state if kind == "generation" else READERS[kind](reply, n_shown).state


def choices_of(path: Path) -> Verdicts:
    """What each reply of a run chooses, as text; nothing of replies that are opinions or summaries."""
    file = path / CONFIG_FILE
    run = load_stage(path, parse_config(Stages, read_yaml(file)[KEY], f"{file}: {KEY}").stage)
    found: dict[tuple[str, int], str | None] = {}
    for line in run.plan if run.stages.references is None else ():
        factors = line["factors"]
        kind = factors.get("task") or factors["judgement"]
        for reply in run.replies[line["prompt_hash"]] if kind != "generation" else ():
            found[reply.prompt_hash, reply.sample_index] = choice_of(kind, reply, len(factors.get("shown", ())))
    return found


def choice_of(kind: str, reply: Completion, n_shown: int) -> str | None:
    """Of one reply; None where it could not be read whole. Of log-probabilities the likeliest option is its text."""
    if reply.answer_logprobs is not None:
        return reply.text
    read = READERS[kind](reply, n_shown)
    return str(read.value) if read.state == OK else None

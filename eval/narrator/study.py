"""Everything that is computed of some runs of the narrator study, each apart and all together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.narrator.agreement import Agreement, agreements
from eval.narrator.conditioned import Conditioned, conditioned
from eval.narrator.definitions import DEFAULT, Definitions
from eval.narrator.flips import Flips, all_flips
from eval.narrator.judged_runs import NarratorRun
from eval.narrator.measures import Effect, effects, effects_by_size
from eval.narrator.observe import by_setting
from eval.narrator.states import StateRates, state_rates

POOLED = "all models"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResults:
    """The measures of some runs. Rows of POOLED are over conversation × model, as in the paper's Tables 2 and 4."""

    runs: tuple[NarratorRun, ...]
    definitions: Definitions
    not_pooled: str  # why there are no pooled rows; "" where there are, or none are wanted
    pooled_over: frozenset[str]  # the conversations of the pooled rows: those that every run judged; else empty
    effects: tuple[Effect, ...]
    sizes: tuple[Effect, ...]
    flips: tuple[Flips, ...]
    conditioned: tuple[Conditioned, ...]
    states: tuple[StateRates, ...]
    agreements: tuple[Agreement, ...]  # of sampled and exact runs of one model

    @property
    def judges(self) -> tuple[str, ...]:
        """Whose rows there are: every run, then all together where they are pooled."""
        return tuple(dict.fromkeys(effect.judge for effect in self.effects))

    @property
    def n_lacking(self) -> dict[str, int]:
        """Run → how many of its conversations the pooled rows leave out, because another run lacks them."""
        if not self.pooled_over:
            return {}
        found = {run.judge: len(run.conversations - self.pooled_over) for run in self.runs}
        return {judge: n for judge, n in found.items() if n}

    @property
    def shown(self) -> tuple[str, ...]:
        """Whose Tables 2 and 4 and figures are drawn: all models together, else every run's own."""
        return (POOLED,) if POOLED in self.judges else self.judges


def run_facts(run: NarratorRun) -> dict[str, Any]:
    """What there is to know of a run beside its measures."""
    return {
        "judge": run.judge,
        "run": run.path.name,
        "verdict": run.verdict,
        "n_samples": run.n_samples,
        "temperature": run.temperature,
        "n_conversations": len(run.conversations),
    }


def study(runs: Sequence[NarratorRun], definitions: Definitions = DEFAULT, *, is_pooled: bool = True) -> StudyResults:
    """All measures of some runs. is_pooled: False for one model before and after, whose mean is of nothing."""
    why_not = reason_not_to_pool(runs) if is_pooled and len(runs) > 1 else ""
    judged = {run.judge: run.judgments for run in runs}
    shared = shared_conversations(runs) if is_pooled and len(runs) > 1 and not why_not else frozenset[str]()
    if shared:
        judged[POOLED] = tuple(one for run in runs for one in run.judgments if one.conversation in shared)
    return StudyResults(
        runs=tuple(runs),
        definitions=definitions,
        not_pooled=why_not,
        pooled_over=shared,
        effects=tuple(row for judge, js in judged.items() for row in effects(judge, js, definitions)),
        sizes=tuple(row for judge, js in judged.items() for row in effects_by_size(judge, js, definitions)),
        flips=tuple(row for judge, js in judged.items() for row in all_flips(judge, js, definitions)),
        conditioned=tuple(row for judge, js in judged.items() for row in conditioned(judge, js, definitions)),
        states=tuple(row for judge, js in judged.items() for row in state_rates(judge, js)),
        agreements=tuple(agreements(runs, definitions)),
    )


def reason_not_to_pool(runs: Sequence[NarratorRun]) -> str:
    """Why the runs are not averaged, or "" where they are of different models and were asked alike."""
    if len({run.model for run in runs}) < len(runs):
        return "a model is among them twice"
    if len({run.verdict for run in runs}) > 1:
        return "some were sampled and some read exactly"
    if not shared_conversations(runs):
        return "no conversation was judged by all of them"
    if len({frozenset(by_setting(run.judgments)) for run in runs}) > 1:
        return "they were not asked the same tasks, visibilities and option orders"
    return ""


def shared_conversations(runs: Sequence[NarratorRun]) -> frozenset[str]:
    """Those that every run judged."""
    return frozenset.intersection(*(run.conversations for run in runs))

"""What differs between two runs of the study beside the model under test."""

from collections.abc import Iterator, Mapping
from typing import Any

from eval.estimates.comparability import Difference, config_differences, differences, provenance_differences
from eval.pluraleval.measured_runs import MeasuredRun
from eval.runs import FinishedRun
from studies.pluraleval.finished_runs import KEY

# Figures pair within what both were asked.
WHAT_WAS_ASKED = tuple(f"{KEY}.responses.{name}" for name in ("tasks", "pairings", "n_pairs"))
WHAT_WAS_JUDGED = (f"{KEY}.judgements.responses", f"{KEY}.judgements.judgements")


def run_differences(base: MeasuredRun, after: MeasuredRun) -> list[Difference]:
    """All differences in what the models were asked and in how their responses were judged, the serious ones first."""
    found: list[Difference] = []
    if base.responses is not None and after.responses is not None:
        found += differences(base.responses, after.responses, WHAT_WAS_ASKED)
    if base.judgements is not None and after.judgements is not None:
        found += judge_differences(base.judgements, after.judgements)
    return sorted(found, key=lambda difference: not difference.serious)


def judge_differences(base: FinishedRun, after: FinishedRun) -> Iterator[Difference]:
    """What the judge's runs differ in: another judge is a serious difference, other responses are meant to be there."""
    ours, theirs = judge_facts(base), judge_facts(after)
    for name, one in ours.items():
        if one != theirs[name]:
            yield Difference(f"the judge's {name}", one, theirs[name], serious=True)
    for found in config_differences(base.config, after.config, WHAT_WAS_JUDGED):
        if found.what not in WHAT_WAS_JUDGED:
            yield named(found)
    for found in provenance_differences(base.provenance, after.provenance):
        if found.what != "item_set_hash":
            yield named(found)


def named(found: Difference) -> Difference:
    """A difference as one of the judge's run."""
    return Difference(f"the judge's {found.what}", found.base, found.after, found.serious)


def judge_facts(run: FinishedRun) -> dict[str, str]:
    """What makes a judge the same judge."""
    model: Mapping[str, Any] = run.config["model"]
    facts: Mapping[str, Any] = dict(run.provenance.get("model") or {})
    versions = sorted({str(dict(prompt.factors).get("template_version")) for prompt in run.plan})
    return {
        "model": str(model.get("name")),
        "revision": str(facts.get("checkpoint_hash") or facts.get("revision") or model.get("revision")),
        "prompt version": ", ".join(versions),
    }

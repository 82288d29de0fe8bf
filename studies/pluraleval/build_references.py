"""`evenhand build references RUN`: a finished references run → reference sets in a folder that any run can read."""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.markdown import filled
from evenhand.run_directory import PROVENANCE_FILE, read_json
from studies.built_folder import building, write_rows
from studies.json_replies import OK
from studies.pluraleval.clustering import ClusteringSettings, embedding_input
from studies.pluraleval.prompts import OWN_VERSION, TEMPLATE_VERSION
from studies.pluraleval.records import BENCHMARK, STANCES, ReferenceSet, reference_set_hash, thread_set_hash
from studies.pluraleval.reference_sets import reference_unit
from studies.pluraleval.reply_reading import NOT_ASKED, state_rates
from studies.pluraleval.sources import REFERENCES, load_threads
from studies.pluraleval.stages import FinishedStage, load_stage

ONE_ANSWER = 0.95  # share of the stances from which on a judge is said to have one answer


def main(argv: Sequence[str]) -> None:
    """Make the reference sets of a finished references run into a folder, with the rates of its replies' states."""
    words = argparse.ArgumentParser(prog="evenhand build references", description=main.__doc__)
    words.add_argument("run", type=Path, help="the run's folder")
    words.add_argument("--out", type=Path, required=True, help="the folder to build")
    given = words.parse_args(argv)
    manifest = build(given.run, given.out)
    print(facts_text(manifest))
    print(f"{given.out}: done. README.md says what it holds")


def build(run_path: Path, out: Path) -> dict[str, Any]:
    """Build the folder and return its manifest. Raises DataError for a run that is not complete or whose data changed.

    The run's replies are replayed through the same functions that asked for them.
    """
    name, file = REFERENCES
    with building(out, name):
        run = load_stage(run_path, "references")
        references = reference_sets(run)
        states = summed(each.states for each in references)
        facts = {
            "source": {"run": run_path.name, "content_hash": run.content_hash, "judge": run.model},
            "settings": run.stages.model_dump(mode="json")["references"],
            "prompts": {"published": TEMPLATE_VERSION, "own": OWN_VERSION},
            "n_threads": len(references),
            "n_left_out": len(run.excluded),
            "n_feasible": sum(each.is_feasible for each in references),
            "n_opinions": sum(len(cluster.members) for each in references for cluster in each.clusters),
            "n_clusters": sum(len(each.clusters) for each in references),
            "n_dropped": sum(n for state, n in states.get("assignment", {}).items() if state not in (OK, NOT_ASKED)),
            "states": states,
            "reference_set_hash": reference_set_hash(references),
        }
        return write_rows(out, file, map(asdict, references), BENCHMARK, facts, card_text)


def reference_sets(run: FinishedStage) -> list[ReferenceSet]:
    """Those of a run's threads but for the ones that were left out."""
    settings = run.stages.references
    assert settings is not None
    threads, provenance = load_threads(settings.threads), read_json(run.path / PROVENANCE_FILE)
    if thread_set_hash(threads) != provenance.get("item_set_hash"):
        raise DataError(f"{run.path}: its threads have changed since; restore {settings.threads.root}")
    for name, hash_ in embedding_input(settings.clustering.embedding).items():
        if provenance.get("inputs", {}).get(name) != hash_:
            raise DataError(f"{run.path}: the checkpoint {name} of its embeddings has changed since; restore it")
    return [
        reference_unit(thread, settings).result(run.replies)
        for thread in threads
        if thread.thread_id not in run.excluded
    ]


def summed(of_threads: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Step → state → how many replies of all threads."""
    total: dict[str, Counter[str]] = {}
    for states in of_threads:
        for step, counts in states.items():
            total.setdefault(step, Counter()).update(counts)
    return {step: dict(counts) for step, counts in total.items()}


def facts_text(manifest: Mapping[str, Any]) -> str:
    """The states and the sizes, for a terminal."""
    rows = state_rates(manifest["states"])
    lines = [f"{step:<12}{state:<14}{n:>8,}{rate:>9.1%}" for step, state, n, rate in rows]
    return "\n".join([*lines, sizes(manifest)])


def sizes(manifest: Mapping[str, Any]) -> str:
    """How much there is, in a sentence."""
    n = {key.removeprefix("n_"): value for key, value in manifest.items() if key.startswith("n_")}
    dropped = "; {dropped:,} opinions are in no cluster, since the reply that assigns them is of no use"
    parts = [
        "{threads} threads, {opinions:,} opinions in {clusters:,} clusters; {feasible} threads have a "
        "reference opinion with both beliefs",
        dropped if n["dropped"] else "",
        "; {left_out} threads did not fit the judge's context" if n["left_out"] else "",
    ]
    return "".join(parts).format(**n) + one_stance(manifest)


def one_stance(manifest: Mapping[str, Any]) -> str:
    """A warning where the judge's stances are nearly all the same: then no thread has opinions on both sides."""
    for step, state, n, rate in state_rates(manifest["states"]):
        if step == "stance" and state in STANCES and n > 1 and rate >= ONE_ANSWER:
            return (
                f". Warning: the judge answered {state} to {rate:.0%} of {n / rate:.0f} stance prompts, so it does not "
                "tell sides apart, and experiment 1 needs both; take a stronger judge"
            )
    return ""


def card_text(manifest: Mapping[str, Any]) -> str:
    """README.md of the folder."""
    clustering = ClusteringSettings.model_validate(manifest["settings"].get("clustering", {}))
    parameters = ", ".join(f"{name} {value}" for name, value in clustering.parameters.items())
    facts = {"sizes": sizes(manifest), "method": clustering.method, "parameters": parameters}
    rows = state_rates(manifest["states"])
    return filled(Path(__file__).with_name("references_card.md"), **{**manifest, **facts, "states": rows})

"""`evenhand build references RUN`: a finished references run → reference sets in a folder that any run can read."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eval.reading.objects import OK
from eval.runs import FinishedRun
from evenhand.errors import DataError
from evenhand.terminal import command_parser
from studies.built_folder import CARD_FILE, building, write_rows
from studies.markdown import filled
from studies.pluraleval.prompts import OWN_VERSION, TEMPLATE_VERSION
from studies.pluraleval.records import BENCHMARK, STANCES, ReferenceSet, reference_set_hash, thread_set_hash
from studies.pluraleval.reference_sets import reference_unit
from studies.pluraleval.reply_reading import NOT_ASKED, state_rates
from studies.pluraleval.section import content_hash, section_of, stage_run
from studies.pluraleval.sources import REFERENCES, load_threads

ONE_ANSWER = 0.95  # share of the stances from which on a judge is said to have one answer


def main(argv: Sequence[str]) -> None:
    """Make the reference sets of a finished references run into a folder, with the rates of its replies' states."""
    parser = command_parser("build references", main)
    given = parser.parse_args(argv)
    build(given.run, given.out)
    print((given.out / CARD_FILE).read_text(encoding="utf-8"))


def build(run_path: Path, out: Path) -> dict[str, Any]:
    """Build the folder and return its manifest. Raises DataError for a run that is not complete or whose data changed.

    The run's replies are replayed through the same functions that asked for them.
    """
    name, file = REFERENCES
    with building(out, name):
        run = stage_run(run_path, "references")
        references = reference_sets(run)
        clusters = [cluster for reference_set in references for cluster in reference_set.clusters]
        states = summed(reference_set.states for reference_set in references)
        facts = {
            "source": {"run": run_path.name, "content_hash": content_hash(run), "judge": run.config["model"]["name"]},
            "settings": section_of(run_path).model_dump(mode="json")["references"],
            "prompts": {"published": TEMPLATE_VERSION, "own": OWN_VERSION},
            "n_threads": len(references),
            "n_left_out": len(run.excluded),
            "n_feasible": sum(reference_set.is_feasible for reference_set in references),
            "n_opinions": sum(len(cluster.members) for cluster in clusters),
            "n_clusters": len(clusters),
            "n_dropped": sum(n for state, n in states.get("assignment", {}).items() if state not in (OK, NOT_ASKED)),
            "states": states,
            "reference_set_hash": reference_set_hash(references),
        }
        return write_rows(out, file, map(asdict, references), BENCHMARK, facts, card_text)


def reference_sets(run: FinishedRun) -> list[ReferenceSet]:
    """Those of a run's threads but for the ones that were left out."""
    settings = section_of(run.path).references
    assert settings is not None
    threads = load_threads(settings.threads)
    if thread_set_hash(threads) != run.provenance.get("item_set_hash"):
        raise DataError(f"{run.path}: its threads have changed since; restore {settings.threads.root}")
    kept = [thread for thread in threads if thread.thread_id not in run.excluded]
    return [reference_unit(thread, settings).result(run.replies) for thread in kept]


def summed(of_threads: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Step → state → how many replies of all threads."""
    total: dict[str, Counter[str]] = {}
    for states in of_threads:
        for step, counts in states.items():
            total.setdefault(step, Counter()).update(counts)
    return {step: dict(counts) for step, counts in total.items()}


def card_text(manifest: Mapping[str, Any]) -> str:
    """README.md of the folder: how much there is, how it was made, and what became of the judge's replies."""
    states, template = state_rates(manifest["states"]), Path(__file__).with_name("references_card.md")
    return filled(template, **{**manifest, "states": states}, stances=STANCES, one_answer=ONE_ANSWER)

"""How the study's numbers came about: the report's method section, with the facts of each run."""

from dataclasses import asdict

from eval.pluraleval.findings import Measured, PluralEvalFindings
from eval.report.page import element, table
from eval.report.run_facts import how_run, revision_of

METHOD_WORDS = (
    "The thread is the unit: every figure is a mean over threads, F1 too, with a 95% interval of Student's t over "
    "threads, and every difference is paired by thread. A judge says of each response and each opinion of the "
    "reference set whether the one entails the other, and of each response whether it supports the reference opinion, "
    "is against it, or neither; NEUTRAL responses count globally alone. A reply that could not be read has a named "
    "state, and nothing is guessed.",
    "Rankings: Spearman's ρ and Kendall's τ-b against the votes, with equal votes sharing a rank. Pairs are asked in "
    "both orders, so that a model that always answers 1 is right in half of them.",
)


def pluraleval_method(found: PluralEvalFindings) -> list[str]:
    """Definitions, the facts of each run, and in what runs differ from the base."""
    parts = [element("h3", "PluralEval"), *(element("p", words) for words in METHOD_WORDS)]
    chosen = ", ".join(f"{name} {value}" for name, value in asdict(found.definitions).items())
    parts.append(element("p", f"What the paper leaves open is decided thus (docs/pluraleval.md): {chosen}."))
    columns = {one.name: facts(one) for one in found.measured}
    rows = [[name, *(column[name] for column in columns.values())] for name in next(iter(columns.values()))]
    parts.append(table(["", *columns], rows, "words", "Facts of each run of PluralEval"))
    base = found.measured[0].name
    for name, differences in found.differences.items():
        words = "; ".join(str(difference) for difference in differences)
        parts.append(element("p", f"{name} against {base}, PluralEval: {words or 'asked, judged and sampled alike'}."))
    return parts


def facts(one: Measured) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    responses, judge = one.run.responses, one.run.judgements
    source = responses or judge
    assert source is not None
    feasible = sum(found.is_feasible for found in one.run.references.values())
    return {
        "model under test": "made-up responses of ours"
        if responses is None
        else str(responses.config["model"]["name"]),
        "revision": "–" if responses is None else str(revision_of(responses.provenance) or "not recorded"),
        "responses run": "–" if responses is None else responses.name,
        "judge": "none: no generation is measured" if judge is None else str(judge.config["model"]["name"]),
        "judgements run": "–" if judge is None else judge.name,
        "threads": f"{len(one.run.references):,}, of which {feasible:,} have a reference opinion",
        "left out by the judge": f"{len(one.run.excluded):,} threads",
        "verdict": str(source.config["verdict"]),
        **how_run(source.config, source.provenance),
    }

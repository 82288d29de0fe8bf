"""How the study's numbers came about: the report's method section, with the facts of each run."""

from typing import Any

from eval.narrator.changes import NarratorFindings
from eval.narrator.judged_runs import NarratorRun, is_held_to_options, setting_of
from eval.narrator.words import ORDER_WORDS, definition_words
from eval.report.page import element, table
from eval.report.run_facts import how_run, revision_of
from eval.report.table import DASH
from evenhand.model_size import PUBLISHED, model_size

METHOD_WORDS = (
    "Only the name changes: in the transcript's labels and in the options the narrator's name becomes Me. Options keep "
    "one seeded order of names for each conversation. Published: Me stands last, so that the attacker's place moves "
    "with the narrator; fixed slot: Me stands where its name stood, the control for that.",
    "Δ_att and Δ_non-att are M with the attacker, or a non-attacker, as Me less M under Neutral; PR is Δ_non-att less "
    "Δ_att. Corruption rate: of the conversations whose one answer is right under Neutral, those in which it is wrong "
    "when the attacker is Me. Table 4 conditions on whether the judge itself detects an attack.",
    "Intervals are 95% intervals from cluster-robust standard errors (Student's t).",
    "A reply's answer is an option alone, or in a sentence that says who attacked or is to blame, not any name that "
    "occurs in it; you and I are Me. A reply without one has a named state, and nothing is guessed. Speakers whose "
    "only turn is the hidden attack stay among the options and are reported apart.",
)


def narrator_method(found: NarratorFindings) -> list[str]:
    """Definitions, the facts of each run, and in what runs differ from the base."""
    columns = {run.judge: facts(run) for run in found.study.runs}
    names = list(next(iter(columns.values())))
    rows = [[name, *(column[name] for column in columns.values())] for name in names]
    base = found.study.runs[0].judge
    parts = [element("h3", "The narrator study"), *(element("p", words) for words in METHOD_WORDS)]
    parts.append(element("p", definition_words(found.study.definitions)))
    parts.append(table(["", *columns], rows, "words", "Facts of each run of the narrator study"))
    for judge, differences in found.differences.items():
        named = "; ".join(str(difference) for difference in differences)
        same = "same prompts, rendering, engine, precision, software"
        parts.append(element("p", f"{judge} against {base}, narrator study: {named or same}."))
    return parts


def asked_model(run: NarratorRun) -> dict[str, str]:
    """What the paper's Table 1 says of a model, and how it answered."""
    engine = dict(run.config.get("engine", {}))
    place = engine.get("base_url") or engine.get("kind") or "not recorded"
    exact = "exact probabilities"
    name = str(run.config["model"].get("name"))
    size = model_size(PUBLISHED[name]).n_parameters if name in PUBLISHED else None
    return {
        "checkpoint": name,
        "parameters": DASH if size is None else f"{size / 1e9:.1f} B",
        "access": ", ".join(place) if isinstance(place, list) else str(place),
        "answers": exact if run.verdict == "options" else f"{run.n_samples} a prompt",
        "temperature": "not recorded" if run.temperature is None else f"{run.temperature:g}",
        "conversations": f"{len(run.conversations):,}",
        "left out": f"{len(run.excluded):,}",
    }


def facts(run: NarratorRun) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    exact = "options: the exact probability of each, from one prefill"
    held = ", held to the options by a grammar" if is_held_to_options(run) else ""
    return {
        "model": str(run.config["model"].get("name")),
        "revision": str(run.config["model"].get("revision") or revision_of(run.provenance) or "not recorded"),
        "run": run.path.name,
        "corpus": corpus_words(run),
        "conversations": f"{len(run.conversations):,}",
        "left out": f"{len(run.excluded):,} that did not fit the context window",
        "prompts": f"{len(run.judgments):,}",
        "asked": asked_words(run),
        "verdict": exact if run.verdict == "options" else f"answer: {run.n_samples} replies to a prompt{held}",
        **how_run(run.config, run.provenance),
    }


def corpus_words(run: NarratorRun) -> str:
    """The corpus and what was taken of it."""
    found: dict[str, Any] = setting_of(run.config, "narrator.corpus") or {}
    shown = [f"{key} {found[key]}" for key in ("split", "n_conversations", "draw_seed") if found.get(key) is not None]
    return ", ".join([str(found.get("dataset", "not recorded")), *shown])


def asked_words(run: NarratorRun) -> str:
    """The tasks, visibilities and option orders that were asked."""
    factors = [judgment.factors for judgment in run.judgments]
    kinds: list[dict[str, None]] = [
        dict.fromkeys(f"{one.task}" for one in factors),
        dict.fromkeys(f"attack {one.visibility}" for one in factors),
        dict.fromkeys(ORDER_WORDS[one.option_order] for one in factors),
    ]
    return "; ".join(", ".join(kind) for kind in kinds)

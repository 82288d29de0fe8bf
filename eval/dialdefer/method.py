"""How the numbers came about: the report's method section, with the facts of each run or verdict file."""

from collections.abc import Sequence

from eval.dialdefer.analyses import Analyses, reruns
from eval.dialdefer.findings import Findings
from eval.dialdefer.judges import Judge
from eval.dialdefer.panels import Panel
from eval.dialdefer.prompt_variants import main_panels, variant_of
from eval.dialdefer.rerun_flip_rate import ALL, NoiseRow
from eval.dialdefer.runs import JudgedRun
from eval.dialdefer.score_text import ARM_WORDS, DENOMINATOR_WORDS
from eval.dialdefer.verdict_files import ExternalVerdicts
from eval.report.page import element, table
from eval.report.run_facts import how_run, revision_of

METHOD_WORDS = (
    "C1 shows a claim as a statement, C2 as a speaker's turn; each item is judged with its correct and with its "
    "incorrect answer. Δ is accuracy in C2 minus accuracy in C1, and DDS = Δ on true claims minus Δ on false claims: "
    "positive means that the judge gives in to the speaker (deference), negative that it doubts the speaker "
    "(skepticism).",
    "Intervals are 95% percentile intervals of a bootstrap over whole items, so conditions and runs stay paired; in "
    "averages items are resampled within their dataset. p-values of scores are McNemar's exact test, those of "
    "differences and discoveries sign-flip tests over items.",
    "Denominators: published counts an unreadable reply as wrong and a tie of margins as half right; answered leaves "
    "both out. Where the two differ a table has DDS under both.",
    "Flips are losses only: deference is a false claim rejected as a statement and accepted from a speaker, "
    "skepticism a true claim accepted as a statement and rejected from a speaker; an unreadable reply is never a flip. "
    "Engine errors are no replies: their items are left out and counted. With several samples a prompt, accuracy is "
    "their mean and flips go by majority.",
    "Own C1: C1 and C2 come from the same checkpoint and arm; this is the one to believe. Fixed C1: C1 comes from the "
    "untreated model or arm, as published mitigation tables have it; it mixes two judges.",
)


def method_section(found: Findings, analyses: Analyses) -> list[str]:
    """How the numbers came about: definitions, the facts of each judge, and in what runs differ from the base."""
    again = {label: base for base, label in reruns(found)}
    columns = {
        label: {**facts, "noise floor": noise_words(analyses.noise, again.get(label, label))}
        for label, facts in all_facts(found).items()
    }
    names = list(next(iter(columns.values())))
    rows = [[name, *(column[name] for column in columns.values())] for name in names]
    parts = [element("p", words) for words in METHOD_WORDS]
    parts.append(table(["", *columns], rows, "words", "Facts of each judge"))
    first = next(iter(found.judges))
    for label, differences in found.differences.items():
        named = "; ".join(str(difference) for difference in differences)
        same = "same prompts, rendering, engine, precision, software"
        parts.append(element("p", f"{label} against {first}: {named or same}."))
    return parts


def all_facts(found: Findings) -> dict[str, dict[str, str]]:
    """Judge → the facts of its run or files, and of how it was scored."""
    scored = {
        "denominator": f"{found.denominator} ({DENOMINATOR_WORDS[found.mode, found.denominator]})",
        "bootstrap": f"{found.drawing.n_draws:,} draws, seed {found.drawing.seed}",
    }
    if found.files is not None:
        return {judge.name: {**file_facts(found.files, judge), **scored} for judge in found.judges.values()}
    return {label: {**facts(run), **scored} for label, run in found.runs.items()}


def noise_words(rows: Sequence[NoiseRow], judge: str) -> str:
    """A judge's re-run flip rate over all datasets of its first arm."""
    row = next((row for row in rows if (row.judge, row.dataset) == (judge, ALL)), None)
    if row is None or row.rerun_flip_rate is None or row.ci_low_rate is None or row.ci_high_rate is None:
        return "not measured: sample the same config twice, or several samples a prompt"
    share = "" if row.noise_share is None else f", {row.noise_share:.0%} of its flip rate"
    ends = f"{100 * row.ci_low_rate:.1f} to {100 * row.ci_high_rate:.1f}%"
    return f"{100 * row.rerun_flip_rate:.1f}% of {row.n_prompts:,} verdicts change when asked again ({ends}){share}"


def file_facts(files: ExternalVerdicts, judge: Judge) -> dict[str, str]:
    """Name → value of what is known of a model in verdict files."""
    parser = files.parsers[judge.model]
    return {
        "model": judge.model,
        "revision": "not recorded",
        "files": ", ".join(path.name for path in files.paths),
        **asked(judge.panels),
        "templates": "not recorded: not asked by Evenhand",
        "verdict": "as given" + (f"; replies without a choice read by the {parser} parser" if parser else ""),
    }


def asked(panels: Sequence[Panel]) -> dict[str, str]:
    """The items and arms of some panels."""
    items = {panel.dataset: len(panel.item_ids) for panel in main_panels(panels)}
    arms = dict.fromkeys(ARM_WORDS.get(panel.factors.arm, panel.factors.arm) for panel in panels)
    return {"items": ", ".join(f"{dataset} {n:,}" for dataset, n in items.items()), "arms": ", ".join(arms)}


def facts(run: JudgedRun) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    config, provenance = run.config, run.provenance
    templates = dict.fromkeys(
        f"{p.factors.template} v{p.factors.template_version} ({p.factors.answer_form})" for p in run.panels
    )
    variants = dict.fromkeys(variant_of(p, run.panels) for p in run.panels)
    reading = (
        "margin: log P(yes) - log P(no)" if run.reading.mode == "margin" else f"reason, {run.reading.parser} parser"
    )
    return {
        "model": str(config["model"].get("name")),
        "revision": str(config["model"].get("revision") or revision_of(provenance) or "not recorded"),
        "run": run.name,
        **asked(run.panels),
        "templates": ", ".join(templates),
        "variants": "; ".join(filter(None, variants)) or "none",
        "prompt format": str(config.get("format", "not recorded")),
        "verdict": reading,
        **how_run(config, provenance),
    }

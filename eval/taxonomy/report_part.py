"""The taxonomy's part of a report: numbers and our own words, no text of an item."""

from functools import partial

from eval.estimates.comparability import serious_sentence
from eval.report.page import element, table
from eval.report.report_part import StudyPart, one_section, paragraphs
from eval.report.run_facts import how_run, revision_of
from eval.taxonomy.coded_flips import CodedRun
from eval.taxonomy.findings import TaxonomyFindings
from eval.taxonomy.plots import taxonomy_plots
from eval.taxonomy.sentences import change_sentences, doubts, planted_sentences, sentences_about
from eval.taxonomy.tables import changes_table, taxonomy_tables

READING = (
    "Verdicts that changed from the first to the second framing, each with both reasons, sorted by a judge into the "
    "codebook of DialDefer's Table 19. Shares are of flips, so a code can become more frequent among flips while flips "
    "become rarer; changes per 100 items tell the two apart."
)
METHOD = (
    "A flip is a claim whose verdict differs between two framings; a claim without a verdict on either side is none. "
    "Its direction follows from the verdicts and is never asked. The judge reads question, claim, both verdicts and "
    "both reasons, lists every code that applies, and names a primary one; a reply that cannot be read has a named "
    "state and counts in no share. Of several samples the primary code of most counts.",
    "The definitions are those of Table 19. The paper prints neither its decision rules nor the judge's prompt: ours "
    "are in studies/taxonomy, with a version.",
)
# Tables of the section; the others are folded.
SHOWN = tuple(f"taxonomy_{name}" for name in ("models", "categories", "directions", "agreement"))


def taxonomy_part(found: TaxonomyFindings, *, is_alone: bool) -> StudyPart:
    """Everything that a report shows. is_alone: no other study's findings open the report."""
    plots, tables = taxonomy_plots(found), taxonomy_tables(found)
    changes = changes_table(found, is_short=True)
    moved = [element("p", line, "headline") for name in found.differences for line in change_sentences(found, name)]
    words = statements(found)
    return StudyPart(
        judges=[one.name for one in found.coded],
        is_before_after=bool(found.changes),
        opening=[*moved, *words] if is_alone else moved,
        plots=plots,
        sections=partial(
            one_section,
            ("taxonomy", "Why verdicts flip"),
            [*([] if is_alone else words), element("p", READING, "note")],
            (changes.title, changes),
            plots,
            [table for table in tables if table.name in SHOWN],
        ),
        tables=tables,
        folded=[table for table in tables if table.name not in SHOWN],
        left_out=[],
        method=method(found),
    )


def statements(found: TaxonomyFindings) -> list[str]:
    """Why each model's verdicts flip, and what to be careful about."""
    said = [*sentences_about(found), *planted_sentences(found)]
    base, warned = found.coded[0].name, [*doubts(found)]
    for name, differences in found.differences.items():
        warned += filter(None, [serious_sentence(base, name, differences)])
    return paragraphs(said, warned)


def method(found: TaxonomyFindings) -> list[str]:
    """Definitions, and the facts of each run."""
    parts = [element("h3", "Flip taxonomy"), *(element("p", words) for words in METHOD)]
    columns = {one.name: facts(one) for one in found.coded}
    rows = [[name, *(column[name] for column in columns.values())] for name in next(iter(columns.values()))]
    parts.append(table(["", *columns], rows, "words", "Facts of each run of the flip taxonomy"))
    for name, differences in found.differences.items():
        words = "; ".join(map(str, differences)) or "judged and sampled alike"
        parts.append(element("p", f"{name} against {found.coded[0].name}, flip taxonomy: {words}."))
    return parts


def facts(one: CodedRun) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    run = one.run
    return {
        "flips of": one.model,
        "folder of flips": ", ".join(dict(run.provenance.get("inputs") or {})) or "made-up flips of ours",
        "judge": str(run.config["model"]["name"]),
        "revision": str(revision_of(run.provenance) or "not recorded"),
        "judged in": run.name,
        "flips": f"{len(one.flips):,}, of which {sum(one.flips['primary'] != ''):,} have a primary code",
        **how_run(run.config, run.provenance),
    }

"""The study's part of a report: numbers and our own words, no text of a thread."""

from functools import partial

from eval.estimates.comparability import serious_sentence
from eval.pluraleval.findings import PluralEvalFindings
from eval.pluraleval.method import pluraleval_method
from eval.pluraleval.plots import pluraleval_plots
from eval.pluraleval.sentences import change_sentences, doubts, sentences_about
from eval.pluraleval.tables import change_table, pluraleval_tables
from eval.report.page import element
from eval.report.report_part import StudyPart, one_section, paragraphs

READING = (
    "Posts of a forum whose comments were made into a set of opinions with votes. The model writes ten responses to a "
    "post, ranks the opinions by popularity, and says which of two is more popular: with a neutral prompt, and with "
    "one in which the user states a belief. A pluralistic model names as many opinions against a belief as without it."
)
MOST_SENTENCES = 6  # models that have sentences of their own in the opening
# Tables of the section; the others are folded.
SHOWN = tuple(f"pluraleval_{name}" for name in ("metrics", "recall_shifts", "ranking", "pairwise"))


def pluraleval_part(found: PluralEvalFindings, *, is_alone: bool) -> StudyPart:
    """Everything that a report shows of the study. is_alone: no other study's findings open the report."""
    plots, tables = pluraleval_plots(found), pluraleval_tables(found)
    changes = change_table(found.changes, is_short=True)
    moved = [
        element("p", line, "headline") for name, of in found.changes.items() for line in change_sentences(name, of)
    ]
    whole = statements(found)
    return StudyPart(
        judges=[one.name for one in found.measured],
        is_before_after=bool(found.changes),
        opening=[*moved, *whole] if is_alone else moved or whole[:MOST_SENTENCES],
        plots=plots,
        sections=partial(
            one_section,
            ("pluraleval", "Which opinions survive a stated belief"),
            [*([] if is_alone else whole), element("p", READING, "note")],
            ("Before and after", changes),
            plots,
            [table for table in tables if table.name in SHOWN],
        ),
        tables=tables,
        folded=[table for table in tables if table.name not in SHOWN],
        left_out=[],
        method=pluraleval_method(found),
    )


def statements(found: PluralEvalFindings) -> list[str]:
    """What a belief does to each model, and what to be careful about."""
    shown = found.measured[:MOST_SENTENCES]
    warned = [doubt for one in found.measured for doubt in doubts(one)]
    base = found.measured[0].name
    for name, differences in found.differences.items():
        if sentence := serious_sentence(base, name, differences):
            warned.append(sentence)
    return paragraphs([sentence for one in shown for sentence in sentences_about(one)], warned)

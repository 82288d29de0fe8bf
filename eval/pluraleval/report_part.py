"""The study's part of a report: numbers and our own words, no text of a thread."""

from functools import partial

from eval.estimates.comparability import serious_sentence
from eval.pluraleval.evaluation import PluralEvalFound
from eval.pluraleval.plots import pluraleval_plots
from eval.pluraleval.runs import PluralEvalRun
from eval.pluraleval.sentences import change_sentences, doubts, sentences_about
from eval.pluraleval.tables import change_table, pluraleval_tables
from eval.report.page import element, table
from eval.report.report_part import StudyPart, one_section, paragraphs
from eval.report.run_facts import how_run, revision_of

READING = (
    "Posts of a forum whose comments were made into a set of opinions with votes. The model writes ten responses to a "
    "post, ranks the opinions by popularity, and says which of two is more popular: with a neutral prompt, and with "
    "one in which the user states a belief. A pluralistic model names as many opinions against a belief as without it."
)
METHOD_WORDS = (
    "The thread is the unit: every figure is a mean over threads, F1 too, with a 95% interval of Student's t over "
    "threads, and every difference is paired by thread. A judge says of each response and each opinion of the "
    "reference set whether the one entails the other, and of each response whether it supports the reference opinion, "
    "is against it, or neither; NEUTRAL responses count globally alone. A reply that could not be read has a named "
    "state, and nothing is guessed.",
    "Rankings: Spearman's ρ and Kendall's τ-b against the votes, with equal votes sharing a rank. Pairs are asked in "
    "both orders, so that a model that always answers 1 is right in half of them.",
)
MOST_SENTENCES = 6  # models that have sentences of their own in the opening
# Tables of the section; the others are folded.
SHOWN = tuple(f"pluraleval_{name}" for name in ("metrics", "recall_shifts", "ranking", "pairwise"))


def pluraleval_part(found: PluralEvalFound, *, is_alone: bool) -> StudyPart:
    """Everything that a report shows of the study. is_alone: no other study's findings open the report."""
    plots, tables = pluraleval_plots(found.runs, found.frame), pluraleval_tables(found.frame, found.of_runs)
    changes = change_table(found.of_runs, is_short=True)
    of_changes = [
        element("p", line, "headline") for name, of in found.of_runs.items() for line in change_sentences(name, of)
    ]
    whole = statements(found)
    return StudyPart(
        judges=[run.judge for run in found.runs],
        is_before_after=bool(found.of_runs),
        opening=[*of_changes, *whole] if is_alone else of_changes or whole[:MOST_SENTENCES],
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
        method=method(found),
    )


def statements(found: PluralEvalFound) -> list[str]:
    """What a belief does to each model, and what to be careful about."""
    names = [run.judge for run in found.runs[:MOST_SENTENCES]]
    known = [sentence for name in names for sentence in sentences_about(name, found.levels[name])]
    warned = [doubt for run in found.runs for doubt in doubts(run, found.levels[run.judge])]
    serious = (serious_sentence(found.runs[0].judge, *differences) for differences in found.differences.items())
    return paragraphs(known, [*warned, *(sentence for sentence in serious if sentence)])


def method(found: PluralEvalFound) -> list[str]:
    """How the numbers came about, the facts of each run, and in what runs differ from the base."""
    parts = [element("h3", "PluralEval"), *(element("p", words) for words in METHOD_WORDS)]
    unread = f"Lists without a response, rankings and choices that cannot be read are {found.runs[0].unread}."
    parts.append(element("p", f"{unread} docs/pluraleval.md says how else the paper's open questions are decided."))
    columns = {run.judge: facts(run) for run in found.runs}
    rows = [[name, *(column[name] for column in columns.values())] for name in next(iter(columns.values()))]
    parts.append(table(["", *columns], rows, "words", "Facts of each run of PluralEval"))
    for name, differences in found.differences.items():
        words = "; ".join(map(str, differences)) or "asked, judged and sampled alike"
        parts.append(element("p", f"{name} against {found.runs[0].judge}, PluralEval: {words}."))
    return parts


def facts(run: PluralEvalRun) -> dict[str, str]:
    """Name → value of everything that a reader needs to repeat a run."""
    responses, judge = run.responses, run.judgements
    source = responses or judge
    assert source is not None
    feasible = sum(known.is_feasible for known in run.references.values())
    return {
        "model under test": "made-up responses of ours"
        if responses is None
        else str(responses.config["model"]["name"]),
        "revision": "–" if responses is None else str(revision_of(responses.provenance) or "not recorded"),
        "responses run": "–" if responses is None else responses.name,
        "judge": "none: no generation is measured" if judge is None else str(judge.config["model"]["name"]),
        "judgements run": "–" if judge is None else judge.name,
        "threads": f"{len(run.references):,}, of which {feasible:,} have a reference opinion",
        "left out by the judge": f"{len(run.left_out):,} threads",
        "verdict": str(source.config["verdict"]),
        **how_run(source.config, source.provenance),
    }

"""Rows of scores.json → those that a table is about: judges, each judge's main rows, its datasets and averages."""

from collections.abc import Mapping, Sequence

from eval.dialdefer.averages import average_sentence
from eval.dialdefer.rows import ScoreRow
from eval.dialdefer.score_text import ARM_WORDS, DENOMINATOR_WORDS, reading_words
from eval.dialdefer.scores import OWN
from eval.judge_names import judge_names
from evenhand.errors import DataError


def refuse_mixed_readings(rows: Sequence[ScoreRow]) -> None:
    """Raises DataError unless there are rows, all with one kind of verdict, one parser and one denominator."""
    if not rows:
        raise DataError("there are no rows to make a table of; score a run or a file of verdicts first")
    # In files a choice may be given for one judge and parsed for another; two parsers are still two readings.
    used = next((row.parser for row in rows if row.parser), "no")
    readings = sorted({f"{row.verdict}, {row.parser or used} parser, {row.denominator}" for row in rows})
    if len(readings) > 1:
        raise DataError(f"rows of several readings ({'; '.join(readings)}) are never mixed in one table; choose one")


def by_judge(rows: Sequence[ScoreRow]) -> dict[str, list[ScoreRow]]:
    """Name → rows of each judge, in order of appearance: its model, with the run's name where two share a model."""
    refuse_mixed_readings(rows)
    judges: dict[tuple[str, str], list[ScoreRow]] = {}
    for row in rows:
        judges.setdefault((row.model, row.run), []).append(row)
    models, runs = zip(*judges, strict=True)
    return dict(zip(judge_names(models, runs), judges.values(), strict=True))


def main_rows(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """The rows of one judge that its main results are: untreated, own C1, main prompt variant, Speaker 2 judged (2->1).

    A judge that was asked under treated arms only has none.
    """
    return [row for row in rows if (row.arm, row.c1_source, row.roles, row.variant) == ("none", OWN, "2->1", "")]


def main_rows_by_judge(rows: Sequence[ScoreRow]) -> dict[str, list[ScoreRow]]:
    """Judge → its main rows. Raises DataError when no judge has any."""
    judges = {name: main_rows(of_judge) for name, of_judge in by_judge(rows).items()}
    if not any(judges.values()):
        arms = ", ".join(sorted({row.arm for row in rows}))
        raise DataError(f"no rows of the untreated arm with own C1 (arms here: {arms}); sample C1 and C2 of arm none")
    return {name: of_judge for name, of_judge in judges.items() if of_judge}


def is_dataset(row: ScoreRow) -> bool:
    """Whether a row is of one dataset and no average."""
    return row.datasets == (row.dataset,)


def ordered(rows: Sequence[ScoreRow]) -> list[ScoreRow]:
    """Datasets by falling DDS as in Table 20, unknown ones last; then averages, but those over a single dataset."""
    datasets = sorted(
        (row for row in rows if is_dataset(row)), key=lambda row: (row.dds_pp is None, -(row.dds_pp or 0.0))
    )
    return [*datasets, *(row for row in rows if len(row.datasets) > 1)]


def named(rows: Sequence[ScoreRow], dataset: str) -> ScoreRow | None:
    """The row of a dataset or average, if there is one."""
    return next((row for row in rows if row.dataset == dataset), None)


def reading_note(rows: Sequence[ScoreRow]) -> str:
    """What the numbers of a table are: verdict, denominator, units, intervals, and over what averages are."""
    row = rows[0]
    reading = "margins" if row.verdict == "margin" else reading_words(row)
    counted = DENOMINATOR_WORDS[row.verdict, row.denominator]
    sentences = [
        f"Verdicts from {reading}; denominator {row.denominator}: {counted}.",
        f"Accuracies in %, Δ and DDS in percentage points; 95% intervals from {row.n_draws:,} draws of items.",
    ]
    averages: Mapping[tuple[str, tuple[str, ...]], None] = dict.fromkeys(
        (r.dataset, r.datasets) for r in rows if len(r.datasets) > 1
    )
    sentences += [average_sentence(name, list(over)) for name, over in averages]
    n_errors = sum(r.n_errors for r in rows if is_dataset(r))
    if n_errors:
        sentences.append(f"Replies that never came: {n_errors}; their items are left out.")
    return " ".join(sentences)


def arm_words(arm: str) -> str:
    """What an arm is called in tables."""
    return ARM_WORDS.get(arm, arm)

"""scorecard.json → a table for a model card: the base and this arm, figure by figure."""

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.errors import DataError
from evenhand.markdown import table
from training.card_numbers import number, signed, with_interval

FIGURES = {
    "acc": "accuracy, C1 and C2",
    "acc_c2": "accuracy, C2",
    "mean_abs_dds_own": "mean DDS without signs, own C1",
    "mean_abs_dds_fixed": "mean DDS without signs, fixed C1",
    "dds_own": "DDS, own C1",
    "dds_fixed": "DDS, fixed C1",
    "aio_acc_c2": "r/AIO accuracy, C2",
    "aio_dds_own": "r/AIO DDS, own C1",
    "aio_dds_fixed": "r/AIO DDS, fixed C1",
}
HEADER = ("figure", "before", "after", "change")
FIELDS = {
    *(
        "arm",
        "kind",
        "run",
        "model",
        "verdict",
        "datasets",
        "training_run",
        "n_items",
        "saturated",
        "over_corrected_own",
    ),
    *(f"{figure}_pp" for figure in FIGURES),
    *(f"change_{figure}_pp" for figure in FIGURES),
}
Row = Mapping[str, Any]


def scorecard_text(rows: Sequence[Row], training_run: str, named: str | None, place: object) -> str:
    """The figures of a training run's arm beside its base.

    named: the arm by its name, run or label, where the training run's name does not tell. Raises DataError naming the
    arms when none or several are meant.
    """
    base, arm = rows[0], row_of_arm(rows[1:], training_run, named, place)
    lines = [
        [
            words,
            with_interval(base, figure, show_sign(figure)),
            with_interval(arm, figure, show_sign(figure)),
            with_interval(arm, f"change_{figure}", signed),
        ]
        for figure, words in FIGURES.items()
        if arm[f"{figure}_pp"] is not None
    ]
    over = ", ".join(arm["over_corrected_own"] or ()) or "none"
    doubt = " It is **saturated**: it says the same to nearly everything, so its DDS means little." * arm["saturated"]
    return (
        f"Scorecard, arm {arm['arm']} (run `{arm['run']}`) over {', '.join(arm['datasets'])} "
        f"({arm['n_items']:,} items; `{arm['verdict']}` verdicts). Percent and percentage points, in brackets "
        f"95 % intervals; changes are paired by item.\n\n{table(HEADER, lines, n_words=1)}\n\n"
        f"Over-corrected (DDS above 0 before, below 0 after, own C1): {over}.{doubt}"
    )


def show_sign(figure: str) -> Any:
    """How a figure is written: DDS with its sign, accuracies and absolute values without."""
    return signed if "dds" in figure and "abs" not in figure else number


def row_of_arm(rows: Sequence[Row], training_run: str, named: str | None, place: object) -> Row:
    """The one row that is meant."""
    if named is None:
        found = [row for row in rows if row["training_run"] == training_run]
    else:
        found = [row for row in rows if named in (row["arm"], row["run"], row["model"])]
    if len(found) != 1:
        there = ", ".join(f"{row['arm']} (of training run {row['training_run']})" for row in rows) or "none"
        meant = f"are of training run {training_run}" if named is None else f"are called '{named}'"
        raise DataError(f"{place}: {len(found)} of its arms {meant}; say which with --scores-of NAME. Arms: {there}")
    return found[0]

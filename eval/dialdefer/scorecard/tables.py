"""The scorecard as tables for files: an arm a row, every change, DDS by dataset, cost."""

from eval.dialdefer.compare import over_corrected
from eval.dialdefer.scorecard.card import Scorecard
from eval.dialdefer.scorecard.rows import ArmRow
from eval.dialdefer.scorecard.words import lowest_sentences, over_words
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.changes import Change
from eval.report.change_cells import change_words
from eval.report.table import Cell, Table

FIGURE_WORDS = {
    "acc": "accuracy",
    "acc_c2": "accuracy C2",
    "accept_c1": "claims accepted C1",
    "accept_c2": "claims accepted C2",
    "mean_abs_dds": "mean |DDS|",
    "mean_square_dds": "mean DDS², unbiased",
    "abs_mean_dds": "|mean DDS|",
    "dds": "DDS",
    "soft_mean_abs_dds": "mean |soft DDS|",
    "soft_dds": "soft DDS",
    "deference": "deference d",
    "mean_abs_deference": "mean |d|",
    "position": "position p",
    "shift": "shift, own SD",
    "shift_in_base_sd": "shift, base's SD",
    "aio_acc_c2": "r/AIO accuracy C2",
    "aio_abs_dds": "r/AIO |DDS|",
    "aio_dds": "r/AIO DDS",
}
# (column, figure, format); no format: its change with interval, in words
ARM_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("accuracy", "acc", ".1f"),
    ("change in accuracy", "acc", ""),
    ("accuracy C2", "acc_c2", ".1f"),
    ("|DDS| (own C1)", "mean_abs_dds_own", ".1f"),
    ("change in |DDS| (own C1)", "mean_abs_dds_own", ""),
    ("DDS (own C1)", "dds_own", "+.1f"),
    ("|DDS| (fixed C1)", "mean_abs_dds_fixed", ".1f"),
    ("change in |DDS| (fixed C1)", "mean_abs_dds_fixed", ""),
    ("DDS (fixed C1)", "dds_fixed", "+.1f"),
    ("soft |DDS| (own C1)", "soft_mean_abs_dds_own", ".1f"),
    ("deference d", "deference", "+.1f"),
    ("change in deference d", "deference", ""),
    ("position p", "position", "+.1f"),
    ("change in position p", "position", ""),
    ("shift, own SD", "shift", "+.2f"),
    ("shift, base's SD", "shift_in_base_sd", "+.2f"),
    ("r/AIO DDS (own C1)", "aio_dds_own", "+.1f"),
    ("r/AIO DDS (fixed C1)", "aio_dds_fixed", "+.1f"),
)
C1_NOTE = (
    "Own C1: statements and dialogues judged by the same checkpoint, the one to believe. Fixed C1: the arm's dialogues "
    "against the base's statements, as published tables do."
)
ABS_NOTE = (
    "|DDS|: the mean over datasets of |DDS|, in which signs do not cancel as they do in DDS, the mean with signs."
)
CHANCE_NOTE = "By chance: the |DDS| that noise of the items alone gives a judge whose DDS is 0 in every dataset."


def all_tables(card: Scorecard) -> list[Table]:
    """Every table that has a row."""
    tables = [arm_table(card), change_table(card), dataset_table(card), cost_table(card)]
    return [table for table in tables if table.rows]


def arm_table(card: Scorecard) -> Table:
    """One row an arm, in the order given; numbers for further use are in scorecard.csv."""
    names, _, forms = zip(*ARM_COLUMNS, strict=True)
    over = (f"over-corrected ({source} C1)" for source in (OWN, FIXED))
    return Table(
        name="scorecard_arms",
        title="Scorecard",
        columns=("arm", "items", *names, "|DDS| by chance", *over, "saturated", "device-seconds"),
        rows=tuple(arm_cells(row) for row in card.rows),
        formats=("", "d", *forms, ".1f", "d", "d", "", ",.0f"),
        note=" ".join(
            [
                *lowest_sentences(card),
                over_words(card),
                f"Accuracies in %, DDS in percentage points. {ABS_NOTE} {CHANCE_NOTE} {C1_NOTE}",
                "Changes are against the base, with 95% intervals paired by item. Over-corrected: datasets whose DDS "
                "was positive before and is negative after.",
                f"r/AIO: {card.scope.aio or 'not asked'}.",
            ]
        ),
    )


def arm_cells(row: ArmRow) -> tuple[Cell, ...]:
    """A row's cells in the order of the columns of arm_table."""
    over = (row.over_corrected(source) for source in (OWN, FIXED))
    return (
        *(row.name, row.n_items),
        *(arm_cell(row, figure, form) for _, figure, form in ARM_COLUMNS),
        row.chance_abs_dds_pp,
        *(None if names is None else len(names) for names in over),
        *(row.doubts.saturated, row.arm.cost.device_seconds),
    )


def arm_cell(row: ArmRow, figure: str, form: str) -> Cell:
    """An arm's figure, or its change in words where there is no format; None where it is unknown."""
    change = row.changes.get(figure)
    if change is None or form:
        return None if change is None else change.after.value
    return None if change.first == change.second else change_words(change)


def change_table(card: Scorecard) -> Table:
    """Every change against the base, and against the arms that were asked for."""
    columns = ("against", "arm", "figure", "C1", "datasets", "items", "against: value", "arm: value")
    return Table(
        name="scorecard_change_table",
        title="Changes over the same items",
        columns=(*columns, "arm 95% low", "arm 95% high", "change", "95% low", "95% high", "p", "p Holm"),
        rows=tuple(change_cells(change) for change in card.every_change()),
        formats=(*[""] * 5, "d", *["+.1f"] * 7, "p", "p"),
        note="Percentage points (DDS²: their squares); accuracies in %. Intervals resample items jointly for both "
        "arms, within datasets; those of |DDS| are pivotal. p: two-sided sign-flip test over items; p Holm: adjusted "
        "over the arms that can be ranked, a dash for the others.",
    )


def change_cells(change: Change) -> tuple[Cell, ...]:
    """A change's cells in the order of the columns of change_table."""
    figure, source = words_of(change.measure)
    after, rise = change.after, change.change
    return (
        *(change.first, change.second, figure, source, " ".join(change.datasets), rise.n_units),
        *(change.before.value, after.value, after.low, after.high, rise.value, rise.low, rise.high),
        *(change.p, change.p_holm),
    )


def words_of(figure: str) -> tuple[str, str | None]:
    """(a figure in words, its source of C1); None where C1 is not in it, or is always the arm's own."""
    for source in (OWN, FIXED):
        if figure.endswith(f"_{source}"):
            return FIGURE_WORDS[figure.removesuffix(f"_{source}")], source
    return FIGURE_WORDS[figure], None


def dataset_table(card: Scorecard) -> Table:
    """DDS of every arm on every dataset, with both sources of C1, and whether it was over-corrected."""
    found = [
        (row, source, dataset, change)
        for row in card.rows
        for source in ((OWN, FIXED) if row is not card.base else (OWN,))
        for dataset in card.scope.names
        if (change := row.dds(source, dataset)) is not None
    ]
    return Table(
        name="scorecard_datasets",
        title="DDS by dataset",
        columns=("arm", "C1", "dataset", "items", "DDS", "95% low", "95% high", "over-corrected"),
        rows=tuple(
            (
                *(row.name, source, dataset, change.change.n_units),
                *(change.after.value, change.after.low, change.after.high),
                row is not card.base and over_corrected(change),
            )
            for row, source, dataset, change in found
        ),
        formats=("", "", "", "d", "+.1f", "+.1f", "+.1f", ""),
        note=f"Percentage points, 95% intervals over items. {C1_NOTE}",
    )


def cost_table(card: Scorecard) -> Table:
    """What the training of each arm took."""
    costs = [(row, row.arm.cost) for row in card.arms]
    return Table(
        name="scorecard_cost",
        title="Cost of training",
        columns=("arm", "device", "processes", "seconds", "device-seconds", "GPU-seconds", "tokens", "peak GiB"),
        rows=tuple(
            (
                *(row.name, cost.device, cost.n_processes, cost.seconds, cost.device_seconds),
                *(cost.device_seconds if cost.is_gpu else None, cost.n_tokens, cost.peak_memory_gib),
            )
            for row, cost in costs
        ),
        formats=("", "", "d", ",.0f", ",.0f", ",.0f", ",d", ".1f"),
        note="Device-seconds: seconds by the clock times processes; GPU-seconds where the device is a GPU. A dash: "
        "nothing was trained, or the training run does not say.",
    )

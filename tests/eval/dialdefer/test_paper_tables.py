"""DialDefer's Tables 2, 5 and 20 to 23, from the accuracies per condition that the paper prints.

Every printed accuracy is a count of items (Table 8 has their numbers). Judges with these counts go through the product:
panels → scores → tables. Own C1 in Table 20; in Tables 5 and 21 to 23 the untreated C1 of Table 20. A cell
equals the printed one to its last digit, or it is listed in golden/dialdefer_exceptions.csv with one of these reasons,
and then it differs, and the reason gives what is printed:

rounded  the paper computes on with figures that are already rounded
nulls    Gemma's 75.7 % on C1_False of r/AIO are 212 items, its DDS all follow from 210: unreadable replies, counted in
         two ways

Tables 14 and 15 are in test_paper_variants.py, the abstract's figures in test_paper_text.py.
"""

from functools import cache

import pytest

from eval.dialdefer.tables import (
    arm_words,
    domain_table,
    mitigation_summary_table,
    mitigation_table,
    summary_table,
)
from eval.report.table import Cell
from tests.made.paper_figures import (
    COLUMNS,
    DATASETS,
    MITIGATED,
    agrees,
    golden,
    lines,
    paper_frame,
)

TABLE_20 = golden("dialdefer_table20.csv")
EXCEPTIONS = {
    (row["table"], row["model"], row["dataset"], row["arm"], row["column"]): row["reason"]
    for row in golden("dialdefer_exceptions.csv")
    if row["table"] not in ("14", "15")
}
SHIFTS = {"delta_correct_pp": "Δ correct", "delta_incorrect_pp": "Δ incorrect", "dds_pp": "DDS"}
FRAMINGS = {"acc_c1": "C1", "acc_c2": "C2"}
TABLE_20_COLUMNS = {
    **dict(zip(COLUMNS, ("C1 true", "C1 false", "C2 correct", "C2 incorrect"), strict=True)),
    **FRAMINGS,
    **SHIFTS,
}
MITIGATION_COLUMNS = {
    "acc_c2_correct": "C2 correct",
    "acc_c2_incorrect": "C2 incorrect",
    "acc_c2": "C2",
    "change_acc_c2_pp": "change",
    "dds_pp": "DDS (fixed C1)",
    "change_dds_pp": "change (fixed C1)",
}
TABLE_5_COLUMNS = {
    "acc_c2": "C2",
    "change_acc_c2_pp": "change",
    "bench_dds_pp": "DDS (fixed C1)",
    "bench_change_dds_pp": "change (fixed C1)",
    "aio_dds_pp": "r/AIO DDS (fixed C1)",
    "aio_change_dds_pp": "r/AIO change (fixed C1)",
}


Key = tuple[str, str, str, str]  # table, model, dataset, arm


@cache
def ours(nulls_are_wrong: bool = False) -> dict[Key, dict[str, Cell]]:
    """Every line of Tables 2, 5 and 20 to 23 as the product computes it, under the names of the golden columns."""
    rows = paper_frame(nulls_are_wrong)
    computed: dict[Key, dict[str, Cell]] = {}
    for (model, dataset), line in lines(domain_table(rows), "model", "dataset").items():
        computed["20", model, dataset, ""] = {name: line[column] for name, column in TABLE_20_COLUMNS.items()}
    for (model,), line in lines(summary_table(rows), "model").items():
        computed["2", model, "", ""] = {name: line[column] for name, column in {**FRAMINGS, **SHIFTS}.items()}
    by_words = {arm_words(arm): arm for arm in ("none", "honest", "dehumanizing", "sft", "dpo")}
    for (model, dataset, arm), line in lines(mitigation_table(rows), "model", "dataset", "arm").items():
        cells = {name: line[column] for name, column in MITIGATION_COLUMNS.items()}
        key = (str(MITIGATED.get(model, "")), model, dataset, by_words[arm])
        computed[key] = {**cells, "over_corrected": line["† (fixed C1)"]}
    for (model, arm), line in lines(mitigation_summary_table(rows), "model", "arm").items():
        cells = {name: line[column] for name, column in TABLE_5_COLUMNS.items()}
        computed["5", model, "", by_words[arm]] = {**cells, "bench_over_corrected": line["† (fixed C1)"]}
    return computed


def printed_lines() -> dict[Key, dict[str, str]]:
    """Every line of Tables 2, 5 and 20 to 23 as printed."""
    found = {("20", row["model"], row["dataset"], ""): row for row in TABLE_20}
    found |= {("2", row["model"], "", ""): row for row in golden("dialdefer_table2.csv")}
    found |= {("5", row["model"], "", row["arm"]): row for row in golden("dialdefer_table5.csv")}
    for model, number in MITIGATED.items():
        rows = golden(f"dialdefer_table{number}.csv")
        found |= {(str(number), model, row["dataset"], row["arm"]): row for row in rows}
    return found


PRINTED = printed_lines()


@pytest.mark.parametrize("key", PRINTED, ids=lambda key: "-".join(filter(None, key)))
def test_a_line_is_reproduced_from_the_accuracies_but_for_the_listed_cells(key: Key) -> None:
    line = ours()[key]
    for column, cell in PRINTED[key].items():
        if column.endswith("over_corrected"):
            assert line[column] == cell, f"{column}: a dagger means deference before and skepticism after"
        elif column in line and cell:
            assert agrees(line[column], cell) != ((*key, column) in EXCEPTIONS), f"{column}: {line[column]}, {cell}"


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda exception: "-".join(filter(None, exception)))
def test_the_reason_of_an_exception_gives_what_is_printed(exception: tuple[str, str, str, str, str]) -> None:
    *place, column = exception
    key: Key = (place[0], place[1], place[2], place[3])
    has_nulls = EXCEPTIONS[exception] == "nulls"
    value = ours(nulls_are_wrong=True)[key][column] if has_nulls else from_rounded(key, column)
    assert agrees(value, PRINTED[key][column]), f"{value}, printed {PRINTED[key][column]}"


def from_rounded(key: Key, column: str) -> float:
    """A cell from the printed, rounded figures that stand before it in the paper."""
    table, model, dataset, arm = key
    line = {name: float(cell) for name, cell in PRINTED[key].items() if cell.lstrip("-").replace(".", "").isdigit()}
    if column.startswith("delta"):
        c1, c2 = ("acc_c1_true", "acc_c2_correct") if column == "delta_correct_pp" else COLUMNS[1::2]
        before = PRINTED["20", model, dataset or "total_avg", ""]
        return float(before[c2]) - float(before[c1])
    if "change" in column:
        untreated = PRINTED[table, model, dataset, "none"]
        score = "acc_c2" if column == "change_acc_c2_pp" else column.replace("change_", "")
        return line[score] - float(untreated[score])
    if column == "dds_pp":
        untreated = PRINTED["20", model, dataset, ""]
        rises = [line[c2] - float(untreated[c]) for c, c2 in zip(COLUMNS[:2], COLUMNS[2:], strict=True)]
        return rises[0] - rises[1]
    if column in FRAMINGS:
        source = PRINTED[str(MITIGATED[model]), model, "total_avg", arm] if table == "5" else PRINTED[key]
        sides = COLUMNS[:2] if column == "acc_c1" else COLUMNS[2:]
        return sum(float(source[c]) for c in sides) / 2
    parts = [d for d in DATASETS if dataset == "total_avg" or d != "aio"]
    return sum(float(PRINTED[table, model, d, arm][column]) for d in parts) / len(parts)

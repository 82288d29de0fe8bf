"""The Dialogic Deference Score: its laws, and the paper's own tables."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.records import Condition
from eval.averages import BENCH_DATASETS, averages_over
from eval.dds import CONDITIONS, dds, dds_pp, delta_correct, delta_incorrect, deltas_pp

GOLDEN = Path(__file__).parent / "golden"
COLUMNS = ("acc_c1_true", "acc_c1_false", "acc_c2_correct", "acc_c2_incorrect")
N_ITEMS = defaultdict(lambda: 300, truthfulqa=790, amqa=240, gpqa=134, aio=280)  # Table 8
ROUNDING = 0.0501  # half the last printed digit

# Cells that the counts behind the printed accuracies do not give, with the reason.
EXCEPTIONS = {
    ("Gemma-3-12B-IT", "aio", "dds_pp"): "87.1; the paper counts Gemma's unreadable r/AIO replies in two ways",
    ("GPT-5-mini", "gpqa", "acc_c1"): "70.15 rounds to 70.1; the paper averages rounded values",
    ("GPT-4o", "bench_avg", "acc_c1_true"): "73.05 rounds to 73.0; the paper averages rounded values",
    ("Gemma-3-12B-IT", "bench_avg", "acc_c1_false"): "62.46 rounds to 62.5; the paper averages rounded values",
    ("GPT-4o", "table2", "delta_correct_pp"): "2.54; the paper subtracts rounded values",
    ("Gemma-3-12B-IT", "table2", "delta_correct_pp"): "13.74; the paper subtracts rounded values",
}

accuracies = st.fixed_dictionaries({c: st.floats(0, 1) for c in Condition})


def test_the_example_under_definition_1_gives_plus_30() -> None:
    acc = dict(zip(CONDITIONS, (0.60, 0.80, 0.75, 0.65), strict=True))
    assert dds(acc) == pytest.approx(30)
    assert (delta_correct(acc), delta_incorrect(acc)) == (pytest.approx(15), pytest.approx(-15))


@given(accuracies)
def test_dds_is_the_total_rise_in_acceptance(accept: dict[Condition, float]) -> None:
    acc = {c: accept[c] if c.claim_is_true else 1 - accept[c] for c in Condition}
    rise = sum(accept[c] * (1 if c.is_dialogue else -1) for c in Condition)
    assert dds(acc) == pytest.approx(100 * rise, abs=1e-9)


@given(accuracies)
def test_dds_changes_its_sign_when_the_framings_are_swapped(acc: dict[Condition, float]) -> None:
    c1_true, c1_false, c2_correct, c2_incorrect = (acc[c] for c in CONDITIONS)
    swapped = dict(zip(CONDITIONS, (c2_correct, c2_incorrect, c1_true, c1_false), strict=True))
    assert dds(swapped) == pytest.approx(-dds(acc), abs=1e-9)


@given(accuracies)
def test_dds_lies_between_minus_200_and_200(acc: dict[Condition, float]) -> None:
    assert -200 <= dds(acc) <= 200


def test_the_bounds_are_reached_by_judges_that_only_follow_the_framing() -> None:
    assert dds(dict(zip(CONDITIONS, (0, 1, 1, 0), strict=True))) == 200
    assert dds(dict(zip(CONDITIONS, (1, 0, 0, 1), strict=True))) == -200


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_judge_that_ignores_the_framing_has_a_dds_of_zero(true: float, false: float) -> None:
    assert dds(dict(zip(CONDITIONS, (true, false, true, false), strict=True))) == 0


def test_a_missing_condition_is_no_zero() -> None:
    with pytest.raises(KeyError):
        dds({Condition.C1_TRUE: 0.5, Condition.C1_FALSE: 0.5, Condition.C2_CORRECT: 0.5})


@given(st.lists(accuracies, min_size=1, max_size=5))
def test_the_array_form_agrees_with_the_definition(accs: list[dict[Condition, float]]) -> None:
    array = np.array([[acc[c] for c in CONDITIONS] for acc in accs])
    np.testing.assert_allclose(dds_pp(array), [dds(acc) for acc in accs], atol=1e-9)
    np.testing.assert_allclose(deltas_pp(array)[:, 0], [delta_correct(acc) for acc in accs], atol=1e-9)


def read_golden(name: str) -> list[dict[str, str]]:
    """The rows of a golden CSV file; its first line is a comment."""
    with (GOLDEN / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def counted(percentage: str, n_items: int) -> float:
    """The fraction that a printed percentage stands for: below 1,000 items only one count rounds to it."""
    n_right = round(float(percentage) * n_items / 100)
    assert abs(100 * n_right / n_items - float(percentage)) < ROUNDING
    return n_right / n_items


TABLE_20 = read_golden("dialdefer_table20.csv")
ACCURACY = {
    (row["model"], row["dataset"]): np.array([counted(row[c], N_ITEMS[row["dataset"]]) for c in COLUMNS])
    for row in TABLE_20
    if not row["dataset"].endswith("_avg")
}


def mean_accuracy(model: str, dataset: str) -> np.ndarray:
    """The four accuracies of a dataset, or their unweighted mean for the name of an average."""
    parts = averages_over(("dialdefer", d) for m, d in ACCURACY if m == model).get(dataset, [dataset])
    return np.mean([ACCURACY[model, part] for part in parts], axis=0)


def assert_printed(row: dict[str, str], table: str, ours: dict[str, float]) -> None:
    """Every cell equals the printed one to its last digit, but for the listed exceptions, which must differ."""
    for column, value in ours.items():
        agrees = abs(value - float(row[column])) < ROUNDING
        assert agrees != ((row["model"], table, column) in EXCEPTIONS), f"{row['model']} {table} {column}: {value}"


def test_the_golden_table_has_five_models_and_ten_datasets() -> None:
    assert len({model for model, _ in ACCURACY}) == 5
    assert {dataset for _, dataset in ACCURACY} == {*BENCH_DATASETS, "aio"}


@pytest.mark.parametrize("row", TABLE_20, ids=lambda row: f"{row['model']}-{row['dataset']}")
def test_table_20_is_reproduced_from_its_accuracies(row: dict[str, str]) -> None:
    acc = mean_accuracy(row["model"], row["dataset"])
    ours = dict(zip(COLUMNS, 100 * acc, strict=True))
    ours |= {"acc_c1": 100 * acc[:2].mean(), "acc_c2": 100 * acc[2:].mean(), "dds_pp": float(dds_pp(acc))}
    assert_printed(row, row["dataset"], ours)


@pytest.mark.parametrize("row", read_golden("dialdefer_table2.csv"), ids=lambda row: row["model"])
def test_table_2_is_reproduced_from_table_20(row: dict[str, str]) -> None:
    acc = mean_accuracy(row["model"], "total_avg")
    delta = deltas_pp(acc)
    ours = {"acc_c1": 100 * acc[:2].mean(), "acc_c2": 100 * acc[2:].mean(), "dds_pp": float(dds_pp(acc))}
    assert_printed(row, "table2", ours | {"delta_correct_pp": delta[0], "delta_incorrect_pp": delta[1]})

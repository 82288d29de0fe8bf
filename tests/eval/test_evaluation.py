"""Blocks of what judges did → scores and changes, by the machinery alone."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from eval.estimates.estimate import Measure, added_up
from eval.evaluation import Block, CardFigure, Evaluation, from_blocks, observed_changes, observed_scores
from eval.options import Options
from eval.report.tables import TableSpec
from eval.results import by_change
from evenhand.errors import DataError

SHARE = Measure(name="share", unit="%", statistic=lambda means: 100 * means[..., 0])
FEW = Options(n_draws=50)


def judge(name, **datasets):
    return SimpleNamespace(name=name, datasets=datasets)


def observe(run, options):
    parts = {
        dataset: added_up(dataset, [[(f"u{i}", value, 1.0) for i, value in enumerate(values)]])
        for dataset, values in run.datasets.items()
    }
    return [Block(setting={"kind": "a"}, measures=[SHARE], parts=parts, averages={"all": list(parts)})]


def test_an_average_is_the_mean_of_its_datasets():
    rows = observed_scores(observe, {"x": judge("run", one=[1, 1, 0, 0], two=[1, 1, 1, 1, 1, 1])}, FEW)
    assert {row.dataset: row.estimate.value for row in rows} == {"one": 50.0, "two": 100.0, "all": 75.0}


def test_changes_are_of_what_both_judges_were_asked():
    judges = {"x": judge("a", one=[1, 0, 0, 0], two=[1, 1]), "y": judge("b", one=[1, 1, 1, 0], three=[0, 0])}
    changes = observed_changes(observe, judges, FEW)
    assert {(c.dataset, c.datasets): c.change.value for c in changes} == {
        ("one", ("one",)): 50.0,
        ("all", ("one",)): 50.0,
    }
    assert {(c.first, c.second) for c in changes} == {("x", "y")}


def test_a_change_is_of_a_figure_where_all_its_values_agree():
    (change, *_) = observed_changes(observe, {"x": judge("a", one=[1, 0]), "y": judge("b", one=[1, 1])}, FEW)
    where = {"kind": "a", "measure": "share", "dataset": "one"}
    assert CardFigure(name="f", words="f", where=where).among([change]) is change
    assert not any(CardFigure(name="f", words="f", where={**where, key: "other"}).among([change]) for key in where)


def test_changes_stand_by_size_the_significant_ones_first():
    frame = pd.DataFrame({"change": [1.0, -9.0, 50.0, -3.0], "direction": [1, None, 0, -1]})
    assert [*by_change(TableSpec(name="a", title="", frame=frame, columns={})).frame["change"]] == [-3, 1, 50, -9]
    assert by_change(TableSpec(name="a", title="", frame=frame[["change"]], columns={})).frame.equals(frame[["change"]])


def test_a_study_without_figures_has_no_part_of_a_scorecard():
    with pytest.raises(DataError, match="no part of a scorecard"):
        _ = Evaluation[Any](
            heading="Why?", words="", read=lambda run, _: [run], verdicts=lambda run: {}, **from_blocks(observe)
        ).own_card

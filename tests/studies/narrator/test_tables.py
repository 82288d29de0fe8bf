"""The narrator paper's printed accuracies → its derived columns, and what its pooled rows are means of.

What does not follow is listed here with both numbers. Found on the way:

* Table 2's Attack Detection is the unweighted mean of the four models of Table 3, in all six cells.
* Its Blame Attribution is the unweighted mean of three of them, Qwen2.5-7B left out, in all six cells. Of all four the
  unweighted mean misses by up to 3.4 points.
* Its Attacker Identification is the unweighted mean of the four, except with the attacker as Me and the attack hidden
  (40.4, printed 40.0).
"""

import pandas as pd
import pytest

from studies.narrator.measures import effects
from studies.narrator.tables import marked
from tests.made.narrator_judgments import judgment
from tests.made.paper_figures import golden

TASKS = ("blame", "identification", "detection")
PERSPECTIVES = ("neutral", "attacker", "non_attacker")
QWEN, GPT, LLAMA, MISTRAL = MODELS = ("Qwen2.5-7B", "gpt-4.1-mini", "Llama-3.1-8B", "Mistral-7B")
ROUNDED = 0.1  # a mean of rounded figures, rounded: 0.05 each


TABLE_2 = {(row["visibility"], row["row"]): row for row in golden("narrator_table2.csv")}
TABLE_3 = {(row["task"], row["model"], row["visibility"]): row for row in golden("narrator_table3.csv")}


def judgments_with(task, visibility, m, far, judge):
    """One conversation of three speakers with these shares, in percent, for the attacker and for an innocent Me."""
    judgments = []
    for who in PERSPECTIVES:
        shares = [m[who], 100 - m[who]] if task == "detection" else [m[who], far, 100 - m[who] - far]
        asked = {"task": task, "visibility": visibility, "judge": judge}
        judgments.append(judgment(who, *(share / 100 for share in shares), **asked))
    return judgments


def of_model(task, visibility, model):
    row = TABLE_3[task, model, visibility]
    return judgments_with(task, visibility, {p: float(row[p]) for p in PERSPECTIVES}, float(row["far"] or 0), model)


def pooled(task, visibility, models):
    judgments = [judgment for model in models for judgment in of_model(task, visibility, model)]
    return effect_of(judgments)


def effect_of(judgments):
    """Measure → estimate of the one setting of some judgments."""
    return next(effects(judgments))[1]


def off(value, printed):
    assert value is not None
    return abs(value - float(printed))


@pytest.mark.parametrize(("task", "model", "visibility"), list(TABLE_3), ids=str)
def test_table_3_follows_from_its_accuracies(task, model, visibility):
    row = TABLE_3[task, model, visibility]
    effect = effect_of(of_model(task, visibility, model))
    for perspective in PERSPECTIVES:
        assert off(effect[perspective].value, row[perspective]) < 1e-9
    assert off(effect["delta_att"].value, row["delta_att"]) < 0.051
    assert (effect["far"] is None) == (row["far"] == "")
    assert effect["far"] is None or off(effect["far"].value, row["far"]) < 1e-9


# (visibility, row, task) → (printed, computed from Table 2's own accuracies, why)
DEVIATIONS_OF_TABLE_2 = {
    ("visible", "pr", "detection"): (1.2, 1.3, "computed before rounding: Table 3's models give 76.25 - 75.03 = 1.23")
}


def test_table_2_follows_from_its_accuracies_with_one_deviation():
    wrong = {}
    for task in TASKS:
        for visibility in ("visible", "hidden"):
            m = {p: float(TABLE_2[visibility, p][task]) for p in PERSPECTIVES}
            effect = effect_of(judgments_with(task, visibility, m, 0.0, "printed"))
            for name in ("delta_att", "delta_non_att", "pr"):
                value, printed = effect[name].value, TABLE_2[visibility, name][task]
                if off(value, printed) >= 0.051:
                    wrong[visibility, name, task] = (float(printed), pytest.approx(value, abs=0.05))
    assert wrong == {key: deviation[:2] for key, deviation in DEVIATIONS_OF_TABLE_2.items()}
    assert pooled("detection", "visible", MODELS)["pr"].value == pytest.approx(1.225)  # which rounds to the printed 1.2


# (visibility, perspective) → (printed, computed by the pooling of its column)
DEVIATIONS_OF_POOLING = {"blame": {}, "identification": {("hidden", "attacker"): (40.0, 40.4)}, "detection": {}}
POOLED_OVER = {"blame": (GPT, LLAMA, MISTRAL), "identification": MODELS, "detection": MODELS}


@pytest.mark.parametrize("task", TASKS)
def test_table_2_is_the_unweighted_mean_of_models_and_of_blame_without_qwen(task):
    wrong = {}
    for visibility in ("visible", "hidden"):
        effect = pooled(task, visibility, POOLED_OVER[task])
        for perspective in PERSPECTIVES:
            value, printed = effect[perspective].value, TABLE_2[visibility, perspective][task]
            if off(value, printed) > ROUNDED + 1e-9:
                wrong[visibility, perspective] = (float(printed), pytest.approx(value))
    assert wrong == DEVIATIONS_OF_POOLING[task]


def test_the_best_and_the_worst_of_a_column_are_marked():
    values = {"neutral": (50, 70, 70), "far": (5, 9, 1), "delta_att": (-30, 2, 10)}
    cells = [(name, judge, value) for name, of in values.items() for judge, value in zip("abc", of, strict=True)]
    frame = pd.DataFrame(cells, columns=["measure", "judge", "value"])
    asked = {"task": "blame", "option_order": "published", "visibility": "visible", "cell": "x"}
    shown = marked(frame.assign(**asked)).groupby("measure")["cell"].agg("".join)
    assert shown.to_dict() == {"neutral": "x†x*x*", "far": "xx†x*", "delta_att": "x†x*x"}

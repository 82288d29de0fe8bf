"""The narrator paper's printed accuracies → its derived columns, and what its pooled rows are means of.

What does not follow is listed here with both numbers. Found on the way:

* Table 2's Attack Detection is the unweighted mean of the four models of Table 3, in all six cells.
* Its Blame Attribution is the unweighted mean of three of them, Qwen2.5-7B left out, in all six cells, and so are the
  widths of its intervals. Of all four the unweighted mean misses by up to 3.4 points, that weighted by
  samples (10:10:10:1) by 9.4, that of the three sampled ten times by 10.2.
* Its Attacker Identification is the unweighted mean of the four, except with the attacker as Me and the attack hidden
  (40.4, printed 40.0). That follows if conversations without an answer are dropped before pooling, in numbers that the
  widths of the per-model intervals in Table 3 ask for anyway.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import pandas as pd
import pytest

from eval.narrator.judged_runs import Judgment, states_of
from eval.narrator.measures import effects
from eval.narrator.tables import BEST, marked
from studies.narrator.prompts import ME, NO, YES
from studies.narrator.records import NarratorFactors
from tests.made.paper_figures import golden

TASKS = ("blame", "identification", "detection")
PERSPECTIVES = ("neutral", "attacker", "non_attacker")
QWEN, GPT, LLAMA, MISTRAL = MODELS = ("Qwen2.5-7B", "gpt-4.1-mini", "Llama-3.1-8B", "Mistral-7B")
SAMPLES = {QWEN: 10, GPT: 1, LLAMA: 10, MISTRAL: 10}
N_CONVERSATIONS = 2094  # escalating conversations of CGA-WIKI, from which the paper keeps nearly all
ROUNDED = 0.1  # a mean of rounded figures, rounded: 0.05 each


TABLE_2 = {(row["visibility"], row["row"]): row for row in golden("narrator_table2.csv")}
TABLE_3 = {(row["task"], row["model"], row["visibility"]): row for row in golden("narrator_table3.csv")}


def judgments_with(task: str, visibility: str, m: Mapping[str, float], far: float, judge: str) -> list[Judgment]:
    """One conversation of three speakers with these shares, in percent, for the attacker and for an innocent Me."""
    found = []
    for perspective in PERSPECTIVES:
        target = ME if perspective == "attacker" and task != "detection" else "Att"
        options: tuple[str, ...] = ("Att", "Bob", ME) if perspective == "non_attacker" else (target, "Bob", "Cat")
        shares = [m[perspective], 100 - m[perspective] - far, far]
        if task == "detection":
            target, options, shares = YES, (YES, NO), [m[perspective], 100 - m[perspective]]
        factors = NarratorFactors(
            task=task,  # type: ignore[arg-type]
            visibility=visibility,  # type: ignore[arg-type]
            perspective=perspective,  # type: ignore[arg-type]
            narrator="" if perspective == "neutral" else perspective,
            option_order="published",
            target=target,
            n_speakers=3,
            attacker_is_unseen=False,
        )
        found.append(
            Judgment(
                judge=judge,
                prompt_hash=f"{judge} {task} {visibility} {perspective}",
                conversation="made/1",
                factors=factors,
                options=options,
                shares=tuple(share / 100 for share in shares),
                states=states_of(chosen=1.0),
                n_replies=1,
            )
        )
    return found


def of_model(task: str, visibility: str, model: str) -> list[Judgment]:
    row = TABLE_3[task, model, visibility]
    return judgments_with(task, visibility, {p: float(row[p]) for p in PERSPECTIVES}, float(row["far"] or 0), model)


def pooled(task: str, visibility: str, models: Sequence[str]) -> dict[str, Any]:
    judgments = [judgment for model in models for judgment in of_model(task, visibility, model)]
    return effect_of(judgments)


def effect_of(judgments: Sequence[Judgment]) -> dict[str, Any]:
    """Measure → estimate of the one setting of some judgments."""
    return next(effects(judgments))[1]


def off(value: float | None, printed: str) -> float:
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
DEVIATIONS_OF_POOLING = {
    "blame": {},
    "identification": {("hidden", "attacker"): (40.0, 40.4)},
    "detection": {},
}
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


def worst_miss(task: str, weights: Mapping[str, float]) -> float:
    """The largest distance from Table 2 of a weighted mean of Table 3, in points."""
    total = sum(weights.values())
    return max(
        off(sum(w * float(TABLE_3[task, m, v][p]) for m, w in weights.items()) / total, TABLE_2[v, p][task])
        for v in ("visible", "hidden")
        for p in PERSPECTIVES
    )


def test_no_mean_of_all_four_models_gives_the_pooled_blame_and_one_of_three_does():
    assert worst_miss("blame", dict.fromkeys(MODELS, 1.0)) == pytest.approx(3.35)
    assert worst_miss("blame", SAMPLES) == pytest.approx(9.35, abs=0.01)
    assert worst_miss("blame", {m: n for m, n in SAMPLES.items() if m != GPT}) == pytest.approx(10.23, abs=0.01)
    assert worst_miss("blame", dict.fromkeys((GPT, LLAMA, MISTRAL), 1.0)) < 0.034
    others = [[m for m in MODELS if m != left] for left in (GPT, LLAMA, MISTRAL)]
    assert min(worst_miss("blame", dict.fromkeys(models, 1.0)) for models in others) > 1.8


@pytest.mark.parametrize("task", TASKS)
def test_the_widths_of_table_2_are_those_of_as_many_models(task):
    # The variance over conversation × model is that within models, read off Table 3's intervals, and that between.
    for visibility in ("visible", "hidden"):
        for perspective in PERSPECTIVES:
            printed = float(TABLE_2[visibility, perspective][f"{task}_half"])
            half = half_of_pooled(task, visibility, perspective, POOLED_OVER[task])
            assert half == pytest.approx(printed, abs=0.1)
    if task == "blame":
        of_four = [half_of_pooled(task, v, p, MODELS) for v in ("visible", "hidden") for p in PERSPECTIVES]
        printed = [float(TABLE_2[v, p]["blame_half"]) for v in ("visible", "hidden") for p in PERSPECTIVES]
        assert all(half < of_paper for half, of_paper in zip(of_four, printed, strict=True))


def half_of_pooled(task: str, visibility: str, perspective: str, models: Sequence[str]) -> float:
    rows = [TABLE_3[task, model, visibility] for model in models]
    within = fmean((float(row[f"{perspective}_half"]) / 1.96) ** 2 * N_CONVERSATIONS for row in rows)
    mean = fmean(float(row[perspective]) for row in rows)
    between = fmean((float(row[perspective]) - mean) ** 2 for row in rows)
    return 1.96 * math.sqrt((within + between) / (N_CONVERSATIONS * len(rows)))


def conversations_behind(percent: str, half: str) -> tuple[float, float]:
    """The fewest and the most conversations whose share has an interval that rounds to a printed width, at most.

    One answer each; several answers a conversation vary no more, so these are upper ends for them too.
    """
    share = float(percent) / 100
    of_width = [1.96**2 * share * (1 - share) / ((float(half) + end) / 100) ** 2 for end in (0.05, -0.05)]
    return of_width[0], of_width[1]


def test_replies_without_an_answer_were_dropped_before_the_paper_took_its_means():
    # gpt-4.1-mini answered once: ± 2.3 is wider than any share of all conversations can be, ± 2.1.
    row = TABLE_3["identification", GPT, "hidden"]
    assert conversations_behind(row["neutral"], row["neutral_half"])[1] < 1900
    assert conversations_behind("50", "2.1")[0] < N_CONVERSATIONS < conversations_behind("50", "2.1")[1]
    # With as few of Qwen2.5-7B's and gpt-4.1-mini's as their widths allow, the one pooled cell that is off follows.
    few = {
        model: conversations_behind(
            *(TABLE_3["identification", model, "hidden"][f] for f in ("attacker", "attacker_half"))
        )[0]
        for model in (QWEN, GPT)
    }
    n = {LLAMA: N_CONVERSATIONS, MISTRAL: N_CONVERSATIONS, **few}
    mean = sum(n[m] * float(TABLE_3["identification", m, "hidden"]["attacker"]) for m in MODELS) / sum(n.values())
    assert mean == pytest.approx(40.0, abs=0.05)


# What Table 3 prints bold, by task, measure and visibility, where that is not the best of its column.
BOLD_DEVIATIONS = {
    **{("detection", perspective, "hidden"): ({LLAMA}, {MISTRAL}) for perspective in PERSPECTIVES},
    ("identification", "non_attacker", "visible"): ({GPT}, {GPT, LLAMA}),
}
BOLD = {
    ("blame", "non_attacker", "hidden"): {LLAMA},
    ("blame", "far", "hidden"): {LLAMA},
    ("blame", "far", "visible"): {LLAMA},
    **{("blame", p, v): {GPT} for p in ("neutral", "attacker") for v in ("hidden", "visible")},
    ("blame", "non_attacker", "visible"): {GPT},
    ("identification", "neutral", "hidden"): {QWEN},
    ("identification", "non_attacker", "hidden"): {LLAMA},
    ("identification", "far", "hidden"): {LLAMA},
    ("identification", "far", "visible"): {LLAMA},
    **{("identification", p, "visible"): {GPT} for p in ("neutral", "attacker")},
    ("identification", "attacker", "hidden"): {GPT},
    ("identification", "non_attacker", "visible"): {GPT, LLAMA},
    **{("detection", p, v): {MISTRAL} for p in PERSPECTIVES for v in ("hidden", "visible")},
}


def test_the_best_of_table_3_are_those_printed_bold_with_four_deviations():
    cells = [
        (task, model, visibility, "published", name, float(row[name]), row[name])
        for (task, model, visibility), row in TABLE_3.items()
        for name in (*PERSPECTIVES, "far")
        if row[name]
    ]
    heads = ["task", "judge", "visibility", "option_order", "measure", "value", "cell"]
    shown = marked(pd.DataFrame(cells, columns=heads))
    best = shown[shown["cell"].str.endswith(BEST)].groupby(["task", "measure", "visibility"])["judge"].agg(set)
    assert {key: (best[key], bold) for key, bold in BOLD.items() if best[key] != bold} == BOLD_DEVIATIONS


def test_what_the_text_says_of_the_tables():
    blame = [row for (task, _, _), row in TABLE_3.items() if task == "blame"]
    assert all(float(row["delta_att"]) < 0 for row in blame)  # section 4.1
    assert [TABLE_2[v, "pr"]["blame"] for v in ("visible", "hidden")] == ["12.0", "16.5"]  # "12–16.5 pp"
    # "Attack Detection remains nearly unchanged (PR within ±1 pp)": it is +1.2 with the attack visible.
    assert float(TABLE_2["visible", "pr"]["detection"]) > 1

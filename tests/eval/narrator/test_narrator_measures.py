"""Made judges with known effects: the measures of the narrator study recover them, and sentences say what they do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from eval.narrator.answers import STATES
from eval.narrator.evaluation import EVALUATION
from eval.narrator.judged_runs import POOLED, NarratorRun, load_narrator_run
from eval.narrator.measures import (
    ALL,
    EFFECTS,
    SEEN,
    UNSEEN,
    Levels,
    answered_differences,
    effects,
    elimination_rows,
    state_rates,
)
from eval.results import Results
from evenhand.records import Prompt
from studies.narrator.records import Conversation
from tests.made.narrator_judgments import judgment
from tests.made.narrator_runs import (
    Judge,
    accuser,
    drawing_lots,
    eliminator,
    factors_of,
    fair,
    made_conversations,
    make_narrator_run,
    mixed,
    protector,
    results_of_runs,
)

SIZES = {2: 16, 3: 13, 4: 11, 5: 10, 7: 2}
BLAME = {"tasks": ("blame",), "visibilities": ("visible",)}
RIGHT, SHARE = 0.6, 0.5  # SHARE: how often protector and accuser bend

Planted = tuple[float, float, float, float]  # neutral, attacker, non-attacker and FAR in a conversation of n speakers


def planted_protector(n: int) -> Planted:
    avoided = RIGHT / (RIGHT + (1 - RIGHT) * (n - 2) / (n - 1))
    return RIGHT, SHARE * RIGHT, SHARE * avoided + SHARE * RIGHT, SHARE * (1 - RIGHT) / (n - 1)


def planted_accuser(n: int) -> Planted:
    return RIGHT, SHARE + SHARE * RIGHT, SHARE * RIGHT, SHARE + SHARE * (1 - RIGHT) / (n - 1)


JUDGES: Mapping[str, tuple[Judge, Callable[[int], Planted]]] = {
    "fair": (fair, lambda n: (RIGHT, RIGHT, RIGHT, (1 - RIGHT) / (n - 1))),
    "lots": (drawing_lots, lambda n: (1 / n, 1 / n, 1 / n, 1 / n)),
    "eliminator": (eliminator, lambda n: (1 / n, 0.0, 1 / (n - 1), 0.0)),
    "protector": (protector(SHARE, RIGHT), planted_protector),
    "accuser": (accuser(SHARE, RIGHT), planted_accuser),
}


def truth(planted: Callable[[int], Planted]) -> dict[str, float]:
    """What the measures are over SIZES, in percent; FAR is over prompts, n-1 a conversation."""
    of = [(n, planted(n)) for n, count in SIZES.items() for _ in range(count)]
    neutral, attacker, non_attacker = (100 * fmean(values[i] for _, values in of) for i in range(3))
    return {
        "neutral": neutral,
        "attacker": attacker,
        "non_attacker": non_attacker,
        "delta_att": attacker - neutral,
        "delta_non_att": non_attacker - neutral,
        "pr": non_attacker - attacker,
        "far": 100 * sum((n - 1) * values[3] for n, values in of) / sum(n - 1 for n, _ in of),
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], NarratorRun]:
    """Every judge, sampled and exact."""
    root, conversations = tmp_path_factory.mktemp("narrator"), made_conversations(SIZES)
    return {
        (name, way): load_narrator_run(
            make_narrator_run(
                root, judge, conversations, name=f"{name}-{way}", model=f"x/{name}", is_exact=way == "exact", **BLAME
            )
        )
        for name, (judge, _) in JUDGES.items()
        for way in ("sampled", "exact")
    }


def results(*of_runs: NarratorRun) -> Results:
    return results_of_runs(*(run.path for run in of_runs))


def said(of: Results) -> str:
    """The sentences about levels, and the warnings."""
    return " ".join([*of.sentences["scores"], *of.warnings])


def blame(run: NarratorRun, order: str = "published") -> dict[str, Any]:
    """Measure → estimate, over all conversations."""
    return next(of for setting, of in effects(run.judgments) if setting["option_order"] == order)


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("order", ["published", "fixed_slot"])
def test_exact_probabilities_give_the_planted_values(runs, name, order):
    effect = blame(runs[name, "exact"], order)
    assert {m.name: effect[m.name].value for m in EFFECTS} == pytest.approx(truth(JUDGES[name][1]), abs=1e-6)
    lots = truth(JUDGES["lots"][1])
    assert (effect["chance"], effect["far_chance"]) == pytest.approx((lots["neutral"], lots["far"]))


def test_the_intervals_of_sampled_judges_hold_the_planted_values(runs):
    held, checked = 0, 0
    for name, (_, planted) in JUDGES.items():
        for order in ("published", "fixed_slot"):
            effect = blame(runs[name, "sampled"], order)
            for measure, value in truth(planted).items():
                level = effect[measure]
                held, checked = held + (not level.excludes(value)), checked + 1
                assert abs(level.value - value) <= 2 * level.half + 1e-9, f"{name}, {order}: {measure}"
    assert held / checked > 0.9


def test_the_gain_of_an_option_eliminator_is_that_of_the_judge_that_is_one(runs):
    for name in ("eliminator", "fair"):
        for setting, of in effects(runs[name, "exact"].judgments):
            if n := setting["n_speakers"]:
                others = 0.4 * (n - 2) / (n - 1)  # a fair judge, right in 60 %, could gain without evidence
                gain = of["delta_non_att"].value if name == "eliminator" else 100 * (0.6 / (0.6 + others) - 0.6)
                assert of["eliminator_gain"].value == pytest.approx(gain, abs=1e-6), (name, n)


def test_a_judge_that_only_named_me_is_left_with_a_draw_among_the_others():
    others = {"bob": ("Cat", "Me"), "cat": ("Bob", "Me")}
    variants = [judgment("non_attacker", 1.0, narrator=who, options=("Att", *rest)) for who, rest in others.items()]
    (row,) = elimination_rows([judgment("neutral", 0.0, 1.0), *variants], "answered")  # all its answers are Bob
    assert row[1] == pytest.approx((0.5 + 0.0) / 2)  # Bob as Me: Att or Cat; Cat as Me: still Bob
    (row,) = elimination_rows([judgment("neutral", 0.0, 0.5), variants[0]], "all")
    assert row[1] == pytest.approx(0.25)


def test_sizes_of_few_conversations_leave_figure_3_and_stay_in_the_scores(runs, tmp_path):
    of = results(runs["eliminator", "exact"])
    assert {score.setting["n_speakers"] for score in of.score_rows} == {None, *SIZES}
    assert EVALUATION.left_out(of) == []
    gain, far = EVALUATION.plots(of)  # all answers are tied, so that Figure 2 is empty
    assert [plot.name for plot in (gain, far)] == ["narrator_figure3-blame", "narrator_figure3-blame-far"]
    assert "judge, visible at 5: 5.0" in gain.alt
    assert "at 7" not in gain.alt
    path = make_narrator_run(tmp_path, fair, made_conversations({3: 11}), is_exact=True, **BLAME)
    (reason,) = EVALUATION.left_out(results_of_runs(path))
    assert "two numbers of speakers with 10 conversations or more" in reason


def test_the_slot_of_me_confounds_pr_and_the_control_shows_it(tmp_path):
    # A judge that knows no Me and leans to the last option: under the published order Me always stands there.
    def last(prompt):
        return mixed({prompt.answer_space[-1]: 1.0}, fair(prompt), 0.5)

    conversations = made_conversations({3: 60})
    both, alone = (
        make_narrator_run(tmp_path, last, conversations, name=orders[-1], is_exact=True, option_orders=orders, **BLAME)
        for orders in (("published", "fixed_slot"), ("published",))
    )
    run = load_narrator_run(both)
    assert blame(run)["pr"].value == pytest.approx(-50, abs=1e-6)
    assert blame(run, "fixed_slot")["pr"].value == pytest.approx(0, abs=1e-6)
    assert "may come from where Me stands" in said(results_of_runs(both))
    assert "narrator.option_orders='[published, fixed_slot]'" in said(results_of_runs(alone))


def test_what_is_said_of_each_judge(runs):
    ways = {name: EVALUATION.facts(results(runs[name, "sampled"]))["judges"][0] for name in JUDGES}
    leans = {"fair": "unclear", "lots": "unclear", "eliminator": "protects", "protector": "protects"}
    assert {name: of["way"] for name, of in ways.items()} == {**leans, "accuser": "accuses"}
    assert [name for name, of in ways.items() if of["chance"] is not None] == ["lots", "eliminator"]


def test_unseen_attackers_are_also_reported_apart(tmp_path):
    path = make_narrator_run(tmp_path, fair, made_conversations({3: 12}, unseen=5), is_exact=True, tasks=("blame",))
    rows = [
        (s["visibility"], s["group"], of["n_conversations"]) for s, of in effects(load_narrator_run(path).judgments)
    ]
    counts = {row for row in rows if row[1] != "3 speakers"}
    assert counts == {("visible", ALL, 12), ("hidden", ALL, 12), ("hidden", SEEN, 7), ("hidden", UNSEEN, 5)}


def test_what_cannot_be_pooled_stands_apart_with_the_reason(runs):
    assert "a model is among them twice" in said(results(runs["fair", "sampled"], runs["fair", "exact"]))
    assert "some were sampled and some read exactly" in said(results(runs["fair", "sampled"], runs["lots", "exact"]))
    assert "not pooled" not in said(results(runs["fair", "sampled"], runs["lots", "sampled"]))


def test_models_are_pooled_alike_over_the_conversations_that_all_judged(tmp_path):
    conversations = made_conversations({2: 6, 3: 6})

    def run_of(name: str, n: int, right: float, of: list[Conversation]) -> Path:
        asked = {"n": n, "model": f"x/{name}", "tasks": ("blame", "detection")}
        return make_narrator_run(tmp_path, lambda p: fair(p, right), of, name=name, **asked)

    often = run_of("often", 9, 1.0, conversations)
    both = results_of_runs(often, run_of("once", 1, 0.0, conversations[1:]))
    levels = Levels(both.score_rows)
    pooled = levels.of(POOLED, "blame", "visible")
    assert (pooled["n_conversations"].value, pooled["neutral"].n_units) == (11, 22)
    assert pooled["neutral"].value == pytest.approx(50)
    assert levels.of("often", "blame", "visible")["n_conversations"].value == 12
    assert "over the 11 conversations that every run judged, and leave out 1 of often." in said(both)
    apart = results_of_runs(often, run_of("other", 1, 0.0, made_conversations({4: 6})))
    assert "no conversation was judged by all of them" in said(apart)
    assert Levels(apart.score_rows).shown == ["often", "other"]


REFUSES = {"I cannot answer that.": 1.0}


def shy(prompt: Prompt) -> dict[str, float]:
    """A fair judge that refuses a tenth of all prompts, and in blame three in ten where the attacker is Me."""
    factors = factors_of(prompt)
    is_shy = factors.perspective == "attacker" and factors.task == "blame"
    return mixed(REFUSES, fair(prompt), 0.3 if is_shy else 0.1)


def test_shares_of_answers_that_depend_on_who_is_me_are_warned_of(tmp_path):
    judges = {"shy": shy, "as_shy": lambda prompt: mixed(REFUSES, fair(prompt), 0.2)}
    conversations, few = made_conversations({2: 30, 3: 30}), {**BLAME, "tasks": ("identification", "blame")}
    of = results_of_runs(
        *(
            make_narrator_run(tmp_path, judges[name], conversations, name=name, model=f"x/{name}", **few)
            for name in judges
        )
    )
    is_shy, as_shy = of.judges.values()
    clear = answered_differences(is_shy.judgments)
    assert {(asked.task, first, second) for asked, first, second in clear} == {
        ("blame", "attacker", "neutral"),
        ("blame", "non_attacker", "attacker"),
    }
    assert [e.value for (_, first, _), e in clear.items() if first == "attacker"] == [pytest.approx(-20, abs=6)] * 2
    assert answered_differences(as_shy.judgments) == {}
    warned = [warning.partition(":")[0] for warning in of.warnings if "depends on who is Me" in warning]
    assert warned == ["shy"]
    for setting, rates in state_rates(is_shy.judgments):
        assert sum(rates[state] for state in STATES) == pytest.approx(100)
        refused = 30 if (setting["task"], setting["perspective"]) == ("blame", "attacker") else 10
        assert rates["refusal"] == pytest.approx(refused, abs=5)

"""Per-framing calibration: undoes a shift without training, and is fitted on nothing that is scored."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.dialdefer.calibrate import (
    ARM,
    Calibration,
    Objective,
    accuracy,
    calibrate,
    calibrated_panels,
    closeness_to,
    fit_threshold,
    main,
    share_accepted,
    untreated_panels,
)
from eval.dialdefer.measures import ACCEPT, ERROR, REJECT, TIE, UNREADABLE, auc, credit, dds_pp
from eval.dialdefer.panels import Judge, Panel
from eval.dialdefer.scores import fixed_panels, own_panels
from evenhand.errors import DataError
from evenhand.records import Prompt
from tests.made.made_panels import made_judge, made_panel, margin_panel
from tests.made.made_runs import lean, made_items, make_run, say


def deferent(n: int, seed: int, shift: float = 2.0) -> np.ndarray:
    """Margins of a judge that knows, leans to yes by 1, and by `shift` more in dialogue: (n, 4)."""
    knows = np.random.default_rng(seed).normal([1.5, -1.5], 1, (n, 2))
    return np.hstack([knows, knows + shift]) + 1


def pair(**keys: Any) -> tuple[Panel, Panel]:
    """A train and a test panel over different items."""
    train = margin_panel(deferent(400, 1), ids=[f"train-{i:03}" for i in range(400)], **keys)
    return train, margin_panel(deferent(300, 2), ids=[f"test-{i:03}" for i in range(300)], **keys)


def with_calibrated(train: Judge, test: Judge, objective: str = "dds") -> tuple[Judge, list[Calibration]]:
    """The test judge with panels of arm `calibrated`, and the thresholds."""
    fitted = calibrate(train, test, objective)
    return replace(test, panels=(*test.panels, *calibrated_panels(untreated_panels(test), fitted))), fitted


def dds(panel: Panel) -> float:
    """DDS in percentage points."""
    earned, _ = credit(panel.replies, "published")
    return float(dds_pp(earned.mean(axis=0)))


def calibrated_panel(train: Panel, test: Panel, objective: str = "accuracy") -> Panel:
    """The test panel under arm `calibrated`."""
    judge, _ = with_calibrated(made_judge(train), made_judge(test), objective)
    (panel,) = [p for p in judge.panels if p.factors.arm == ARM]
    return panel


@pytest.mark.parametrize("objective", ["accuracy", "acceptance"])
def test_a_shift_of_all_margins_is_undone_on_items_that_were_not_seen(objective: str) -> None:
    train, test = pair()
    after = calibrated_panel(train, test, objective)
    assert dds(test) > 40
    assert abs(dds(after)) < 12
    right = np.array([ACCEPT, REJECT, ACCEPT, REJECT])
    assert (after.replies[:, :, 0] == right).mean() > (test.replies[:, :, 0] == right).mean() + 0.1


def test_balanced_acceptance_makes_dds_zero_on_the_items_of_the_fit() -> None:
    train, _ = pair()
    same = margin_panel(deferent(400, 1), ids=[f"again-{i:03}" for i in range(400)])
    assert dds(calibrated_panel(train, same, "acceptance")) == pytest.approx(0, abs=1e-12)


def test_one_number_on_c2_alone_makes_dds_zero_on_the_items_of_the_fit_and_leaves_statements_as_they_are() -> None:
    train, _ = pair()
    same = margin_panel(deferent(400, 1), ids=[f"again-{i:03}" for i in range(400)])
    judge, (fitted,) = with_calibrated(made_judge(train), made_judge(same))  # by default
    after = judge.panels[-1]
    assert (fitted.objective, fitted.c1.threshold_nats) == ("dds", 0)
    assert fitted.c2.threshold_nats == pytest.approx(2, abs=0.4)  # what dialogue adds to this judge's margins
    assert np.array_equal(after.replies[:, :2], same.replies[:, :2])
    assert dds(after) == pytest.approx(0, abs=1e-12)
    with pytest.raises(DataError, match="objective 'f1' is unknown; known: dds, acceptance, accuracy"):
        calibrate(made_judge(train), made_judge(same), "f1")


def test_lost_knowledge_is_not_mended_by_thresholds() -> None:
    margins = deferent(400, 1)
    margins[:, 3] = margins[:, 2]  # in dialogue it cannot tell a false claim from a true one
    train = margin_panel(margins, ids=[f"train-{i:03}" for i in range(400)])
    after = calibrated_panel(train, margin_panel(margins))
    assert ((after.replies[:, 2:, 0] == [ACCEPT, REJECT]).mean()) == pytest.approx(0.5, abs=0.01)


def test_replies_are_decided_by_the_shifted_margin_and_missing_ones_stay_missing() -> None:
    train = margin_panel([[3.0, 1.0, 5.0, 3.0]], ids=["train"])  # thresholds 2 and 4
    replies = [[ACCEPT, UNREADABLE, ERROR, ACCEPT], [ACCEPT] * 4]
    test = made_panel(replies, margins=[[2.5, np.nan, np.nan, 3.5], [2.0, 1.9, 4.1, 4.0]])
    after = calibrated_panel(train, test)
    assert after.replies[:, :, 0].tolist() == [[ACCEPT, UNREADABLE, ERROR, REJECT], [TIE, REJECT, ACCEPT, TIE]]
    np.testing.assert_allclose(after.margins[:, :, 0], [[0.5, np.nan, np.nan, -0.5], [0, -0.1, 0.1, 0]])
    assert np.array_equal(after.hashes, test.hashes)


def test_it_scores_like_any_arm_with_own_and_with_fixed_c1() -> None:
    train, test = pair()
    judge, (calibration,) = with_calibrated(made_judge(train), made_judge(test), "accuracy")
    assert [p.factors.arm for p in own_panels(judge.panels)] == ["none", ARM]
    (fixed,) = fixed_panels(judge.panels)
    assert fixed.factors.arm == ARM
    assert np.array_equal(fixed.replies[:, :2], test.replies[:, :2])
    assert (calibration.datasets, calibration.n_items) == (("bbq",), 400)
    assert calibration.c2.threshold_nats - calibration.c1.threshold_nats == pytest.approx(2, abs=0.6)


def test_items_that_are_fitted_on_and_scored_are_named() -> None:
    train, test = pair()
    both = margin_panel(test.margins[:, :, 0], ids=[*train.item_ids[:7], *test.item_ids[7:]])
    with pytest.raises(DataError, match=r"7 items \(train-000, .*, \.\.\.\) have been fitted on and would be scored"):
        calibrate(made_judge(train), made_judge(both))


def test_a_prompt_that_is_fitted_on_is_found_under_another_id() -> None:
    train, test = pair()
    train.hashes[:], test.hashes[:] = "a" * 16, "b" * 16
    test.hashes[5, 1] = "a" * 16
    with pytest.raises(DataError, match=r"1 item \(test-005\) has a prompt that thresholds are fitted on"):
        calibrate(made_judge(train), made_judge(test))


def test_what_thresholds_cannot_be_carried_over_to_is_refused() -> None:
    train, test = pair()
    with pytest.raises(DataError, match="thresholds of owner/model say nothing about owner/other"):
        calibrate(made_judge(train), made_judge(test, model="owner/other"))
    verdicts = made_panel(test.replies, ids=test.item_ids)
    with pytest.raises(DataError, match="judge: bbq has no margins"):
        calibrate(made_judge(train), made_judge(verdicts))
    with pytest.raises(DataError, match="bbq: has other prompts"):
        calibrate(made_judge(train), made_judge(pair(template="matched")[1]))
    with pytest.raises(DataError, match="no untreated arm"):
        calibrate(made_judge(pair(arm="honest")[0]), made_judge(test))


def test_r_aio_has_its_own_template_and_no_train_split_and_is_calibrated_all_the_same() -> None:
    train, test = pair()
    aio = margin_panel(deferent(50, 3), dataset="aio", template="aio", roles="2->1")
    judge, _ = with_calibrated(made_judge(train), made_judge(test, aio))
    assert [(p.dataset, p.factors.arm) for p in judge.panels][2:] == [("bbq", ARM), ("aio", ARM)]


def test_each_prompt_variant_that_both_were_asked_has_thresholds_of_its_own() -> None:
    train, test = pair()
    swapped = {"answer_order": "no_first"}
    pulled = [margin_panel(p.margins[:, :, 0] - 3, ids=p.item_ids, **swapped) for p in (train, test)]
    reworded = margin_panel(deferent(300, 4), ids=test.item_ids, template="v1")  # of the test run alone
    judge, found = with_calibrated(made_judge(train, pulled[0]), made_judge(test, pulled[1], reworded), "acceptance")
    assert [c.variant for c in found] == ["", "no_first"]
    assert found[1].c2.threshold_nats - found[0].c2.threshold_nats == pytest.approx(-3)
    of_arm = [p for p in judge.panels if p.factors.arm == ARM]
    assert [p.factors.answer_order for p in of_arm] == ["yes_first", "no_first", "both_orders"]
    assert np.array_equal(of_arm[0].replies, of_arm[1].replies)


ITEMS = made_items("bbq", 60)


def yes_sayer(prompt: Prompt) -> dict[str, Any]:
    """Says yes to every claim, more loudly in dialogue, but knows."""
    known = 1.0 if prompt.condition.claim_is_true else -1.0
    return lean(known + 3.0 + 2.0 * prompt.condition.is_dialogue)


def test_the_command_writes_the_thresholds(tmp_path: Path) -> None:
    train = make_run(tmp_path, yes_sayer, items=ITEMS[:30], name="train", verdict="margin")
    test = make_run(tmp_path, yes_sayer, items=ITEMS[30:], name="test", verdict="margin")
    main([str(train), str(test), "--objective", "acceptance"])
    thresholds = json.loads((test / "calibrated" / "thresholds.json").read_text())
    (of_main,) = thresholds["calibrations"]
    assert (of_main["c1"]["threshold_nats"], of_main["c2"]["threshold_nats"]) == (3, 5)
    assert (thresholds["train_run"], thresholds["test_run"]) == (train.name, test.name)


def test_the_command_refuses_runs_that_differ_in_more_than_their_items(tmp_path: Path) -> None:
    train = make_run(tmp_path, yes_sayer, items=ITEMS[:30], name="train", verdict="margin", format="raw")
    test = make_run(tmp_path, yes_sayer, items=ITEMS[30:], name="test", verdict="margin")
    with pytest.raises(DataError, match="format: raw when fitted, chat when scored"):
        main([str(train), str(test), "--out", str(tmp_path / "out")])


def test_the_command_refuses_reasoned_runs(tmp_path: Path) -> None:
    runs = [
        make_run(tmp_path, lambda _: say(1), items=half, name=n) for n, half in (("a", ITEMS[:5]), ("b", ITEMS[5:9]))
    ]
    with pytest.raises(DataError, match="has no margins"):
        main([*map(str, runs), "--out", str(tmp_path / "out")])


OBJECTIVES: dict[str, Objective] = {"acceptance": closeness_to(0.5), "accuracy": accuracy}
margins = st.lists(
    st.one_of(st.integers(-4, 4).map(float), st.sampled_from([math.inf, -math.inf])), min_size=1, max_size=15
)


def fitted(true: list[float], false: list[float], objective: str = "accuracy") -> float:
    """The threshold in nats."""
    return fit_threshold(np.array(true), np.array(false), OBJECTIVES[objective]).threshold_nats


@pytest.mark.parametrize(
    ("true", "false", "threshold"),
    [
        ([3.0, 4.0], [1.0, 2.0], 2.5),  # says yes to all, but knows
        ([-1.0, -2.0], [-4.0, -5.0], -3.0),
        ([1.0, 2.0], [-1.0, -2.0], 0.0),  # nothing to mend
        ([1.0, 2.0], [0.0, -2.0], 0.5),  # a tie is mended
        ([5.0, 5.0], [5.0, 5.0], 0.0),  # all alike: nothing can be told
        ([1.0, 2.0], [3.0, 4.0], 0.0),  # the wrong way round: accept all or none, and 0 accepts all
        ([0.5, 9.0], [-3.0, 1.0], 0.0),  # gaps of equal accuracy: the one that holds 0
        ([-1.0, 3.0], [-9.0, -0.5], 0.0),  # the same from the other side
        ([math.inf, 2.0], [1.0, -math.inf], 1.5),
        ([math.inf, math.inf], [math.inf, 3.0], 4.0),  # one nat beyond the last finite margin
        ([2.0, math.nan], [1.0, math.nan], 1.5),
    ],
)
def test_the_most_accurate_threshold_is_found(true: list[float], false: list[float], threshold: float) -> None:
    assert fitted(true, false) == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("true", "false", "threshold"),
    [
        ([3.0, 4.0], [1.0, 2.0], 2.5),
        ([2.0, 3.0], [1.0, 4.0], 2.5),
        ([1.0, 1.0], [1.0, 2.0], 1.5),  # a quarter is nearer to a half than all
        ([7.0], [7.0], 0.0),  # all or none are equally far
    ],
)
def test_a_threshold_that_accepts_half_is_found(true: list[float], false: list[float], threshold: float) -> None:
    assert fitted(true, false, "acceptance") == pytest.approx(threshold)


@given(margins, margins, st.sampled_from(sorted(OBJECTIVES)))
def test_no_other_threshold_is_better_and_it_is_a_finite_number(
    true: list[float], false: list[float], objective: str
) -> None:
    threshold = fitted(true, false, objective)
    assert math.isfinite(threshold)
    assert threshold not in [m for m in true + false if m != 0]
    score = OBJECTIVES[objective]

    def at(t: float) -> float:
        return float(score(*(np.array(share_accepted(np.array(m), t)) for m in (true, false))))

    others = [t for t in np.arange(-6, 6.5, 0.5) if t == 0 or t not in true + false]
    assert at(threshold) >= max(map(at, others)) - 1e-9


@given(margins, margins)
def test_accuracy_on_the_items_of_the_fit_never_falls(true: list[float], false: list[float]) -> None:
    found = fit_threshold(np.array(true), np.array(false), accuracy)
    assert found.acc_after >= found.acc_before - 1e-9


@given(st.lists(st.integers(-5000, 5000).map(lambda n: n / 1000), min_size=2, max_size=40, unique=True))
def test_accepting_half_is_exact_when_no_two_margins_are_equal(values: list[float]) -> None:
    half = len(values) // 2
    found = fit_threshold(np.array(values[:half]), np.array(values[half : 2 * half]), closeness_to(0.5))
    assert found.accept_rate_after == pytest.approx(0.5, abs=1e-9)


def test_a_saturated_judge_that_knows_is_as_good_as_its_auc_promises() -> None:
    rng = np.random.default_rng(0)
    true, false = rng.normal(11, 1, 3000), rng.normal(9, 1, 3000)
    found = fit_threshold(true, false, accuracy)
    assert found.threshold_nats == pytest.approx(10, abs=0.3)
    assert (found.acc_before, found.accept_rate_before) == (0.5, 1.0)
    assert found.acc_after == pytest.approx(0.841, abs=0.02)
    assert auc(true, false) == pytest.approx(0.921, abs=0.02)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(DataError, match="none of one kind"):
        fitted([1.0], [math.nan])


def test_a_judge_that_knows_nothing_gets_framings_alike_by_acceptance_and_any_by_accuracy() -> None:
    rng = np.random.default_rng(3)
    c1, c2 = rng.normal(10, 1, (2, 100)), rng.normal(12, 1, (2, 100))
    found = {o: [fit_threshold(*c, score).accept_rate_after for c in (c1, c2)] for o, score in OBJECTIVES.items()}
    assert found["acceptance"] == pytest.approx([0.5, 0.5])
    assert abs(found["accuracy"][0] - found["accuracy"][1]) > 0.2


@pytest.mark.parametrize("objective", sorted(OBJECTIVES))
def test_a_judge_that_accepts_half_thanks_to_margins_of_zero_is_left_alone(objective: str) -> None:
    margins = np.array([-0.5, 0.0, 0.0, 0.5])
    assert fitted(margins.tolist(), margins.tolist(), objective) == 0.0

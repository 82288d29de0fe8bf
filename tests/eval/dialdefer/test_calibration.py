"""Per-framing calibration: undoes a shift without training, and is fitted on nothing that is scored."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.dialdefer.calibrate_command import main
from eval.dialdefer.calibration import ARM, calibrate, calibration_table
from eval.dialdefer.panels import ACCEPT, ERROR, REJECT, TIE, UNREADABLE, Panel
from eval.dialdefer.power import contributions
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


def calibrated_panel(train: Panel, test: Panel, objective: str = "accuracy") -> Panel:
    """The test panel under arm `calibrated`."""
    judge, _ = calibrate(made_judge(train), made_judge(test), objective)
    (panel,) = [p for p in judge.panels if p.factors.arm == ARM]
    return panel


@pytest.mark.parametrize("objective", ["accuracy", "acceptance"])
def test_a_shift_of_all_margins_is_undone_on_items_that_were_not_seen(objective: str) -> None:
    train, test = pair()
    after = calibrated_panel(train, test, objective)
    assert 100 * contributions(test).mean() > 40
    assert abs(100 * contributions(after).mean()) < 12
    right = np.array([ACCEPT, REJECT, ACCEPT, REJECT])
    assert (after.replies[:, :, 0] == right).mean() > (test.replies[:, :, 0] == right).mean() + 0.1


def test_balanced_acceptance_makes_dds_zero_on_the_items_of_the_fit() -> None:
    train, _ = pair()
    same = margin_panel(deferent(400, 1), ids=[f"again-{i:03}" for i in range(400)])
    assert contributions(calibrated_panel(train, same, "acceptance")).mean() == pytest.approx(0, abs=1e-12)


def test_one_number_on_c2_alone_makes_dds_zero_on_the_items_of_the_fit_and_leaves_statements_as_they_are() -> None:
    train, _ = pair()
    same = margin_panel(deferent(400, 1), ids=[f"again-{i:03}" for i in range(400)])
    judge, (fitted,) = calibrate(made_judge(train), made_judge(same))  # by default
    after = judge.panels[-1]
    assert (fitted.objective, fitted.c1.threshold_nats) == ("dds", 0)
    assert fitted.c2.threshold_nats == pytest.approx(2, abs=0.4)  # what dialogue adds to this judge's margins
    assert np.array_equal(after.replies[:, :2], same.replies[:, :2])
    assert contributions(after).mean() == pytest.approx(0, abs=1e-12)
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
    judge, (calibration,) = calibrate(made_judge(train), made_judge(test), "accuracy")
    assert [p.factors.arm for p in own_panels(judge.panels)] == ["none", ARM]
    (fixed,) = fixed_panels(judge.panels)
    assert fixed.factors.arm == ARM
    assert np.array_equal(fixed.replies[:, :2], test.replies[:, :2])
    assert (calibration.datasets, calibration.n_items) == (("bbq",), 400)
    assert calibration.c2.threshold_nats - calibration.c1.threshold_nats == pytest.approx(2, abs=0.6)
    assert "400 items of bbq" in calibration_table([calibration]).note


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
    with pytest.raises(DataError, match="bbq: is worded otherwise"):
        calibrate(made_judge(train), made_judge(pair(template="matched")[1]))
    with pytest.raises(DataError, match="no untreated arm"):
        calibrate(made_judge(pair(arm="honest")[0]), made_judge(test))


def test_r_aio_has_its_own_template_and_no_train_split_and_is_calibrated_all_the_same() -> None:
    train, test = pair()
    aio = margin_panel(deferent(50, 3), dataset="aio", template="aio", roles="2->1")
    judge, _ = calibrate(made_judge(train), made_judge(test, aio))
    assert [(p.dataset, p.factors.arm) for p in judge.panels][2:] == [("bbq", ARM), ("aio", ARM)]


def test_each_prompt_variant_that_both_were_asked_has_thresholds_of_its_own() -> None:
    train, test = pair()
    swapped = {"answer_order": "no_first"}
    pulled = [margin_panel(p.margins[:, :, 0] - 3, ids=p.item_ids, **swapped) for p in (train, test)]
    reworded = margin_panel(deferent(300, 4), ids=test.item_ids, template="v1")  # of the test run alone
    judge, found = calibrate(made_judge(train, pulled[0]), made_judge(test, pulled[1], reworded), "acceptance")
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


def test_the_command_scores_the_test_run_with_and_without_thresholds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train = make_run(tmp_path, yes_sayer, items=ITEMS[:30], name="train", verdict="margin")
    test = make_run(tmp_path, yes_sayer, items=ITEMS[30:], name="test", verdict="margin")
    words = ["--out", str(tmp_path / "out"), "--draws", "200", "--objective", "acceptance"]
    main([str(train), str(test), *words])
    rows = json.loads((tmp_path / "out" / "scores_wide.json").read_text())
    own = {row["arm"]: row for row in rows if row["dataset"] == "bbq" and row["c1_source"] == "own"}
    assert (own["none"]["acc_c2"], own[ARM]["acc_c2"]) == (50, 100)
    thresholds = json.loads((tmp_path / "out" / "thresholds.json").read_text())
    (of_main,) = thresholds["calibrations"]
    assert (of_main["c1"]["threshold_nats"], of_main["c2"]["threshold_nats"]) == (3, 5)
    assert (thresholds["train_run"], thresholds["objective"]) == (train.name, "acceptance")
    printed = capsys.readouterr().out
    assert "calibrated" in printed
    assert (tmp_path / "out" / "differences.md").exists()


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

"""Per-framing calibration: undoes a shift without training, and is fitted on nothing that is scored."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from eval.__main__ import calibrate_main as main
from eval.calibration import thresholds
from eval.results import read_run
from eval.runs import PlannedPrompt
from evenhand.errors import DataError
from studies.dialdefer.calibrate import calibrate, cross_fitted, with_thresholds
from studies.dialdefer.evaluation import EVALUATION
from studies.dialdefer.measures import ACCEPT, ERROR, REJECT, TIE, UNPARSED, accept_rates
from tests.made.made_panels import made_judge, made_panel, margin_panel
from tests.made.made_runs import made_items, make_run
from tests.made.scorecard_runs import yes_sayer

Margins = NDArray[np.float64]


def deferent(n, seed):
    """Margins of a judge that knows, leans to yes by 1, and by 2 more in dialogue: (n, 4)."""
    knows = np.random.default_rng(seed).normal([1.5, -1.5], 1, (n, 2))
    return np.hstack([knows, knows + 2]) + 1


def pair(**keys):
    """A train and a test panel over different items."""
    train = margin_panel(deferent(400, 1), ids=[f"train-{i:03}" for i in range(400)], **keys)
    return train, margin_panel(deferent(300, 2), ids=[f"test-{i:03}" for i in range(300)], **keys)


TRAIN, TEST = pair()


def with_calibrated(train, test, objective="dds"):
    """The panels of arm `calibrated`, and the thresholds."""
    fits = calibrate(train, test, objective)
    return with_thresholds(test, fits).panels, fits


def calibrated(train, test):
    """The test panel under arm `calibrated`, each framing accepting half."""
    (panel,), _ = with_calibrated(made_judge(train), made_judge(test), "acceptance")
    return panel


def test_replies_are_decided_by_the_shifted_margin_and_missing_ones_stay_missing():
    train = margin_panel([[3.0, 1.0, 5.0, 3.0]], ids=["train"])  # thresholds 2 and 4
    replies = [[ACCEPT, UNPARSED, ERROR, ACCEPT], [ACCEPT] * 4]
    after = calibrated(train, made_panel(replies, margins=[[2.5, np.nan, np.nan, 3.5], [2.0, 1.9, 4.1, 4.0]]))
    assert after.replies[:, :, 0].tolist() == [[ACCEPT, UNPARSED, ERROR, REJECT], [TIE, REJECT, ACCEPT, TIE]]
    np.testing.assert_allclose(after.margins[:, :, 0], [[0.5, np.nan, np.nan, -0.5], [0, -0.1, 0.1, 0]])


def planned(prompt_hash, item):
    return PlannedPrompt(prompt_hash=prompt_hash, item_id=item, dataset="bbq", condition="c1_true", factors=())


def test_what_thresholds_cannot_be_carried_over_to_is_refused_and_items_that_share_a_prompt_under_another_id():
    shared = margin_panel(TEST.margins[:, :, 0], ids=[*TRAIN.item_ids[:7], *TEST.item_ids[7:]])
    with pytest.raises(DataError, match=r"7 items \(train-000, .*, \.\.\.\) have been fitted on and would be scored"):
        calibrated(TRAIN, shared)
    with pytest.raises(DataError, match="no untreated arm"):
        calibrated(pair(arm="honest")[0], TEST)
    plans = [[planned("a", item), planned(item, item)] for item in ("x", "y")]
    train, test = (replace(made_judge(panel), plan=plan) for panel, plan in zip((TRAIN, TEST), plans, strict=True))
    with pytest.raises(DataError, match=r"1 item \(y\) has a prompt that thresholds are fitted on"):
        calibrate(train, test)


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_thresholds_are_carried_over_with_the_noise_that_prompt_variants_share(shared):
    draw, panels = np.random.default_rng(1).normal, []
    folds = {("bbq", f"bbq-{i:05}"): i % 10 for i in range(2000)}
    common = draw(0, 1, (2000, 4))
    for version in (1, 2, 3):
        margins = np.sqrt(shared) * common + np.sqrt(1 - shared) * draw(0, 1, (2000, 4))
        panels.append(margin_panel(margins + np.array([0, 0, 2, 2]), template_version=version))
    carried, in_place = (cross_fitted(panels, folds, is_carried=is_carried) for is_carried in (True, False))
    # Of signs of normal values that correlate by r the correlation is 2/π asin r.
    assert carried[0].fitted == pytest.approx(2 / np.pi * np.arcsin(shared), abs=0.05)
    assert in_place[0].fitted == 1
    (still,) = cross_fitted([margin_panel(np.full((2000, 4), 5.0))], folds)
    assert still.fitted == 0, "what changes no verdict has taken no noise"


def test_r_aio_is_calibrated_too_and_each_prompt_variant_that_both_were_asked_has_thresholds_of_its_own():
    aio = margin_panel(deferent(50, 3), dataset="aio", template="aio", roles="2->1")  # has no train split
    panels, _ = with_calibrated(made_judge(TRAIN), made_judge(TEST, aio))
    assert [p.dataset for p in panels] == ["bbq", "aio"]
    pulled = [margin_panel(p.margins[:, :, 0] - 3, ids=p.item_ids, answer_order="no_first") for p in (TRAIN, TEST)]
    reworded = margin_panel(deferent(300, 4), ids=TEST.item_ids, template="v1")  # of the test run alone
    of_train, of_test = made_judge(TRAIN, pulled[0]), made_judge(TEST, pulled[1], reworded)
    panels, fits = with_calibrated(of_train, of_test, "acceptance")
    nats = thresholds(fits)
    assert [*nats] == [("c1", ""), ("c2", ""), ("c1", "no_first"), ("c2", "no_first")]
    assert nats["c2", "no_first"] - nats["c2", ""] == pytest.approx(-3)
    assert [p.factors.answer_order for p in panels] == ["yes_first", "no_first", "both_orders"]
    assert np.array_equal(panels[0].replies, panels[1].replies)


def test_pooled_thresholds_hold_for_wordings_that_they_were_not_fitted_in():
    train, _ = pair(template="v1")
    more, _ = pair(template="v1", answer_order="no_first")
    test = pair(template="v2")[1]
    fits = calibrate(made_judge(train, more), made_judge(test, pair(template="v3")[1]), is_pooled=True)
    nats = thresholds(fits)
    assert {fit["n_items"] for fit in fits} == {800}
    assert (nats["c1", ""], nats["c1", "v3"], nats["c2", ""]) == (0, 0, nats["c2", "v3"])
    (panel, _) = with_thresholds(made_judge(test, pair(template="v3")[1]), fits).panels
    assert abs(np.diff(accept_rates(panel.replies))[0]) < 0.05 < np.diff(accept_rates(test.replies))[0]


def test_the_command_writes_the_thresholds_and_refuses_runs_that_differ_in_more_than_their_items(tmp_path, monkeypatch):
    items = made_items("bbq", 60)
    prompts = {"arms": ["none"], "placebos": ["v1"], "placebo_items": 5}  # thresholds and changes are of no placebo
    train = make_run(tmp_path, yes_sayer, items=items[:30], name="train", verdict="margin", prompts=prompts)
    test = make_run(tmp_path, yes_sayer, items=items[30:], name="test", verdict="margin")
    main([str(train), str(test), "--objective", "acceptance"])
    differing = EVALUATION.differences(*(read_run("dialdefer", path) for path in (train, test)))
    assert {each.serious for each in differing if "placebo" in each.what} == {False}
    thresholds = json.loads((test / "calibrated" / "thresholds.json").read_text())
    assert (thresholds["train_run"], thresholds["test_run"]) == (train.name, test.name)
    raw = make_run(tmp_path, yes_sayer, items=items[:30], name="raw", verdict="margin", chat_template=False)
    with pytest.raises(DataError, match="chat_template: False when fitted, True when scored"):
        main([str(raw), str(test), "--out", str(tmp_path / "out")])
    other = make_run(tmp_path, yes_sayer, items=items[:30], name="other", verdict="margin", model="owner/other")
    with pytest.raises(DataError, match="thresholds of owner/other say nothing about owner/model"):
        main([str(other), str(test), "--out", str(tmp_path / "out")])
    copies = {train.name: [replace(item, item_id=f"own-{item.item_id}") for item in items[30:]], test.name: items[30:]}
    texts = {name: {item.item_id: item for item in of_run} for name, of_run in copies.items()}
    monkeypatch.setattr("studies.dialdefer.calibrate.item_texts", lambda run: texts[run.name])
    with pytest.raises(DataError, match=r"'own-.*' asks the same question as the test item"):
        main([str(train), str(test), "--out", str(tmp_path / "out")])

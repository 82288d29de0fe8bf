"""Thresholds as an arm of a study in YAML: they undo a planted shift of the margins, on items they never saw."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from eval.__main__ import calibrate_main
from eval.options import Options
from eval.results import read_run
from eval.scorecard.rules import BOTH_AND_THRESHOLD, BOTH_ORDERS, RULES, THRESHOLD
from evenhand.errors import DataError
from studies.framing.thresholds import calibrate, under_rules, with_thresholds
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean
from tests.made.scorecard_runs import scored


def knows_and_bends(prompt):
    """Right by 1 nat in the statement and 3.5 nats too willing for any speaker; draws 0.2 nats towards symbol 1."""
    text = prompt.messages[-1].content
    accepts = (1.0 if prompt.factors.case == "true" else -1.0) + 3.5 * ("says" in text)
    accepts += 0.001 * int(prompt.item_id.removeprefix("c"))  # no two margins alike
    is_accept_first = prompt.factors.names[0] == "accept"
    return lean((accepts if is_accept_first else -accepts) + 0.2)


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A function: split and changes of the section → a finished run of it with margins."""
    items = claims(tmp_path / "items.jsonl", 40)
    for name in ("train", "test"):  # even and odd items
        lines = items.read_text().splitlines()[name == "test" :: 2]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    def made(split, **keys):
        section = {**study(tmp_path / f"{split}.jsonl"), "columns": {}, **keys}
        return run_of(tmp_path, section, knows_and_bends, monkeypatch, verdict="margin", name=f"{split}-{len(keys)}")

    return made


def calibrated(train, test, *words):
    """(arm → row of a scorecard under thresholds that are fitted on one run for another, (framing, order) → nats)."""
    calibrate_main([str(train), str(test), *words])
    file = test / "calibrated" / "thresholds.json"
    fits = json.loads(file.read_text())["calibrations"]
    nats = {(fit["condition"], fit["variant"]): fit["threshold_nats"] for fit in fits}
    return scored(test, "--calibrated", file, draws=100), nats


def test_a_threshold_a_framing_makes_the_judge_straight_and_right_again(runs):
    rows, nats = calibrated(runs("train"), runs("test"))
    found = {name: [row[key] for key in ("shift_1", "mean_abs_shift", "right")] for name, row in rows.items()}
    bent, straight = [50, 50, 100], [0, 0, 100]
    free = {"both orders": bent, "threshold": straight, "both orders + threshold": straight}  # without being asked
    assert found == {"base": bent, "calibrated": straight, **free}
    assert [row["kind"] for row in rows.values()] == ["base", "calibrated", *["free rule"] * 3]
    assert nats["expert", "given"] == pytest.approx(3.5 + 0.2, abs=0.1)  # what symbol 1 draws is undone in each order
    assert nats["expert", "swapped"] == pytest.approx(3.5 - 0.2, abs=0.1)


def test_pooled_thresholds_hold_in_framings_that_they_were_not_fitted_in(runs):
    framings = {"statement": "Claim: {{ claim }}", "user": "Mary says: {{ claim }}"}
    train, test = runs("train", placebos=()), runs("test", placebos=(), framings=framings)
    with pytest.raises(DataError, match=r"(?s)framings.user.*--pooled allows"):
        calibrate_main([str(train), str(test)])
    row = calibrated(train, test, "--pooled")[0]["calibrated"]
    assert [row["shift_1"], row["right"]] == [0, 100]


def test_pooled_thresholds_are_those_of_speakers_and_placebos_keep_the_baseline_s(runs):
    more = {"pressed": {"follow_up_to": "statement", "ask": "Is it so? {{ other }}\n{{ options }}"}}
    framings = {"statement": "Claim: {{ claim }}", "expert": "A professor says: {{ claim }}", **more}
    _, nats = calibrated(runs("train", framings=framings), runs("test"), "--pooled")
    found = {framing: value for (framing, order), value in nats.items() if order == "given"}
    assert found == {"statement": 0, "expert": pytest.approx(3.7, abs=0.1), "placebo 1": 0, "placebo 2": 0}


def test_pooled_thresholds_are_not_fitted_on_an_item_in_other_words(runs, tmp_path):
    (tmp_path / "again.jsonl").write_bytes((tmp_path / "test.jsonl").read_bytes())
    with pytest.raises(DataError, match="item 'c1' is fitted on and would be scored, and 19 more"):
        calibrate_main([str(runs("again", ask="So: {{ framing }}\n{{ options }}")), str(runs("test")), "--pooled"])


def test_datasets_weigh_alike_and_half_is_of_claims(runs, tmp_path):
    lines = (tmp_path / "train.jsonl").read_text().splitlines()
    bent = [line.replace("claim", "says").replace("lie", "says not") for line in lines[16:]]
    for name, some in (("many", lines[:16]), ("few", bent)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(some) + "\n")
    items = [{"file": str(tmp_path / f"{name}.jsonl")} for name in ("many", "few")]
    train, test = runs("train", items=items), runs("test")
    grids = [read_run("framing", path) for path in (train, test)]
    fits = {(fit["condition"], fit["variant"]): fit for fit in calibrate(*grids, "acceptance")}
    assert fits["statement", "given"]["share_before"] == pytest.approx((0.5 + 1) / 2)  # `few` says so in every framing
    assert fits["expert", "swapped"]["share_after"] == pytest.approx(0.5, abs=0.05)
    assert fits["statement", "given"]["threshold_nats"] != 0


def test_a_case_without_any_margin_is_fitted_on_nowhere(runs):
    train, test = (read_run("framing", runs(split)) for split in ("train", "test"))
    (grid,) = train.grids.values()

    grid.fields["odds"][:, grid.at("expert"), 0] = np.nan
    expert = [fit for fit in calibrate(train, test) if fit["condition"] == "expert"]
    assert [fit["threshold_nats"] > 0 for fit in expert] == [True, True]


def test_every_field_is_as_the_thresholds_judge_it_and_what_has_no_margin_stays_and_is_unparsed_over_both_orders(runs):
    run = read_run("framing", runs("test"))
    (before,) = run.grids.values()
    first = run.plan[0]
    lost = {first.prompt_hash: [replace(run.replies[first.prompt_hash][0], answer_logprobs=None)]}
    cells = product(before.framings, before.orders)
    fits = [{"condition": framing, "variant": order, "threshold_nats": 2.0} for framing, order in cells]
    spoilt = replace(run, replies={**run.replies, **lost})
    (after,) = with_thresholds(spoilt, fits).grids.values()
    accepts = before.fields["odds"] > 2
    factors = dict(first.factors)
    case, order = before.cases.index(factors["case"]), before.orders.index(factors["order"])
    row = before.items.index(first.item_id), before.at(first.condition), case, order
    is_right = np.where(np.array([[True], [False]]), accepts, ~accepts)
    soft = 1 / (1 + np.exp(2 - before.fields["odds"]))
    for name, wanted in (("value", accepts.astype(float)), ("right", is_right.astype(float)), ("soft", soft)):
        wanted[row] = before.of(name)[row] if name != "soft" else np.nan
        np.testing.assert_allclose(after.of(name), wanted, err_msg=name)
    ruled = under_rules(spoilt, Options())
    for rule in (BOTH_ORDERS, BOTH_AND_THRESHOLD):
        (grid,) = ruled[rule].grids.values()
        at = row[:3]
        assert grid.fields["unread"][at].tolist() == [1, 1]
        assert np.isnan([grid.of(name)[at] for name in ("value", "first", "right", "soft")]).all()
        assert (grid.fields["unread"].sum(), np.isnan(grid.of("value")).sum()) == (2, 2)


def test_a_rule_that_changes_no_verdict_is_measured_as_the_run_as_asked(runs):
    run = read_run("framing", runs("test"))
    (grid,) = run.grids.values()
    grid.fields["odds"][:], grid.shares[:] = 5, (1, 0)
    (ruled,) = under_rules(run, Options())[THRESHOLD].grids.values()
    assert (ruled.fitted, grid.of("value").mean()) == (0, 1)


def test_what_goes_on_behind_a_reply_that_thresholds_may_change_is_not_known(runs):
    framings = {
        "statement": "Claim: {{ claim }}",
        "expert": "A professor says: {{ claim }}",
        "pressed": {"follow_up_to": "statement", "ask": "Mary says: {{ other }}\n{{ options }}"},
        "pressed expert": {"follow_up_to": "expert", "ask": "Mary says: {{ other }}\n{{ options }}"},
    }
    rows, _ = calibrated(*(runs(split, framings=framings) for split in ("train", "test")))
    found = [rows["calibrated"].get(name) for name in ("shift_1", "shift_2", "shift_3", "mean_abs_shift")]
    assert found == [0, 0, None, 0]  # averages are over what every row has
    assert [rows["base"][name] for name in ("shift_1", "mean_abs_shift")] == [50, 50]
    assert [[rows[rule].get(f"shift_{i}") for i in (2, 3)] for rule in RULES[:3]] == [[None, None]] * 3


def test_what_is_fitted_on_is_not_scored_and_margins_are_needed(runs, tmp_path, monkeypatch):
    train, again = runs("train"), runs("train", set={"options": "1 = {{ first }}\n2 = {{ second }}"})
    with pytest.raises(DataError, match=r"item 'c0' is fitted on and would be scored, and 19 more"):
        calibrate_main([str(train), str(again)])
    sections = {split: study(tmp_path / f"{split}.jsonl", columns={}) for split in ("train", "test")}
    said = [str(run_of(tmp_path, of, lambda _: "1", monkeypatch, name=split)) for split, of in sections.items()]
    with pytest.raises(DataError, match=r"statement.*: no margins to fit on"):
        calibrate_main(said)

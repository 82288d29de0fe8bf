"""Laws of thresholds on margins."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.calibration import (
    ACCEPTANCE,
    DDS,
    fits_of,
    nearest_threshold,
    read_fits,
    shares_above,
    thresholds,
    training_doubts,
)
from evenhand.errors import DataError
from evenhand.files import write_json
from tests.made.places import cases

CASES = cases(__file__)

MARGINS = st.lists(
    st.one_of(st.integers(-4, 4).map(float), st.sampled_from([math.inf, -math.inf])), min_size=1, max_size=15
).map(np.array)


@pytest.mark.parametrize(("true", "false", "threshold"), CASES["thresholds"])
def test_the_best_threshold_is_found(true, false, threshold):
    assert nearest_threshold([np.array(true), np.array(false)], 0.5) == threshold


@given(MARGINS, MARGINS, st.floats(0, 1))
def test_no_other_threshold_is_nearer_and_it_is_a_finite_number(true, false, share):
    threshold, values = nearest_threshold([true, false], share), {*true, *false}
    assert math.isfinite(threshold)
    assert threshold == 0 or threshold not in values

    def miss(at):
        return abs(sum(shares_above(margins, np.array([at]))[0] for margins in (true, false)) / 2 - share)

    others = [t for t in np.arange(-6, 6.5, 0.5) if t == 0 or t not in values]
    assert miss(threshold) <= min(map(miss, others)) + 1e-9


@given(MARGINS, st.integers(-4, 4))
def test_the_shares_of_both_answers_add_up_to_1_also_where_margins_lie_on_the_threshold(margins, at):
    assert shares_above(margins, np.array([at])) + shares_above(-margins, np.array([-at])) == pytest.approx(1)


@given(MARGINS, MARGINS, st.sampled_from([DDS, ACCEPTANCE]))
def test_unknown_margins_are_not_fitted_on_and_the_baseline_stays_where_a_framing_is_to_be_like_it(
    true, false, objective
):
    margins = {"statement": [true, false], "dialogue": [true + 2, false + 2]}
    with_unknown = {framing: [np.append(kind, math.nan) for kind in kinds] for framing, kinds in margins.items()}
    fits = fits_of(margins, objective, "v1", 15)
    assert fits_of(with_unknown, objective, "v1", 15) == fits
    assert objective == ACCEPTANCE or thresholds(fits)["statement", "v1"] == 0


def test_a_kind_of_claims_without_margins_is_refused():
    with pytest.raises(DataError, match="dialogue: no margins"):
        fits_of({"statement": [np.ones(2)], "dialogue": [np.array([math.nan])]}, DDS, "", 2)


@pytest.mark.parametrize("is_here", [True, False])
def test_items_that_a_model_or_the_one_before_it_was_trained_on_are_counted(is_here, tmp_path):
    """The judge's last training had others; what it started from was bent on two of three."""
    bases = {"paired": tmp_path / "training" / "bend" / "merged-nf4", "bend": "owner/model"}
    for name, hashes in (("paired", ["d", "e"]), ("bend", ["a", "b"])):
        folder = tmp_path / "training" / name
        folder.mkdir(parents=True)
        write_json(folder / "DONE.json", {})
        (folder / "config.yaml").write_text(f"model: {{name: '{bases[name]}'}}")
        if is_here:
            write_json(folder / "items.json", {"hashes": hashes})
    config = {"model": {"name": str(tmp_path / "training" / "paired" / "merged-nf4")}}
    (doubt,) = training_doubts(SimpleNamespace(config=config, path=tmp_path), ["a", "b", "c"])
    assert doubt.startswith("bend was trained on 2 of its 3 items") == is_here
    assert ("not known" in doubt) == (not is_here)
    assert training_doubts(SimpleNamespace(config={"model": {"name": "owner/model"}}, path=tmp_path), ["a"]) == []


FILE = {
    "train_run": "a",
    "test_run": "b",
    "objective": "dds",
    "calibrations": fits_of({"c1": [np.ones(2)]}, DDS, "", 2),
}


@pytest.mark.parametrize(("changes", "problem"), CASES["malformed"])
def test_a_malformed_file_of_thresholds_names_file_and_field(changes, problem, tmp_path):
    write_json(tmp_path / "thresholds.json", FILE)
    assert read_fits(tmp_path / "thresholds.json", "b")[0] == FILE["calibrations"]
    content = {key: value for key, value in {**FILE, **changes}.items() if value is not None}
    write_json(tmp_path / "thresholds.json", content)
    with pytest.raises(DataError, match=f"thresholds.json: .*{problem}"):
        read_fits(tmp_path / "thresholds.json", "b")

"""Claims on which a judge agrees with itself, and the errors that are left where it abstains on the others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eval.estimates.estimate import estimate
from eval.estimates.resampling import Drawing
from studies.abstaining import MEASURES, UNCLEAR, Claims, risks

DRAWING = Drawing(n_draws=200, seed=1)


def made_claims(verdicts, labels=0.0, odds=np.nan, clusters=None):
    """Claims of verdicts (n_items, n_claims, n_askings), right where they equal the label; UNCLEAR is not known."""
    codes = np.asarray(verdicts, dtype=float)
    items = tuple(map(str, range(len(codes))))
    return Claims(
        dataset="made",
        items=items,
        clusters=items if clusters is None else clusters,
        verdicts=codes,
        right=np.where(codes >= 0, codes == np.broadcast_to(labels, codes.shape), np.nan),
        odds=np.broadcast_to(np.asarray(odds, dtype=float), codes.shape),
    )


def values(claims):
    """[share agreed, right on these, right by majority, right on all], in percent."""
    part = claims.observed(claims.support == 1)
    return [estimate(measure, [part], DRAWING).value for measure in MEASURES]


def test_a_fair_judge_agrees_on_all_claims_and_is_right_there_as_everywhere():
    verdicts = np.repeat([[[0.0], [1.0]], [[0.0], [0.0]]], 6, axis=2)
    assert values(made_claims(verdicts)) == [100.0, 75.0, 75.0, 75.0]


def test_a_judge_that_flips_on_half_of_its_items_agrees_on_half_and_its_errors_that_are_flips_are_gone():
    verdicts = np.zeros((40, 1, 4))
    verdicts[::2, :, 3] = 1.0  # the last framing takes every other item along; everything else is right
    assert values(made_claims(verdicts)) == [50.0, 100.0, 100.0, 87.5]


def test_a_claim_with_an_unparsed_reply_is_not_agreed_upon_and_one_that_was_not_asked_counts_nowhere():
    agreed = [[0.0, 0.0, 0.0]]
    unparsed, not_asked = [[0.0, 0.0, UNCLEAR]], [[0.0, 0.0, np.nan]]
    assert values(made_claims([agreed, unparsed])) == [50.0, 100.0, 100.0, 100.0]
    assert values(made_claims([agreed, [[UNCLEAR] * 3]])) == [50.0, 100.0, 100.0, 100.0]
    assert values(made_claims([agreed, not_asked])) == [100.0, 100.0, 100.0, 100.0]


def test_without_labels_the_share_alone_is_known():
    claims = replace(made_claims(np.zeros((3, 1, 2))), right=np.full((3, 1, 2), np.nan))
    assert values(claims) == [100.0, None, None, None]
    assert risks([claims], DRAWING).empty


@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 8), st.integers(1, 2), st.integers(2, 4)),
        elements=st.sampled_from([UNCLEAR, 0.0, 1.0]),
    )
)
def test_renaming_answers_and_shuffling_askings_change_nothing(verdicts):
    claims = made_claims(verdicts, labels=0.0)
    swapped = np.where(verdicts < 0, verdicts, 1 - verdicts)[..., ::-1]
    assert values(made_claims(swapped, labels=1.0)) == pytest.approx(values(claims), nan_ok=True)


def test_clusters_widen_the_interval():
    verdicts = np.zeros((200, 1, 2))
    verdicts[:100, :, 1] = 1.0
    widths = [
        estimate(MEASURES[0], [claims.observed(claims.support == 1)], DRAWING).half
        for claims in (made_claims(verdicts), made_claims(verdicts, clusters=[str(i // 10) for i in range(200)]))
    ]
    assert widths[1] == pytest.approx(widths[0] * 10**0.5, rel=0.25)


def test_the_most_common_verdict_counts_of_a_claim_that_is_kept_and_half_of_two():
    claims = made_claims([[[0.0, 0.0, 1.0, UNCLEAR]], [[1.0, 1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0, 1.0]]])
    assert claims.right_by_majority.tolist() == [[1.0], [0.0], [0.5]]
    assert claims.support.tolist() == [[0.5], [0.75], [0.5]]


def test_risk_over_all_claims_is_that_of_the_majority_and_by_agreement_starts_at_what_is_agreed_upon():
    rng = np.random.default_rng(3)
    skill = rng.uniform(0.4, 1.0, size=(300, 1, 1))  # unsure claims are wrong more often, in some framings
    verdicts = (rng.random((300, 1, 6)) > skill).astype(float)
    verdicts[0] = UNCLEAR  # a claim without verdict, and one with margins unknown
    claims = made_claims(verdicts, odds=np.where(np.arange(300)[:, None, None] == 1, np.nan, 4 * skill))
    claims = replace(claims, right=np.nan_to_num(claims.right))  # unparsed counted wrong
    frame = risks([claims], DRAWING)
    agreed, right_agreed, right_majority, _ = values(claims)
    for series, points in frame.groupby("series"):
        points = points.sort_values("x")
        assert points["x"].iloc[-1] == 100
        assert points["value"].iloc[-1] == pytest.approx(100 - right_majority)
        assert points["value"].iloc[0] < points["value"].iloc[-1], series
        assert (points["low"] <= points["value"]).all()
        assert (points["value"] <= points["high"]).all()
    least = frame[frame["series"] == "by agreement"].sort_values("x").iloc[0]
    assert (least["x"], least["value"]) == (pytest.approx(agreed), pytest.approx(100 - right_agreed))
    by_margin = frame[frame["series"] == "by margin"]
    assert sorted(by_margin["x"].round()) == [*range(10, 101, 10)]

"""Laws of free rules: nothing is fitted on what it judges, and what is fitted undoes what a framing adds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.simulated_rules import JUDGES, ended
from eval.runs import PlannedPrompt
from eval.scorecard.rules import N_FOLDS, Folded, folds_of, thresholds_by_fold


def folded(n, added, seed=0):
    """n items of two claims, whose margins a framing raises."""
    base = np.random.default_rng(seed).normal([1.0, -1.0], 1, (n, 2))
    return Folded(np.stack([base, base + added], axis=1)[..., None], np.arange(n) % N_FOLDS)


def planned(dataset, item, cluster=None, words=""):
    """A prompt of an item; words: that it shares with others."""
    hash_ = words or f"{dataset} {item}"
    return PlannedPrompt(prompt_hash=hash_, item_id=item, dataset=dataset, condition="", factors=(), cluster=cluster)


@given(st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=60))
def test_a_cluster_lies_in_one_fold_and_folds_hold_alike_many_clusters(clusters):
    folds = folds_of(planned("d", str(i), name) for i, name in enumerate(clusters))
    fold_of = {name: folds["d", str(i)] for i, name in enumerate(clusters)}
    assert [fold_of[name] for name in clusters] == [*folds.values()]
    sizes = np.bincount([*fold_of.values()], minlength=N_FOLDS)
    assert sizes.max() - sizes.min() <= 1


def test_an_item_that_is_in_two_datasets_under_two_ids_lies_in_one_fold():
    plan = [planned("a", f"a{i}", words=f"claim {i}") for i in range(50)]
    plan += [planned("b", f"b{(i * 7) % 50}", words=f"claim {i}") for i in range(50)]
    folds = folds_of(plan)
    assert all(folds["a", f"a{i}"] == folds["b", f"b{(i * 7) % 50}"] for i in range(50))
    assert len({*folds.values()}) == N_FOLDS


@given(st.integers(0, N_FOLDS - 1), st.floats(-20, 20))
def test_the_thresholds_of_a_fold_do_not_depend_on_its_items(fold, other):
    one = folded(40, 0.7)
    changed = one.margins.copy()
    changed[one.folds == fold, 1] = other
    before, after = (thresholds_by_fold([Folded(margins, one.folds)]) for margins in (one.margins, changed))
    assert before[fold].tolist() == after[fold].tolist()


@pytest.mark.parametrize("added", [-2.0, 0.0, 3.5])
def test_what_a_framing_adds_to_all_margins_is_the_threshold_and_the_baseline_keeps_0(added):
    thresholds = thresholds_by_fold([folded(400, added)])
    assert np.abs(thresholds[:, 1] - added).max() < 0.1
    assert not thresholds[:, 0].any()


def test_claims_without_a_margin_in_one_of_both_are_fitted_on_in_neither():
    one = folded(50, 2.0)
    margins = one.margins.copy()
    margins[:20, 1, 0] = np.nan
    without = margins.copy()
    without[:20, 0, 0] = 100.0  # the baseline of claims that the framing lacks
    both = [thresholds_by_fold([Folded(each, one.folds)]) for each in (margins, without)]
    assert both[0].tolist() == both[1].tolist()


def test_a_judge_that_is_bent_in_words_and_by_position_is_straight_and_right_under_thresholds_alone():
    """A small part of what docs/results.md says; the first of the figures is the shift, the last what is right."""
    ends = ended(JUDGES["both"], 100, 6)
    left = {rule: (abs(end.left[0]) < 2, end.left[-1] > 76) for rule, end in ends.items()}
    assert left == {
        "as asked": (False, False),
        "both orders": (False, False),
        "threshold": (True, True),
        "both orders + threshold": (True, True),
    }
    assert min(end.held["level"].min() for end in ends.values()) > 60


def test_no_threshold_mends_what_a_judge_does_not_know_behind_a_speaker():
    ends = ended(JUDGES["knows less"], 100, 2)
    assert max(end.theory[-1] for end in ends.values()) < 70

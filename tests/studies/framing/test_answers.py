"""The answer of a study in YAML about simulated judges."""

from tests.made.simulated_framings import verdicts


def test_a_fair_judge_that_rewordings_move_is_rarely_told_yes_by_any_measure() -> None:
    """Without placebos it would be in more than half of the runs."""
    assert verdicts(n_items=100, n_runs=12)["yes"] <= 3
    assert verdicts(n_items=100, n_runs=2, wording_sd=0.0)["no"] == 2

"""Commands killed before any of their file operations and run again: nothing is lost, asked twice, or different."""

import pytest

from tests.made.fuzz import N_KILLS
from tests.made.growing_run import Found
from tests.made.kill_campaign import COMMANDS, campaign

pytestmark = [pytest.mark.campaign, pytest.mark.slow]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_command_that_is_run_again_ends_as_an_undisturbed_one(command, tmp_path):
    with campaign(command, tmp_path) as made:
        differences = {kill: made.trial(kill) for kill in made.drawn(N_KILLS)}
    assert {kill: seen for kill, seen in differences.items() if seen != Found()} == {}

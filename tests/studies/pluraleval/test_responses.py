"""What the model under test is asked, and how its lists, rankings and choices are read."""

from pathlib import Path

import pytest

from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from inference.config import parse_sampling_config
from studies.pluraleval.reply_reading import choice_in, ranking_in
from studies.pluraleval.response_lists import responses_in
from studies.pluraleval.responses import Asker, ResponseSettings
from studies.pluraleval.sources import ReferenceSpec, pocket_references
from tests.made.completions import completion
from tests.made.pluraleval_models import FORMATS, formatted

POCKET = ReferenceSpec(dataset="pocket-threads")
REFERENCES = {one.thread.thread_id: one for one in pocket_references()}
TEN = [f"Response {n}, with words." for n in range(1, 11)]

LISTS, RANKINGS, FORMS, REFUSED = (
    shipped_yaml(Path(__file__).with_name(f"{name}.yaml"))
    for name in ("lists", "rankings", "list_forms", "refused_configs")
)


def asked(thread_id, **settings):
    return list(Asker(REFERENCES[thread_id], ResponseSettings(references=POCKET, **settings)).prompts())


def test_a_feasible_thread_is_asked_neutrally_and_with_both_beliefs_and_another_one_ranked_and_paired_alone():
    known = REFERENCES["pocket-piano"]
    prompts = asked("pocket-piano", tasks=("generation",))
    assert [prompt.condition for prompt in prompts] == ["neutral", "biased_toward", "biased_opposing"]
    starts = [prompt.messages[1].content.split("\n\n")[0] for prompt in prompts]
    assert starts[1:] == [known.clusters[0].belief, known.opposing]
    for thread_id in ("pocket-wallet", "pocket-umbrella"):
        assert {prompt.factors.task for prompt in asked(thread_id)} == {"ranking", "pairwise"}


def test_a_ranking_shows_the_same_order_in_both_framings_and_believes_the_least_popular():
    neutral, biased = asked("pocket-piano", tasks=("ranking",))
    assert neutral.factors.shown == biased.factors.shown != tuple(range(7))
    assert sorted(neutral.factors.shown) == list(range(7))
    assert biased.factors.votes == tuple(REFERENCES["pocket-piano"].clusters[n].votes for n in biased.factors.shown)
    assert biased.factors.believed == 6
    assert biased.messages[1].content.startswith(REFERENCES["pocket-piano"].clusters[6].belief)


def test_each_pair_is_asked_in_both_orders_and_framings_and_the_first_is_strictly_more_popular():
    prompts = asked("pocket-cake", tasks=("pairwise",), pairings=("most_popular", "random"), n_pairs=3, min_gap=20)
    assert len(prompts) == 2 * 3 * 2 * 2
    for prompt in prompts:
        factors = prompt.factors
        more, less = reversed(factors.shown) if factors.is_swapped else factors.shown
        votes = [REFERENCES["pocket-cake"].clusters[n].votes for n in (more, less)]
        assert votes[0] > votes[1]
        assert factors.believed == (less if factors.framing == "biased" else None)
        if factors.pairing == "most_popular":
            assert more == 0
        else:
            assert votes[0] - votes[1] >= 20
    assert len({prompt.prompt_hash for prompt in prompts[:12]}) == 12


LISTED = [formatted(form, TEN) for form in [*FORMATS, *(("", item, "\n", "") for item in FORMS["with notes"])]]


@pytest.mark.parametrize("text", [*LISTED, *FORMS["ten"]])
def test_ten_responses_are_read_however_they_are_told_apart(text):
    assert responses_in(completion(text)) == (TEN, "ok")


@pytest.mark.parametrize(("text", "responses"), FORMS["inner numbers"])
def test_numbers_and_bullets_within_a_response_are_part_of_it(text, responses):
    assert responses_in(completion(text)).value == responses


@pytest.mark.parametrize(("text", "finish", "n", "state"), LISTS)
def test_other_lists_have_a_named_state(text, finish, n, state):
    found = responses_in(completion(text, finish))
    assert (len(found.value), found.state) == (n, state)


@pytest.mark.parametrize("state", RANKINGS)
def test_rankings_are_read_or_have_a_named_state(state):
    for text in RANKINGS[state]:
        assert ranking_in(completion(text), 3) == ([2, 0, 1] if state == "ok" else [], state), text


def test_thinking_without_an_end_is_no_reply():
    endless = completion("<think>\n1. The first is 2, 1, 3", finish_reason="length")
    assert responses_in(endless) == ([], "none")
    assert (ranking_in(endless, 3), choice_in(endless)) == (([], "cut"), (None, "cut"))


@pytest.mark.parametrize(("section", "keys", "message"), REFUSED)
def test_a_config_that_cannot_be_asked_is_refused(section, keys, message):
    tree = {"name": "n", "model": {"name": "m"}, "pluraleval": section, "verdict": "answer", **keys}
    with pytest.raises(ConfigError, match=message):
        parse_sampling_config(tree, "made.yaml")

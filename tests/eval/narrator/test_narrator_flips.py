"""One answer a prompt: majorities, ties, flips, corruption, and what detection says about the other tasks."""

import math
from typing import Any

import pytest

from eval.narrator.judged_runs import Judgment
from eval.narrator.measures import Definitions, conditioned, flips, observed, outcome
from tests.made.narrator_judgments import judgment

RIGHT, WRONG, EVEN, SILENT = (0.8, 0.2), (0.2, 0.8), (0.5, 0.5), (0.0, 0.0)
KINDS = [
    *[(RIGHT, RIGHT)] * 5,
    *[(RIGHT, WRONG)] * 3,
    *[(WRONG, RIGHT)] * 2,
    *[(WRONG, WRONG)] * 4,
    (EVEN, RIGHT),
    (RIGHT, EVEN),
    (RIGHT, SILENT),
]


def flips_of(*kinds: tuple[tuple[float, float], tuple[float, float]]) -> dict[str, Any]:
    """Of a conversation for each (neutral, attacker) pair of shares."""
    judgments = [
        judgment(perspective, *shares, conversation=f"c{i}")
        for i, kind in enumerate(kinds)
        for perspective, shares in zip(("neutral", "attacker"), kind, strict=True)
    ]
    return next(flips(judgments))[1]


def test_ties_and_silence_are_excluded_and_counted_apart():
    found = flips_of(*KINDS)
    kinds = ("stable_correct", "corrupted", "restored", "stable_incorrect")
    assert [found[f"n_{kind}"] for kind in kinds] == [5, 3, 2, 4]
    assert (found["n_pairs"], found["n_tied"], found["n_unanswered"]) == (17, 2, 1)
    assert found["corruption"].value == pytest.approx(100 * 3 / 8)
    assert found["corruption"].low < 37.5 < found["corruption"].high
    assert found["mcnemar_p"] == pytest.approx(1.0)
    assert flips_of((WRONG, RIGHT))["corruption"].value is None  # nothing correct to begin with


@pytest.mark.parametrize(
    ("shares", "says"),
    [
        ((0.4, 0.3, 0.3), "correct"),
        ((0.5, 0.5), "tied"),
        ((0.2, 0.4, 0.4), "tied"),  # a tie between two others is no answer either
        ((0.0, 0.1), "incorrect"),
        ((), "unanswered"),
    ],
)
def test_a_prompts_one_answer(shares, says):
    assert outcome(judgment("neutral", *shares)) == says


def test_shares_are_of_the_replies_that_name_an_option_or_of_all():
    half_silent = judgment("non_attacker", 0.3, 0.2)
    assert half_silent.target_weight("answered") == pytest.approx(0.6)
    assert half_silent.target_weight("all") == pytest.approx(0.3)
    assert half_silent.weight("Me", "answered") == pytest.approx(0.4)
    silent, failed = judgment("neutral"), judgment("neutral", n=0)
    assert math.isnan(silent.target_weight("answered"))
    assert silent.target_weight("all") == 0
    assert math.isnan(failed.target_weight("all"))


def test_variants_count_once_a_conversation_in_m_and_each_in_far():
    found = observed(
        [
            judgment("non_attacker", 1.0, 0.0, conversation="two"),
            *(judgment("non_attacker", 0.0, 1.0, conversation="four", narrator=who) for who in ("b", "c", "d")),
        ]
    )
    *_, non_attacker, far, _ = range(5)
    assert found.means[[non_attacker, far]] == pytest.approx([0.5, 0.75])
    assert found.counted[:, [non_attacker, far]].tolist() == [[1, 1], [1, 3]]


def seen(perspective: str, *shares: float, **keys: str) -> Judgment:
    return judgment(perspective, *shares, task="detection", **keys)


def table_4(judgments: list[Judgment], **definitions: Any) -> dict[tuple[str, bool], dict[str, Any]]:
    rows = conditioned(judgments, Definitions(**definitions))
    return {(setting["perspective"], setting["is_detected"]): row for setting, row in rows}


def test_table_4_has_a_conversation_with_mixed_detection_in_both_rows():
    judgments = [
        *(seen("neutral", 0.9, 0.1, conversation="mixed"), judgment("neutral", 0.2, 0.8, conversation="mixed")),
        *(seen("neutral", 1.0, conversation="sure"), judgment("neutral", 1.0, conversation="sure")),
        *(seen("neutral", 0.0, 1.0, conversation="missed"), judgment("neutral", 0.5, 0.5, conversation="missed")),
    ]
    by_share = (100 * (0.9 * 0.2 + 1) / 1.9, 100 * (0.1 * 0.2 + 0.5) / 1.1)
    for detection, means in {"reply": (60, 35), "share": by_share, "majority": (60, 50)}.items():
        sides = [table_4(judgments, detection=detection)["neutral", side] for side in (True, False)]
        assert [row["m"].value for row in sides] == pytest.approx(means)
        assert [row["m_by_share"] for row in sides] == (pytest.approx(by_share) if detection == "reply" else [None] * 2)
        assert [row["n_prompts"] for row in sides] == ([2, 1] if detection == "majority" else [2, 2])
        assert [row["n_mixed"] for row in sides] == [0 if detection == "majority" else 1] * 2


def test_exact_detection_is_weighted_by_its_probability():
    judgments = [
        *(seen("neutral", 0.9, 0.1, is_exact=True), judgment("neutral", 0.2, is_exact=True)),
        seen("neutral", 0.5, 0.5, is_exact=True, conversation="c2"),
        judgment("neutral", 1.0, is_exact=True, conversation="c2"),
    ]
    sides = [table_4(judgments, denominator="all")["neutral", side]["m"].value for side in (True, False)]
    assert sides == pytest.approx([100 * (0.9 * 0.2 + 0.5) / 1.4, 100 * (0.1 * 0.2 + 0.5) / 0.6])


def test_table_4_conditions_on_the_detection_of_the_same_narrator_visibility_and_order():
    judgments = [
        seen("non_attacker", 1.0, narrator="bob"),
        seen("non_attacker", 0.3, 0.7, narrator="cat"),
        *(seen("neutral", 1.0), seen("non_attacker", 1.0, narrator="cat", visibility="hidden")),
        seen("non_attacker", 1.0, narrator="cat", option_order="fixed_slot"),
        judgment("non_attacker", 1.0, narrator="bob"),
        judgment("non_attacker", 0.0, 1.0, narrator="cat"),
    ]
    by_majority, by_reply = table_4(judgments, detection="majority"), table_4(judgments)
    assert [by_majority["non_attacker", side]["m"].value for side in (True, False)] == [100, 0]
    assert [by_reply["non_attacker", side]["m"].value for side in (True, False)] == [50, 0]
    assert by_reply["non_attacker", True]["m"].n_units == 1


def test_undecided_detection_is_in_neither_row():
    judgments = [seen("neutral", 0.5, 0.5), judgment("neutral", 1.0), judgment("neutral", 1.0, conversation="c2")]
    by_majority = table_4(judgments, detection="majority")
    assert [by_majority["neutral", side]["n_prompts"] for side in (True, False)] == [0, 0]
    assert by_majority["neutral", True]["n_undecided"] == 2
    by_reply = table_4([*judgments, seen("neutral", conversation="c2")])  # whose detection names no option
    assert [by_reply["neutral", side]["n_prompts"] for side in (True, False)] == [1, 1]
    assert by_reply["neutral", True]["n_undecided"] == 1
    assert [*conditioned([judgment("neutral", 1.0)])] == []

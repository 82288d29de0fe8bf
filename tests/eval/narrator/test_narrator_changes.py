"""How the measures of the study move between two runs: paired by conversation, tested by swaps, put into words."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.estimates.changes import Change, Compared, adjusted, change_in, paired
from eval.estimates.estimate import Drawing, Measure, Row, added_up
from eval.estimates.false_discovery import holm
from eval.narrator.change_tables import change_sentence
from eval.narrator.changes import effect_changes, key_of, levels_of
from eval.narrator.judged_runs import load_narrator_runs
from eval.narrator.observe import SHARE, difference
from eval.narrator.scores import study
from eval.narrator.sentences import headline
from evenhand.records import Prompt
from tests.made.narrator_judgments import judgment
from tests.made.narrator_runs import drawing_lots, fair, made_conversations, make_narrator_run, mixed


def conversations_with(*pairs: tuple[float, float]) -> tuple[list[Any], list[Any]]:
    """Judgments before and after: how much is right under Neutral, in a conversation each."""
    return tuple(  # type: ignore[return-value]
        [judgment("neutral", pair[side], 1 - pair[side], conversation=f"c{i}") for i, pair in enumerate(pairs)]
        for side in (0, 1)
    )


def p_of(measure: Measure, before: list[list[Row]], after: list[list[Row]]) -> float | None:
    pair = paired(added_up("made", before), added_up("made", after), Drawing(n_draws=20_000, seed=1))
    return change_in(measure, [pair], Compared("before", "after", {}), "made").p


def moved_between(before: Any, after: Any, n_draws: int = 200) -> list[Change]:
    return effect_changes(before, after, Drawing(n_draws=n_draws, seed=1))


@pytest.mark.parametrize("n_units", [1, 5, 8])
def test_p_of_few_units_was_below_what_their_swaps_can_give(n_units: int) -> None:
    sides: list[list[Row]] = [[(f"c{i}", value, 1.0) for i in range(n_units)] for value in (0.0, 1.0)]
    assert p_of(SHARE, *([side] for side in sides)) == 2 / 2**n_units


def test_the_swap_test_agrees_with_all_swaps() -> None:
    before: list[Row] = [("a", 0.9, 1.0), ("b", 0.8, 1.0), ("c", 0.2, 1.0), ("d", 1.0, 1.0), ("e", 0.6, 1.0)]
    after: list[Row] = [("a", 0.1, 1.0), ("b", 0.3, 1.0), ("c", 0.4, 1.0), ("e", 0.1, 1.0), ("f", 0.0, 2.0)]

    def moved(swaps: tuple[int, ...]) -> float:
        swapped = {cluster for cluster, is_swapped in zip("abcdef", swaps, strict=True) if is_swapped}
        sides: list[list[Row]] = [[], []]
        for home, rows in enumerate((before, after)):
            for row in rows:
                sides[(row[0] in swapped) ^ home].append(row)
        means = [sum(v * w for _, v, w in rows) / sum(w for *_, w in rows) for rows in sides]
        return abs(means[1] - means[0])

    sizes = [moved(swaps) for swaps in product((0, 1), repeat=6)]
    exact = np.mean([size >= sizes[0] - 1e-9 for size in sizes])
    assert p_of(SHARE, [before], [after]) == pytest.approx(exact)
    assert p_of(SHARE, [before], [before]) == 1
    # The same clusters are swapped in both parts: where both move alike, their difference never does.
    apart = difference("apart", 1, 0)
    assert p_of(apart, [before, before], [before, after]) == pytest.approx(exact)
    assert p_of(apart, [before, before], [after, after]) == 1


def test_corruption_moves_among_the_conversations_that_each_run_gets_right() -> None:
    def judged(*kinds: tuple[int, int]) -> list[Any]:
        return [
            judgment(perspective, right, 1 - right, conversation=f"c{i}")
            for i, kind in enumerate(kinds)
            for perspective, right in zip(("neutral", "attacker"), kind, strict=True)
        ]

    before = judged((1, 0), (1, 0), (1, 1), (1, 0), (0, 1), (1, 1))
    after = judged((1, 1), (1, 1), (1, 1), (0, 0), (1, 0), (1, 1))
    found = {c.measure: c for c in moved_between(before, after, 50)}
    corruption = found["corruption"]
    assert (corruption.before.value, corruption.after.value) == pytest.approx((60, 20))
    assert corruption.change.value == pytest.approx(-40)
    # By how much each conversation moves either rate: of five that are right, three are corrupted before and one after.
    first = {0: 0.4 / 5, 1: 0.4 / 5, 2: -0.6 / 5, 3: 0.4 / 5, 5: -0.6 / 5}
    second = {0: -0.2 / 5, 1: -0.2 / 5, 2: -0.2 / 5, 4: 0.8 / 5, 5: -0.2 / 5}
    se = (6 / 5 * sum((second.get(i, 0) - first.get(i, 0)) ** 2 for i in range(6))) ** 0.5
    assert corruption.change.half == pytest.approx(100 * 2.5706 * se, rel=1e-3)
    never = judged((0, 0), (0, 1), (0, 0), (0, 0), (0, 0), (0, 1))
    assert "corruption" not in {c.measure for c in moved_between(never, after, 50)}
    assert ("blame", "visible", "published", "corruption") not in levels_of(never)


def test_p_is_adjusted_over_the_runs_for_each_measure() -> None:
    before, moves = conversations_with(*[(0.9, 0.1)] * 6)
    _, stays = conversations_with((0.9, 0.8), (0.9, 1.0), (0.9, 0.7), (0.9, 0.9), (0.9, 1.0), (0.9, 0.6))
    families = [moved_between(before, after, 500) for after in (moves, stays)]
    ps = [next(c.p for c in of if c.measure == "neutral") for of in families]
    found = [next(c.p_holm for c in of if c.measure == "neutral") for of in adjusted(families)]
    assert found == pytest.approx(holm(ps))
    assert found[0] > ps[0]


@pytest.mark.parametrize("share", [0.6, -0.6])
def test_a_judge_that_takes_the_last_option_or_avoids_it_is_not_called_one_of_the_narrator_by_the_published_order_alone(
    tmp_path: Path, share: float
) -> None:
    def last(prompt: Prompt) -> Mapping[str, float]:
        *others, me = prompt.answer_space
        avoiding = dict.fromkeys(others, 1 / len(others))
        return mixed({me: 1.0} if share > 0 else avoiding, drawing_lots(prompt), abs(share))

    asked: dict[str, Any] = {"is_exact": True, "tasks": ("blame",), "visibilities": ("visible",)}
    how, conversations = "narrator.option_orders='[published, fixed_slot]'", made_conversations({3: 20, 4: 10})
    for orders in (("published",), ("fixed_slot",), ("published", "fixed_slot")):
        asked["option_orders"] = orders
        names = {f"lots{len(orders)}{orders[0]}": drawing_lots, f"last{len(orders)}{orders[0]}": last}
        paths = [make_narrator_run(tmp_path, judge, conversations, name=name, **asked) for name, judge in names.items()]
        lots, after = load_narrator_runs(paths)
        changed = change_sentence("last", moved_between(lots.judgments, after.judgments))
        assert [how in words for words in (headline(study([after]))[0], changed)] == [orders == ("published",)] * 2


def test_a_change_that_comes_from_the_slot_of_me_is_not_called_one_of_protection(
    tmp_path: Path,
) -> None:
    def last(prompt: Prompt) -> dict[str, float]:
        return {option: float(option == prompt.answer_space[-1]) for option in prompt.answer_space}

    asked: dict[str, Any] = {"is_exact": True, "tasks": ("blame",), "visibilities": ("visible",)}
    conversations = made_conversations({2: 4, 3: 4})
    judges = {"fair": fair, "last": last}
    paths = [make_narrator_run(tmp_path, judge, conversations, name=name, **asked) for name, judge in judges.items()]
    run, after = load_narrator_runs(paths)
    changes = moved_between(run.judgments, after.judgments)
    assert next(c for c in changes if key_of(c) == ("blame", "visible", "published", "pr")).direction == -1
    sentence = change_sentence("last", changes)
    assert "0.0 pp [0.0, 0.0], p 1.0000 with Me in its name's slot" in sentence
    assert sentence.endswith("with Me in its name's slot none is shown.")
    assert change_sentence("same", moved_between(run.judgments, run.judgments)).endswith("no change of PR is shown.")

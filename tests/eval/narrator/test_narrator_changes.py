"""How the measures of the study move between runs: paired by conversation; compare and scorecard."""

from pathlib import Path
from typing import Any

import pytest

from eval.estimates.changes import Compared, change_in, paired
from eval.estimates.estimate import Drawing
from eval.narrator.measures import BY_CONVERSATION, DEFAULT, MEASURES, observed
from evenhand.errors import DataError
from evenhand.records import Prompt
from tests.made.narrator_judgments import judgment
from tests.made.narrator_runs import Judge, fair, made_conversations, make_narrator_run, protector, results_of_runs
from tests.made.scorecard_runs import scored, three

CONVERSATIONS = made_conversations({2: 6, 3: 5})
MODELS = {"base": "owner/model", "sft": "owner/sft", "dpo": "owner/dpo"}
BLAME: dict[str, Any] = {"tasks": ("blame",), "visibilities": ("visible",)}


def made(root: Path, arm: str, judge: Judge, conversations: Any = CONVERSATIONS, **changes: Any) -> Path:
    """An arm's run of the study."""
    keys = {
        "is_exact": True,
        "tasks": ("blame", "identification"),
        "model": MODELS[arm],
        "name": f"narrator-{arm}",
        **changes,
    }
    return make_narrator_run(root, judge, conversations, **keys)


def test_corruption_moves_among_the_conversations_that_each_run_gets_right() -> None:
    def judged(*kinds: tuple[int, int]) -> Any:
        judgments = [
            judgment(perspective, right, 1 - right, conversation=f"c{i}")
            for i, kind in enumerate(kinds)
            for perspective, right in zip(("neutral", "attacker"), kind, strict=True)
        ]
        return observed(judgments, DEFAULT.denominator, BY_CONVERSATION)

    before = judged((1, 0), (1, 0), (1, 1), (1, 0), (0, 1), (1, 1))
    after = judged((1, 1), (1, 1), (1, 1), (0, 0), (1, 0), (1, 1))
    pair = paired(before, after, Drawing(n_draws=50, seed=1))
    corruption = change_in(MEASURES[-1], [pair], Compared("before", "after", {}), "made")
    assert (corruption.before.value, corruption.after.value) == pytest.approx((60, 20))
    # By how much each conversation moves either rate: of five that are right, three are corrupted before and one after.
    first = {0: 0.4 / 5, 1: 0.4 / 5, 2: -0.6 / 5, 3: 0.4 / 5, 5: -0.6 / 5}
    second = {0: -0.2 / 5, 1: -0.2 / 5, 2: -0.2 / 5, 4: 0.8 / 5, 5: -0.2 / 5}
    se = (6 / 5 * sum((second.get(i, 0) - first.get(i, 0)) ** 2 for i in range(6))) ** 0.5
    assert corruption.change.half == pytest.approx(100 * 2.5706 * se, rel=1e-3)


def test_before_and_after_are_paired_over_the_conversations_of_both_and_never_pooled(tmp_path: Path) -> None:
    runs = made(tmp_path, "base", protector(0.5), **BLAME), made(tmp_path, "sft", fair, CONVERSATIONS[1:], **BLAME)
    results = results_of_runs(*runs, is_before_after=True)
    assert set(results.scores["judge"]) == {"model", "sft"}
    rows = results.changes[results.changes["option_order"] == "published"].set_index("measure")
    pr = rows.loc["pr"]
    assert (pr["after"], rows.loc["neutral", "change"]) == pytest.approx((0, 0), abs=1e-6)
    assert pr["change"] == pytest.approx(-pr["before"])
    assert (pr["n_units"], pr["direction"]) == (10, -1)
    assert not results_of_runs(*runs).change_rows  # side by side


def test_a_change_that_comes_from_the_slot_of_me_is_not_called_one_of_protection(tmp_path: Path) -> None:
    def last(prompt: Prompt) -> dict[str, float]:
        return {option: float(option == prompt.answer_space[-1]) for option in prompt.answer_space}

    runs = [made(tmp_path, "base", fair, **BLAME), made(tmp_path, "sft", last, **BLAME)]
    (sentence,) = results_of_runs(*runs, is_before_after=True).sentences["changes"]
    assert "The change may come from where Me stands" in sentence


def test_a_run_that_names_no_option_has_no_change_and_no_made_up_number(tmp_path: Path) -> None:
    asked = {**BLAME, "is_exact": False, "n": 1}
    mute = made(tmp_path, "sft", lambda _: {"I would rather not say.": 1.0}, **asked)
    results = results_of_runs(made(tmp_path, "base", fair, **asked), mute, is_before_after=True)
    assert not results.change_rows
    assert "it never names an option" in " ".join(results.sentences["scores"])


def carded(root: Path, runs: dict[str, Path], *words: str) -> dict[str, dict[str, Any]]:
    """Arm → row of scorecard.json."""
    beside = [f"--beside={arm}={run}" for arm, run in runs.items()]
    return scored(*three(root), *beside, *words, draws=50)


def test_every_arm_of_a_card_with_a_run_has_figures_and_changes_and_the_others_are_blank(tmp_path: Path) -> None:
    runs = {"base": made(tmp_path, "base", protector(0.5)), "sft": made(tmp_path, "sft", fair)}
    base, sft, dpo = carded(tmp_path, runs).values()
    scores = results_of_runs(runs["base"]).scores
    asked = {"task": "blame", "visibility": "hidden", "option_order": "published", "group": "all", "measure": "pr"}
    (pr,) = scores[(scores[list(asked)] == list(asked.values())).all(axis=1)].itertuples()
    assert [base[f"narrator_blame_hidden_pr{end}"] for end in ("", "_low")] == pytest.approx([pr.value, pr.low])
    assert (sft["narrator_blame_hidden_pr"], sft["narrator_blame_hidden_neutral"]) == pytest.approx((0, 60))
    assert sft["change_narrator_blame_hidden_pr"] == pytest.approx(-pr.value)
    assert (base["narrator_run"], dpo["narrator_run"]) == ("narrator-base-0000", None)
    assert {key: value for key, value in dpo.items() if "narrator" in key and value is not None} == {}
    figures = [key for key in base if key.startswith("narrator_") and key.endswith("_low")]
    assert len(figures) == 4 * (4 + 1)  # PR with Me in its name's slot stands beside them


def test_a_card_refuses_other_checkpoints_and_what_has_none_of_its_figures(tmp_path: Path) -> None:
    foreign = {"base": made(tmp_path, "base", fair), "sft": made(tmp_path, "dpo", fair)}
    with pytest.raises(DataError, match="of checkpoint owner/sft, but its narrator run narrator-dpo-0000 of owner/dpo"):
        carded(tmp_path / "one", foreign)
    with pytest.raises(DataError, match="was asked neither blame nor identification"):
        carded(tmp_path / "two", {"base": made(tmp_path, "base", fair, name="seen", tasks=("detection",))})

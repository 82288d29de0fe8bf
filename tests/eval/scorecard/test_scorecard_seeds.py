"""Arms of several seeds: one value and interval an arm; what is adjusted, ranked, and shown of other variants."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import DataError
from tests.made.made_runs import lean, made_items
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector
from tests.made.scorecard_runs import margins_with, printed, run, scored

MANY = made_items("bbq", 40)
SHIFTS = {"good": (0.3, 0.4, 0.2), "middle": (0.5, 0.3, 0.4), "yes": (0.3, 9.0)}  # of each seed
MAIN = "mean_abs_dds_own"


def words(root: Path, **shifts: tuple[float, ...]) -> list[object]:
    """A base that bends by 0.9, and arms of several seeds."""
    base = run(root, "before", margins_with(1, 0.9), MANY, verdict="margin")
    answers = [(arm, margins_with(1, s) if s < 5 else lambda _: lean(9.0)) for arm in shifts for s in shifts[arm]]
    runs = [(arm, run(root, f"{arm}-{i}", a, MANY, verdict="margin")) for i, (arm, a) in enumerate(answers)]
    return [base, *(f"{arm}={path}" for arm, path in runs)]


def pooled(root: Path, measure: str = MAIN, **setting: str) -> dict[str, dict[str, Any]]:
    """Arm → the row of a measure over its seeds."""
    rows = json.loads((root / "out" / "scorecard_seeds.json").read_text())
    wanted = {"measure": measure, **setting}
    return {row["second"]: row for row in rows if all(row.get(key) == value for key, value in wanted.items())}


def test_an_arm_is_the_mean_of_its_seeds_and_its_interval_is_wider_than_each_of_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = scored(*words(tmp_path, **SHIFTS))
    assert list(rows) == ["base", "good/1", "good/2", "good/3", *(f"middle/{n}" for n in (1, 2, 3)), "yes/1", "yes/2"]
    good, seeds = pooled(tmp_path)["good"], [rows[f"good/{n}"] for n in (1, 2, 3)]
    assert (good["n_seeds"], good["change"]) == (3, pytest.approx(sum(row[f"change_{MAIN}"] for row in seeds) / 3))
    widths = [row[f"change_{MAIN}_high"] - row[f"change_{MAIN}_low"] for row in seeds]
    assert good["change_high"] - good["change_low"] > max(widths)  # items are the same, and seeds add their noise
    text = printed(capsys)
    assert "good 3 15.0 4.5 -30.0 [" in text
    assert "15.0 20.0 10.0" in text  # the seeds' values
    assert ": good, 15.0 (" in text
    assert "Next: middle, 20.0 (+5.0 [" in text
    assert "Not ranked: yes (yes/2 saturated)." in text
    assert (tmp_path / "out" / f"scorecard_{MAIN}.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("good", "worse", "verdict"),
    [
        ((0.0,), (0.9, 0.8), "not tested: one of the two has a single seed)"),
        ((0.0, 0.0), (0.9, 0.8), "the difference is significant)"),
        ((0.0,), (0.9,), "the difference is significant)"),
        ((0.0,), (0.0,), "the difference is not significant)"),
    ],
)
def test_a_lead_is_tested_over_the_seeds_of_both_arms(
    good: tuple[float, ...],
    worse: tuple[float, ...],
    verdict: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scored(*words(tmp_path, good=good, worse=worse))
    assert verdict in printed(capsys)


def test_another_study_beside_it_has_the_seeds_in_their_order(tmp_path: Path) -> None:
    judges = {"base": [protector(0.5)], "good": [fair, protector(0.3), protector(0.1)]}
    asked: dict[str, Any] = {"is_exact": True, "tasks": ("blame",)}
    beside: list[object] = []
    for arm, judge in ((arm, judge) for arm, of_arm in judges.items() for judge in of_arm):
        name = f"narrator-{len(beside) // 2}"
        path = make_narrator_run(tmp_path, judge, made_conversations({2: 6, 3: 5}), name=name, **asked)
        beside += ["--beside", f"{arm}={path}"]
    named = words(tmp_path, good=(0.3, 0.4))
    rows = scored(*named, *beside[:6])
    assert [rows[f"good/{n}"]["narrator_run"] for n in (1, 2)] == ["narrator-1-0000", "narrator-2-0000"]
    mean = sum(rows[f"good/{n}"]["change_narrator_blame_visible_pr"] for n in (1, 2)) / 2
    over_seeds = pooled(tmp_path, "pr", visibility="visible", option_order="published")["good"]
    assert over_seeds["change"] == pytest.approx(mean)
    with pytest.raises(DataError, match="'good' has fewer seeds than runs are named for it"):
        scored(*named, *beside)

"""Before and after: which flips a mitigation removed, left and made."""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from eval.estimates.changes import Change
from eval.estimates.estimate import Estimate
from eval.results import Results
from eval.taxonomy.scores import moves
from evenhand.errors import DataError
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run, results

N_ITEMS = 100
Codes = Mapping[str, Collection[int]]  # code → the items whose flip has it
BASE: Codes = {"IC2": range(20), "ES1": range(20, 40), "SA1": range(40, 44)}
# All of ES1 is gone; of IC2 5 are left as they were, 3 became RE1; two SA1 were made, and two lost.
AFTER: Codes = {"IC2": range(5), "RE1": range(5, 8), "SA1": (42, 43, 60, 61)}
compared = partial(results, is_before_after=True)


def run(root: Path, name: str, of: Codes, facts: Mapping[str, Any] | None = None, **keys: Any) -> Path:
    code_of = {number: code for code, numbers in of.items() for number in numbers}
    folder = flips_folder(root / f"{name}-flips", [flip(n, model=name) for n in code_of], N_ITEMS, **(facts or {}))
    return judged_run(root, folder, by_number(lambda n, _: coded(code_of[n])), name=name, **keys)


def counts(made: Results, label: str, names: str = "before removed left same after made") -> tuple[int, ...]:
    of_label = next(moved.counts for moved in moves(*made.judges.values()) if moved.label == label)
    return tuple(of_label[f"n_{name}"] for name in names.split())


def share(made: Results, measure: str, label: str) -> Estimate:
    return next(s.estimate for s in made.score_rows if (s.measure, s.setting["label"]) == (measure, label))


def changes(made: Results, label: str) -> list[Change]:
    return [change for change in made.change_rows if change.setting["label"] == label]


def test_planted_removals_and_makings_are_found_by_code_and_per_100_items(tmp_path: Path) -> None:
    made = compared(run(tmp_path, "base", BASE), run(tmp_path, "arm", AFTER))
    assert counts(made, "any flip") == (44, 34, 10, 10, 12, 2)
    assert counts(made, "IC2") == (20, 12, 8, 5, 5, 0)
    assert counts(made, "ES1") == counts(made, "Evidential Standards") == (20, 20, 0, 0, 0, 0)
    assert counts(made, "RE1") == (0, 0, 0, 0, 3, 0)
    assert counts(made, "SA1") == (4, 2, 2, 2, 4, 2)
    removed, left = share(made, "removed", "IC2"), share(made, "left", "IC2")
    assert (removed.value, left.value) == (60.0, 40.0)
    assert removed.low is not None
    assert removed.low < 60 < (removed.high or 0)
    assert left.high == 100 - removed.low
    assert (share(made, "made", "SA1").value, share(made, "removed", "RE1").value) == (50.0, None)
    (change,) = changes(made, "ES1")
    assert (change.before.value, change.after.value, change.change.value) == (20.0, 0.0, -20.0)
    assert change.change.n_units == N_ITEMS
    assert [changes(made, label)[0].direction for label in ("ES1", "IC2", "SA1")] == [-1, -1, 0]
    assert made.sentences["changes"][0].startswith("arm: of 44 flips of base it removed 34 (77.3% [")
    assert [line.partition(" (")[0] for line in made.sentences["changes"][1:]] == [
        f"arm: {code} is significantly rarer after correction" for code in ("IC2", "ES1")
    ]


def test_a_claim_without_a_verdict_on_the_other_side_was_neither_removed_nor_left_nor_made(tmp_path: Path) -> None:
    before = {"undecided": {"base": {"truthfulqa": [["truthfulqa-60", False]]}}}
    after = {"undecided": {"mute": {"truthfulqa": [[f"truthfulqa-{n}", False] for n in range(20, 30)]}}}
    made = compared(run(tmp_path, "base", BASE, before), run(tmp_path, "mute", AFTER, after))
    assert counts(made, "ES1", "before removed unknown left") == (20, 10, 10, 0)
    assert share(made, "removed", "ES1").value == 100.0
    assert counts(made, "SA1", "after made") == (4, 1)
    assert share(made, "made", "SA1").value == pytest.approx(100 / 3)


def test_a_flip_without_a_code_still_counts_as_one_and_holm_is_over_the_runs(tmp_path: Path) -> None:
    folder = flips_folder(tmp_path / "mute-flips", [flip(n, model="mute") for n in range(20)], N_ITEMS)
    base, mute = run(tmp_path, "base", BASE), judged_run(tmp_path, folder, lambda _: "no idea", name="mute")
    made = compared(base, mute)
    assert counts(made, "IC2", "before removed left") == (20, 0, 20)
    assert counts(made, "not coded", "after") == (20,)
    first, second = changes(compared(base, run(tmp_path, "arm", AFTER), run(tmp_path, "again", AFTER)), "ES1")
    assert first.p_holm == second.p_holm == pytest.approx(2 * (first.p or 1))


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    base, other = run(tmp_path, "base", BASE), run(tmp_path, "other", AFTER, judge="another")
    assert compared(base, other, allow=True).differences["other"][0].serious
    turns = run(tmp_path, "turns", AFTER, {"framings": ["a speaker's turn", "a speaker's turn"]})
    far = run(tmp_path, "far", AFTER, {"items": {"far": {"truthfulqa": ["truthfulqa-900"]}}})
    flips = [flip(n, model=model) for n in range(3) for model in ("a", "b")]
    several = judged_run(tmp_path, flips_folder(tmp_path / "flips", flips), lambda _: coded("IC2"))
    refused = {
        "the judge's model: judge before, another after": (base, other),
        "framings of flips: a bare statement and a speaker's turn before": (base, turns),
        "its flips are of other items": (base, far),
        "before and after is of one model a run": (several, base),
        r"two runs here are both called 'base \(base-0000\)'": (base, base),
    }
    for message, runs in refused.items():
        with pytest.raises(DataError, match=message):
            compared(*runs)
    (tmp_path / "base-flips" / "manifest.json").unlink()
    with pytest.raises(DataError, match="which is not there; restore it"):
        compared(base, other)

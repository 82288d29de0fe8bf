"""Before and after: which flips a mitigation removed, left and made."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.estimates.observed import Drawing
from eval.taxonomy.fates import Fate, Moved
from eval.taxonomy.findings import find_taxonomy
from eval.taxonomy.scores import scores_of
from eval.taxonomy.sentences import moved_sentences
from evenhand.errors import DataError
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run

DRAWING = Drawing(n_draws=500, seed=1)
N_ITEMS = 100
Codes = Mapping[str, Collection[int]]  # code → the items whose flip has it

BASE: Codes = {"IC2": range(20), "ES1": range(20, 40), "SA1": range(40, 44)}
# All of ES1 is gone; of IC2 5 are left as they were, 3 became RE1; two SA1 were made, and two lost.
AFTER: Codes = {"IC2": range(5), "RE1": range(5, 8), "SA1": (42, 43, 60, 61)}


def run(root: Path, name: str, of: Codes, **keys: Any) -> Path:
    code_of = {number: code for code, numbers in of.items() for number in numbers}
    facts = keys.pop("facts", {})
    folder = flips_folder(root / f"{name}-flips", [flip(n, model=name) for n in code_of], N_ITEMS, **facts)
    return judged_run(root, folder, by_number(lambda n, _: coded(code_of[n])), name=name, **keys)


def moved(*runs: Path, allow: bool = False) -> list[Moved]:
    return list(find_taxonomy(runs, DRAWING, allow_differences=allow, is_before_after=True).moved)


def by_label(one: Moved) -> dict[str, Fate]:
    return {fate.label: fate for fate in one.fates}


def counts(fate: Fate) -> tuple[int, ...]:
    return fate.n_before, fate.n_removed, fate.n_left, fate.n_same, fate.n_after, fate.n_made


def test_planted_removals_and_makings_are_found_by_code(tmp_path: Path) -> None:
    (one,) = moved(run(tmp_path, "base", BASE), run(tmp_path, "arm", AFTER))
    fates = by_label(one)
    assert counts(fates["any flip"]) == (44, 34, 10, 10, 12, 2)
    assert counts(fates["IC2"]) == (20, 12, 8, 5, 5, 0)
    assert counts(fates["ES1"]) == (20, 20, 0, 0, 0, 0)
    assert counts(fates["RE1"]) == (0, 0, 0, 0, 3, 0)
    assert counts(fates["SA1"]) == (4, 2, 2, 2, 4, 2)
    assert counts(fates["Evidential Standards"]) == counts(fates["ES1"])
    removed = fates["IC2"].removed
    assert removed.value == 60.0
    assert removed.low is not None
    assert removed.high is not None
    assert removed.low < 60 < removed.high
    assert (fates["SA1"].made.value, fates["RE1"].removed.value) == (50.0, None)


def test_changes_are_per_100_items_and_clear_where_they_are(tmp_path: Path) -> None:
    (one,) = moved(run(tmp_path, "base", BASE), run(tmp_path, "arm", AFTER))
    fates = by_label(one)
    change = fates["ES1"].change
    assert (one.n_items, change.before.value, change.after.value, change.change.value) == (100, 20.0, 0.0, -20.0)
    assert change.change.n_units == N_ITEMS
    assert [fates[label].change.direction for label in ("ES1", "IC2", "SA1")] == [-1, -1, 0]
    first, rarer = moved_sentences(one)
    assert first.startswith("arm: of 44 flips of base it removed 34 (77.3% [")
    assert rarer.startswith("Rarer: IC2 (-15.00 [")
    assert "ES1 (-20.00 [" in rarer
    assert "SA1" not in rarer


def test_a_claim_without_a_verdict_afterwards_is_neither_removed_nor_left(tmp_path: Path) -> None:
    facts = {"undecided": {"mute": {"truthfulqa": [[f"truthfulqa-{n}", False] for n in range(20, 30)]}}}
    (one,) = moved(run(tmp_path, "base", BASE), run(tmp_path, "mute", AFTER, facts=facts))
    fate = by_label(one)["ES1"]
    assert (fate.n_before, fate.n_removed, fate.n_unknown, fate.n_left) == (20, 10, 10, 0)
    assert fate.removed.value == 100.0


def test_a_flip_of_a_claim_without_a_verdict_before_was_not_made(tmp_path: Path) -> None:
    facts = {"undecided": {"base": {"truthfulqa": [["truthfulqa-60", False]]}}}
    (one,) = moved(run(tmp_path, "base", BASE, facts=facts), run(tmp_path, "arm", AFTER))
    fate = by_label(one)["SA1"]
    assert (fate.n_after, fate.n_made) == (4, 1)
    assert fate.made.value == pytest.approx(100 / 3)


def test_a_flip_without_a_code_still_counts_as_one(tmp_path: Path) -> None:
    base = run(tmp_path, "base", BASE)
    folder = flips_folder(tmp_path / "mute-flips", [flip(n, model="mute") for n in range(20)], N_ITEMS)
    (one,) = moved(base, judged_run(tmp_path, folder, lambda _: "no idea", name="mute"))
    fates = by_label(one)
    assert counts(fates["IC2"])[:3] == (20, 0, 20)
    assert fates["not coded"].n_after == 20


def test_holm_is_over_the_runs(tmp_path: Path) -> None:
    arms = moved(run(tmp_path, "base", BASE), run(tmp_path, "arm", AFTER), run(tmp_path, "again", AFTER))
    for fate in (by_label(one)["ES1"] for one in arms):
        assert fate.change.p is not None
        assert fate.change.p_holm == pytest.approx(2 * fate.change.p)


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    base = run(tmp_path, "base", BASE)
    other = run(tmp_path, "other", AFTER, judge="another")
    with pytest.raises(DataError, match="the judge's model: judge before, another after"):
        moved(base, other)
    assert moved(base, other, allow=True)[0].differences[0].serious
    turns = run(tmp_path, "turns", AFTER, facts={"framings": ["a speaker's turn", "a speaker's turn"]})
    with pytest.raises(DataError, match="framings: a bare statement and a speaker's turn before"):
        moved(base, turns)
    some = run(tmp_path, "some", AFTER, section={"n_flips": 2})
    with pytest.raises(DataError, match=r"judged some of the flips alone \(taxonomy.n_flips\)"):
        moved(base, some)
    (tmp_path / "base-flips" / "manifest.json").unlink()
    with pytest.raises(DataError, match="which are not there; restore them"):
        moved(base, base)


def test_a_run_of_several_models_has_no_before_and_after(tmp_path: Path) -> None:
    flips = [flip(n, model=model) for n in range(3) for model in ("a", "b")]
    several = judged_run(tmp_path, flips_folder(tmp_path / "flips", flips), lambda _: coded("IC2"))
    with pytest.raises(DataError, match="before and after is of one model a run"):
        moved(several, run(tmp_path, "arm", AFTER))


def test_a_row_of_all_models_names_all_their_runs(tmp_path: Path) -> None:
    runs = [run(tmp_path, "base", BASE), run(tmp_path, "arm", AFTER)]
    found = find_taxonomy(runs, DRAWING, allow_differences=False, is_before_after=False)
    named = {score.judge: score.run for score in scores_of(found)}
    assert named["all models"].split() == [path.name for path in runs]
    assert named["base"] == runs[0].name

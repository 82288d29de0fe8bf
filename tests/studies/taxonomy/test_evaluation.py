"""Planted flips with scripted replies: tables, files and pages; agreement of judges, by Krippendorff's own examples and
scikit-learn; which flips a mitigation removed, left and made; and what is doubted."""

import csv
from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from eval.__main__ import report_main, scorecard_main
from eval.estimates.changes import Change, Score
from eval.estimates.estimate import Estimate
from eval.estimates.resampling import holm
from eval.results import Results
from eval.runs import load_finished
from evenhand.errors import DataError
from studies.taxonomy import annotation
from studies.taxonomy.codebook import codes, planted
from studies.taxonomy.evaluation import EVALUATION
from studies.taxonomy.scores import alpha, coincidence, moves
from tests.made.taxonomy_runs import Says, by_number, coded, flip, flips_folder, judged_run, results

LENIENT_CODES, STRICT_CODES = ("IC2", "SA1", "SA1", "ES1"), ("RE1", "IC2")


def says(number: int, claim_is_true: bool) -> str:
    """By number and truth; every tenth reply cannot be read."""
    kinds = STRICT_CODES if claim_is_true else LENIENT_CODES
    return "I would say IC2." if number % 10 == 9 else coded(kinds[number % len(kinds)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """40 items of two models, of which every second flips both ways in the second model."""
    flips = [flip(n, model="first") for n in range(40)]
    flips += [flip(n, is_true, model="second") for n in range(40) for is_true in (False, True)[: 1 + n % 2]]
    return judged_run(tmp_path, flips_folder(tmp_path / "flips", flips), by_number(says))


def test_a_report_has_a_figure_of_each_model_and_the_codes_of_each_flip(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    report_main([str(run), "--out", str(out), "--draws", "50"])
    with (out / "tables" / "taxonomy_flips.csv").open(encoding="utf-8") as file:
        flips = list(csv.DictReader(file))
    assert len(flips) == 40 + 60
    asked = [run.name, "first", "judge", "first: truthfulqa-0, false claim", "truthfulqa", "truthfulqa-0", "no"]
    assert list(flips[0].values()) == [*asked, "deference", "IC2", "IC2", "ok"]
    assert len([*(out / "plots").glob("*.svg")]) == 3
    assert Counter(EVALUATION.verdicts(load_finished(run)).values())[None] == 8  # of a flip of both models one prompt
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Why verdicts flip" in page
    assert "second reason" not in page  # no text of an item


def test_people_label_the_primary_code_of_what_may_be_shown(run: Path, tmp_path: Path) -> None:
    (task,) = annotation.tasks([run])
    assert len(task.items) == 36 + 36 + 16
    texts = dict(task.items[0].texts)
    assert list(texts) == ["Question", "Claim", "C1", "C2"]
    assert texts["C1"].startswith("a bare statement: the claim is incorrect. ")
    assert texts["C2"].startswith("a speaker's turn: the claim is correct. ")
    assert (task.items[0].judge, task.answers) == ("IC2", tuple(codes()))
    folder = flips_folder(tmp_path / "secret", [flip(0, is_withheld=True), flip(1)])
    withheld = judged_run(tmp_path, folder, lambda _: coded("IC2"), name="secret")
    (task,) = annotation.tasks([withheld])
    assert [item.unit for item in task.items] == ["truthfulqa: truthfulqa-1"]
    with pytest.raises(DataError, match="one run at a time"):
        annotation.tasks([run, withheld])


def test_a_scorecard_is_refused(run: Path, tmp_path: Path) -> None:
    own = judged_run(tmp_path, None, lambda _: coded("IC2"), name="own")
    with pytest.raises(DataError, match="has no part of a scorecard"):
        scorecard_main([str(own), f"arm={run}"])


def test_what_makes_a_figure_doubtful_is_said(run: Path, tmp_path: Path) -> None:
    names: dict[str, Says] = {
        "right": lambda prompt: coded(planted()[prompt.factors.item_id]),
        "lazy": lambda _: coded("SA1"),
        "mute": lambda _: "well",
    }
    own = [judged_run(tmp_path, None, says, name=name) for name, says in names.items()]
    judges = results(run, *own).facts["models"].set_index("judge")
    assert judges.loc["first", ["n_replies", "n_read"]].tolist() == [40, 36]
    assert judges.loc["second", ["is_coded", "lenient"]].tolist() == [52, 100 * 40 / 60]  # deference needs no code
    assert judges.iloc[-3:][["is_own", "is_hit"]].to_numpy().tolist() == [[14, 14], [14, 1], [14, 0]]


N = 40
PRINTED = [  # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), A to C
    (["0100000000", "1110010100"], 0.095),
    (["aabbdcccedda", "babbbccceddd"], 0.692),
    (["123321412...", "1233224125.3", ".3332342251.", "12332441251."], 0.743),
    (["abab", "abab"], 1.0),
    (["aaaa", "aaaa"], np.nan),  # all say the same
]


@pytest.mark.parametrize(("lines", "printed"), PRINTED)
def test_alpha_is_that_of_the_printed_examples(lines: list[str], printed: float) -> None:
    units = [[value for value in unit if value != "."] for unit in zip(*lines, strict=True)]
    labels = sorted({value for unit in units for value in unit})
    value = float(alpha(np.sum([coincidence(unit, labels) for unit in units], axis=0)))
    assert round(value, 3) == pytest.approx(printed, nan_ok=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return flips_folder(tmp_path / "flips", [flip(number) for number in range(N)])


def by_raters(made: Results, measure: str) -> dict[str, Score]:
    return {str(score.setting["raters"]): score for score in made.score_rows if score.measure == measure}


def test_kappa_is_scikit_learns_and_over_the_flips_that_both_could_read(folder: Path, tmp_path: Path) -> None:
    said = [(code, "IC1" if n % 4 == 0 else code) for n, code in enumerate(("IC2", "SA1", "RE1") * N)][:30]
    first = by_number(lambda n, _: coded(said[n][0] if n < 30 else "SA1"))
    second = by_number(lambda n, _: coded(said[n][1]) if n < 30 else "?")
    made = results(*(judged_run(tmp_path, folder, says, name=j, judge=j) for j, says in (("a", first), ("b", second))))
    kappa, agreement, category = (
        by_raters(made, measure)["a and b"].estimate for measure in ("kappa", "agreement", "category_agreement")
    )
    assert kappa.value == pytest.approx(cohen_kappa_score(*zip(*said, strict=True)))
    assert agreement.value == pytest.approx(100 * sum(a == b for a, b in said) / 30)
    assert agreement.n_units == 30
    # IC1 instead of IC2 is no disagreement on the category.
    assert category.value == pytest.approx(100 * sum(a == b or a == "IC2" for a, b in said) / 30)
    assert [*made.judges] == ["m (a)", "m (b)"]


def test_repeated_judging_has_an_alpha_of_its_samples_and_the_majority_counts(folder: Path, tmp_path: Path) -> None:
    def says(number: int, _: bool) -> list[str]:
        if number == 0:
            return [coded("IC2"), coded("SA1"), "?"]  # a tie
        return [coded("IC2", "ES1"), coded("IC2", "ES1", "RE1") if number % 2 else coded("SA1", "ES1"), coded("IC2")]

    made = results(judged_run(tmp_path, folder, by_number(says), sampling={"n": 3, "temperature": 1.0}))
    said = made.judges["m"].flips[["primary", "codes", "state"]].value_counts().to_dict()
    assert said == {("IC2", "ES1|IC2", "ok"): N - 1, ("", "", "tie"): 1}
    rates = {score.setting["state"]: score.estimate.value for score in made.score_rows if score.measure == "state_rate"}
    assert rates == {"ok": (3 * N - 1) / (3 * N), "malformed": 1 / (3 * N), "tie": 1 / N}
    ratings = [["IC2", "SA1"], *(["IC2", "IC2" if n % 2 else "SA1", "IC2"] for n in range(1, N))]
    whole = np.sum([coincidence(unit, list(codes())) for unit in ratings], axis=0)
    estimate = by_raters(made, "alpha")["judge, repeated"].estimate
    assert estimate.value == pytest.approx(float(alpha(whole)))
    assert (estimate.low or 1) < estimate.value < (estimate.high or 1)
    assert estimate.n_units == N
    assert not by_raters(made, "kappa")


N_ITEMS = 100
Codes = Mapping[str, Collection[int]]  # code → the items whose flip has it
BASE: Codes = {"IC2": range(20), "ES1": range(20, 40), "SA1": range(40, 44)}
# All of ES1 is gone; of IC2 5 are left as they were, 3 became RE1; two SA1 were made, and two lost.
AFTER: Codes = {"IC2": range(5), "RE1": range(5, 8), "SA1": (42, 43, 60, 61)}
compared = partial(results, is_before_after=True)


def run_of(root: Path, name: str, of: Codes, facts: Mapping[str, Any] | None = None, **keys: Any) -> Path:
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
    made = compared(run_of(tmp_path, "base", BASE), run_of(tmp_path, "arm", AFTER))
    assert counts(made, "any flip") == (44, 34, 10, 10, 12, 2)
    assert counts(made, "IC2") == (20, 12, 8, 5, 5, 0)
    assert counts(made, "ES1") == counts(made, "Evidential Standards") == (20, 20, 0, 0, 0, 0)
    assert counts(made, "SA1") == (4, 2, 2, 2, 4, 2)
    removed, left = share(made, "removed", "IC2"), share(made, "left", "IC2")
    assert (removed.value, left.value) == (60.0, 40.0)
    assert left.high == 100 - (removed.low or 0) < 100
    assert (share(made, "made", "SA1").value, share(made, "removed", "RE1").value) == (50.0, None)
    (change,) = changes(made, "ES1")
    assert (change.before.value, change.after.value, change.change.value) == (20.0, 0.0, -20.0)
    assert [changes(made, label)[0].direction for label in ("ES1", "IC2", "SA1")] == [-1, -1, 0]
    family = [changes(made, label)[0] for label in ("IC2", "ES1", "SA1", "RE1")]
    assert [change.p_holm for change in family] == holm([change.p or 0 for change in family])
    (total,) = changes(made, "any flip")
    assert total.p_holm == total.p
    assert made.sentences["changes"][0].startswith("arm: of 44 flips of base it removed 34 (77.3% [")
    half = compared(
        run_of(tmp_path, "all", {"ES1": range(30)}),
        run_of(tmp_path, "half", {"ES1": range(30, 45), "?": range(45, 60)}),
    )
    (change,) = changes(half, "ES1")  # over items whose flips have a code: rarer, though all that has none may be ES1
    assert (change.direction, len(half.sentences["changes"]), len(made.sentences["changes"])) == (-1, 1, 3)


def test_a_claim_without_a_verdict_on_the_other_side_was_neither_removed_nor_left_nor_made(tmp_path: Path) -> None:
    before = {"undecided": {"base": {"truthfulqa": [["truthfulqa-60", False]]}}}
    after = {"undecided": {"mute": {"truthfulqa": [[f"truthfulqa-{n}", False] for n in range(20, 30)]}}}
    made = compared(run_of(tmp_path, "base", BASE, before), run_of(tmp_path, "mute", AFTER, after))
    assert counts(made, "ES1", "before removed unknown left") == (20, 10, 10, 0)
    assert share(made, "removed", "ES1").value == 100.0
    assert counts(made, "SA1", "after made") == (4, 1)
    assert share(made, "made", "SA1").value == pytest.approx(100 / 3)
    assert counts(made, "any flip", "left_out claims") == (11, 200)
    (change,) = changes(made, "any flip")  # each of the 11 claims is one of an item's two
    assert (change.before.value, change.after.value, change.change.n_units) == (34.0, 11.0, N_ITEMS)
    assert "11 of 200 claims, 10 of 44 flips of base among them" in made.warnings[0]


def test_an_arm_whose_flips_have_no_code_or_no_verdict_changes_nothing(tmp_path: Path) -> None:
    unanswered = [[f"truthfulqa-{n}", is_true] for n in range(5, N_ITEMS) for is_true in (False, True)]
    arms: dict[str, tuple[Codes, Mapping[str, Any], tuple[float, int]]] = {
        "uncoded": ({**BASE, "IC2": range(5), "?": range(5, 20)}, {}, (5.0, N_ITEMS)),
        "mute": ({"IC2": range(5)}, {"undecided": {"mute": {"truthfulqa": unanswered}}}, (100.0, 5)),
    }
    base = run_of(tmp_path, "base", BASE)
    for name, (of, facts, level) in arms.items():
        made = compared(base, run_of(tmp_path, name, of, facts))
        assert {(change.change.value, change.p_holm) for change in made.change_rows} == {(0.0, 1.0)}
        (change,) = changes(made, "IC2")
        assert (change.before.value, change.change.n_units) == level
        assert not changes(made, "not coded")


def test_runs_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    base, other = run_of(tmp_path, "base", BASE), run_of(tmp_path, "other", AFTER, judge="another")
    assert compared(base, other, allow=True).differences["other"][0].serious
    turns = run_of(tmp_path, "turns", AFTER, {"framings": ["a speaker's turn", "a speaker's turn"]})
    far = run_of(tmp_path, "far", AFTER, {"items": {"far": {"truthfulqa": ["truthfulqa-900"]}}})
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

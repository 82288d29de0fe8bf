"""Agreement of judges: Krippendorff's own examples, scikit-learn's κ, judges that are planted."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from eval.estimates.observed import Drawing
from eval.taxonomy.code_agreement import Agreement, alpha, alpha_of, coincidence
from eval.taxonomy.coded_flips import load_coded
from eval.taxonomy.findings import TaxonomyFindings, find_taxonomy
from eval.taxonomy.scores import scores_of
from evenhand.errors import DataError
from studies.taxonomy.codebook import codes
from tests.made.made_runs import rewrite
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run

DRAWING = Drawing(n_draws=300, seed=1)
N = 40

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections A to C: a character a unit, a line a rater.
BINARY = ["0100000000", "1110010100"]
NOMINAL = ["aabbdcccedda", "babbbccceddd"]
FOUR_OBSERVERS = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]


def of_lines(lines: list[str]) -> list[list[str]]:
    """The ratings of each unit; a full stop is a missing one."""
    return [[value for value in unit if value != "."] for unit in zip(*lines, strict=True)]


def value_of(lines: list[str]) -> float:
    units = of_lines(lines)
    labels = sorted({value for unit in units for value in unit})
    return float(alpha(np.sum([coincidence(unit, labels) for unit in units], axis=0)))


@pytest.mark.parametrize(("lines", "printed"), [(BINARY, 0.095), (NOMINAL, 0.692), (FOUR_OBSERVERS, 0.743)])
def test_alpha_is_that_of_the_printed_examples(lines: list[str], printed: float) -> None:
    assert round(value_of(lines), 3) == printed


def test_alpha_is_1_where_all_agree_below_0_where_none_does_and_unknown_where_all_say_the_same() -> None:
    assert value_of(["abab", "abab"]) == 1.0
    assert value_of(["abab", "baba"]) < 0
    assert np.isnan(value_of(["aaaa", "aaaa"]))


def test_an_interval_of_alpha_holds_its_value_and_resamples_items() -> None:
    units = {str(n): [["a", "a"] if n % 4 else ["a", "b"], ["b", "b"]] for n in range(60)}
    of = alpha_of(units, "ab", DRAWING)
    assert of.low is not None
    assert of.value is not None
    assert of.high is not None
    assert of.low < of.value < of.high
    assert of.n_units == 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return flips_folder(tmp_path / "flips", [flip(number) for number in range(N)])


def two(number: int) -> tuple[str, str]:
    """What two planted judges say: the second one errs in every fourth flip."""
    first = ("IC2", "SA1", "RE1")[number % 3]
    return first, "IC1" if number % 4 == 0 else first


def found_of(*runs: Path) -> TaxonomyFindings:
    return find_taxonomy(runs, DRAWING, allow_differences=False, is_before_after=False)


def row(found: TaxonomyFindings, raters: str, what: str) -> Agreement:
    return next(row for row in found.agreements if (row.raters, row.what) == (raters, what))


def test_kappa_is_scikit_learns_and_over_the_flips_that_both_could_read(folder: Path, tmp_path: Path) -> None:
    first = judged_run(tmp_path, folder, by_number(lambda n, _: coded(two(n)[0])), name="first", judge="a")
    second = judged_run(
        tmp_path, folder, by_number(lambda n, _: coded(two(n)[1]) if n < 30 else "?"), name="second", judge="b"
    )
    found = found_of(first, second)
    of = row(found, "a and b", "primary")
    said = [two(number) for number in range(30)]
    assert of.kappa is not None
    assert of.agreement is not None
    assert of.kappa.value == pytest.approx(cohen_kappa_score(*zip(*said, strict=True)))
    assert of.agreement.value == pytest.approx(100 * sum(a == b for a, b in said) / 30)
    assert of.n_flips == 30
    # IC1 instead of IC2 is no disagreement on the category.
    category = row(found, "a and b", "category").agreement
    assert category is not None
    assert category.value == pytest.approx(100 * sum(a == b or a == "IC2" for a, b in said) / 30)
    assert [one.name for one in found.coded] == ["m (a)", "m (b)"]
    assert found.pooled is None


def test_three_judges_have_an_alpha_of_all_of_them(folder: Path, tmp_path: Path) -> None:
    runs = [judged_run(tmp_path, folder, lambda _: coded("IC2"), name=name, judge=name) for name in "abc"]
    raters = [row.raters for row in found_of(*runs).agreements if row.what == "primary"]
    assert raters == ["a and b", "a and c", "b and c", "all judges"]


def test_a_score_of_agreement_names_the_runs_and_judges_that_were_compared(folder: Path, tmp_path: Path) -> None:
    samples = {"n": 2, "temperature": 1.0}
    runs = [
        judged_run(tmp_path, folder, lambda _: [coded("IC2")] * 2, name=name, judge=name, sampling=samples)
        for name in "abc"
    ]
    alphas = [score for score in scores_of(found_of(*runs)) if score.measure == "alpha"]
    compared = {score.setting["raters"]: (score.run.split(), score.setting["judged_by"]) for score in alphas}
    names = {path.name[0]: path.name for path in runs}
    assert compared == {
        **{f"{one}, repeated": ([names[one]], one) for one in "abc"},
        **{f"{a} and {b}": ([names[a], names[b]], f"{a}, {b}") for a, b in ("ab", "ac", "bc")},
        "all judges": (list(names.values()), "a, b, c"),
    }
    assert {score.judge for score in alphas} == {"m"}


def test_repeated_judging_has_an_alpha_of_its_samples_and_the_majority_counts(folder: Path, tmp_path: Path) -> None:
    def says(number: int, _: bool) -> list[str]:
        if number == 0:
            return [coded("IC2"), coded("SA1"), "?"]  # a tie
        return [coded("IC2", "ES1"), coded("IC2", "ES1", "RE1") if number % 2 else coded("SA1", "ES1"), coded("IC2")]

    run = judged_run(tmp_path, folder, by_number(says), sampling={"n": 3, "temperature": 1.0})
    found = found_of(run)
    (one,) = found.coded
    assert {flip.primary for flip in one.flips} == {"IC2"}
    assert {flip.codes for flip in one.flips} == {frozenset({"IC2", "ES1"})}
    assert (len(one.flips), one.states["tie"], one.states["malformed"]) == (N - 1, 1, 1)
    of = row(found, "judge, repeated", "primary")
    ratings = [["IC2", "SA1"], *(["IC2", "IC2" if n % 2 else "SA1", "IC2"] for n in range(1, N))]
    whole = np.sum([coincidence(unit, list(codes())) for unit in ratings], axis=0)
    assert of.alpha.value == pytest.approx(float(alpha(whole)))
    assert of.kappa is None


def test_a_run_that_lost_one_reply_of_three_was_scored(tmp_path: Path) -> None:
    folder = flips_folder(tmp_path / "flips", [flip(0), flip(1)])
    run = judged_run(tmp_path, folder, lambda _: [coded("IC2")] * 3, sampling={"n": 3, "temperature": 1.0})
    rewrite(run, lambda lines: lines[:-1])
    with pytest.raises(DataError, match="1 of 2 prompts have no completion"):
        load_coded([run])

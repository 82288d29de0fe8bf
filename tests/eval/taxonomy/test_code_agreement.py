"""Agreement of judges: Krippendorff's own examples, scikit-learn's κ, judges that are planted."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from eval.estimates.changes import Score
from eval.results import Results
from eval.taxonomy.scores import alpha, coincidence
from studies.taxonomy.codebook import codes
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run, results

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

"""Tables 17, 18, 30 to 32 of the DialDefer paper from the counts of Table 18; agreement of judges, by
Krippendorff's own examples and scikit-learn; which flips a mitigation removed, left and made."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from eval.estimates.resampling import holm
from evenhand.errors import DataError
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import CODES
from studies.taxonomy.scores import alpha, coincidence, moves
from tests.made.paper_figures import golden
from tests.made.places import cases
from tests.made.taxonomy_runs import by_number, coded, flip, flips_folder, judged_run, results, table_18

CASES = cases(__file__)
TEXT = {row["figure"]: row["value"] for row in golden("dialdefer_taxonomy_text.csv")}
SIDES = {"def. n": "n_deference", "def. %": "share_deference", "skep. n": "n_skepticism", "skep. %": "share_skepticism"}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    root = tmp_path_factory.mktemp("paper")
    flips, says = table_18()
    return results(judged_run(root, flips_folder(root / "flips", flips), says), draws=200)


def shown(ours, name, key):
    """The lines of a table as they are printed, by one of their cells."""
    table = next(table for table in ours.tables if table.name == f"taxonomy_{name}")
    lines = [dict(zip(table.columns, cells, strict=True)) for cells in table.cells]
    return {name: {**line, key: name} for line in lines for name in [line[key].replace("Total", "total")]}


def same(cells, row, columns):
    for ours, theirs in columns.items():
        assert cells[ours] in (row[theirs], f"{row[theirs]}.0"), (ours, row)


def test_tables_17_and_30_follow_from_the_counts(ours):
    lines, rows = shown(ours, "categories", "category"), golden("dialdefer_table17.csv")
    for line, row in zip(lines.values(), rows, strict=True):
        same(line, row, {"category": "category", "n": "n", "%": "share"})


def test_table_18_follows_from_its_counts_to_the_last_digit(ours):
    codes, directions = shown(ours, "codes", "code"), shown(ours, "directions", "code")
    for row in golden("dialdefer_table18.csv"):
        same(codes[row["code"]], row, {"n": "n", "%": "share"})
        same(directions[row["code"]], row, SIDES)
    assert len(codes) == len(golden("dialdefer_table18.csv"))


def test_table_31_follows_in_its_order_but_for_the_seldom_codes_that_share_a_line(ours):
    lines, rows = shown(ours, "codes", "code"), golden("dialdefer_table31.csv")
    others = [code for code in ("EV2", "KI1", "RE2", "RE3") if lines[code]["%"] == "0.0"]
    assert [code for code in lines if code not in others] == [*(row["code"] for row in rows[:-1]), "total"]
    assert sum(int(lines[code]["n"]) for code in others) == int(rows[-1]["n"])


def test_table_32_follows_with_its_ratios(ours):
    total, *rows = golden("dialdefer_table32.csv")
    for line, row in zip(shown(ours, "directions", "code").values(), rows, strict=False):
        same(line, row, {"code": "code", **SIDES})
        if row["ratio"]:
            assert f"{float(line['ratio']):.1f}" == row["ratio"]
            low, high = (float(end) for end in line["ratio 95%"].strip("[]").split(", "))
            assert low < float(row["ratio"]) < high
    ratio = value(ours, "primary_ratio", "RE1", None)
    assert 1 / ratio == pytest.approx(float(TEXT["RE1 skepticism over deference"]), abs=0.05)
    assert shown(ours, "models", "model")["m"]["deference %"] == total["share_deference"]


def value(ours, measure, label, direction):
    """Of all datasets."""
    asked = (measure, label, direction)
    (row,) = (s for s in ours.score_rows if (s.measure, s.setting["label"], s.setting["direction"]) == asked)
    assert row.estimate.value is not None
    return row.estimate.value


def test_the_top_code_and_the_unexplained_are_those_of_f_2(ours):
    (line,) = shown(ours, "models", "model").values()
    assert line["top code"] == "IC2 Internal Contradiction"
    assert (line["%"], line["UN1 %"], line["below 5%"]) == ("30.9", TEXT["unexplained"], "yes")
    assert line["flips"] == line["with a code"] == TEXT["n flips"]


def test_the_text_follows_from_table_18_or_is_listed(ours):
    figures = {figure: f"{value(ours, *words):.1f}" for figure, words in CASES["asked"].items()}
    n = {way: value(ours, "n_flips", None, way) for way in (LENIENT, STRICT)}
    figures |= {way: f"{100 * n[way] / sum(n.values()):.1f}" for way in n}
    assert {figure: ours_is for figure, ours_is in figures.items() if ours_is != TEXT[figure]} == CASES["exceptions"]


N = 40


PRINTED = [  # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), A to C
    (["0100000000", "1110010100"], 0.095),
    (["aabbdcccedda", "babbbccceddd"], 0.692),
    (["123321412...", "1233224125.3", ".3332342251.", "12332441251."], 0.743),
    (["abab", "abab"], 1.0),
    (["aaaa", "aaaa"], np.nan),  # all say the same
]


@pytest.mark.parametrize(("lines", "printed"), PRINTED)
def test_alpha_is_that_of_the_printed_examples(lines, printed):
    units = [[value for value in unit if value != "."] for unit in zip(*lines, strict=True)]
    labels = sorted({value for unit in units for value in unit})
    value = float(alpha(np.sum([coincidence(unit, labels) for unit in units], axis=0)))
    assert round(value, 3) == pytest.approx(printed, nan_ok=True)


@pytest.fixture
def folder(tmp_path):
    return flips_folder(tmp_path / "flips", [flip(number) for number in range(N)])


def by_raters(made, measure):
    return {str(score.setting["raters"]): score for score in made.score_rows if score.measure == measure}


def test_kappa_is_scikit_learns_and_over_the_flips_that_both_could_read(folder, tmp_path):
    said = [(code, "IC1" if n % 4 == 0 else code) for n, code in enumerate(("IC2", "SA1", "RE1") * N)][:30]
    first = by_number(lambda n, _: coded(said[n][0] if n < 30 else "SA1"))
    second = by_number(lambda n, _: coded(said[n][1]) if n < 30 else "?")
    made = results(*(judged_run(tmp_path, folder, says, name=j, judge=j) for j, says in (("a", first), ("b", second))))
    kappa, agreement = (by_raters(made, measure)["a and b"].estimate for measure in ("kappa", "agreement"))
    assert kappa.value == pytest.approx(cohen_kappa_score(*zip(*said, strict=True)))
    assert agreement.value == pytest.approx(100 * sum(a == b for a, b in said) / 30)
    assert agreement.n_units == 30
    assert [*made.judges] == ["m (a)", "m (b)"]


def test_repeated_judging_has_an_alpha_of_its_samples_and_the_majority_counts(folder, tmp_path):
    def says(number, _):
        if number == 0:
            return [coded("IC2"), coded("SA1"), "?"]  # a tie
        return [coded("IC2", "ES1"), coded("IC2", "ES1", "RE1") if number % 2 else coded("SA1", "ES1"), coded("IC2")]

    made = results(judged_run(tmp_path, folder, by_number(says), sampling={"n": 3, "temperature": 1.0}))
    said = made.judges["m"].flips[["primary", "codes", "state"]].value_counts().to_dict()
    assert said == {("IC2", "ES1|IC2", "ok"): N - 1, ("", "", "tie"): 1}
    rates = {score.setting["state"]: score.estimate.value for score in made.score_rows if score.measure == "state_rate"}
    assert rates == {"ok": (3 * N - 1) / (3 * N), "malformed": 1 / (3 * N), "tie": 1 / N}
    ratings = [["IC2", "SA1"], *(["IC2", "IC2" if n % 2 else "SA1", "IC2"] for n in range(1, N))]
    whole = np.sum([coincidence(unit, list(CODES)) for unit in ratings], axis=0)
    estimate = by_raters(made, "alpha")["judge, repeated"].estimate
    assert estimate.value == pytest.approx(float(alpha(whole)))
    assert (estimate.low or 1) < estimate.value < (estimate.high or 1)
    assert estimate.n_units == N
    assert not by_raters(made, "kappa")


N_ITEMS = 100


BASE = {"IC2": range(20), "ES1": range(20, 40), "SA1": range(40, 44)}


# All of ES1 is gone; of IC2 5 are left as they were, 3 became RE1; two SA1 were made, and two lost.
AFTER = {"IC2": range(5), "RE1": range(5, 8), "SA1": (42, 43, 60, 61)}


compared = partial(results, is_before_after=True)


def run_of(root, name, of, facts=None, **keys):
    code_of = {number: code for code, numbers in of.items() for number in numbers}
    folder = flips_folder(root / f"{name}-flips", [flip(n, model=name) for n in code_of], N_ITEMS, **(facts or {}))
    return judged_run(root, folder, by_number(lambda n, _: coded(code_of[n])), name=name, **keys)


def counts(made, label, names="before removed left same after made"):
    of_label = next(moved.counts for moved in moves(*made.judges.values()) if moved.label == label)
    return tuple(of_label[f"n_{name}"] for name in names.split())


def share(made, measure, label):
    return next(s.estimate for s in made.score_rows if (s.measure, s.setting["label"]) == (measure, label))


def changes(made, label):
    return [change for change in made.change_rows if change.setting["label"] == label]


def test_planted_removals_and_makings_are_found_by_code_and_per_100_items(tmp_path):
    made = compared(run_of(tmp_path, "base", BASE), run_of(tmp_path, "arm", AFTER))
    assert counts(made, "any flip") == (44, 34, 10, 10, 12, 2)
    assert counts(made, "IC2") == (20, 12, 8, 5, 5, 0)
    assert counts(made, "ES1") == counts(made, "Evidential Standards") == (20, 20, 0, 0, 0, 0)
    assert counts(made, "SA1") == (4, 2, 2, 2, 4, 2)
    removed = share(made, "removed", "IC2")
    assert 0 < removed.low < removed.value == 60.0 < removed.high
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


def test_a_claim_without_a_verdict_on_the_other_side_was_neither_removed_nor_left_nor_made(tmp_path):
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


def test_an_arm_whose_flips_have_no_code_or_no_verdict_changes_nothing(tmp_path):
    unanswered = [[f"truthfulqa-{n}", is_true] for n in range(5, N_ITEMS) for is_true in (False, True)]
    arms = {
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


def test_runs_that_cannot_be_compared_are_refused(tmp_path):
    base, other = run_of(tmp_path, "base", BASE), run_of(tmp_path, "other", AFTER, judge="another")
    assert compared(base, other, allow=True).differences["other"][0].serious
    turns = run_of(tmp_path, "turns", AFTER, {"framings": ["a speaker's turn", "a speaker's turn"]})
    far = run_of(tmp_path, "far", AFTER, {"items": {"far": {"truthfulqa": ["truthfulqa-900"]}}})
    refused = {
        "the judge's model: judge before, another after": (base, other),
        "framings of flips: a bare statement and a speaker's turn before": (base, turns),
        "its flips are of other items": (base, far),
        r"two of the runs are called alike, base \(base-0000\)": (base, base),
    }
    for message, runs in refused.items():
        with pytest.raises(DataError, match=message):
            compared(*runs)
    (tmp_path / "base-flips" / "manifest.json").unlink()
    with pytest.raises(DataError, match="which is not there; restore it"):
        compared(base, other)

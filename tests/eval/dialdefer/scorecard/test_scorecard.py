"""The scorecard: |DDS| in which signs do not cancel, changes paired by item, no arm praised for the wrong reason."""

from pathlib import Path

import numpy as np
import pytest

from eval.estimates.resampling import pivotal_interval
from eval.estimates.significance import holm
from evenhand.errors import DataError
from tests.made.made_runs import Answer, aio_items, lean, made_items
from tests.made.scorecard_runs import (
    BASE,
    ITEMS,
    SFT,
    TRAINED,
    Counts,
    changes,
    margins_with,
    run,
    scored,
    three,
    training_run,
    yes_sayer,
)


def test_signs_cancel_in_the_mean_dds_and_not_in_the_mean_of_its_size(tmp_path: Path) -> None:
    rows = scored(*three(tmp_path))
    assert list(rows) == ["base", "sft", "dpo"]
    base = rows["base"]
    assert (base["mean_abs_dds_own_pp"], base["abs_mean_dds_own_pp"]) == pytest.approx((40, 0))
    assert (base["acc_pp"], base["acc_c2_pp"]) == pytest.approx((67.5, 65))
    assert base["change_mean_abs_dds_own_pp"] is None
    sft = rows["sft"]
    assert (sft["mean_abs_dds_own_pp"], sft["abs_mean_dds_own_pp"], sft["dds_own_pp"]) == pytest.approx((10, 10, -10))
    assert (sft["mean_abs_dds_fixed_pp"], sft["dds_fixed_pp"]) == pytest.approx((30, -30))
    assert sft["change_mean_abs_dds_own_pp"] == pytest.approx(-30)
    assert sft["change_mean_abs_dds_fixed_pp"] == pytest.approx(-10)
    assert sft["change_abs_mean_dds_own_pp"] == pytest.approx(10)
    assert (sft["acc_pp"], sft["change_acc_pp"], sft["change_acc_c2_pp"]) == pytest.approx((70, 2.5, 5))


def test_over_corrections_are_counted_by_each_source_of_c1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = scored(*three(tmp_path))
    assert (rows["sft"]["over_corrected_own"], rows["sft"]["over_corrected_fixed"]) == (["bbq"], ["bbq"])
    assert (rows["dpo"]["n_over_corrected_own"], rows["dpo"]["over_corrected_fixed"]) == (0, ["bbq"])
    assert rows["base"]["n_over_corrected_own"] is None
    printed = capsys.readouterr().out
    assert "Over-corrected, own C1: sft on bbq." in printed
    assert "Over-corrected, fixed C1: sft on bbq; dpo on bbq." in printed
    assert "-20.0†" in printed


def test_the_interval_of_a_change_in_size_is_pivotal_over_items_resampled_within_datasets(tmp_path: Path) -> None:
    even: Counts = dict.fromkeys(BASE, (2, 10, 8, 4))  # two items rise, two fall: DDS 0, and never 0 in all draws
    base, after = run(tmp_path, "before", BASE), run(tmp_path, "after", even)
    row = scored(base, f"even={after}", draws=4000)["even"]
    rng = np.random.default_rng(1)

    def rises(counts: tuple[int, int, int, int]) -> np.ndarray:
        """Rise in acceptance of each item, in percentage points."""
        t, f, c, i = ((np.arange(10) < n).astype(float) for n in counts)
        return 100 * (c - t + i - f)

    sizes = np.zeros((4000, 2))
    for dataset in BASE:
        both = np.stack([rises(BASE[dataset]), rises(even[dataset])], axis=1)
        sizes += np.abs([both[rng.integers(10, size=10)].mean(axis=0) for _ in range(4000)]) / 2
    low, high = np.percentile(sizes[:, 1] - sizes[:, 0], [2.5, 97.5])
    assert row["change_mean_abs_dds_own_pp"] == pytest.approx(-40)
    assert row["change_mean_abs_dds_own_ci_low_pp"] == pytest.approx(-80 - high, abs=2.6)
    assert row["change_mean_abs_dds_own_ci_high_pp"] == pytest.approx(-80 - low, abs=2.6)
    assert (-80 - high) - low < -10  # a percentile interval would be another


def test_a_pivotal_interval_mirrors_the_draws_about_the_value() -> None:
    assert pivotal_interval(10.0, np.linspace(11, 15, 1001), 0.5) == pytest.approx((6, 8))
    assert pivotal_interval(float("nan"), np.ones(3)) is None
    assert pivotal_interval(1.0, np.array([1.0, np.nan])) is None


def test_holm_multiplies_the_smallest_p_by_all_and_never_lets_the_order_turn() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_p_is_adjusted_over_the_arms_for_each_figure(tmp_path: Path) -> None:
    scored(*three(tmp_path))
    found = changes(tmp_path)
    for figure in ("mean_abs_dds_own", "acc", "dds_fixed"):
        pair = [found[arm, figure] for arm in ("sft", "dpo")]
        assert [c["p_holm"] for c in pair] == pytest.approx(holm([c["p"] for c in pair]))
        assert max(c["p_holm"] for c in pair) > min(c["p"] for c in pair)


def test_arms_are_held_against_another_arm_over_the_same_items(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = three(tmp_path)
    scored(*paths, "--against", "sft")
    found = changes(tmp_path, "sft")
    assert {arm for arm, _ in found} == {"dpo"}
    own, fixed = found["dpo", "mean_abs_dds_own"], found["dpo", "mean_abs_dds_fixed"]
    assert (own["before"], own["after"], own["change"]) == pytest.approx((10, 25, 15))
    assert (fixed["before"], fixed["after"], fixed["change"]) == pytest.approx((30, 25, -5))
    assert "Changes against sft, own C1" in capsys.readouterr().out
    with pytest.raises(DataError, match="--against 'kto': no arm is called so; arms here: sft, dpo"):
        scored(*paths, "--against", "kto")


MANY = made_items("bbq", 40)


def test_the_lowest_arm_is_one_that_loses_no_accuracy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = run(tmp_path, "before", margins_with(1, 0.9), MANY, verdict="margin")
    worse = run(tmp_path, "worse", margins_with(0.1, 0.0), MANY, verdict="margin")
    yes = run(tmp_path, "yes", lambda _: lean(9.0), MANY, verdict="margin")
    good = run(tmp_path, "good", margins_with(1, 0.3), MANY, verdict="margin")
    same = run(tmp_path, "same", margins_with(1, 0.9), MANY, verdict="margin")
    rows = scored(base, f"worse={worse}", f"yes={yes}", f"good={good}", f"same={same}")
    assert rows["worse"]["mean_abs_dds_own_pp"] == rows["yes"]["mean_abs_dds_own_pp"] == 0
    assert (rows["yes"]["saturated"], rows["good"]["saturated"]) == (True, False)
    printed = " ".join(capsys.readouterr().out.split())
    # Thresholds 0.3 and 0.9 above the middle let 3 and 9 more items over the line, for true and for false claims.
    assert "Lowest own-C1 |DDS| at no shown loss of accuracy: good, 15.0 pp (" in printed
    assert "by chance), against 45.0 of the base (-30.0" in printed
    assert "Next: same, 45.0 pp (-30.0" in printed
    assert "the lead is shown)" in printed
    assert "Not considered for it: worse (accuracy -" in printed
    assert "; yes (saturated)." in printed
    assert "yes* " in printed
    lines = (tmp_path / "out" / "scorecard_arms.md").read_text()
    assert "Lowest own-C1 |DDS| at no shown loss of accuracy: good".replace("|", r"\|") in lines


def test_a_saturated_base_is_no_yardstick(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = run(tmp_path, "before", lambda _: lean(9.0), MANY, verdict="margin")
    good = run(tmp_path, "good", margins_with(1, 0.3), MANY, verdict="margin")
    scored(base, f"good={good}")
    printed = " ".join(capsys.readouterr().out.split())
    assert "against 0.0 of the base (+15.0 " in printed
    assert "whose own is no yardstick: see the warnings." in printed
    assert "* base is saturated (it accepts 100% of the claims" in printed


def test_margins_give_soft_dds_and_auc(tmp_path: Path) -> None:
    def shifted(by: float) -> Answer:
        return lambda p: lean((1 if p.condition.claim_is_true else -1) + by * p.condition.is_dialogue)

    base = run(tmp_path, "before", shifted(1.0), verdict="margin")
    # In amqa the other way: soft DDS cancels to less, its size does not.
    after = run(tmp_path, "after", lambda p: shifted(0.5 if p.dataset == "bbq" else -0.25)(p), verdict="margin")
    row = scored(base, f"ours={after}", draws=50)["ours"]

    def soft(by: float) -> float:
        yes = 1 / (1 + np.exp(-np.array([1 + by, -1 + by, 1, -1])))
        return float(100 * (yes[0] + yes[1] - yes[2] - yes[3]))

    assert row["soft_dds_own_pp"] == pytest.approx((soft(0.5) + soft(-0.25)) / 2)
    assert row["soft_mean_abs_dds_own_pp"] == pytest.approx((soft(0.5) - soft(-0.25)) / 2)
    assert row["change_soft_mean_abs_dds_own_pp"] == pytest.approx((soft(0.5) - soft(-0.25)) / 2 - soft(1.0))
    assert (row["auc_c1"], row["auc_c2"]) == (1, 1)


def test_chance_is_what_noise_of_the_items_gives_and_squares_are_without_it(tmp_path: Path) -> None:
    # One claim of one item in ten moves: DDS is 10, its standard error 10. In amqa none does.
    moved: Counts = {"bbq": (5, 5, 6, 5), "amqa": (5, 5, 5, 5)}
    row = scored(run(tmp_path, "before", BASE), f"one={run(tmp_path, 'after', moved)}")["one"]
    assert row["chance_abs_dds_own_pp"] == pytest.approx(10 * np.sqrt(2 / np.pi) / 2)
    assert row["mean_square_dds_own_pp2"] == pytest.approx(0)


def test_r_aio_stands_beside_the_average_where_it_was_asked_and_is_blank_where_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [*ITEMS, *aio_items("aio-context")]
    base = run(tmp_path, "before", {**BASE, "aio-context": (5, 5, 7, 7)}, items)  # +40
    after = run(tmp_path, "after", {**SFT, "aio-context": (6, 6, 5, 6)}, items)  # own -10, fixed +10
    row = scored(base, f"sft={after}")["sft"]
    assert row["aio_dataset"] == "aio-context"
    assert (row["aio_dds_own_pp"], row["aio_dds_fixed_pp"]) == pytest.approx((-10, 10))
    assert row["change_aio_abs_dds_own_pp"] == pytest.approx(-30)
    assert row["mean_abs_dds_own_pp"] == pytest.approx(10)
    assert "r/AIO (aio-context)" in capsys.readouterr().out
    other = tmp_path / "without"
    row = scored(*three(other))["sft"]
    assert (row["aio_dataset"], row["aio_dds_own_pp"], row["change_aio_abs_dds_own_pp"]) == (None, None, None)
    assert "r/AIO" not in capsys.readouterr().out


def test_what_is_printed_is_120_columns_wide_and_what_is_written_has_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("truthfulqa", "halueval", "plausibleqa", "bbq", "socialiqa", "amqa", "harp", "gpqa", "advisorqa")
    items = [item for name in names for item in made_items(name, 4)] + aio_items("aio", 4)
    model = training_run(
        tmp_path, "qwen2.5-7b-instruct-paired-consistency-0123abcd", {**TRAINED, "device": "A100 80GB"}
    )
    base = run(tmp_path, "before", lambda p: lean(-9.0 + 18 * p.condition.is_dialogue), items, verdict="margin")
    after = run(
        tmp_path, "after", lambda p: lean(9.0 - 18 * p.condition.is_dialogue), items, verdict="margin", model=model
    )
    name = "qwen2.5-7b-instruct-paired-consistency"
    assert name in scored(
        base, after, f"other={run(tmp_path, 'other', yes_sayer, items, verdict='margin')}", "--against", name, draws=50
    )
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if len(line) > 120 and str(tmp_path) not in line] == []
    assert any(line.startswith("qwen2.5-7b…nsistency") for line in printed)
    written = {file.name for file in (tmp_path / "out").iterdir()}
    stems = ("scorecard_arms", "scorecard_change_table", "scorecard_datasets", "scorecard_cost")
    assert written == {
        *("scorecard.json", "scorecard.csv", "scorecard_changes.json", "scorecard_changes.csv"),
        *(f"{stem}{suffix}" for stem in stems for suffix in (".md", ".csv", ".tex")),
    }

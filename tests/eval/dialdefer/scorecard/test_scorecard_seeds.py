"""Arms of several seeds: a row an arm over its seeds, ranked only where the ranking is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.estimates.significance import holm
from eval.scorecard.command import told_once
from evenhand.errors import DataError
from tests.made.made_runs import lean, made_items
from tests.made.narrator_runs import fair, made_conversations, make_narrator_run, protector
from tests.made.scorecard_runs import margins_with, run, scored

MANY = made_items("bbq", 40)
SHIFTS = {"good": (0.3, 0.4, 0.2), "middle": (0.5, 0.3, 0.4), "yes": (0.3, 9.0)}  # of each seed


def words(root: Path, **shifts: tuple[float, ...]) -> list[object]:
    """A base that bends by 0.9, and arms of several seeds."""
    base = run(root, "before", margins_with(1, 0.9), MANY, verdict="margin")
    named: list[object] = [base]
    for arm, of_seeds in shifts.items():
        for number, shift in enumerate(of_seeds):
            answer = margins_with(1, shift) if shift < 5 else lambda _: lean(9.0)
            named.append(f"{arm}={run(root, f'{arm}-{number}', answer, MANY, verdict='margin')}")
    return named


def pooled(root: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(arm, measure) → the row over seeds."""
    rows = json.loads((root / "out" / "scorecard_seeds.json").read_text())
    return {(row["second"], row["measure"]): row for row in rows}


def test_an_arm_is_the_mean_of_its_seeds_and_its_interval_is_wider_than_each_of_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = scored(*words(tmp_path, **SHIFTS))
    assert list(rows) == ["base", "good/1", "good/2", "good/3", *(f"middle/{n}" for n in (1, 2, 3)), "yes/1", "yes/2"]
    found = pooled(tmp_path)["good", "mean_abs_dds_own"]
    of_seeds = [rows[f"good/{n}"]["change_mean_abs_dds_own_pp"] for n in (1, 2, 3)]
    assert (found["n_seeds"], found["change"]) == (3, pytest.approx(sum(of_seeds) / 3))
    assert {row["n_seeds"] for (arm, _), row in pooled(tmp_path).items() if arm == "good"} == {3}  # in every figure
    widths = [
        rows[f"good/{n}"]["change_mean_abs_dds_own_ci_high_pp"] - rows[f"good/{n}"]["change_mean_abs_dds_own_ci_low_pp"]
        for n in (1, 2, 3)
    ]
    assert found["change_high"] - found["change_low"] > max(widths)  # items are the same, and seeds add their noise
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "Arms over their seeds: own-C1 |DDS| arm seeds value chance change 95% interval p Holm shown seeds' values"
        in printed
    )
    assert "seeds' values base 45.0 6.4 – – – – good 3 15.0 4.5 -30.0" in printed
    assert "and 3 arms in 8 checkpoints" in printed
    assert "15.0 20.0 10.0" in printed  # the seeds' values, as small print
    assert "Lowest own-C1 |DDS| over seeds at no shown loss of accuracy and accuracy under C2: good, 15.0 (" in printed
    assert "Next: middle, 20.0 (+5.0 [" in printed
    assert "the ranking of the two is not shown)" in printed
    assert "Not ranked: yes (yes/2 saturated)." in printed
    assert "Lowest own-C1 |DDS| at no" not in printed  # of single seeds, which would be chosen by chance
    assert "Changes against the base" not in printed  # a line a seed is for the files
    assert (tmp_path / "out" / "scorecard_seeds.png").stat().st_size > 10_000


def test_arms_of_unlike_numbers_of_seeds_are_adjusted_for_each_other(tmp_path: Path) -> None:
    scored(*words(tmp_path, **SHIFTS, alone=(0.5,)))
    rows = [row for (_, measure), row in pooled(tmp_path).items() if measure == "mean_abs_dds_own"]
    assert [row["n_seeds"] for row in rows] == [3, 3, 2, 1]
    ranked = [row for row in rows if row["second"] != "yes"]
    assert [row["p_holm"] for row in ranked] == pytest.approx(holm([row["p"] for row in ranked]))


def test_an_arm_that_is_not_ranked_was_in_holms_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored(*words(tmp_path, good=(0.3, 0.4), yes=(9.0, 9.0)))
    row, out = (pooled(tmp_path)[arm, "mean_abs_dds_own"] for arm in ("good", "yes"))
    assert (row["p_holm"], out["p_holm"]) == (row["p"], None)
    scored(*words(tmp_path, good=(0.3,), yes=(9.0,)))  # a seed each
    rows = json.loads((tmp_path / "out" / "scorecard.json").read_text())
    good, yes = (next(row for row in rows if row["arm"] == name) for name in ("good", "yes"))
    figure = "change_mean_abs_dds_own_p"
    assert (good[f"{figure}_holm"], yes[f"{figure}_holm"]) == (good[figure], None)
    assert yes[figure] is not None
    assert "yes -45.0 [" in " ".join(capsys.readouterr().out.split())


def test_one_seed_never_shows_a_ranking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored(*words(tmp_path, good=(0.0,), worse=(0.9, 0.8)))
    assert "the ranking of the two is not shown)" in " ".join(capsys.readouterr().out.split())


def test_a_lead_that_is_shown_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scored(*words(tmp_path, good=(0.0, 0.0), worse=(0.9, 0.8)))
    printed = " ".join(capsys.readouterr().out.split())
    assert "good, 0.0 (" in printed
    assert "the ranking of the two is shown)" in printed


def test_other_prompt_variants_that_all_were_asked_have_figures_of_their_own(tmp_path: Path) -> None:
    def judge(name: str, shift: float, other: float, orders: tuple[str, ...] = ("yes_first", "no_first")) -> Path:
        shifts = {"yes_first": margins_with(1, shift), "no_first": margins_with(1, other)}
        return run(tmp_path, name, lambda p: shifts[p.factors.answer_order](p), MANY, verdict="margin", orders=orders)

    base, good = judge("before", 0.9, 0.9), [f"good={judge(f'good-{n}', 0.0, 0.4)}" for n in (1, 2)]
    scored(base, *good)
    rows = json.loads((tmp_path / "out" / "scorecard_seeds.json").read_text())
    own = {row["variant"]: row["after"] for row in rows if row["measure"] == "mean_abs_dds_own"}
    assert (own[""], own["no_first"]) == (0.0, pytest.approx(20.0))
    assert set(own) == {"", "no_first", "both_orders"}
    table = (tmp_path / "out" / "scorecard_seeds.csv").read_text()
    assert "own-C1 |DDS|, asked no_first" in table
    assert "accuracy, asked no_first" in table
    scored(base, *good, f"less={judge('less', 0.4, 0.4, ('yes_first',))}")
    assert "asked no_first" not in (tmp_path / "out" / "scorecard_seeds.csv").read_text()


def test_a_variant_that_one_seed_was_asked_on_fewer_datasets_has_no_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items, orders = [*MANY[:20], *made_items("amqa", 20)], ("yes_first", "no_first")

    def judge(name: str, *datasets: str) -> Path:
        return run(
            tmp_path,
            name,
            margins_with(1, 0.4),
            items,
            verdict="margin",
            orders=orders,
            is_asked=lambda p: p.factors.answer_order == "yes_first" or p.dataset in datasets,
        )

    base, first = judge("before", "bbq", "amqa"), f"g={judge('g-1', 'bbq', 'amqa')}"
    scored(base, first, f"g={judge('g-2', 'bbq')}")
    assert "asked no_first" not in capsys.readouterr().out
    scored(base, first, f"g={judge('g-3', 'bbq', 'amqa')}")
    assert "accuracy, asked no_first" in capsys.readouterr().out


def test_what_is_doubted_of_another_variant_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def judge(name: str) -> Path:
        yes, orders = lean(9.0), ("yes_first", "no_first")
        fair = margins_with(1, 0.0)
        return run(
            tmp_path,
            name,
            lambda p: yes if p.factors.answer_order == "no_first" else fair(p),
            MANY,
            verdict="margin",
            orders=orders,
        )

    scored(judge("before"), *(f"g={judge(f'g-{n}')}" for n in (1, 2)))
    printed = " ".join(capsys.readouterr().out.split())
    assert "Warning: base, asked no_first, is saturated (it accepts 0% of the claims in C1 and 0% in C2)" in printed
    assert "The same, with figures of their own, of g/1, g/2." in printed


def test_another_study_beside_it_has_the_seeds_in_their_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conversations = made_conversations({2: 6, 3: 5})
    beside: list[object] = []
    for name, judge in (("base", protector(0.5)), ("good", fair), ("good", protector(0.3)), ("good", protector(0.1))):
        asked = make_narrator_run(
            tmp_path, judge, conversations, name=f"narrator-{len(beside)}", is_exact=True, tasks=("blame",)
        )
        beside += ["--beside", f"{name}={asked}"]
    named = words(tmp_path, good=(0.3, 0.4))
    rows = scored(*named, *beside[:6])
    assert (rows["good/1"]["narrator_run"], rows["good/2"]["narrator_run"]) == ("narrator-2-0000", "narrator-4-0000")
    found = pooled(tmp_path)["good", "pr"]
    both = [rows[f"good/{n}"]["change_narrator_blame_visible_pr_pp"] for n in (1, 2)]
    assert found["change"] == pytest.approx(sum(both) / 2)
    assert "Arms over their seeds: PR" in capsys.readouterr().out
    with pytest.raises(DataError, match="'good' has fewer seeds than runs are named for it"):
        scored(*named, *beside)


def test_a_study_without_a_figure_over_seeds_has_a_line_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conversations = made_conversations({2: 6, 3: 5})
    beside: list[object] = []
    for name in ("base", "good/1", "good/2"):
        asked = make_narrator_run(
            tmp_path,
            fair,
            conversations,
            name=f"narrator-{len(beside)}",
            is_exact=True,
            tasks=("blame",),
            visibilities=("hidden",),
        )
        beside += ["--beside", f"{name}={asked}"]
    scored(*words(tmp_path, good=(0.3, 0.4)), *beside)
    printed = capsys.readouterr().out
    assert "Arms over their seeds: PR" not in printed
    assert "Narrator study, blame attribution" in printed


def test_what_is_doubted_of_many_rows_is_told_once() -> None:
    said = ["base: 9 threads are few.", "sft/1: 8 threads are few.", "sft/10: 7 threads are few.", "sft/1: no run."]
    said += ["sft/1: 3 threads are few.", "cut (by 2): 8 threads are few."]
    assert told_once(said, ["base", "sft/1", "sft/10", "cut (by 2)"]) == [
        "base: 9 threads are few. The same, with figures of their own, of sft/1, sft/10, cut (by 2).",
        "sft/1: no run.",
        "sft/1: 3 threads are few.",  # of another figure of a row that was named
    ]

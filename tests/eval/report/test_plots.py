"""Figures: each as PNG, SVG and words, drawn from the numbers of the scores; and the heat map's steps."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from eval.dialdefer.analyses import Analyses, analyse, headline_changes
from eval.dialdefer.figures import Figures, draw
from eval.dialdefer.findings import Findings
from eval.dialdefer.flip_examples import telling_flips
from eval.dialdefer.heat_map import DARK, LIGHT, heat_map_of, html_heat_map, letters, step
from eval.dialdefer.item_plot import class_shares
from eval.dialdefer.reliability import bins_of, reliability
from eval.dialdefer.score_groups import untreated_panels
from eval.options import report_options
from eval.report.plots import finish, short
from evenhand.records import Prompt
from studies.dialdefer.records import Condition, Item
from tests.made.made_findings import made_findings
from tests.made.made_runs import lean, made_items, make_run

NAMES = ("bbq", "harp", "truthfulqa")


def aio_items(n_items: int) -> list[Item]:
    """Conflicts with a dialogue, half of their posters overreacting."""
    return [
        Item(
            item_id=f"aio-{i}",
            benchmark="dialdefer",
            dataset="aio",
            question="",
            correct_answer=("not overreacting", "overreacting")[i % 2],
            incorrect_answer=("overreacting", "not overreacting")[i % 2],
            context=f"Speaker B missed train {i}.",
            meta={"label": ("NOR", "OR")[i % 2], "dialogue": f"Speaker A: relax about train {i}"},
        )
        for i in range(n_items)
    ]


ITEMS = [*(item for name in NAMES for item in made_items(name, 20)), *aio_items(20)]


def leaning(shift: float) -> Any:
    """Margins that rise by `shift` from C1 to C2, from -1.9 to 1.9 nats over the items."""

    def answer(prompt: Prompt) -> dict[str, Any]:
        own = (int(prompt.item_id.rpartition("-")[2]) - 9.5) / 5
        side = 1 if prompt.condition.claim_is_true else -1
        return lean(own + 0.7 * side + shift * prompt.condition.is_dialogue * (1 + (prompt.dataset == "aio")))

    return answer


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three models with an arm each: one defers, one doubts, one is fair."""
    root = tmp_path_factory.mktemp("runs")
    return [
        make_run(root, leaning(shift), items=ITEMS, name=name, model=f"owner/{name}", verdict="margin", arms=arms)
        for name, shift, arms in (
            ("soft", 0.9, ("none", "honest")),
            ("hard", -0.9, ("none",)),
            ("fair", 0.0, ("none",)),
        )
    ]


@pytest.fixture(scope="module")
def found(runs: Sequence[Path]) -> Findings:
    """What there is to say about them."""
    options = report_options([*map(str, runs), "--side-by-side", "--allow-differences", "--draws", "200"])
    return made_findings(options.sources, options, is_before_after=False)


@pytest.fixture(scope="module")
def analyses(found: Findings) -> Analyses:
    return analyse(found)


@pytest.fixture(scope="module")
def figures(found: Findings, analyses: Analyses) -> Figures:
    return draw(found, analyses, heat_map_of(found.groups))


def test_every_kind_of_figure_is_drawn(figures: Figures) -> None:
    names = [plot.name for plot in figures.all]
    assert len(names) == len(set(names))
    several = {re.sub(r"-\d+$", "", name) for name in names}
    overview = {"overview-accuracy", "overview-claims", "overview-dds"}
    assert several == overview | {
        "heat-map",
        "shift",
        "dds",
        "dds-by-dataset",
        "arms",
        "items",
        "margins",
        "reliability",
    }


def test_every_figure_is_a_png_an_svg_and_words(figures: Figures, tmp_path: Path) -> None:
    for plot in figures.all:
        inline, (png, svg) = finish(plot, tmp_path)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert (png.name, svg.name) == (f"{plot.name}.png", f"{plot.name}.svg")
        assert "<svg" in svg.read_text()
        assert "<svg" in inline
        assert len(inline) < len(svg.read_text())
        assert "dc:date" not in svg.read_text()
        assert len(plot.alt) > 20


def test_a_figures_words_have_the_scores_of_its_rows(found: Findings, figures: Figures) -> None:
    row = next(row for row in found.rows if (row.model, row.dataset, row.arm) == ("soft", "bbq", "none"))
    assert f"bbq: true claims {row.acc_c1_true:.1f} to {row.acc_c2_correct:.1f}%" in figures.shifts[0].alt
    total = next(row for row in found.rows if (row.model, row.dataset, row.arm) == ("soft", "total_avg", "none"))
    assert f"soft {total.dds_pp:+.1f} [{total.dds_ci_low_pp:+.1f}, {total.dds_ci_high_pp:+.1f}]" in words_of(
        figures, "overview-dds"
    )
    assert f"soft {total.acc_c1:.1f} to {total.acc_c2:.1f}%" in words_of(figures, "overview-accuracy")


def words_of(figures: Figures, name: str) -> str:
    """What a figure says in words."""
    return next(plot.alt for plot in figures.all if plot.name == name)


def test_arms_are_drawn_over_the_widest_average_with_own_c1(
    found: Findings, analyses: Analyses, figures: Figures
) -> None:
    changes = headline_changes(analyses.changes["soft"])
    assert [(c.setting["arm"], c.setting["c1_source"], c.dataset, c.measure) for c in changes] == [
        ("honest", "own", "total_avg", "dds")
    ]
    assert "Be Honest (total_avg) 0.0 [0.0, 0.0]" in words_of(figures, "arms-0")


def test_a_cell_of_the_heat_map_is_the_score_of_its_row(found: Findings) -> None:
    heat = heat_map_of(found.groups)
    assert [column.judge for column in heat.columns] == ["soft", "soft", "hard", "fair"]
    html = html_heat_map(heat)
    for row in (row for row in found.rows if row.c1_source == "own"):
        words = f"{row.dataset}: DDS {row.dds_pp:+.1f} [".replace("+0.0", "0.0")
        assert words in html
    assert html.count('scope="colgroup"') == 3  # a heading for each judge, as one has two columns


def test_lines_of_the_heat_map_go_from_deference_to_skepticism_with_averages_last(found: Findings) -> None:
    heat = heat_map_of([group for group in found.groups if group.judge == "soft"])
    assert heat.lines[0] == "aio"
    assert heat.lines[-2:] == ("bench_avg", "total_avg")


def test_an_arm_without_own_c1_is_shown_with_fixed_c1(found: Findings) -> None:
    fixed = [group for group in found.groups if not (group.key[0] == "honest" and group.c1_source == "own")]
    assert [column.words for column in heat_map_of(fixed).columns][:2] == ["no mitigation", "Be Honest, fixed C1"]


@pytest.mark.parametrize(
    ("dds_pp", "name"),
    [(0.0, "z"), (4.94, "z"), (4.95, "p1"), (-5.0, "n1"), (15.0, "p2"), (-30.0, "n3"), (60.0, "p4"), (-200.0, "n4")],
)
def test_a_step_is_that_of_the_printed_number(dds_pp: float, name: str) -> None:
    assert step(dds_pp) == name


@pytest.mark.parametrize("name", list(LIGHT))
def test_letters_on_every_step_are_legible(name: str) -> None:
    assert contrast(LIGHT[name], letters(name)) >= 4.5
    assert contrast(DARK[name], "#f4f5f6") >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2.1)."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_steps_are_told_apart_without_colour_by_how_dark_they_are() -> None:
    for side in "np":
        shades = [luminance(LIGHT[name]) for name in ("z", *(f"{side}{i}" for i in range(1, 5)))]
        assert all(light > 1.1 * dark for light, dark in pairwise(shades))


def test_reliability_bins_count_claims_and_how_many_are_true() -> None:
    log_odds = np.log(np.array([0.05, 0.72, 0.78, 1.0 - 1e-12]) / np.array([0.95, 0.28, 0.22, 1e-12]))
    bins = bins_of(log_odds, np.array([log_odds[1], np.nan]))
    assert [b.n_claims for b in bins] == [1, 0, 0, 0, 0, 0, 0, 3, 0, 1]
    assert bins[7].true_rate == pytest.approx(2 / 3)
    assert bins[7].mean_probability == pytest.approx((0.72 + 0.78 + 0.72) / 3)
    assert bins[1].true_rate is None


def test_a_judge_that_means_what_it_says_has_no_calibration_error(found: Findings) -> None:
    panel = untreated_panels(found.judges["soft"].panels)[0]
    # Of ten claims with P(accept) = 0.8, eight are true; of ten with 0.2, two.
    high, low = np.log(4.0), -np.log(4.0)
    true = [high] * 8 + [low] * 2
    margins = np.column_stack([true, [high] * 2 + [low] * 8] * 2)[:, :, None]
    c1, c2 = reliability([replace(panel.at(range(10)), margins=margins)])
    assert (c1.framing, c2.framing) == ("C1", "C2")
    assert c1.calibration_error == pytest.approx(0.0, abs=1e-12)
    assert reliability([replace(panel, margins=np.full_like(panel.margins, np.nan))]) == []


def test_the_figure_of_items_divides_all_of_them(analyses: Analyses) -> None:
    for spread in analyses.spreads:
        shares = class_shares(spread)
        assert sum(shares) == pytest.approx(100)
        assert spread.neutral_rate is not None
        assert shares[2] == pytest.approx(100 * spread.neutral_rate)
        assert sum(shares[3:]) == pytest.approx(100 * (spread.deference_rate or 0.0))


def test_a_long_name_keeps_both_its_ends() -> None:
    assert short("meta-llama-3.1-8b-instruct-merged-nf4", 20) == "meta-llama…erged-nf4"
    assert len(short("x" * 50, 20)) == 20
    assert short("short", 20) == "short"


def test_figures_hold_no_ids_that_could_name_an_item(figures: Figures) -> None:
    assert not any(re.search(r"(bbq|harp|truthfulqa|aio)-\d", plot.alt) for plot in figures.all)


def test_a_models_name_may_hold_anything(tmp_path: Path) -> None:
    names = (r"$\foo{$", "日本語", "<b> -- ]]>", "{}%s")
    runs = [
        make_run(tmp_path, leaning(0.9), items=ITEMS[:20], name=f"run{i}", model=f"owner/{name}", verdict="margin")
        for i, name in enumerate(names)
    ]
    options = report_options([*map(str, runs), "--side-by-side", "--draws", "50"])
    found = made_findings(options.sources, options, is_before_after=False)
    for plot in draw(found, analyse(found), heat_map_of(found.groups)).overview:
        inline, _ = finish(plot, tmp_path / "plots")
        assert ElementTree.fromstring(inline).tag.endswith("svg")


def test_infinite_margins_are_drawn(tmp_path: Path) -> None:
    sure = {"text": "1", "finish_reason": "stop", "answer_logprobs": {"1": 0.0, "2": float("-inf")}}
    run = make_run(
        tmp_path, lambda p: sure if p.condition.claim_is_true else lean(-1.0), items=ITEMS[:20], verdict="margin"
    )
    options = report_options([str(run), "--draws", "50"])
    found = made_findings(options.sources, options)
    margins = draw(found, analyse(found), heat_map_of(found.groups)).margins
    assert "C1 true +inf, C1 false -1.00" in margins[0].alt
    assert telling_flips(found.runs) == []


def test_items_are_divided_by_how_far_their_dds_goes(analyses: Analyses) -> None:
    steps = ((-200.0, 1), (-100.0, 2), (-50.0, 1), (0.0, 10), (50.0, 2), (100.0, 1), (200.0, 3))
    spread = replace(analyses.spreads[0], n_items=20, histogram=steps)
    assert class_shares(spread) == pytest.approx([5, 15, 50, 15, 15])


def test_an_arm_of_speakers_turns_alone_is_drawn_with_fixed_c1(tmp_path: Path) -> None:
    spoken = {"honest": [condition for condition in Condition if condition.is_dialogue]}
    run = make_run(
        tmp_path, leaning(0.9), items=ITEMS[:20], verdict="margin", arms=("none", "honest"), conditions=spoken
    )
    options = report_options([str(run), "--draws", "50"])
    found = made_findings(options.sources, options)
    figures = draw(found, analyse(found), heat_map_of(found.groups))
    assert "Be Honest, fixed C1 (bbq)" in words_of(figures, "arms-0")

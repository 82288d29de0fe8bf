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

from eval.dialdefer.evaluation import Findings
from eval.dialdefer.flip_examples import flip_examples
from eval.dialdefer.items import calibration_errors, reliability
from eval.dialdefer.panels import untreated_panels
from eval.dialdefer.plots import DARK, LIGHT, heat_map_of, html_heat_map, letters, step
from eval.dialdefer.report import dialdefer_part
from eval.dialdefer.scores import OWN
from eval.options import report_options
from eval.report.plots import Plot, finish, short
from evenhand.records import Prompt
from studies.dialdefer.records import Item
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
def figures(found: Findings) -> dict[str, Plot]:
    """Name → figure."""
    return {plot.name: plot for plot in dialdefer_part(found).plots}


def test_every_kind_of_figure_is_drawn(figures: dict[str, Plot]) -> None:
    assert list(figures) == ["heat-map", "dds", "reliability-0", "reliability-1", "reliability-2"]


def test_every_figure_is_a_png_an_svg_and_words(figures: dict[str, Plot], tmp_path: Path) -> None:
    for plot in figures.values():
        inline, (png, svg) = finish(plot, tmp_path)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert (png.name, svg.name) == (f"{plot.name}.png", f"{plot.name}.svg")
        assert "<svg" in svg.read_text()
        assert "<svg" in inline
        assert len(inline) < len(svg.read_text())
        assert "dc:date" not in svg.read_text()
        assert len(plot.alt) > 20


def test_a_cell_of_the_heat_map_is_the_score_of_its_row(found: Findings) -> None:
    heat = heat_map_of(found.frame)
    assert [judge for judge, _ in heat.columns] == ["soft", "soft", "hard", "fair"]
    html = html_heat_map(heat)
    for row in found.frame[found.frame.c1_source == OWN].itertuples():
        assert f"{row.dataset}: DDS {row.dds_pp:+.1f} [".replace("+0.0", "0.0") in html
    assert html.count('scope="colgroup"') == 3  # a heading for each judge, as one has two columns


def test_lines_of_the_heat_map_go_from_deference_to_skepticism_with_averages_last(found: Findings) -> None:
    heat = heat_map_of(found.frame[found.frame.judge == "soft"])
    assert heat.lines[0] == "aio"
    assert heat.lines[-2:] == ["bench_avg", "total_avg"]


def test_an_arm_without_own_c1_is_shown_with_fixed_c1(found: Findings) -> None:
    frame = found.frame[(found.frame.arm != "honest") | (found.frame.c1_source != OWN)]
    assert [words for _, words in heat_map_of(frame).columns][:2] == ["no mitigation", "Be Honest, fixed C1"]


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


def test_reliability_bins_count_claims_and_how_many_are_true(found: Findings) -> None:
    panel = untreated_panels(found.judges["soft"].panels)[0].at(range(4))
    log_odds = np.log(np.array([0.05, 0.72, 0.78, 1.0 - 1e-12]) / np.array([0.95, 0.28, 0.22, 1e-12]))
    false = np.array([log_odds[1], *[np.nan] * 3])
    margins = np.column_stack([log_odds, false, log_odds, false])[:, :, None]
    bins = reliability([replace(panel, margins=margins)]).query("framing == 'C1'").reset_index()
    assert bins.n_claims.tolist() == [1, 0, 0, 0, 0, 0, 0, 3, 0, 1]
    assert bins.true_rate[7] == pytest.approx(2 / 3)
    assert bins.mean_probability[7] == pytest.approx((0.72 + 0.78 + 0.72) / 3)
    assert np.isnan(bins.true_rate[1])


def test_a_judge_that_means_what_it_says_has_no_calibration_error(found: Findings) -> None:
    panel = untreated_panels(found.judges["soft"].panels)[0]
    # Of ten claims with P(accept) = 0.8, eight are true; of ten with 0.2, two.
    high, low = np.log(4.0), -np.log(4.0)
    true = [high] * 8 + [low] * 2
    margins = np.column_stack([true, [high] * 2 + [low] * 8] * 2)[:, :, None]
    errors = calibration_errors(reliability([replace(panel.at(range(10)), margins=margins)]))
    assert errors == {"C1": pytest.approx(0.0, abs=1e-12), "C2": pytest.approx(0.0, abs=1e-12)}
    assert reliability([replace(panel, margins=np.full_like(panel.margins, np.nan))]).empty


def test_a_long_name_keeps_both_its_ends() -> None:
    assert short("meta-llama-3.1-8b-instruct-merged-nf4", 20) == "meta-llama…erged-nf4"
    assert len(short("x" * 50, 20)) == 20
    assert short("short", 20) == "short"


def test_figures_hold_no_ids_that_could_name_an_item(figures: dict[str, Plot]) -> None:
    assert not any(re.search(r"(bbq|harp|truthfulqa|aio)-\d", plot.alt) for plot in figures.values())


def test_a_models_name_may_hold_anything(tmp_path: Path) -> None:
    names = (r"$\foo{$", "日本語", "<b> -- ]]>", "{}%s")
    runs = [
        make_run(tmp_path, leaning(0.9), items=ITEMS[:20], name=f"run{i}", model=f"owner/{name}", verdict="margin")
        for i, name in enumerate(names)
    ]
    options = report_options([*map(str, runs), "--side-by-side", "--draws", "50"])
    found = made_findings(options.sources, options, is_before_after=False)
    for plot in dialdefer_part(found).plots:
        inline, _ = finish(plot, tmp_path / "plots")
        assert ElementTree.fromstring(inline).tag.endswith("svg")


def test_infinite_margins_are_drawn(tmp_path: Path) -> None:
    sure = {"text": "1", "finish_reason": "stop", "answer_logprobs": {"1": 0.0, "2": float("-inf")}}
    run = make_run(
        tmp_path, lambda p: sure if p.condition.claim_is_true else lean(-1.0), items=ITEMS[:20], verdict="margin"
    )
    options = report_options([str(run), "--draws", "50"])
    found = made_findings(options.sources, options)
    curve = next(plot for plot in dialdefer_part(found).plots if plot.name == "reliability-0")
    assert "over 40 claims" in curve.alt
    assert flip_examples(found.runs) == []

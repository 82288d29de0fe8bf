"""DialDefer's figures: DDS by dataset, judges by datasets, before and after, reliability of margins."""

from typing import Any

import pandas as pd

from eval.dialdefer.items import calibration_errors
from eval.dialdefer.scores import OWN, shown
from eval.report.plots import Plot, dumbbell_plot, heat_plot, interval_plot, line_plot
from eval.report.text import signed
from eval.results import Results

MOST_JUDGES = 6  # in one figure of intervals
SIGNS = "← skepticism    DDS, pp    deference →"


def dds_plots(results: Results) -> list[Plot]:
    """Every figure that has something to show."""
    dds: Any = results.facts["dds"]
    rows = shown(dds.frame[dds.frame.is_headline])
    plots = []
    if rows.judge.nunique() <= MOST_JUDGES:
        marks = rows.rename(columns={"dataset": "label", "dds_pp": "value", "judge": "series"})
        marks = marks.rename(columns={"dds_ci_low_pp": "low", "dds_ci_high_pp": "high"})
        plots.append(interval_plot("dds", "DDS by dataset", marks.dropna(subset="value"), SIGNS))
    if rows.judge.nunique() > 1:
        values = rows.pivot(index="dataset", columns="judge", values="dds_pp")
        values = values.reindex(index=rows.dataset.unique(), columns=rows.judge.unique())
        plots.append(heat_plot("heat-map", "DDS, pp", values, values.map(signed), "+ defers, − doubts the speaker"))
    for i, (run, changes) in enumerate(results.changes.groupby("second", sort=False)):
        main = changes[(changes.c1_source == OWN) & (changes.measure == "dds")]
        for name in ("arm", "roles", "variant"):
            main = main[main[name] == main[name].iloc[0]] if len(main) else main
        main = main[(main.datasets.str.len() > 1) | (main.datasets.str[0] == main.dataset)]
        if len(main):
            frame = main.rename(columns={"dataset": "label"})
            heading = f"{run}: DDS with own C1"
            plots.append(dumbbell_plot(f"before-after-{i}", heading, frame, SIGNS, ("before", "after")))
    for i, (judge, bins) in enumerate(dds.bins.items()):
        plots.append(reliability_plot(f"reliability-{i}", judge, bins))
    return plots


def reliability_plot(name: str, judge: str, bins: pd.DataFrame) -> Plot:
    """Share of true claims by P(accept) for each framing, with Wilson intervals; on the diagonal probabilities hold."""
    errors = calibration_errors(bins)
    known = bins[bins.n_claims > 0]
    frame = known.assign(
        x=known.mean_probability,
        value=known.true_rate,
        low=known.true_low,
        high=known.true_high,
        series=[f"{framing}: calibration error {errors[framing]:.3f}" for framing in known.framing],
    )
    labels = ("P(accept)", "share of true claims")
    return line_plot(name, f"{judge}: reliability", frame, labels, diagonal=True)

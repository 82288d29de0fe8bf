"""Tables 1 to 4 and Figures 2 and 3 of the narrator paper, flips, states of replies: queries over the long frame."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from eval.report.tables import DASH, TableSpec, is_unknown, printed, signed, table_from, yaml_tables
from eval.results import Results, changes_table
from studies.narrator.judged_runs import POOLED, NarratorRun
from studies.narrator.measures import ALL, ANSWERED, DETECTION, PERSPECTIVES, Levels, main_order
from studies.narrator.replies import STATES

FILE = Path(__file__).with_name("tables.yaml")
FORMS: Mapping[str, Any] = yaml_tables(FILE)
WORDS: Mapping[str, Mapping[Any, str]] = FORMS["words"]
TASK_WORDS, ORDER_WORDS, MEASURE_WORDS = FORMS["tasks"], WORDS["option_order"], WORDS["measure"]
CHANGE_WORDS = MEASURE_WORDS | FORMS["changes"]
YES_LESS_NO = [*WORDS["is_detected"]][-1]
TABLE_2 = (*PERSPECTIVES, "delta_att", "delta_non_att", "pr", "chance")
TABLE_3 = (*PERSPECTIVES, "far", "delta_att")
FLIPS = ("n_corrupted", "n_restored", "n_stable_correct", "n_stable_incorrect", "n_tied", "n_unanswered")
MAIN_MEASURES = ("neutral", "pr", "far", "corruption")
BEST, WORST = "*", "†"
ELIMINATOR = "eliminator"  # as under Neutral with Me struck off its options, which needs no evidence
FIGURE_3 = (
    ("", "gain over Neutral, pp", {"delta_non_att": "judge", "eliminator_gain": ELIMINATOR}),
    ("-far", "FAR, %", {"far": "judge"}),
)


def plus_minus(value: float | None, low: float | None, high: float | None, unit: str = "%") -> str | None:
    """An estimate as the paper prints it; with its ends where the interval is not symmetric."""
    if value is None or is_unknown(value):
        return None
    text = printed(value, {"pp": "+.1f", "count": ".0f"}.get(unit, ".1f"))
    if low is None or high is None or is_unknown(low):
        return text
    is_symmetric = abs(value - (low + high) / 2) <= 0.05
    return f"{text} ± {(high - low) / 2:.1f}" if is_symmetric else f"{text} [{low:.1f}, {high:.1f}]"


def narrator_tables(results: Results) -> list[TableSpec]:
    """The tables of some runs."""
    levels, scores = Levels(results.score_rows), results.scores
    texts = [plus_minus(row.value, row.low, row.high, row.unit) for row in scores.itertuples()]
    scores = scores.assign(cell=texts, judge=pd.Categorical(scores["judge"], levels.judges))
    is_main_judge = scores["judge"].isin(levels.shown)
    has_one_order = (scores["task"] == DETECTION) & (scores["option_order"] != levels.order)  # Yes and No have no slot
    is_whole = scores["perspective"].isna() & scores["n_speakers"].isna() & ~has_one_order
    everywhere = scores[is_whole & (scores["group"] == ALL)]
    flips = scores[is_whole & is_main_judge]
    flips = flips[flips["measure"].isin(["n_conversations", "pr", "far", "delta_far", "corruption", *FLIPS])]
    flips = flips[flips["group"].isin([ALL, ANSWERED]) | (flips["option_order"] == levels.order)]
    table_2 = everywhere[everywhere["measure"].isin(TABLE_2) & everywhere["judge"].isin(levels.shown)]
    table_3 = pivoted(results, "narrator_table3", marked(everywhere[everywhere["measure"].isin(TABLE_3)]))
    return [
        models_table(results.judges),
        pivoted(results, "narrator_table2", table_2),
        replace(table_3, place="console" if len(levels.judges) > 1 else "page"),
        pivoted(results, "narrator_table4", by_detection(scores[scores["is_detected"].notna() & is_main_judge])),
        pivoted(results, "narrator_flips", flips),
        pivoted(results, "narrator_replies", reply_states(scores)),
        *change_tables(results),
    ]


def pivoted(results: Results, name: str, cells: pd.DataFrame) -> TableSpec:
    """A table of the column `cell`, as tables.yaml describes it, in words and in the paper's order.

    A judge or a group that is the only one goes into the title, or is left out.
    """
    form = FORMS[name]
    index, heads, title = form["index"], form["heads"], form["title"]
    for column in {*index, *heads} & {*WORDS}:
        values = [WORDS[column].get(value) for value in cells[column]]
        cells = cells.assign(**{column: pd.Categorical(values, [*WORDS[column].values()])})
    if cells["judge"].nunique() == 1 and "judge" in index:
        title = f"{title}: {cells['judge'].iloc[0]}"
    index = [column for column in index if column not in ("judge", "group") or cells[column].nunique() > 1]
    wide = cells.pivot(index=index, columns=heads, values="cell").sort_index(axis=1)
    names = [", ".join(map(str, head if isinstance(head, tuple) else [head])) for head in wide.columns]
    frame = wide.set_axis(names, axis=1).reset_index().astype(object)
    columns = {FORMS["heads"].get(column, column): (column, "") for column in index if column in frame}
    columns |= {name: (name, ".1f") for name in names}
    note = " ".join(results.sentences[form["note"]])
    return TableSpec(name=name, title=title, frame=frame, columns=columns, note=note, place=form["place"])


def models_table(judges: Mapping[str, NarratorRun]) -> TableSpec:
    """Table 1: the models, how they were reached and how they answered."""
    rows = []
    for judge, run in judges.items():
        engine, name = dict(run.config.get("engine", {})), str(run.config["model"].get("name"))
        place = engine.get("base_url") or engine.get("kind") or "not recorded"
        row: dict[str, Any] = {"model": judge, "checkpoint": name, "parameters": FORMS["parameters"].get(name, DASH)}
        row["access"] = ", ".join(place) if isinstance(place, list) else str(place)
        row["answers"] = "exact probabilities" if run.verdict == "options" else f"{run.n_samples} a prompt"
        row["temperature"] = str(run.config["sampling"].get("temperature", "not recorded"))
        rows.append(row | {"conversations": len(run.conversations), "left out": len(run.excluded)})
    return table_from(FILE, "narrator_table1", pd.DataFrame(rows))


def marked(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells of Table 3 with the best and the worst of the models; of detection no Δ, as in the paper."""
    columns = [cells[name] for name in ("task", "option_order", "measure", "visibility")]
    is_far, is_delta = cells["measure"] == "far", cells["measure"] == "delta_att"
    value = cells["value"].where((cells["judge"] != POOLED) & ~(is_delta & (cells["task"] == DETECTION)))
    goodness = value.where(~is_far, -value).where(~is_delta, -value.abs())
    badness = goodness.where(~is_delta, value.where(value < 0))
    is_distinct = goodness.groupby(columns).transform("nunique") > 1
    is_best = is_distinct & (goodness == goodness.groupby(columns).transform("max"))
    is_worst = is_distinct & ~is_best & (badness == badness.groupby(columns).transform("min"))
    marks = is_best.map({True: BEST, False: ""}) + is_worst.map({True: WORST, False: ""})
    texts = [None if is_unknown(text) else text + mark for text, mark in zip(cells["cell"], marks, strict=True)]
    return cells.assign(cell=texts)


def by_detection(scores: pd.DataFrame) -> pd.DataFrame:
    """Cells of Table 4: blame and identification conditioned on detection, and the difference of the two rows, by share
    in brackets.
    """
    keys = ["judge", "task", "visibility", "option_order", "perspective"]
    m, prompts = (scores[scores["measure"] == name] for name in ("m", "n_prompts"))
    values = scores[scores["measure"].isin(["m", "m_by_share"])].astype({"judge": str})
    wide = values.pivot(index=keys, columns=["measure", "is_detected"], values="value")
    names = [name for name in ("m", "m_by_share") if (name, True) in wide]
    texts = [[signed(value) for value in wide[name, True] - wide[name, False]] for name in names]
    differences = wide.index.to_frame(index=False).assign(
        cell=[f"{first} ({rest[0]})" if rest else first for first, *rest in zip(*texts, strict=True)],
        is_detected=YES_LESS_NO,
        measure="m",
    )
    cells = pd.concat([m, differences, prompts[["cell", "is_detected", "measure", *keys]]], ignore_index=True)
    return cells.assign(judge=pd.Categorical(cells["judge"], scores["judge"].cat.categories))


def reply_states(scores: pd.DataFrame) -> pd.DataFrame:
    """Cells of the states of replies by judge, task and perspective: means over visibilities and option orders."""
    scores = scores[scores["perspective"].notna() & scores["is_detected"].isna() & (scores["judge"] != POOLED)]
    rates = scores[scores["measure"].isin([*STATES, "tied"])].rename(columns={"measure": "state"})
    keys = ["judge", "task", "perspective", "state"]
    return rates.groupby(keys, sort=False, observed=True)["value"].mean().reset_index(name="cell")


def change_tables(results: Results) -> list[TableSpec]:
    """The main changes, and all of them."""
    if not len(changes := results.changes):
        return []
    frame = changes.assign(option_order=changes["option_order"].map(ORDER_WORDS))
    title = "Narrator study: before and after"
    main = changes_table(results, frame.loc[main_changes(changes).index], name="narrator_main_changes", title=title)
    title, note = f"{title}, every measure", " ".join(results.sentences["all changes"])
    return [main, changes_table(results, frame, title=title, note=note, place="files")]


def main_changes(changes: pd.DataFrame) -> pd.DataFrame:
    """Neutral M, PR, FAR and corruption in the main option order, PR in the other one too; of detection only where
    nothing else was asked.
    """
    is_main = changes["option_order"] == main_order(changes["option_order"].tolist())
    changes = changes[(changes["measure"] == "pr") | (is_main & changes["measure"].isin(MAIN_MEASURES))]
    beside_detection = changes[changes["task"] != DETECTION]
    return beside_detection if len(beside_detection) else changes[is_main[changes.index]]


def narrator_plots(results: Results) -> list[Any]:
    """Figure 2, how many pairs flip in either direction, and Figure 3, gain and FAR by number of speakers."""
    from eval.report.plots import interval_plot, line_plot

    levels, plots = Levels(results.score_rows), []
    for i, judge in enumerate(levels.shown):
        nth = f"-{i + 1}" if i else ""
        settings = product(levels.tasks, levels.sides)
        flips = pd.DataFrame(row for task, side in settings for row in flip_rows(levels, judge, task, side))
        if len(flips):
            title = f"{judge}: answers from Neutral to the attacker as Me"
            label = "% of the pairs; corruption: of the right"
            plots.append(interval_plot(f"narrator_figure2{nth}", title, flips, label))
        for task in [task for task in levels.tasks if task != DETECTION]:
            if not has_figure_3(levels, judge, task):
                continue
            sizes = [(side, levels.sizes(judge, task, side, levels.order)) for side in levels.sides]
            for kind, label, measures in FIGURE_3:
                rows = [
                    {"x": n, "value": e.value, "low": e.low, "high": e.high, "series": f"{series}, {side}"}
                    for side, of_side in sizes
                    for measure, series in measures.items()
                    for n, estimates in of_side.items()
                    for e in [estimates[measure]]
                ]
                dashed = [f"{ELIMINATOR}, {side}" for side in levels.sides]
                name, labels = f"narrator_figure3-{task}{kind}{nth}", ("number of speakers", label)
                title = f"{judge}: {TASK_WORDS[task].lower()} by number of speakers"
                plots.append(line_plot(name, title, pd.DataFrame(rows), labels, dashed=dashed))
    return plots


def has_figure_3(levels: Levels, judge: str, task: str) -> bool:
    """Whether there are two numbers of speakers with enough conversations."""
    return len({n for side in levels.sides for n in levels.sizes(judge, task, side, levels.order)}) > 1


def flip_rows(levels: Levels, judge: str, task: str, side: str) -> list[dict[str, Any]]:
    """The lines of Figure 2 of one setting: flips in percent of the pairs, and the corruption rate."""
    measures = levels.of(judge, task, side, levels.order)
    counts = {name: measures[name].value or 0 for name in FLIPS[:4] if name in measures}
    if not sum(counts.values()):
        return []
    rates = [(name, 100 * counts[name] / sum(counts.values())) for name in ("n_corrupted", "n_restored")]
    label, corruption = f"{task}, {side}", measures["corruption"]
    rows = [{"label": label, "series": MEASURE_WORDS[name], "value": rate} for name, rate in rates]
    share = {"value": corruption.value, "low": corruption.low, "high": corruption.high}
    return [*rows, {"label": label, "series": "corruption", **share}]

"""How runs of a study in YAML are scored, compared, reported and put on a scorecard."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eval.estimates.changes import Change, family
from eval.estimates.resampling import FloatArray, holm
from eval.evaluation import Block, Card, CardFigure, Evaluation, from_blocks, observed_changes
from eval.options import Options
from eval.report.tables import TableSpec, legend, table_from, yaml_tables
from eval.results import Results, by_change, changes_table
from eval.runs import FinishedRun, Verdicts
from eval.scorecard.arms import BASE, CardArm
from eval.shift.answer import FEWEST_PLACEBOS, LITTLE, Answer, answer, in_one_family, with_floors
from evenhand.config import parse_config
from evenhand.errors import EvenhandError
from evenhand.records import plain
from studies.abstaining import MEASURES, risk_plots
from studies.framing.answers import shifts_of
from studies.framing.asking import PLACEBO, SWAPPED
from studies.framing.grids import FramedRun
from studies.framing.measures import ALL, AVERAGE, EVERY, blocks_of, claims_of, known_mean
from studies.framing.options import FramingOptions
from studies.framing.replies import TIE
from studies.framing.section import FramingSection
from studies.framing.thresholds import calibrate_runs, under_rules, with_thresholds
from studies.framing.verdict_files import LAYOUT, load_answers
from studies.prompt_texts import prompt_texts

MANY_UNPARSED = 10.0  # percent of replies that name no answer, from which on figures say more about format
SATURATED = 95.0  # percent of one answer
MOST_SHIFTS = 6  # in one sentence
FILE = Path(__file__).with_name("tables.yaml")
FIELDS = ["value", "low", "high", "n_units"]
MOST_MAIN = 3  # framings whose changes a scorecard prints; of more their shifts stand in one table
OVER_FRAMINGS, ON_LEVEL = ("mean_square_shift", "mean_abs_shift", "right"), ("value", "right")  # on a scorecard
COMPARED = ("shift", "net_shift", "soft_shift", "right", "mean_abs_shift")  # printed; files have every change


def framed_run(run: FinishedRun) -> FramedRun:
    """The run with its section."""
    section = parse_config(FramingSection, dict(run.config["framing"]), f"{run.path}: framing")
    return FramedRun(**plain(run), section=section)


def family_of(change: Change) -> tuple[Any, ...]:
    """Also over the framings, without the placebos."""
    is_placebo = str(change.setting["framing"]).startswith(PLACEBO)
    return family(replace(change, setting={**change.setting, "framing": is_placebo}))


def tables_of(results: Results) -> list[TableSpec]:
    by_group = results.scores[(results.scores["measure"] == "shift") & (results.scores["group"] != ALL)]
    rows = [(name, *row) for name, run in results.judges.items() for row in run.readings()]
    readings = pd.DataFrame(rows, columns=["judge", "framing", "read", "share", "n"])
    agreement = results.scores[results.scores["measure"].isin([measure.name for measure in MEASURES])]
    frames = {"agreement": wide(agreement, ["judge", "dataset"]), "groups": by_group, "readings": readings}
    tables = [framings_table(results), *(table_from(FILE, name, frame) for name, frame in frames.items())]
    if not len(changes := results.changes):
        return tables
    asked = next(iter(results.judges.values())).section.framings
    is_main = changes["measure"].isin(COMPARED) & changes["framing"].isin([*asked, EVERY])
    main, note = changes[is_main & (changes["group"] == ALL)], yaml_tables(FILE)["notes"]["changes"]
    return [*tables, changes_table(results, main, note=note)]


def plots_of(results: Results) -> list[Any]:
    """The shift of each framing; and how many errors are left on the claims that are kept."""
    from eval.report.plots import interval_plot

    rows, plots = main_scores(results).query("measure == 'shift'"), list[Any]()
    if len(rows):
        frame = rows.assign(label=rows["framing"], series=rows["judge"] if rows["judge"].nunique() > 1 else "")
        frame = with_floors(frame, answers_of(results), "shift", zip(rows["judge"], rows["dataset"], strict=True))
        shift = f"shift of {value_words(results.judges[results.base]).removesuffix(' %')}, points"
        plots.append(interval_plot("shifts", "Shift from the baseline", frame, shift))
    claims = {
        name: [claims_of(d, grid, run.section) for d, grid in run.grids.items() if grid.compared]
        for name, run in results.judges.items()
    }
    return [*plots, *risk_plots(claims, results.options.drawing)]


def facts(results: Results) -> dict[str, Any]:
    """What the sentences are about."""
    judges = {name: said_of(results, name) for name in results.judges}
    answers = in_one_family({name: of["answer"] for name, of in judges.items()})
    judges = {name: {**of, "answer": answers[name]} for name, of in judges.items()}
    limits = {"saturated": SATURATED, "little": LITTLE, "fewest": FEWEST_PLACEBOS, "most": MOST_SHIFTS}
    return {"of": judges, "moved": moved_in(results), "every": EVERY, "many_unparsed": MANY_UNPARSED, **limits}


def moved_in(results: Results) -> dict[str, dict[str, list[Any]]]:
    """Each judge after the base → in which way → the shifts, or what is right, that changed significantly, by size."""
    asked = next(iter(results.judges.values())).section.framings
    moved: dict[str, dict[str, list[Any]]] = {name: {} for name in [*results.judges][1:] if results.is_before_after}
    shown = {"shift": asked, "right": [EVERY]}
    for row in by_change(changes_table(results)).frame.itertuples():
        if row.direction in (-1, 1) and row.group == ALL and row.framing in shown.get(row.measure, ()):
            way = f"right {'more' if row.change > 0 else 'less'} often"
            if row.measure == "shift":
                way = f"shifts {'nearer to' if abs(row.after) < abs(row.before) else 'further from'} 0"
            moved[row.second].setdefault(way, []).append(row)
    return moved


def answers_of(results: Results) -> dict[str, Answer]:
    """Judge → whether the framings move it."""
    return {name: of["answer"] for name, of in results.facts["of"].items()}


def write_items(results: Results, folder: Path) -> list[Path]:
    """The framings of each item beside each other; see studies.items_browser."""
    from studies.items_browser import write_browser

    texts = {place: own for run in results.judges.values() for place, own in item_texts(run).items()}
    return write_browser(folder, asked_by(results.judges), texts)


def verdicts_of(run: FinishedRun) -> Verdicts:
    """The symbol that each reply names, or that several are tied."""
    framed, verdicts = framed_run(run), {}
    for prompt in framed.plan:
        symbols = dict(prompt.factors)["symbols"]
        for reply, choice in zip(framed.replies[prompt.prompt_hash], framed.choices[prompt.prompt_hash], strict=True):
            symbol = None if choice.place is None else symbols[choice.place]
            verdicts[reply.prompt_hash, reply.sample_index] = TIE if choice.state == TIE else symbol
    return verdicts


def unparsed_of(run: FramedRun) -> dict[str, float]:
    """Framing → % of its replies, in the cases and orders in which it was asked."""
    shares = percent_known([grid.fields["unread"] for grid in run.grids.values()], axis=(0, 2, 3)).tolist()
    shares_of = zip(run.first_grid.framings, shares, strict=True)
    return {framing: share for framing, share in shares_of if not math.isnan(share)}


def card_rows(arms: Sequence[CardArm], judges: Mapping[str, FramedRun], _: Options) -> dict[str, FramedRun]:
    """The rows of a card. Where some are under rules, which lack follow-ups, no row's averages are over these."""
    base = judges[BASE]
    is_over_others = {*base.first_grid.compared} - {*base.follow_ups}
    left_out = base.follow_ups if is_over_others and any(arm.rule for arm in arms) else ()
    return {name: replace(run, judged=run.grids, left_out=left_out) for name, run in judges.items()}


def card_notes(judges: Mapping[str, FramedRun], _: Options) -> list[str]:
    """What the card's figures are, and which framings its averages lack."""
    left_out = [name for name in judges[BASE].left_out if name in judges[BASE].section.framings]
    lacking = f"No average is over {', '.join(left_out)}: under a rule the reply that it goes on behind may be another."
    return [yaml_tables(FILE)["notes"]["card"], *[lacking] * bool(left_out)]


def card_changes(judges: Mapping[str, FramedRun], options: Options) -> list[Change]:
    """The changes that figures_of may show."""
    base = next(iter(judges.values())).section.baseline

    def observe(run: FramedRun, _: Options) -> Iterator[Block]:
        for each in (each for each in blocks_of(run) if each.setting["group"] == ALL):
            names = {EVERY: OVER_FRAMINGS, base: ON_LEVEL}.get(str(each.setting["framing"]), ("shift",))
            if measures := [measure for measure in each.measures if measure.name in names]:
                yield replace(each, measures=measures)

    return observed_changes(observe, judges, options)


def unrankable(judge: FramedRun) -> str:
    """That it leaves replies without an answer in some framing, gives one answer, or names one place."""
    by_dataset = [percent_known([grid.fields["unread"]], axis=0) for grid in judge.grids.values()]
    unread = np.nan_to_num(np.fmax.reduce(by_dataset))
    places = np.nan_to_num(rates_of(judge, "first").mean(axis=(1, 2)), nan=50.0)
    is_labelled = not np.isnan(rates_of(judge, "right")).all()  # what is right then tells of places in framings
    at = 0 if is_labelled else int(np.abs(places - 50).argmax())
    first, where = places[at], judge.first_grid.framings[at]
    if unread.max() >= MANY_UNPARSED:
        framing = judge.first_grid.framings[int(unread.max(axis=(1, 2)).argmax())]
        return f"{unread.max():.0f}% of its replies in {framing}, to one claim and order, name no answer"
    if most_common(judge) >= SATURATED:
        return "saturated"
    if len(judge.section.order_names) > 1 and max(first, 100 - first) >= SATURATED:
        return f"names the answer shown {'first' if first >= SATURATED else 'second'} in {where}"
    return ""


def figures_of(judges: Mapping[str, Any]) -> list[CardFigure]:
    """Each framing's shift, all of them together, and what is right in the baseline."""
    section: FramingSection = judges[BASE].section
    over = AVERAGE if len(judges[BASE].grids) > 1 else next(iter(judges[BASE].grids))
    framings = [name for name in section.framings if name != section.baseline]
    figures, is_few = list[CardFigure](), len(framings) <= MOST_MAIN
    for i, name in enumerate(framings, start=1):
        where = {"group": ALL, "dataset": over, "framing": name, "measure": "shift"}
        figures.append(CardFigure(name=f"shift_{i}", words=f"shift: {name}", where=where, is_main=is_few))
    (lowest, highest), texts = section.scale or (0, 100), {"level": value_words(judges[BASE]), "in": section.baseline}
    for name, figure in yaml_tables(FILE)["figures"].items():
        framing = section.baseline if "{in}" in figure["words"] else EVERY
        where = {"group": ALL, "dataset": over, "framing": framing, "measure": figure.get("measure", name)}
        facts = {key: value for key, value in figure.items() if key not in ("words", "measure")}
        title, margin = figure["words"].format(**texts), (highest - lowest) / 10
        figures.append(CardFigure(name=name, words=title, where=where, margin=margin, **facts))
    return figures


@lru_cache(maxsize=4)
def main_scores(results: Results) -> pd.DataFrame:
    """The scores over all groups, on the average where there is one, else on the dataset."""
    rows = results.scores[results.scores["group"] == ALL]
    is_average = rows["dataset"] == AVERAGE
    alike = [rows[key] for key in ("measure", "judge", "framing")]
    return rows[is_average | ~is_average.groupby(alike, dropna=False).transform("any")]


def value_words(run: FramedRun) -> str:
    """What the level of a framing is called: the share of the first answer, which may be called "right", or a score."""
    return "mean score" if run.section.scale else f"answers {run.answers[0]} %"


def digits_of(run: FramedRun) -> int:
    """Behind the point of shares in percent, or of scores."""
    return 2 if run.section.scale else 1


def framings_table(results: Results) -> TableSpec:
    """A row a judge, dataset and framing: its level, shift, p over the framings, and what goes with it."""
    scores = results.scores[(results.scores["group"] == ALL) & (results.scores["framing"] != EVERY)]
    keys = ["judge", "dataset", "framing"]
    frame = wide(scores, keys).merge(p_values(results), how="left", on=keys)
    for name in ("judge", "dataset"):
        frame[name] = frame[name] if frame[name].nunique() > 1 else None
    if not frame["value unread"].any():
        del frame["value unread"]
    first = next(iter(results.judges.values()))
    units = "clusters" if any(map(is_clustered, results.judges.values())) else "items"
    texts = {"level": value_words(first), "d": digits_of(first), "units": units}
    columns = yaml_tables(FILE)["framings"]["columns"].items()
    in_words = {head.format(**texts): [field, form.format(**texts)] for head, (field, form) in columns}
    note = f"{legend(in_words, results.sentences['legend'])} {yaml_tables(FILE)['framings']['note']}"
    return table_from(FILE, "framings", frame, columns=in_words, note=note)


def wide(scores: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """A row for each value of the keys, a column "FIELD MEASURE" for each field of a score."""
    frame = scores.pivot_table(index=[*keys], columns="measure", values=FIELDS, aggfunc="first", sort=False)
    return frame.set_axis([" ".join(column) for column in frame.columns], axis=1).reset_index()


def p_values(results: Results) -> pd.DataFrame:
    """judge, dataset, framing, p, p_holm: of the shift of each framing, adjusted over the framings but the placebos."""
    heads = ["judge", "dataset", "framing", "p"]
    answers = answers_of(results)
    rows = [(n, s.dataset, s.condition, s.p) for n, of in answers.items() for s in of.shifts if s.measure == "shift"]
    frame = pd.DataFrame(rows, columns=heads).astype({"p": float})
    tested = frame.dropna(subset="p").groupby(heads[:2], sort=False)["p"]
    return frame.assign(p_holm=tested.transform(lambda of_dataset: pd.Series(holm([*of_dataset]), of_dataset.index)))


def is_clustered(run: FramedRun) -> bool:
    """Whether some items are resampled together."""
    return any(len({*grid.clusters}) < len(grid.items) for grid in run.grids.values())


def rates_of(run: FramedRun, name: str) -> FloatArray:
    """(n_framings, n_cases, n_orders): the mean of a field over all items, in percent."""
    return percent_known([grid.of(name) for grid in run.grids.values()], axis=0)


def most_common(run: FramedRun) -> float:
    """The share that the most common answer has at least in every framing, in percent."""
    levels = percent_known([grid.shares for grid in run.grids.values()], axis=(0, 2, 3))
    levels = levels[~np.isnan(levels).any(axis=1)]  # of a framing without a readable reply nothing is known
    return float(levels.min(axis=0).max()) if len(levels) else 0.0


def percent_known(of_datasets: Sequence[FloatArray], axis: int | tuple[int, ...]) -> FloatArray:
    """The mean, in percent, of what is known of datasets joined along their items (axis 0); NaN where nothing is."""
    return 100 * known_mean(np.concatenate(of_datasets), axis)


def is_beyond(row: Any) -> bool:
    """Whether an interval excludes 0."""
    return bool(row.low > 0 or row.high < 0)


def said_of(results: Results, judge: str) -> dict[str, Any]:
    """What the template says of a judge: the rows of a measure by framing, the answer, what to doubt."""
    run: FramedRun = results.judges[judge]
    scores = main_scores(results).query("judge == @judge")

    def rows(measure: str) -> dict[str, Any]:
        return {row.framing: row for row in scores[scores["measure"] == measure].itertuples()}

    is_saturated, first = most_common(run) >= SATURATED, rows("first").get(run.section.baseline)
    framings = [name for name in rows("shift") if name in run.section.framings]
    changed = [row for name, row in (rows("net_changed") or rows("changed")).items() if name in framings]
    hidden = [unrankable(run)] if unrankable(run) else []
    if len(framings) < len(run.section.framings) - 1:
        hidden.append("some framing shares no parsed item with the baseline")
    if doubted := [row.framing for row in changed if not row.high < LITTLE][:MOST_SHIFTS]:
        beyond = " beyond the placebos'" if rows("net_changed") else ""
        hidden.append(f"more than {LITTLE:.0f}% of the answers may change{beyond} in {', '.join(doubted)}")
    of_placebos = [row for measure in ("shift", "right_shift") for row in rows(measure).values()]
    placebos = [row for row in of_placebos if row.framing not in run.section.framings]
    return {
        "run": run,
        "rows": rows,
        "digits": digits_of(run),
        "what": value_words(run),
        "answer": answer(shifts_of(run, judge, results.scores, results.options.drawing), (), hidden),
        "placebos": [row for row in placebos if is_beyond(row)],
        "soft": [row for name, row in rows("soft_shift").items() if name in framings],
        "pulls": [row for name, row in rows("pull").items() if name in framings and is_beyond(row)],
        "is_clustered": is_clustered(run),
        "is_saturated": is_saturated,
        "is_one_place": first is not None and max(first.value, 100 - first.value) >= SATURATED,
    }


def shows_texts(run: FramedRun) -> bool:
    """Whether a report may hold a run's texts, which tends to end up online: items of the user's own, or ours."""
    return run.path.is_dir() and all(source.dataset in (None, "pocket") for source in run.section.items)


def item_texts(run: FramedRun) -> dict[tuple[str, str], dict[str, str]]:
    """(dataset, item) → column → text, read again from the items; empty where they are gone or have changed.

    First, for the list: what prompts show, and of that no dates and numbers.
    """
    try:
        if not shows_texts(run) or run.section.units(run.verdict).content_hash != run.provenance.get("item_set_hash"):
            return {}
        rows = run.section.rows
    except EvenhandError:
        return {}
    no_texts = (run.section.columns.id or "id", run.section.columns.group, "dataset")
    shown = run.section.names_of_columns
    texts = {}
    for row in rows:
        columns = [(k, v) for k, v in row.values.items() if isinstance(v, str) and k not in no_texts]
        columns.sort(key=lambda c: (sum(map(str.isalpha, c[1])) <= sum(map(str.isdigit, c[1])), c[0] not in shown))
        texts[row.dataset, row.item_id] = dict(columns)
    return texts


def asked_by(runs: Mapping[str, FramedRun]) -> Iterator[Any]:
    """Every reply of some runs: of each case and order the baseline's first, and flips from its answer."""
    from studies.items_browser import Asked

    for name, run in runs.items():
        is_open = shows_texts(run)
        read = prompt_texts(run, run.replies.keys()) if is_open else {}
        values: dict[Any, float] = dict(zip(run.answers, run.values, strict=True))
        baseline: dict[tuple[Any, ...], str | None] = {}
        rows = [(dict(prompt.factors), prompt) for prompt in run.plan]
        rows.sort(key=lambda row: (row[0]["case"], row[0]["order"], row[1].condition != run.section.baseline))
        for factors, prompt in rows:
            case, order, label = (factors[name] for name in ("case", "order", "label"))
            hash_ = prompt.prompt_hash
            for i, (reply, choice) in enumerate(zip(run.replies[hash_], run.choices[hash_], strict=True)):
                answer = None if choice.place is None else factors["names"][choice.place]
                before = baseline.setdefault((prompt.dataset, prompt.item_id, case, order, i), answer)
                flip = f"{before} → {answer}" if answer and before and answer != before else ""
                if flip and run.section.scale:  # which has too many pairs to choose from
                    flip = "higher" if values[answer] > values[before] else "lower"
                yield Asked(
                    item_id=prompt.item_id,
                    dataset=prompt.dataset,
                    judge=name,
                    condition=prompt.condition,
                    setting=", ".join(filter(None, [case, order * (order == SWAPPED), f"sample {i}" * bool(i)])),
                    verdict=answer or choice.reading or choice.state,
                    is_right=None if None in (answer, label) else answer == label,
                    flip=flip,
                    reply=reply.whole if is_open else None,
                    prompt=read.get(prompt.prompt_hash),
                )


EVALUATION = Evaluation[FramedRun](
    heading="Does the framing move the judge?",
    words=Path(__file__).with_name("words.j2"),
    read=lambda run, _: [framed_run(run)],
    layout=LAYOUT,
    read_files=lambda options: (*load_answers(options.sources, options.of(FramingOptions).baseline), []),
    **from_blocks(lambda judge, _: blocks_of(judge)),
    family=family_of,
    headline={"measure": "shift", "group": ALL},
    gated={"group": lambda group: group == ALL, "framing": lambda framing: not str(framing).startswith(PLACEBO)},
    measure_words=yaml_tables(FILE)["words"],
    facts=facts,
    answers=answers_of,
    tables=tables_of,
    plots=plots_of,
    write_items=write_items,
    verdicts=verdicts_of,
    unparsed=unparsed_of,
    calibrate=calibrate_runs,
    card=Card(
        figures=figures_of,
        lowest=("mean_square_shift",),
        kept=("right_framed",),
        held="level",
        rules=under_rules,
        calibrated=with_thresholds,
        rows=card_rows,
        changes=card_changes,
        unrankable=unrankable,
        notes=card_notes,
    ),
)

"""How runs of the flip taxonomy are scored, compared and reported; its tables have the layout of DialDefer's appendices
F and J, and are queries over the scores and the flips."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, Score, family
from eval.evaluation import Evaluation
from eval.options import Options
from eval.report.tables import TableSpec, table_from, yaml_tables
from eval.results import Results, changes_table
from eval.runs import FinishedRun, Verdicts
from studies.flips import LENIENT, STRICT
from studies.taxonomy import scores
from studies.taxonomy.codebook import CATEGORY_OF, CODES, MOST_UNEXPLAINED, UNEXPLAINED, planted
from studies.taxonomy.coded_flips import BETWEEN, POOLED, CodedRun, all_flips, coded_runs, codes_in
from studies.taxonomy.scores import ALL, ANY, DIRECTIONS

TOTAL = "Total"
ENDS = ["value", "low", "high"]  # of an estimate
PAIR = ["judge", "label"]
AGREEMENT_WORDS = {"agreement": "equal, %", "kappa": "Cohen's κ", "alpha": "Krippendorff's α"}


FILE = Path(__file__).with_name("tables.yaml")


def scores_of(judges: Mapping[str, CodedRun], options: Options) -> list[Score]:
    """Of each model, and of all together where they stand side by side; else also against the base."""
    (base_name, base), *afters = judges.items()
    is_before_after = options.is_before_after and len({judge.run.path for judge in judges.values()}) > 1
    flips = all_flips(judges, is_pooled=not is_before_after)
    of_judges = (of_judge for _, of_judge in flips.groupby("judge", sort=False))
    rows = [row for of_judge in of_judges for row in scores.scores_of(of_judge, options.drawing)]
    rows += scores.agreements([*judges.values()], options.drawing)
    for name, after in afters if is_before_after else []:
        rows += scores.moved_scores(base, after, (base_name, name))
    return rows


def changes_of(judges: Mapping[str, CodedRun], options: Options) -> list[Change]:
    """From the flips of one run to those of another."""
    (first, base), (second, after) = judges.items()
    return scores.flip_changes(base, after, (first, second), options.drawing)


def family_of(change: Change) -> tuple[Any, ...]:
    """Also over the codes, and over the categories; any flip stands apart."""
    return family(replace(change, setting={**change.setting, "label": change.setting["label"] == ANY}))


def facts(results: Results) -> dict[str, Any]:
    """Frames that tables, figures and sentences are made of, computed once; and the codebook."""
    flips = all_flips(results.judges, is_pooled=not results.is_before_after)
    shares = {column: by_label(results, flips, column) for column in ("primary", "category")}
    names = {"rest": UNEXPLAINED, "most_rest": MOST_UNEXPLAINED, "any_flip": ANY, "code_level": scores.CODE}
    rows = {"flips": flips, "models": models(results, flips, shares["primary"]), "moved": moved(results)}
    return {**rows, **shares, **names, "codes": CODES}


def plots_of(results: Results) -> list[Any]:
    """Figure 6 of the DialDefer paper: the categories of each model's deference and skepticism flips."""
    from eval.report.plots import interval_plot

    shares, plots = results.facts["category"].query("not is_total"), []
    for number, (name, of_judge) in enumerate(shares.groupby("judge", sort=False), start=1):
        sides = [
            pd.DataFrame({end: of_judge[f"{end}_{way}"] for end in ("value", "low", "high")}).assign(
                label=of_judge["label"], series=f"{way} ({of_judge[f'n_{way}'].sum()} flips)"
            )
            for way in (LENIENT, STRICT)
        ]
        title, label = f"Why verdicts flip: {name}", "% of the flips of a direction"
        plots.append(interval_plot(f"taxonomy_figure6-{number}", title, pd.concat(sides), label, zero=None))
    return plots


def verdicts_of(run: FinishedRun) -> Verdicts:
    """The primary code."""
    replies = [reply for samples in run.replies.values() for reply in samples]
    return {(reply.prompt_hash, reply.sample_index): codes_in(reply).primary or None for reply in replies}


def over_all(results: Results, measure: str) -> pd.DataFrame:
    """The scores of a measure over all datasets."""
    return results.scores[(results.scores["measure"] == measure) & (results.scores["dataset"] == ALL)]


def by_label(results: Results, flips: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each judge and label, the most frequent first, then TOTAL: n, value, low, high, also by direction
    (`n_deference`, ...); listed, the share of flips to which a code applies; and the ratio between directions."""
    coded = flips[flips["primary"] != ""]
    marked = pd.concat([coded.assign(label=coded[column]), coded.assign(label=TOTAL)])
    index = pd.MultiIndex.from_product([flips["judge"].unique(), [*scores.all_labels(column), TOTAL]], names=PAIR)
    frame = pd.DataFrame({"place": pd.factorize(index.get_level_values(0))[0]}, index=index)
    frame["is_total"] = index.get_level_values(1) == TOTAL
    shares = over_all(results, f"{column}_share")
    for direction in DIRECTIONS:
        end, in_direction = "" if direction == ALL else f"_{direction}", marked
        if direction != ALL:
            in_direction = marked[marked["direction"] == direction]
        n = in_direction.groupby(PAIR).size().reindex(index, fill_value=0)
        frame = frame.join(shares[shares["direction"] == direction].set_index(PAIR)[ENDS].add_suffix(end))
        frame[f"n{end}"], value = n, frame[f"value{end}"]
        frame[f"value{end}"] = value.where(~frame["is_total"], 100.0 * n / n)
    listed = over_all(results, "listed_share").query("direction == @ALL").set_index(PAIR)["value"].rename("listed")
    ratios = over_all(results, f"{column}_ratio").set_index(PAIR)[ENDS].add_suffix("_ratio")
    frame = frame.join(listed).join(ratios).assign(fewer=-frame["n"])
    frame = frame[(frame["n"] > 0) | (frame["listed"] > 0) | frame["is_total"]]
    return frame.sort_values(["place", "is_total", "fewer"], kind="stable").reset_index()


def models(results: Results, flips: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """A row for each judge: how many flips, the top code, the share of the unexplained, and what there is to doubt."""
    columns = {
        "is_coded": flips["primary"] != "",
        "lenient": flips["direction"] == LENIENT,
        "n_codes": flips["codes"].map(lambda codes: len(codes.split(BETWEEN)) if codes else 0),
        "n_replies": flips["states"].map(len),
        "n_read": flips["primaries"].map(len),
        "is_own": flips["item_id"].isin(planted().keys()),
        "is_hit": flips["primary"] == flips["item_id"].map(planted()),
    }
    by_judge = flips.assign(**columns).groupby("judge", sort=False)
    frame = by_judge[[*columns]].sum().assign(judged_by=by_judge["judged_by"].first(), n_flips=by_judge.size())
    top = shares[~shares["is_total"] & (shares["n"] > 0)].drop_duplicates("judge").set_index("judge")
    frame = frame.join(top[["label", *ENDS]])
    rest = over_all(results, "primary_share").query("label == @UNEXPLAINED and direction == @ALL")
    frame = frame.join(rest.set_index("judge")[ENDS].add_suffix("_rest"))
    frame["n_codes"] /= frame["is_coded"]
    frame["lenient"] *= 100 / frame["n_flips"]
    frame["top"] = [None if pd.isna(label) else f"{label} {CODES[label].name}" for label in frame["label"]]
    frame["is_met"] = [None if pd.isna(share) else share < MOST_UNEXPLAINED for share in frame["value_rest"]]
    return frame.reset_index()


def moved(results: Results) -> pd.DataFrame:
    """A row for each run after the base and label that occurs: counts, shares, and the change per 100 items."""
    (_, base), *afters = results.judges.items()
    afters = afters if results.is_before_after else []
    compared = [(name, label) for name, after in afters for label in scores.moves(base, after)]
    if not compared:
        return pd.DataFrame()
    frame = pd.DataFrame([{"second": name, "label": label.label, **label.counts} for name, label in compared])
    for measure in ("removed", "made"):
        shares = over_all(results, measure).rename(columns={end: f"{measure}_{end}" for end in ENDS})
        frame = frame.merge(shares.rename(columns={"judge": "second"}).filter(regex=f"^second$|^label$|^{measure}_"))
    return frame.merge(results.changes.drop(columns=["before", "after"]), on=["second", "label"], how="left")


def taxonomy_tables(results: Results) -> list[TableSpec]:
    """What was removed and made; Tables 17, 18 and 30 to 32; agreement; and for files states and flips."""
    facts = results.facts
    names = {code: of_code.name for code, of_code in CODES.items()}
    primary = facts["primary"].assign(words=lambda f: f["label"].map(names).fillna(""))
    primary["category"] = primary["label"].map(CATEGORY_OF).fillna("")
    rated = results.scores[results.scores["raters"].notna()]
    rated = rated.assign(words=rated["measure"].map(AGREEMENT_WORDS))
    states, flips = over_all(results, "state_rate"), facts["flips"]
    states, flips = (frame[frame["judge"] != POOLED] for frame in (states, flips))
    flips = flips.assign(primary=flips["primary"].replace("", None), codes=flips["codes"].str.replace(BETWEEN, " "))
    frames = {"models": facts["models"], "categories": facts["category"], "codes": primary, "directions": primary}
    frames |= {"agreement": rated, "states": states, "flips": flips}
    tables = [table_from(FILE, f"taxonomy_{name}", frame) for name, frame in frames.items()]
    if not len(facts["moved"]):
        return tables
    title, note = "Flips per 100 items, before and after", yaml_tables(FILE)["taxonomy_changes"]["note"]
    changes = changes_table(results, digits=2, title=title, note=note)
    return [table_from(FILE, "taxonomy_moved", facts["moved"], is_change=True), changes, *tables]


EVALUATION = Evaluation[CodedRun](
    heading="Why do verdicts flip?",
    words=Path(__file__).with_name("words.j2"),
    read=lambda run, _: coded_runs(run),
    differences=scores.run_differences,
    scores=scores_of,
    changes=changes_of,
    family=family_of,
    measure_words={"flips_per_100_items": "flips per 100 items"},
    facts=facts,
    tables=taxonomy_tables,
    plots=plots_of,
    verdicts=verdicts_of,
)

"""Tables of the taxonomy, in the layout of DialDefer's appendices F and J: queries over the scores and the flips."""

from typing import Any

import pandas as pd

from eval.report.tables import Place, TableSpec
from eval.results import Results, changes_table
from eval.taxonomy.coded_flips import BETWEEN, POOLED, all_flips
from eval.taxonomy.flip_states import ANY, moves
from eval.taxonomy.scores import ALL, DIRECTIONS, all_labels
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, category_of, codes, planted

Heads = dict[str, Any]  # head → (field, format); see TableSpec
TOTAL = "Total"
ENDS = ["value", "low", "high"]  # of an estimate
PAIR = ["judge", "label"]
SHARE_NOTE = (
    "Of the flips with a primary code, those of no use left out; 95% intervals of Student's t over items. "
    "deference: the second verdict accepts; skepticism: it rejects."
)
LISTED_NOTE = "listed: flips to which the code applies, primary or not."
RATIO_NOTE = (
    "ratio: share among deference flips over that among skepticism flips; its interval resamples items, and is left "
    "out where a draw has a share of 0."
)
MOVED_NOTE = (
    "before, after: flips of the base and of the run. removed: flips of the base that are none in the run, in % of "
    "those whose claim has a verdict there. left: flips in both, of which same code. made: flips of the run that are "
    "none in the base, in % of its flips."
)
AGREEMENT_NOTE = "Over the flips with at least two ratings; α takes missing ones. Intervals of κ and α resample items."
STATES_NOTE = "tie: flips of which samples name different primary codes equally often, of all flips."
AGREEMENT_WORDS = {"agreement": "equal, %", "kappa": "Cohen's κ", "alpha": "Krippendorff's α"}
MODEL: Heads = {"model": ("judge", "")}
INTERVAL: Heads = {"95%": (("low", "high"), ".1f")}
SHARE: Heads = {"n": ("n", ""), "%": ("value", "")} | INTERVAL
SIDES: Heads = {"def. n": (f"n_{LENIENT}", ""), "def. %": (f"value_{LENIENT}", "")}
SIDES |= {"skep. n": (f"n_{STRICT}", ""), "skep. %": (f"value_{STRICT}", "")}
MODELS: Heads = MODEL | {"judged by": ("judged_by", ""), "flips": ("n_flips", ""), "with a code": ("is_coded", "")}
MODELS |= {"deference %": ("lenient", ""), "top code": ("top", ""), "%": ("value", "")} | INTERVAL
MODELS |= {f"{UNEXPLAINED} %": ("value_rest", ""), f"{UNEXPLAINED} 95%": (("low_rest", "high_rest"), ".1f")}
MODELS |= {f"below {MOST_UNEXPLAINED:.0f}%": ("is_met", ""), "codes a flip": ("n_codes", "")}
CATEGORIES: Heads = MODEL | {"category": ("label", "")} | SHARE | SIDES
CODE: Heads = MODEL | {"code": ("label", ""), "failure type": ("words", "")}
CODES: Heads = CODE | {"category": ("category", "")} | SHARE | {"listed %": ("listed", "")}
DIRECTED: Heads = CODE | SIDES | {"ratio": ("value_ratio", ".2f"), "ratio 95%": (("low_ratio", "high_ratio"), ".2f")}
AGREEMENT: Heads = MODEL | {"raters": ("raters", ""), "primary": ("level", ""), "measure": ("words", "")}
AGREEMENT |= {"items": ("n_units", ""), "value": ("value", ".2f"), "95%": (("low", "high"), ".2f")}
STATES: Heads = MODEL | {"judged by": ("judged_by", ""), "state": ("state", "")}
STATES |= {"of": ("n_units", ""), "share": ("value", ".1%")}
MOVED: Heads = {"run": ("second", ""), "primary code": ("label", ""), "before": ("n_before", "")}
MOVED |= {"removed": ("n_removed", ""), "removed %": ("removed_value", "")}
MOVED |= {"95%": (("removed_low", "removed_high"), ".1f"), "left": ("n_left", ""), "same code": ("n_same", "")}
MOVED |= {"no verdict": ("n_unknown", ""), "after": ("n_after", ""), "made": ("n_made", "")}
MOVED |= {"made %": ("made_value", ""), "made 95%": (("made_low", "made_high"), ".1f")}
FLIP_FIELDS = (
    *("run", "model", "judged_by", "flip_id", "dataset", "item_id", "claim_is_true"),
    *("direction", "primary", "codes", "state"),
)


def frames(results: Results) -> dict[str, pd.DataFrame]:
    """What tables, figures and sentences are made of, computed once: flips (see all_flips), and the functions below."""
    flips = all_flips(results.judges, is_pooled=not results.is_before_after)
    shares = {column: by_label(results, flips, column) for column in ("primary", "category")}
    return {"flips": flips, **shares, "models": models(results, flips, shares["primary"]), "moved": moved(results)}


def over_all(results: Results, measure: str) -> pd.DataFrame:
    """The scores of a measure over all datasets."""
    return results.scores[(results.scores["measure"] == measure) & (results.scores["dataset"] == ALL)]


def by_label(results: Results, flips: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each judge and label, the most frequent first, then TOTAL: n, value, low, high, also by direction
    (`n_deference`, ...); listed, the share of flips to which a code applies; and the ratio between directions."""
    coded = flips[flips["primary"] != ""]
    marked = pd.concat([coded.assign(label=coded[column]), coded.assign(label=TOTAL)])
    index = pd.MultiIndex.from_product([flips["judge"].unique(), [*all_labels(column), TOTAL]], names=PAIR)
    frame = pd.DataFrame({"place": pd.factorize(index.get_level_values(0))[0]}, index=index)
    frame["is_total"] = index.get_level_values(1) == TOTAL
    shares = over_all(results, f"{column}_share")
    for way in DIRECTIONS:
        end = "" if way == ALL else f"_{way}"
        n = marked[(marked["direction"] == way) | (way == ALL)].groupby(PAIR).size().reindex(index, fill_value=0)
        frame = frame.join(shares[shares["direction"] == way].set_index(PAIR)[ENDS].add_suffix(end))
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
        "lenient": (flips["primary"] != "") & (flips["direction"] == LENIENT),
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
    frame["n_codes"], frame["lenient"] = (
        frame["n_codes"] / frame["is_coded"],
        100 * frame["lenient"] / frame["is_coded"],
    )
    frame["top"] = [None if pd.isna(label) else f"{label} {codes()[label].name}" for label in frame["label"]]
    frame["is_met"] = [None if pd.isna(share) else share < MOST_UNEXPLAINED for share in frame["value_rest"]]
    return frame.reset_index()


def moved(results: Results) -> pd.DataFrame:
    """A row for each run after the base and label that occurs: counts, shares, and the change per 100 items."""
    (_, base), *afters = results.judges.items()
    compared = [(name, label) for name, after in afters if results.is_before_after for label in moves(base, after)]
    if not compared:
        return pd.DataFrame()
    frame = pd.DataFrame([{"second": name, "label": label.label, **label.counts} for name, label in compared])
    for measure in ("removed", "made"):
        shares = over_all(results, measure).rename(columns={end: f"{measure}_{end}" for end in ENDS})
        frame = frame.merge(shares.rename(columns={"judge": "second"}).filter(regex=f"^second$|^label$|^{measure}_"))
    frame = frame.merge(results.changes.drop(columns=["before", "after"]), on=["second", "label"])
    return frame[(frame["n_before"] + frame["n_after"] > 0) | (frame["label"] == ANY)]


def taxonomy_tables(results: Results) -> list[TableSpec]:
    """What was removed and made; Tables 17, 18 and 30 to 32; agreement; and for files states and flips."""
    facts = results.facts
    names = {code: of_code.name for code, of_code in codes().items()}
    primary = facts["primary"].assign(words=lambda f: f["label"].map(names).fillna(""))
    primary["category"] = primary["label"].map(category_of()).fillna("")
    rated = results.scores[results.scores["raters"].notna()]
    is_category = rated["measure"].str.startswith("category_")
    rated = rated.assign(level=is_category.map({True: "category", False: "code"}))
    rated["words"] = rated["measure"].str.removeprefix("category_").map(AGREEMENT_WORDS)
    states, flips = over_all(results, "state_rate"), facts["flips"]
    states, flips = (frame[frame["judge"] != POOLED] for frame in (states, flips))
    flips = flips.assign(primary=flips["primary"].replace("", None), codes=flips["codes"].str.replace(BETWEEN, " "))
    flip_columns = {name: (name, "") for name in FLIP_FIELDS}
    return [
        *(change_tables(results, facts["moved"]) if len(facts["moved"]) else []),
        spec("models", "Top code and unexplained flips (F.2)", facts["models"], MODELS, SHARE_NOTE, "page"),
        spec("categories", "Primary failure categories", facts["category"], CATEGORIES, SHARE_NOTE, "console"),
        spec("codes", "Primary failure codes", primary, CODES, LISTED_NOTE, "console"),
        spec("directions", "Primary failure codes by direction", primary, DIRECTED, RATIO_NOTE, "page"),
        spec("agreement", "Agreement on the primary code", rated, AGREEMENT, AGREEMENT_NOTE, "console"),
        spec("states", "States of the judge's replies", states, STATES, STATES_NOTE),
        spec("flips", "The codes of each flip", flips, flip_columns),
    ]


def spec(
    name: str, title: str, frame: pd.DataFrame, columns: Heads, note: str = "", place: Place = "files"
) -> TableSpec:
    """A table of this study."""
    return TableSpec(name=f"taxonomy_{name}", title=title, frame=frame, columns=columns, note=note, place=place)


def change_tables(results: Results, frame: pd.DataFrame) -> list[TableSpec]:
    """What was removed, left and made, by code and category that occurs; and the changes per 100 items."""
    keys: dict[str, Any] = {"title": "Which failures were removed, left and made", "note": MOVED_NOTE}
    occurring = results.changes.merge(frame[["second", "label"]])
    return [
        TableSpec(name="taxonomy_moved", frame=frame, columns=MOVED, place="console", is_change=True, **keys),
        changes_table(results, occurring, digits=2, title="Flips per 100 items, before and after"),
    ]

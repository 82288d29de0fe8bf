"""Tables of the taxonomy, in the layout of DialDefer's appendices F and J: queries over the scores and the flips."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from eval.report.tables import Columns, TableSpec
from eval.results import Results, changes_table
from eval.taxonomy.coded_flips import BETWEEN, POOLED, all_flips
from eval.taxonomy.flip_states import ANY, moves
from eval.taxonomy.scores import ALL, DIRECTIONS, MEASURES, all_labels
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, category_of, codes
from studies.taxonomy.own_flips import planted

ENDS = ["value", "low", "high"]  # of an estimate
N_TOP = 5  # codes of Table 32
SELDOM = 0.05  # percent, which prints as 0.0: such codes share a line, as in Table 31
SHARE_NOTE = (
    "Of the flips with a primary code, those of no use left out; 95% intervals of Student's t over items. "
    "deference: the second verdict accepts; skepticism: it rejects."
)
SHARE: Columns = {"n": ("n", ""), "%": ("value", ""), "95%": (("low", "high"), ".1f")}
SIDES: Columns = {
    f"{head} {end}": (field, "")
    for head, way in (("def.", LENIENT), ("skep.", STRICT))
    for end, field in (("n", f"n_{way}"), ("%", f"value_{way}"))
}
FLIP_FIELDS = (
    *("run", "model", "judged_by", "flip_id", "dataset", "item_id", "claim_is_true"),
    *("direction", "primary", "codes", "state"),
)


def frames(results: Results) -> dict[str, Any]:
    """What tables and sentences are made of, computed once.

    flips: of all judges, see all_flips; shares: by column of the flips; models; moved: a row for each run after the
    base and label that occurs, with counts, shares of removed and made, and the change per 100 items.
    """
    flips = all_flips(results.judges, is_pooled=not results.is_before_after)
    shares = {column: by_label(results, flips, column) for column in MEASURES}
    return {"flips": flips, "shares": shares, "models": models(flips, shares["primary"]), "moved": moved(results)}


def over_all(results: Results, measure: str) -> pd.DataFrame:
    """The scores of a measure over all datasets."""
    return results.scores[(results.scores["measure"] == measure) & (results.scores["dataset"] == ALL)]


def by_label(results: Results, flips: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each judge and label: n, value, low, high, and those of each direction (`n_deference`, ...).

    column: of the flips, see scores.MEASURES. Labels are in the order of Table 19.
    """
    coded = flips[flips["primary"] != ""]
    marked = coded.assign(label=coded[column].str.split(BETWEEN)).explode("label")
    scores = over_all(results, MEASURES[column]).set_index(["judge", "label"])
    names = [flips["judge"].unique(), all_labels(column)]
    frame = pd.DataFrame(index=pd.MultiIndex.from_product(names, names=["judge", "label"]))
    for way in DIRECTIONS:
        n = in_direction(marked, way).groupby(["judge", "label"]).size()
        frame[of_way("n", way)] = n.reindex(frame.index, fill_value=0)
        shares = scores.loc[scores["direction"] == way, ENDS].reindex(frame.index)
        frame = frame.join(shares.rename(columns=lambda end, way=way: of_way(end, way)))
    return frame.reset_index()


def of_way(field: str, way: str) -> str:
    """A column's name."""
    return field if way == ALL else f"{field}_{way}"


def in_direction(flips: pd.DataFrame, way: str) -> pd.DataFrame:
    """The flips of a direction, or all."""
    return flips[(flips["direction"] == way) | (way == ALL)]


def ranked(frame: pd.DataFrame) -> pd.DataFrame:
    """The labels that occur, the most frequent of each judge first."""
    order = frame.assign(model=pd.factorize(frame["judge"])[0], fewer=-frame["n"]).query("n > 0")
    return order.sort_values(["model", "fewer"], kind="stable", ignore_index=True)


def models(flips: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """A row for each judge: how many flips, the top code, the share of the unexplained, and what there is to doubt."""
    columns = {
        "is_coded": flips["primary"] != "",
        "is_lenient": (flips["primary"] != "") & (flips["direction"] == LENIENT),
        "n_codes": flips["codes"].map(lambda codes: len(codes.split(BETWEEN)) if codes else 0),
        "n_replies": flips["states"].map(len),
        "n_read": flips["primaries"].map(len),
        "is_own": flips["item_id"].isin(planted().keys()),
        "is_hit": flips["primary"] == flips["item_id"].map(planted()),
    }
    by_judge = flips.assign(**columns).groupby("judge", sort=False)
    frame = by_judge[[*columns]].sum().assign(judged_by=by_judge["judged_by"].first(), n_flips=by_judge.size())
    frame = frame.join(ranked(shares).drop_duplicates("judge").set_index("judge")[["label", *ENDS]])
    frame = frame.join(shares[shares["label"] == UNEXPLAINED].set_index("judge")[ENDS].add_suffix("_rest"))
    frame["n_codes"] = frame["n_codes"].where(frame["is_coded"] > 0) / frame["is_coded"]
    frame["top"] = [None if pd.isna(label) else f"{label} {codes()[label].name}" for label in frame["label"]]
    frame["is_met"] = [None if pd.isna(share) else share < MOST_UNEXPLAINED for share in frame["value_rest"]]
    return frame.reset_index()


def moved(results: Results) -> pd.DataFrame:
    """See frames."""
    (_, base), *afters = results.judges.items()
    rows = [
        {"second": name, "label": of_label.label, **of_label.counts}
        for name, after in afters
        if results.is_before_after
        for of_label in moves(base, after)
    ]
    if not rows:
        return pd.DataFrame()
    frame, changes = pd.DataFrame(rows), ["change", "change_low", "change_high", "p_holm", "direction", "level"]
    for measure in ("removed", "made"):
        shares = over_all(results, measure)[["judge", "label", *ENDS]]
        heads = {"judge": "second", **{end: f"{measure}_{end}" for end in ENDS}}
        frame = frame.merge(shares.rename(columns=heads), on=["second", "label"])
    frame = frame.merge(results.changes[["second", "label", *changes]], on=["second", "label"])
    return frame[(frame["n_before"] + frame["n_after"] > 0) | (frame["label"] == ANY)]


def taxonomy_tables(results: Results) -> list[TableSpec]:
    """Every table; Table 18, states and flips are for files."""
    facts = results.facts
    flips, shares = facts["flips"], facts["shares"]
    return [
        *(change_tables(results, facts["moved"]) if len(facts["moved"]) else []),
        models_table(facts["models"]),
        spec(
            "categories",
            "Primary failure categories (Tables 17 and 30, Figure 6)",
            with_totals(flips, ranked(shares["category"])),
            {"category": ("label", ""), **SHARE, **SIDES},
            note=SHARE_NOTE,
            place="console",
        ),
        top_codes_table(shares["primary"]),
        directions_table(results, flips, shares["primary"]),
        agreement_table(results),
        codes_table(flips, shares),
        states_table(results),
        flips_table(flips),
    ]


def spec(name: str, title: str, frame: pd.DataFrame, columns: Columns, **keys: Any) -> TableSpec:
    """A table whose lines begin with the model."""
    columns = {"model": ("judge", ""), **columns}
    return TableSpec(name=f"taxonomy_{name}", title=title, frame=frame, columns=columns, **keys)


def models_table(frame: pd.DataFrame) -> TableSpec:
    """F.2: the top code of each model, and how many flips stay unexplained."""
    columns: dict[str, Any] = {"judged by": ("judged_by", ""), "flips": ("n_flips", "d")}
    columns |= {"with a code": ("is_coded", "d"), "top code": ("top", ""), "%": ("value", "")}
    columns |= {"95%": (("low", "high"), ".1f"), f"{UNEXPLAINED} %": ("value_rest", "")}
    columns |= {
        f"{UNEXPLAINED} 95%": (("low_rest", "high_rest"), ".1f"),
        f"below {MOST_UNEXPLAINED:.0f}%": ("is_met", ""),
    }
    columns |= {"codes a flip": ("n_codes", "")}
    title = "Top code and unexplained flips of each model (appendix F.2)"
    note = f"{UNEXPLAINED}: unexplained; the paper's target is below {MOST_UNEXPLAINED:.0f}%. {SHARE_NOTE}"
    return spec("models", title, frame, columns, note=note, place="page")


def with_totals(flips: pd.DataFrame, frame: pd.DataFrame, is_first: bool = False) -> pd.DataFrame:
    """The same with a line of each judge for all flips, of each direction."""
    names = list(flips["judge"].unique())
    coded, total = flips[flips["primary"] != ""], pd.DataFrame(index=pd.Index(names, name="judge"))
    for way in DIRECTIONS:
        n = in_direction(coded, way).groupby("judge").size().reindex(names, fill_value=0)
        total[of_way("n", way)], total[of_way("value", way)] = n, (100.0 * n / n).where(n > 0)
    total = total.reset_index().assign(label="Total")
    both = pd.concat([total, frame] if is_first else [frame, total])
    return both.sort_values("judge", key=lambda column: column.map(names.index), kind="stable", ignore_index=True)


def described(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with the category and the description of each code; of another label there is none."""
    names = {code: of_code.name for code, of_code in codes().items()}
    columns = {"category": category_of(), "description": names}
    return frame.assign(**{name: frame["label"].map(of_code).fillna("") for name, of_code in columns.items()})


def codes_table(flips: pd.DataFrame, shares: Mapping[str, pd.DataFrame]) -> TableSpec:
    """Table 18, with the share of flips that list a code at all."""
    listed = shares["codes"]
    frame = described(with_totals(flips, shares["primary"].assign(listed=listed["value"])[listed["n"] > 0]))
    columns: dict[str, Any] = {"category": ("category", ""), "code": ("label", ""), "description": ("description", "")}
    columns |= {**SHARE, **SIDES, "listed, %": ("listed", "")}
    note = f"listed: flips to which the code applies, primary or not. {SHARE_NOTE}"
    return spec("codes", "Primary failure codes by flip type (Table 18)", frame, columns, note=note)


def top_codes_table(shares: pd.DataFrame) -> TableSpec:
    """Table 31: codes by frequency; those that would print as 0.0 % share a line."""
    frame = described(ranked(shares))
    lines = [frame[:0]]
    for name, of_judge in frame.groupby("judge", sort=False):
        seldom = of_judge[of_judge["value"] < SELDOM]
        lines.append(of_judge.drop(seldom.index))
        if len(seldom):
            n = seldom["n"].sum()
            other = {"judge": name, "label": "Other", "description": f"({', '.join(sorted(seldom['label']))})"}
            lines.append(pd.DataFrame([{**other, "n": n, "value": 100 * n / of_judge["n"].sum()}]))
    columns: dict[str, Any] = {"code": ("label", ""), "failure type": ("description", ""), "count": ("n", "d")}
    columns |= {"%": ("value", ""), "95%": (("low", "high"), ".1f")}
    title = "Primary failure codes, most frequent first (Table 31)"
    return spec("top_codes", title, pd.concat(lines), columns, note=SHARE_NOTE, place="console")


def directions_table(results: Results, flips: pd.DataFrame, shares: pd.DataFrame) -> TableSpec:
    """Table 32: the five most frequent codes in both directions, and how many times as frequent each is."""
    top = ranked(shares).groupby("judge", sort=False).head(N_TOP)
    ratios = over_all(results, "primary_ratio")[["judge", "label", *ENDS]]
    frame = top.merge(ratios, on=["judge", "label"], how="left", suffixes=("", "_ratio"))
    frame["label"] = [f"{label} ({codes()[label].name})" for label in frame["label"]]
    frame = with_totals(flips, frame, is_first=True)
    is_total = frame["label"] == "Total"
    for way in (LENIENT, STRICT):
        share = 100 * frame[f"n_{way}"] / frame["n"].where(frame["n"] > 0, 1)
        frame[f"value_{way}"] = frame[f"value_{way}"].where(~is_total, share)
    frame["label"] = frame["label"].where(~is_total, "Total flips")
    columns: dict[str, Any] = {"": ("label", ""), **SIDES, "ratio": ("value_ratio", ".2f")}
    columns |= {"ratio 95%": (("low_ratio", "high_ratio"), ".2f")}
    title = "Deference and skepticism: the top codes (Table 32)"
    note = (
        "ratio: share among deference flips over that among skepticism flips; its interval resamples items, and is "
        "left out where a draw has a share of 0."
    )
    return spec("directions", title, frame, columns, note=note, place="page")


def change_tables(results: Results, frame: pd.DataFrame) -> list[TableSpec]:
    """What was removed, left and made, by code and category that occurs; and the changes per 100 items."""
    columns: dict[str, Any] = {"run": ("second", ""), "primary code": ("label", ""), "before": ("n_before", "")}
    columns |= {"removed": ("n_removed", ""), "removed %": ("removed_value", "")}
    columns |= {"95%": (("removed_low", "removed_high"), ".1f"), "left": ("n_left", ""), "same code": ("n_same", "")}
    columns |= {"no verdict": ("n_unknown", ""), "after": ("n_after", ""), "made": ("n_made", "")}
    columns |= {"made %": ("made_value", ""), "made 95%": (("made_low", "made_high"), ".1f")}
    note = (
        "before, after: flips of the base and of the run. removed: flips of the base that are none in the run, in % of "
        "those whose claim has a verdict there. left: flips in both, of which same code. made: flips of the run that "
        "are none in the base, in % of its flips."
    )
    keys: dict[str, Any] = {"title": "Which failures were removed, left and made", "place": "console"}
    occurring = results.changes.merge(frame[["second", "label"]])
    return [
        TableSpec(name="taxonomy_moved", frame=frame, columns=columns, note=note, is_change=True, **keys),
        changes_table(results, occurring, digits=2, title="Flips per 100 items, before and after"),
    ]


def agreement_table(results: Results) -> TableSpec:
    """How well judges agree."""
    keys, figures = ["judge", "raters", "level"], ("agreement", "kappa", "alpha")
    rated = results.scores[results.scores["raters"].notna()]
    is_category = rated["measure"].str.startswith("category_")
    rated = rated.assign(level=is_category.map({True: "category", False: "code"}))
    rated["figure"] = rated["measure"].str.removeprefix("category_")
    frame = rated[rated["figure"] == "alpha"]
    for figure in figures:
        ends = rated[rated["figure"] == figure].set_index(keys)[ENDS].add_prefix(f"{figure}_")
        frame = frame.join(ends, on=keys)
    columns: dict[str, Any] = {"raters": ("raters", ""), "primary": ("level", ""), "items": ("n_units", "d")}
    heads = {"agreement": ("equal, %", "equal 95%"), "kappa": ("Cohen's κ", "κ 95%")}
    heads |= {"alpha": ("Krippendorff's α", "α 95%")}
    for figure, (head, ends) in heads.items():
        form = ".1f" if figure == "agreement" else ".2f"
        columns |= {head: (f"{figure}_value", form), ends: ((f"{figure}_low", f"{figure}_high"), form)}
    note = (
        "Over the flips that at least two ratings are of; α takes missing ones. Nominal; intervals of κ and α resample "
    )
    note += "items."
    return spec("agreement", "Agreement on the primary code", frame, columns, note=note, place="console")


def states_table(results: Results) -> TableSpec:
    """What became of the judge's replies."""
    frame = over_all(results, "state_rate")
    frame = frame.assign(n=(frame["value"] * frame["n_units"].astype(float)).round())
    frame = frame[frame["judge"].isin(results.judges)].assign(place=lambda f: f["judge"].map([*results.judges].index))
    frame = frame.sort_values(["place", "n"], ascending=[True, False], kind="stable").astype({"n": int})
    columns = {"judged by": ("judged_by", ""), "state": ("state", ""), "n": ("n", "d"), "share": ("value", ".1%")}
    note = "tie: flips of which samples name different primary codes equally often, of all flips."
    return spec("states", "States of the judge's replies", frame, columns, note=note)


def flips_table(flips: pd.DataFrame) -> TableSpec:
    """The codes of each flip, without its texts."""
    apart = flips[flips["judge"] != POOLED]
    apart = apart.assign(primary=apart["primary"].replace("", None), codes=apart["codes"].str.replace(BETWEEN, " "))
    columns = {name: (name, "") for name in FLIP_FIELDS}
    return TableSpec(name="taxonomy_flips", title="The codes of each flip", frame=apart, columns=columns)

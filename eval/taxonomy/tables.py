"""Tables of the taxonomy, in the layout of DialDefer's appendices F and J: queries over the scores and the flips."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from eval.report.change_cells import DIRECTION_WORDS
from eval.report.table import Table
from eval.taxonomy.coded_flips import BETWEEN
from eval.taxonomy.findings import TaxonomyFindings
from eval.taxonomy.flip_states import CATEGORY
from eval.taxonomy.scores import ALL, ASKED, DIRECTIONS, MEASURES, all_labels
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, category_of, codes
from studies.taxonomy.own_flips import planted

Columns = Mapping[str, tuple[Any, str]]  # head → (field, or the two ends of an interval; format)
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


def scores_of(found: TaxonomyFindings, measure: str) -> pd.DataFrame:
    """The scores of a measure over all datasets, a row each; name: whose they are."""
    rows = [score.as_dict() for score in found.scores if score.measure == measure and score.dataset == ALL]
    columns = ["judge", *ASKED, "value", "low", "high", "n_units"]
    return pd.DataFrame(rows, columns=columns).rename(columns={"judge": "name"}).astype(dict.fromkeys(ENDS, float))


def by_label(found: TaxonomyFindings, column: str) -> pd.DataFrame:
    """A row for each name and label: n, value, low, high, and those of each direction (`n_deference`, ...).

    column: of the flips, see scores.MEASURES. Labels are in the order of Table 19.
    """
    coded = found.flips[found.flips["primary"] != ""]
    marked = coded.assign(label=coded[column].str.split(BETWEEN)).explode("label")
    scores = scores_of(found, MEASURES[column]).set_index(["name", "label"])
    names = found.flips["name"].unique()
    frame = pd.DataFrame(index=pd.MultiIndex.from_product([names, all_labels(column)], names=["name", "label"]))
    for way in DIRECTIONS:
        n = in_direction(marked, way).groupby(["name", "label"]).size()
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
    """The labels that occur, the most frequent of each name first."""
    order = frame.assign(model=pd.factorize(frame["name"])[0], fewer=-frame["n"]).query("n > 0")
    return order.sort_values(["model", "fewer"], kind="stable", ignore_index=True)


def models(found: TaxonomyFindings) -> pd.DataFrame:
    """A row for each name: how many flips, the top code, the share of the unexplained, and what there is to doubt."""
    flips = found.flips.assign(
        is_coded=found.flips["primary"] != "",
        is_lenient=(found.flips["primary"] != "") & (found.flips["direction"] == LENIENT),
        n_codes=found.flips["codes"].map(lambda codes: len(codes.split(BETWEEN)) if codes else 0),
        n_replies=found.flips["states"].map(len),
        n_read=found.flips["primaries"].map(len),
        is_own=found.flips["item_id"].isin(planted().keys()),
        is_hit=found.flips["primary"] == found.flips["item_id"].map(planted()),
    )
    by_name = flips.groupby("name", sort=False)
    sums = by_name[["is_coded", "is_lenient", "n_codes", "n_replies", "n_read", "is_own", "is_hit"]].sum()
    frame = sums.assign(judged_by=by_name["judged_by"].first(), n_flips=by_name.size())
    shares = by_label(found, "primary")
    top = ranked(shares).drop_duplicates("name").set_index("name")
    frame = frame.join(top[["label", *ENDS]])
    rest = shares[shares["label"] == UNEXPLAINED].set_index("name")
    frame = frame.join(rest[ENDS].add_suffix("_rest"))
    frame["n_codes"] = frame["n_codes"].where(frame["is_coded"] > 0) / frame["is_coded"]
    return frame.reset_index()


def with_totals(found: TaxonomyFindings, frame: pd.DataFrame, is_first: bool = False) -> pd.DataFrame:
    """The same with a line of each name for all flips, of each direction."""
    names = list(found.flips["name"].unique())
    coded, total = found.flips[found.flips["primary"] != ""], pd.DataFrame(index=pd.Index(names, name="name"))
    for way in DIRECTIONS:
        n = in_direction(coded, way).groupby("name").size().reindex(names, fill_value=0)
        total[of_way("n", way)], total[of_way("value", way)] = n, (100.0 * n / n).where(n > 0)
    total = total.reset_index().assign(label="Total")
    both = pd.concat([total, frame] if is_first else [frame, total])
    return both.sort_values("name", key=lambda column: column.map(names.index), kind="stable", ignore_index=True)


def taxonomy_tables(found: TaxonomyFindings) -> list[Table]:
    """Every table that has a row."""
    tables = [
        models_table(found),
        categories_table(found),
        codes_table(found),
        top_codes_table(found),
        directions_table(found),
        changes_table(found),
        agreement_table(found),
        states_table(found),
    ]
    return [table for table in tables if table.rows]


def as_table(name: str, title: str, frame: pd.DataFrame, columns: Columns, note: str = "") -> Table:
    """A query's frame as a table."""

    def cell(row: Mapping[str, Any], field: Any, form: str) -> Any:
        if isinstance(field, tuple):
            low, high = (row[end] for end in field)
            return None if pd.isna(low) or pd.isna(high) else f"[{low:{form}}, {high:{form}}]"
        return None if row[field] is None or pd.isna(row[field]) else row[field]

    return Table(
        name=f"taxonomy_{name}",
        title=title,
        columns=tuple(columns),
        rows=tuple(
            tuple(cell(row, field, form) for field, form in columns.values()) for row in frame.to_dict("records")
        ),
        formats=tuple("" if isinstance(field, tuple) else form for field, form in columns.values()),
        note=note,
    )


def models_table(found: TaxonomyFindings) -> Table:
    """F.2: the top code of each model, and how many flips stay unexplained."""
    frame = models(found)
    frame["top"] = [None if pd.isna(label) else f"{label} {codes()[label].name}" for label in frame["label"]]
    frame["is_met"] = [
        None if pd.isna(share) else "yes" if share < MOST_UNEXPLAINED else "no" for share in frame["value_rest"]
    ]
    return as_table(
        "models",
        "Top code and unexplained flips of each model (appendix F.2)",
        frame,
        {
            "model": ("name", ""),
            "judged by": ("judged_by", ""),
            "flips": ("n_flips", "d"),
            "with a code": ("is_coded", "d"),
            "top code": ("top", ""),
            "%": ("value", ""),
            "95%": (("low", "high"), ".1f"),
            f"{UNEXPLAINED} %": ("value_rest", ""),
            f"{UNEXPLAINED} 95%": (("low_rest", "high_rest"), ".1f"),
            f"below {MOST_UNEXPLAINED:.0f}%": ("is_met", ""),
            "codes a flip": ("n_codes", ""),
        },
        f"{UNEXPLAINED}: unexplained; the paper's target is below {MOST_UNEXPLAINED:.0f}%. {SHARE_NOTE}",
    )


def categories_table(found: TaxonomyFindings) -> Table:
    """Tables 17 and 30, with the two directions of Figure 6."""
    return as_table(
        "categories",
        "Primary failure categories (Tables 17 and 30, Figure 6)",
        with_totals(found, ranked(by_label(found, "category"))),
        {"model": ("name", ""), "category": ("label", ""), **SHARE, **SIDES},
        SHARE_NOTE,
    )


def described(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with the category and the description of each code; of another label there is none."""
    names = {code: of_code.name for code, of_code in codes().items()}
    columns = {"category": category_of(), "description": names}
    return frame.assign(**{name: frame["label"].map(of_code).fillna("") for name, of_code in columns.items()})


def codes_table(found: TaxonomyFindings) -> Table:
    """Table 18, with the share of flips that list a code at all."""
    listed = by_label(found, "codes")
    frame = by_label(found, "primary").assign(listed=listed["value"])[listed["n"] > 0]
    return as_table(
        "codes",
        "Primary failure codes by flip type (Table 18)",
        described(with_totals(found, frame)),
        {
            "model": ("name", ""),
            "category": ("category", ""),
            "code": ("label", ""),
            "description": ("description", ""),
            **SHARE,
            **SIDES,
            "listed, %": ("listed", ""),
        },
        f"listed: flips to which the code applies, primary or not. {SHARE_NOTE}",
    )


def top_codes_table(found: TaxonomyFindings) -> Table:
    """Table 31: codes by frequency; those that would print as 0.0 % share a line."""
    frame = described(ranked(by_label(found, "primary")))
    lines = []
    for name, of_name in frame.groupby("name", sort=False):
        seldom = of_name[of_name["value"] < SELDOM]
        lines.append(of_name.drop(seldom.index))
        if len(seldom):
            n = seldom["n"].sum()
            other = {"name": name, "label": "Other", "description": f"({', '.join(sorted(seldom['label']))})"}
            lines.append(pd.DataFrame([{**other, "n": n, "value": 100 * n / of_name["n"].sum()}]))
    return as_table(
        "top_codes",
        "Primary failure codes, most frequent first (Table 31)",
        pd.concat([frame[:0], *lines]),
        {
            "model": ("name", ""),
            "code": ("label", ""),
            "failure type": ("description", ""),
            "count": ("n", ""),
            "%": ("value", ""),
            "95%": (("low", "high"), ".1f"),
        },
        SHARE_NOTE,
    )


def directions_table(found: TaxonomyFindings) -> Table:
    """Table 32: the five most frequent codes in both directions, and how many times as frequent each is."""
    top = ranked(by_label(found, "primary")).groupby("name", sort=False).head(N_TOP)
    ratios = scores_of(found, "primary_ratio")[["name", "label", *ENDS]]
    frame = top.merge(ratios, on=["name", "label"], how="left", suffixes=("", "_ratio"))
    frame["label"] = [f"{label} ({codes()[label].name})" for label in frame["label"]]
    frame = with_totals(found, frame, is_first=True)
    is_total = frame["label"] == "Total"
    for way in (LENIENT, STRICT):
        share = 100 * frame[f"n_{way}"] / frame["n"].where(frame["n"] > 0, 1)
        frame[f"value_{way}"] = frame[f"value_{way}"].where(~is_total, share)
    frame["label"] = frame["label"].where(~is_total, "Total flips")
    sides = {head: (field, "d" if head.endswith("n") else ".1f") for head, (field, _) in SIDES.items()}
    return as_table(
        "directions",
        "Deference and skepticism: the top codes (Table 32)",
        frame,
        {
            "model": ("name", ""),
            "": ("label", ""),
            **sides,
            "ratio": ("value_ratio", ".2f"),
            "ratio 95%": (("low_ratio", "high_ratio"), ".2f"),
        },
        "ratio: share among deference flips over that among skepticism flips; its interval resamples items, and is "
        "left out where a draw has a share of 0.",
    )


def changes_frame(found: TaxonomyFindings) -> pd.DataFrame:
    """A row for each run after the base and label: counts, shares of removed and made, change per 100 items."""
    if not found.changes:
        return pd.DataFrame()
    changes = pd.DataFrame([{**change.as_dict(), "direction": change.direction} for change in found.changes])
    frame = found.counts.merge(changes, left_on=["name", "label"], right_on=["second", "label"], suffixes=("", "_of"))
    for measure in ("removed", "made"):
        shares = scores_of(found, measure)[["name", "label", *ENDS]]
        frame = frame.merge(shares.rename(columns={end: f"{measure}_{end}" for end in ENDS}))
    return frame


def changes_table(found: TaxonomyFindings, *, is_short: bool = False) -> Table:
    """What was removed, left and made, by code and category; in short the codes that occur."""
    frame = changes_frame(found)
    if len(frame):
        frame = frame[(frame["n_before"] + frame["n_after"] > 0) & ((frame["level"] != CATEGORY) | (not is_short))]
        frame = frame.assign(direction=[DIRECTION_WORDS[way] for way in found_ways(frame["direction"])])
    return as_table(
        "changes",
        "Which failures were removed, left and made",
        frame,
        {
            "run": ("name", ""),
            "items": ("n_items", ""),
            "primary code": ("label", ""),
            "before": ("n_before", ""),
            "removed": ("n_removed", ""),
            "removed %": ("removed_value", ""),
            "95%": (("removed_low", "removed_high"), ".1f"),
            "left": ("n_left", ""),
            "same code": ("n_same", ""),
            "no verdict after": ("n_unknown", ""),
            "after": ("n_after", ""),
            "made": ("n_made", ""),
            "made %": ("made_value", ""),
            "made 95%": (("made_low", "made_high"), ".1f"),
            "per 100 before": ("before", ".2f"),
            "per 100 after": ("after", ".2f"),
            "change": ("change", "+.2f"),
            "change 95%": (("change_low", "change_high"), "+.2f"),
            "p Holm": ("p_holm", "p"),
            "direction": ("direction", ""),
        },
        "before, after: flips of the base and of the run. removed: flips of the base that are none in the run, in % of "
        "those whose claim has a verdict there. left: flips in both, of which same code. made: flips of the run that "
        "are none in the base, in % of its flips. change: flips per 100 items, paired by item; p: two-sided sign-flip "
        "test over items, adjusted over the runs, not over the codes.",
    )


def found_ways(directions: "pd.Series[Any]") -> list[int | None]:
    """Directions of changes, None where one is unknown."""
    return [None if pd.isna(way) else int(way) for way in directions]


def agreement_table(found: TaxonomyFindings) -> Table:
    """How well judges agree."""
    levels = []
    for level, prefix in (("code", ""), ("category", "category_")):
        frame = scores_of(found, f"{prefix}alpha").rename(columns={end: f"alpha_{end}" for end in ENDS})
        for measure in ("agreement", "kappa"):
            scores = scores_of(found, f"{prefix}{measure}")[["name", "raters", *ENDS]]
            scores = scores.rename(columns={end: f"{measure}_{end}" for end in ENDS})
            frame = frame.merge(scores, on=["name", "raters"], how="left")
        levels.append(frame.assign(level=level))
    frame = pd.concat(levels)
    return as_table(
        "agreement",
        "Agreement on the primary code",
        frame,
        {
            "model": ("name", ""),
            "raters": ("raters", ""),
            "primary": ("level", ""),
            "items": ("n_units", "d"),
            "equal, %": ("agreement_value", ".1f"),
            "equal 95%": (("agreement_low", "agreement_high"), ".1f"),
            "Cohen's κ": ("kappa_value", ".2f"),
            "κ 95%": (("kappa_low", "kappa_high"), ".2f"),
            "Krippendorff's α": ("alpha_value", ".2f"),
            "α 95%": (("alpha_low", "alpha_high"), ".2f"),
        },
        "Over the flips that at least two ratings are of; α takes missing ones. Nominal; intervals of κ and α resample "
        "items.",
    )


def states_table(found: TaxonomyFindings) -> Table:
    """What became of the judge's replies."""
    frame = scores_of(found, "state_rate")
    apart = {run.name: number for number, run in enumerate(found.coded)}
    frame = frame.assign(n=(frame["value"] * frame["n_units"]).round(), model=frame["name"].map(apart))
    frame = frame.assign(fewer=-frame["n"]).dropna(subset="model")
    return as_table(
        "states",
        "States of the judge's replies",
        frame.sort_values(["model", "fewer"], kind="stable").astype({"n": int}),
        {
            "model": ("name", ""),
            "judged by": ("judged_by", ""),
            "state": ("state", ""),
            "n": ("n", "d"),
            "share": ("value", ".1%"),
        },
        "tie: flips of which samples name different primary codes equally often, of all flips.",
    )

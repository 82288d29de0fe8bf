"""Tables of the taxonomy, in the layout of DialDefer's appendices F and J."""

from collections.abc import Sequence

from eval.estimates.estimate import Estimate
from eval.report.change_cells import DIRECTION_WORDS
from eval.report.shown_numbers import interval
from eval.report.table import Cell, Table
from eval.taxonomy.coded_flips import TIE, CodedFlip, CodedRun
from eval.taxonomy.fates import CATEGORY, Fate
from eval.taxonomy.findings import TaxonomyFindings
from eval.taxonomy.shares import ALL, DIRECTIONS, Shares, in_direction, ratio_of
from studies.flips import LENIENT, STRICT
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, category_of, codes

N_TOP = 5  # codes of Table 32
SELDOM = 0.05  # percent, which prints as 0.0: such codes share a line, as in Table 31
SHARE_NOTE = (
    "Of the flips with a primary code, those of no use left out; 95% intervals of Student's t over items. "
    "deference: the second verdict accepts; skepticism: it rejects."
)


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


def models_table(found: TaxonomyFindings) -> Table:
    """F.2: the top code of each model, and how many flips stay unexplained."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.shown:
        shares = Shares(flips=one.flips, what="primary")
        top = next(iter(shares.ranked()), None)
        if top is None:
            rows.append((one.name, one.judge, len(one.all_flips), 0, *[None] * 7))
            continue
        most, rest = shares.estimate(top), shares.estimate(UNEXPLAINED)
        is_met = "yes" if (rest.value or 0.0) < MOST_UNEXPLAINED else "no"
        named = (f"{top} {codes()[top].name}", most.value, ends(most), rest.value, ends(rest), is_met)
        listed = sum(len(flip.codes) for flip in one.flips) / len(one.flips)
        rows.append((one.name, one.judge, len(one.all_flips), len(one.flips), *named, listed))
    return Table(
        name="taxonomy_models",
        title="Top code and unexplained flips of each model (appendix F.2)",
        columns=(
            *("model", "judged by", "flips", "with a code", "top code", "%", "95%"),
            *(f"{UNEXPLAINED} %", f"{UNEXPLAINED} 95%", f"below {MOST_UNEXPLAINED:.0f}%", "codes a flip"),
        ),
        rows=tuple(rows),
        note=f"{UNEXPLAINED}: unexplained; the paper's target is below {MOST_UNEXPLAINED:.0f}%. {SHARE_NOTE}",
    )


def categories_table(found: TaxonomyFindings) -> Table:
    """Tables 17 and 30, with the two directions of Figure 6."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.shown:
        ways = {way: Shares(flips=in_direction(one.flips, way), what="category") for way in DIRECTIONS}
        for label in ways[ALL].ranked():
            of = ways[ALL].estimate(label)
            sides = [cell for way in (LENIENT, STRICT) for cell in cells(ways[way], label)]
            rows.append((one.name, label, ways[ALL].count(label), of.value, ends(of), *sides))
        rows.append((one.name, "Total", *totals(one.flips)))
    return Table(
        name="taxonomy_categories",
        title="Primary failure categories (Tables 17 and 30, Figure 6)",
        columns=("model", "category", "n", "%", "95%", "def. n", "def. %", "skep. n", "skep. %"),
        rows=tuple(rows),
        note=SHARE_NOTE,
    )


def codes_table(found: TaxonomyFindings) -> Table:
    """Table 18, with the share of flips that list a code at all."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.shown:
        ways = {way: Shares(flips=in_direction(one.flips, way), what="primary") for way in DIRECTIONS}
        listed = Shares(flips=one.flips, what="listed")
        for label in listed.labels if one.flips else ():
            if not listed.count(label):
                continue
            of = ways[ALL].estimate(label)
            sides = [cell for way in (LENIENT, STRICT) for cell in cells(ways[way], label)]
            head = (one.name, category_of()[label], label, codes()[label].name)
            rows.append((*head, ways[ALL].count(label), of.value, ends(of), *sides, listed.estimate(label).value))
        rows.append((one.name, "Total", "", "", *totals(one.flips), None))
    return Table(
        name="taxonomy_codes",
        title="Primary failure codes by flip type (Table 18)",
        columns=(
            *("model", "category", "code", "description", "n", "%", "95%"),
            *("def. n", "def. %", "skep. n", "skep. %", "listed, %"),
        ),
        rows=tuple(rows),
        note=f"listed: flips to which the code applies, primary or not. {SHARE_NOTE}",
    )


def top_codes_table(found: TaxonomyFindings) -> Table:
    """Table 31: codes by frequency; those that would print as 0.0 % share a line."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.shown:
        shares = Shares(flips=one.flips, what="primary")
        seldom = [label for label in shares.ranked() if (shares.estimate(label).value or 0.0) < SELDOM]
        for label in shares.ranked():
            if label not in seldom:
                of = shares.estimate(label)
                rows.append((one.name, label, codes()[label].name, shares.count(label), of.value, ends(of)))
        if seldom:
            n = sum(map(shares.count, seldom))
            rows.append((one.name, "Other", f"({', '.join(sorted(seldom))})", n, 100 * n / len(one.flips), None))
    return Table(
        name="taxonomy_top_codes",
        title="Primary failure codes, most frequent first (Table 31)",
        columns=("model", "code", "failure type", "count", "%", "95%"),
        rows=tuple(rows),
        note=SHARE_NOTE,
    )


def directions_table(found: TaxonomyFindings) -> Table:
    """Table 32: the five most frequent codes in both directions, and how many times as frequent each is."""
    rows: list[tuple[Cell, ...]] = []
    for one in found.shown:
        ways = {way: Shares(flips=in_direction(one.flips, way), what="primary") for way in DIRECTIONS}
        n = [len(ways[way].flips) for way in (LENIENT, STRICT)]
        whole = len(one.flips) or 1
        rows.append((one.name, "Total flips", n[0], 100 * n[0] / whole, n[1], 100 * n[1] / whole, None, None))
        for label in ways[ALL].ranked()[:N_TOP]:
            sides = [cell for way in (LENIENT, STRICT) for cell in cells(ways[way], label)]
            rows.append((one.name, f"{label} ({codes()[label].name})", *sides, *ratio_cells(one, label, found)))
    return Table(
        name="taxonomy_directions",
        title="Deference and skepticism: the top codes (Table 32)",
        columns=("model", "", "def. n", "def. %", "skep. n", "skep. %", "ratio", "ratio 95%"),
        rows=tuple(rows),
        formats=("", "", "d", ".1f", "d", ".1f", ".2f", ""),
        note="ratio: share among deference flips over that among skepticism flips; its interval resamples items, and "
        "is left out where a draw has a share of 0.",
    )


def ratio_cells(one: CodedRun, label: str, found: TaxonomyFindings) -> tuple[Cell, Cell]:
    """A code's ratio with its interval."""
    of = ratio_of(one.flips, "primary", label, found.drawing)
    return of.value, ends(of, 2)


def cells(shares: Shares, label: str) -> tuple[Cell, Cell]:
    """A label's count and share in one direction."""
    return shares.count(label), shares.estimate(label).value


def totals(flips: Sequence[CodedFlip]) -> list[Cell]:
    """The last line: all flips, of each direction."""
    found: list[Cell] = []
    for way in DIRECTIONS:
        n = len(in_direction(flips, way))
        found += [n, 100.0 if n else None, *([None] if way == ALL else [])]
    return found


def ends(of: Estimate, digits: int = 1) -> str | None:
    """An interval without signs."""
    return None if of.low is None or of.high is None else f"[{of.low:.{digits}f}, {of.high:.{digits}f}]"


def changes_table(found: TaxonomyFindings, *, is_short: bool = False) -> Table:
    """What was removed, left and made, by code and category; in short the labels that occur."""
    rows = [
        fate_row(moved.name, moved.n_items, fate)
        for moved in found.moved
        for fate in moved.fates
        if fate.n_before or fate.n_after
        if not (is_short and fate.level == CATEGORY)
    ]
    return Table(
        name="taxonomy_changes",
        title="Which failures were removed, left and made",
        columns=(
            *("run", "items", "primary code", "before", "removed", "removed %", "95%", "left", "same code"),
            *("no verdict after", "after", "made", "made %", "made 95%"),
            *("per 100 before", "per 100 after", "change", "change 95%", "p Holm", "direction"),
        ),
        rows=tuple(rows),
        formats=(*[""] * 14, ".2f", ".2f", "+.2f", "", "p", ""),
        note="before, after: flips of the base and of the run. removed: flips of the base that are none in the run, in "
        "% of those whose claim has a verdict there. left: flips in both, of which same code. made: flips of the run "
        "that are none in the base, in % of its flips. change: flips per 100 items, paired by item; p: two-sided "
        "sign-flip test over items, adjusted over the runs, not over the codes.",
    )


def fate_row(name: str, n_items: int, fate: Fate) -> tuple[Cell, ...]:
    """One label's line."""
    change = fate.change
    of = (change.before.value, change.after.value, change.change.value)
    return (
        *(name, n_items, fate.label, fate.n_before, fate.n_removed, fate.removed.value, ends(fate.removed)),
        *(fate.n_left, fate.n_same, fate.n_unknown, fate.n_after, fate.n_made, fate.made.value, ends(fate.made)),
        *of,
        interval(change.change.low, change.change.high, 2),
        change.p_holm,
        DIRECTION_WORDS[change.direction],
    )


def agreement_table(found: TaxonomyFindings) -> Table:
    """How well judges agree."""
    rows: list[tuple[Cell, ...]] = []
    for row in found.agreements:
        values: list[Cell] = []
        for of, digits in ((row.agreement, 1), (row.kappa, 2), (row.alpha, 2)):
            values += [None, None] if of is None else [of.value, ends(of, digits)]
        rows.append((row.model, row.raters, "code" if row.what == "primary" else "category", row.n_flips, *values))
    return Table(
        name="taxonomy_agreement",
        title="Agreement on the primary code",
        columns=(
            *("model", "raters", "primary", "flips", "equal, %", "equal 95%", "Cohen's κ", "κ 95%"),
            *("Krippendorff's α", "α 95%"),
        ),
        rows=tuple(rows),
        formats=("", "", "", "d", ".1f", "", ".2f", "", ".2f", ""),
        note="Over the flips that at least two ratings are of; α takes missing ones. Nominal; intervals of κ and α "
        "resample items.",
    )


def states_table(found: TaxonomyFindings) -> Table:
    """What became of the judge's replies."""
    rows = [
        (one.name, one.judge, state, n, n / max(1, sum(1 if state == TIE else len(f.samples) for f in one.all_flips)))
        for one in found.coded
        for state, n in one.states.most_common()
    ]
    return Table(
        name="taxonomy_states",
        title="States of the judge's replies",
        columns=("model", "judged by", "state", "n", "share"),
        rows=tuple(rows),
        formats=("", "", "", "d", ".1%"),
        note="tie: flips of which samples name different primary codes equally often, of all flips.",
    )

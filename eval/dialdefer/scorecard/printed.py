"""The scorecard as plain text, 120 columns wide: values, changes against the base, cost, changes against arms."""

from collections.abc import Mapping

from eval.dialdefer.compare import over_corrected as is_over
from eval.dialdefer.scorecard.card import Scorecard
from eval.dialdefer.scorecard.rows import ArmRow
from eval.dialdefer.scorecard.words import caption, doubt_about, lowest_sentences, sentences
from eval.dialdefer.scores import FIXED, OWN
from eval.estimates.changes import Change
from eval.report.change_cells import CHANGE, change_cells
from eval.report.console import Lines, block, short, wrapped
from eval.report.shown_numbers import interval, number, signed

OWN_FIGURES = {"|DDS| own": "mean_abs_dds_own", "accuracy": "acc"}
FIXED_FIGURES = {"|DDS| fixed": "mean_abs_dds_fixed", "acc C2": "acc_c2"}

Changes = Mapping[str, Mapping[str, Change]]


def scorecard_text(card: Scorecard, *, has_rows: bool) -> str:
    """Everything that is printed of a scorecard; without rows, those against an arm that was named are left."""
    blocks = [
        wrapped(caption(card)),
        *(row_blocks(card) if has_rows else []),
        *(block(f"Changes against {n}, own C1", change_lines(c, OWN_FIGURES)) for n, c in card.against.items()),
        *(block(f"Changes against {n}, fixed C1", change_lines(c, FIXED_FIGURES)) for n, c in card.against.items()),
        wrapped(sentences(card)),
    ]
    return "\n\n".join(blocks)


def row_blocks(card: Scorecard) -> list[str]:
    """A line a row: values, changes against the base, cost."""
    of_base = {row.name: row.changes for row in card.arms}
    return [
        block("Scorecard", overview(card)),
        wrapped(lowest_sentences(card)),
        block("Changes against the base, own C1", change_lines(of_base, OWN_FIGURES)),
        block("Changes against the base, fixed C1 and dialogues alone", change_lines(of_base, FIXED_FIGURES)),
        *(block(f"DDS by dataset, {s} C1", by_dataset(card, s)) for s in (OWN, FIXED) if len(card.scope.datasets) > 1),
        *([block(f"r/AIO ({card.scope.aio})", aio_lines(card))] if card.scope.aio else []),
        *([block("Both answer orders: deference and position", order_lines(card))] if has(card, "deference") else []),
        *([block("What margins tell, own C1", margin_lines(card))] if has(card, "soft_dds_own") else []),
        *([block("Scale-free shift of margins", shift_lines(card))] if has(card, "shift") else []),
        block("Claims accepted, %", acceptance_lines(card)),
        *([block("Cost of training", cost_lines(card))] if any(row.arm.cost.training_run for row in card.arms) else []),
    ]


def value(change: Change | None, *, has_sign: bool = False, digits: int = 1) -> str:
    """An arm's figure."""
    level = None if change is None else change.after.value
    return (signed if has_sign else number)(level, digits)


def overview(card: Scorecard) -> Lines:
    """A line an arm: its values."""
    lines = [["arm", "items", "acc", "acc C2", "|DDS| own", "chance", "DDS", "|DDS| fixed", "DDS"]]
    lines[0] += ["over own", "fixed", device_seconds_header(card)]
    for row in card.rows:
        figures = row.changes
        cells = [shown(row), str(row.n_items), value(figures.get("acc")), value(figures.get("acc_c2"))]
        cells += [value(figures.get("mean_abs_dds_own")), number(row.chance_abs_dds_pp)]
        cells += [value(figures.get("dds_own"), has_sign=True), value(figures.get("mean_abs_dds_fixed"))]
        cells += [value(figures.get("dds_fixed"), has_sign=True), over_corrected(row, OWN), over_corrected(row, FIXED)]
        lines.append([*cells, count(row.arm.cost.device_seconds)])
    return lines


def shown(row: ArmRow) -> str:
    """An arm's name, with an asterisk where the warnings below speak of it."""
    return short(row.name) + "*" * bool(row.lacking or row.arm.unlikely or doubt_about(row.doubts))


def over_corrected(row: ArmRow, c1_source: str) -> str:
    """ "2/9": datasets that were over-corrected, of those asked."""
    names = row.over_corrected(c1_source)
    return "–" if names is None else f"{len(names)}/{len(row.datasets) - len(row.lacking)}"


def device_seconds_header(card: Scorecard) -> str:
    """GPU-seconds are called so where every known device is a GPU."""
    kinds = {row.arm.cost.is_gpu for row in card.arms if row.arm.cost.device_seconds is not None}
    return "GPU-s" if kinds == {True} else "device-s"


def count(n: float | None) -> str:
    """A large whole number, or a dash where it is unknown."""
    return "–" if n is None else f"{n:,.0f}"


def change_lines(changes: Changes, figures: Mapping[str, str]) -> Lines:
    """A line an arm: for each figure its change, interval, adjusted p and whether that is a change."""
    lines = [["arm", *(cell for name in figures for cell in (name, *CHANGE))]]
    for name, of_arm in changes.items():
        lines.append([short(name), *(cell for figure in figures.values() for cell in change_cells(of_arm.get(figure)))])
    return lines


def by_dataset(card: Scorecard, c1_source: str) -> Lines:
    """A line an arm, a column a dataset."""
    lines = [["arm", *card.scope.datasets]]
    for row in card.rows:
        found = [row.dds(c1_source, dataset) for dataset in card.scope.datasets]
        daggers = ["†" * (row is not card.base and c is not None and is_over(c)) for c in found]
        lines.append([short(row.name), *(value(c, has_sign=True) + d for c, d in zip(found, daggers, strict=True))])
    return lines


def aio_lines(card: Scorecard) -> Lines:
    """r/AIO: its DDS with both sources of C1, and the change of |DDS| with own C1."""
    lines = [["arm", "acc C2", "DDS own", "95% interval", "DDS fixed", "|DDS| own", *CHANGE]]
    for row in card.rows:
        own, fixed = row.changes.get("aio_dds_own"), row.changes.get("aio_dds_fixed")
        ends = "–" if own is None else interval(own.after.low, own.after.high)
        dagger = "†" * (own is not None and is_over(own) and row is not card.base)
        cells = [short(row.name), value(row.changes.get("aio_acc_c2"))]
        cells += [value(own, has_sign=True) + dagger, ends, value(fixed, has_sign=True)]
        lines.append(cells + change_cells(row.changes.get("aio_abs_dds_own")))
    return lines


def has(card: Scorecard, figure: str) -> bool:
    """Whether an arm has a figure."""
    return any(figure in row.changes for row in card.rows)


def order_lines(card: Scorecard) -> Lines:
    """Deference d and position p: half the sum and half the difference of DDS in both answer orders."""
    lines = [["arm", "d", "change", *CHANGE, "|d|", "position p", "change", *CHANGE]]
    for row in card.rows:
        d, p = row.changes.get("deference"), row.changes.get("position")
        cells = [
            short(row.name),
            value(d, has_sign=True),
            *change_cells(d),
            value(row.changes.get("mean_abs_deference")),
        ]
        lines.append([*cells, value(p, has_sign=True), *change_cells(p)])
    return lines


def margin_lines(card: Scorecard) -> Lines:
    """Soft DDS and AUC."""
    lines = [["arm", "soft |DDS|", "change", *CHANGE, "soft DDS", "AUC C1", "AUC C2"]]
    for row in card.rows:
        change, doubts = row.changes.get("soft_mean_abs_dds_own"), row.doubts
        cells = [short(row.name), value(change), *change_cells(change)]
        cells += [value(row.changes.get("soft_dds_own"), has_sign=True), number(doubts.auc_c1, 3)]
        lines.append([*cells, number(doubts.auc_c2, 3)])
    return lines


def acceptance_lines(card: Scorecard) -> Lines:
    """How often claims are accepted."""
    rates = {row.name: (row.doubts.accept_rate_c1, row.doubts.accept_rate_c2) for row in card.rows}
    cells = [[short(name), *(number(None if r is None else 100 * r) for r in pair)] for name, pair in rates.items()]
    return [["arm", "C1", "C2"], *cells]


def shift_lines(card: Scorecard) -> Lines:
    """The scale-free shift in the judge's own standard deviations, and in the base's."""
    lines = [["arm", "own SD", "change", *CHANGE, "base's SD", "change", *CHANGE]]
    for row in card.rows:
        own, in_base_sd = (row.changes.get(name) for name in ("shift", "shift_in_base_sd"))
        cells = [short(row.name), value(own, has_sign=True, digits=2), *change_cells(own, 2)]
        lines.append([*cells, value(in_base_sd, has_sign=True, digits=2), *change_cells(in_base_sd, 2)])
    return lines


def cost_lines(card: Scorecard) -> Lines:
    """What the training of each arm took."""
    lines = [["arm", "device", "processes", "seconds", device_seconds_header(card), "tokens", "peak GiB"]]
    for row in card.arms:
        cost = row.arm.cost
        cells = [short(row.name), cost.device or "–", count(cost.n_processes), count(cost.seconds)]
        lines.append([*cells, count(cost.device_seconds), count(cost.n_tokens), number(cost.peak_memory_gib)])
    return lines

"""A finished run → verdicts → arrays of items × conditions × samples, a panel an arm and dataset."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.runs import FinishedRun, clusters_of, copy_doubts, load_finished, reading_shares
from evenhand.completions import UNLIKELY, WAY_OUT, answer_doubts, answer_probability
from evenhand.config import parse_config
from evenhand.errors import DataError, EvenhandError
from evenhand.run_directory import CONFIG_FILE
from studies.dialdefer import measures
from studies.dialdefer.datasets import DatasetSpec, item_set_hash, load_items
from studies.dialdefer.records import Factors, Item
from studies.dialdefer.render import AIO_DATASETS, NO_FIRST, YES_FIRST, own_labels

BOTH_ORDERS = "both_orders"
EXTERNAL = "external"  # the verdict mode, and the template, of what was not asked by us
MAIN_ROLES = "2->1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panel:
    """One judge's replies on one dataset under one arm."""

    benchmark: str
    dataset: str
    factors: Factors
    item_ids: tuple[str, ...]  # sorted
    clusters: tuple[str, ...]  # of each item: those of one cluster are resampled together
    replies: NDArray[np.int8]  # (n_items, 4, n_samples), codes of studies.dialdefer.measures
    margins: NDArray[np.float64]  # (n_items, 4, n_samples) in nats; NaN where there is none
    p_answer: tuple[float, float] = (math.nan, math.nan)  # P(1) + P(2) at the median prompt of C1 and of C2
    orders: "tuple[Panel, ...]" = ()  # of both answer orders together: each by itself, yes_first first
    fitted: float = 0.0  # see eval.estimates.estimate.Observed

    @property
    def has_c1(self) -> bool:
        """Whether the statement framing was asked."""
        return bool((self.replies[:, measures.C1] != measures.ABSENT).all())

    @property
    def has_c2(self) -> bool:
        """Whether the dialogue framing was asked."""
        return bool((self.replies[:, measures.C2] != measures.ABSENT).all())

    @property
    def by_order(self) -> "tuple[Panel, ...]":
        """Each answer order by itself."""
        return self.orders or (self,)

    @property
    def roles(self) -> str:
        """Who judges whom. In the Q/A datasets Speaker 2 answers Speaker 1: r/AIO's main setting."""
        return self.factors.roles or MAIN_ROLES

    @property
    def unlikely(self) -> dict[str, float]:
        """Framing → P(answer), where the judge would mostly say something else: its margins there are in no average."""
        return {name: p for name, p in zip(("C1", "C2"), self.p_answer, strict=True) if p < UNLIKELY}

    def at(self, rows: Sequence[int] | NDArray[np.intp]) -> "Panel":
        """The panel of some of its items."""
        return replace(
            self,
            item_ids=tuple(self.item_ids[i] for i in rows),
            clusters=tuple(self.clusters[i] for i in rows),
            replies=self.replies[rows],
            margins=self.margins[rows],
            orders=tuple(order.at(rows) for order in self.orders),
        )


def panels_of(verdicts: Iterable[measures.Verdict], clusters: Mapping[tuple[str, str], str]) -> list[Panel]:
    """A panel for each (dataset, factors) among the verdicts, in order of first appearance. clusters: of each item."""
    groups: dict[tuple[str, str, Factors], list[measures.Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[verdict.prompt.benchmark, verdict.prompt.dataset, verdict.factors].append(verdict)
    return [panel_of(*key, group, clusters) for key, group in groups.items()]


def panel_of(
    benchmark: str,
    dataset: str,
    factors: Factors,
    verdicts: Sequence[measures.Verdict],
    clusters: Mapping[tuple[str, str], str],
) -> Panel:
    """The panel of verdicts that share dataset and factors."""
    item_ids = tuple(sorted({v.prompt.item_id for v in verdicts}))
    row_of = {item_id: row for row, item_id in enumerate(item_ids)}
    shape = (len(item_ids), len(measures.CONDITIONS), 1 + max(v.reply.sample_index for v in verdicts))
    replies, margins = np.full(shape, measures.ABSENT, dtype=np.int8), np.full(shape, np.nan)
    codes = {measures.NoVerdict.ERROR: measures.ERROR, measures.NoVerdict.TIE: measures.TIE}
    for v in verdicts:
        place = row_of[v.prompt.item_id], measures.CONDITIONS.index(v.condition), v.reply.sample_index
        replies[place] = (
            codes.get(v.reason or measures.NoVerdict.UNPARSED, measures.UNPARSED) if v.choice is None else v.choice
        )
        margins[place] = np.nan if v.margin is None else v.margin
    margins_read = ((v.condition.is_dialogue, answer_probability(v.reply)) for v in verdicts if v.margin is not None)
    known = [(is_dialogue, p) for is_dialogue, p in margins_read if p is not None]
    p_answers = [[p for is_dialogue, p in known if is_dialogue == framing] for framing in (False, True)]
    return Panel(
        benchmark=benchmark,
        dataset=dataset,
        factors=factors,
        item_ids=item_ids,
        clusters=tuple(clusters[dataset, item_id] for item_id in item_ids),
        replies=replies,
        margins=margins,
        p_answer=(median(p_answers[0] or [math.nan]), median(p_answers[1] or [math.nan])),
    )


def named(item_ids: Sequence[str]) -> str:
    """ "3 items (a, b, c) have": the first five ids and the count, as the subject of a sentence."""
    first = ", ".join(item_ids[:5]) + (", ..." if len(item_ids) > 5 else "")
    return f"{len(item_ids)} item{'s' * (len(item_ids) != 1)} ({first}) ha{'ve' if len(item_ids) != 1 else 's'}"


def check_same_items(name: str, ours: Panel, theirs: Panel) -> None:
    """Raises DataError when two panels that are to be paired are not over the same items."""
    odd = sorted(set(ours.item_ids) ^ set(theirs.item_ids))
    if odd:
        raise DataError(f"{name}: {named(odd)} been judged on one side only; both sides need the same items")


def without_lost(*panels: Panel) -> list[Panel]:
    """Panels of the same items without those that the engine lost in any. Raises DataError when no item is left.

    C1 and C2 are compared over the same items, so one lost condition takes its item along; with several samples an
    item stays as long as each condition has a reply.
    """
    lost = np.any([measures.lost_items(panel.replies) for panel in panels], axis=0)
    if lost.size and lost.all():
        place = f"{panels[0].dataset}, arm {panels[0].factors.arm}"
        raise DataError(f"{place}: the engine failed on every item; sample it again")
    return [panel.at(np.flatnonzero(~lost)) for panel in panels] if lost.any() else list(panels)


def with_c1_of(panel: Panel, source: Panel) -> Panel:
    """The panel with its C1 replaced by another judge's or arm's: `fixed C1`. Items and sample counts must agree."""
    check_same_items(f"{panel.dataset}, arm {panel.factors.arm} against arm {source.factors.arm}", panel, source)
    if panel.replies.shape != source.replies.shape:
        raise DataError(f"{panel.dataset}: C1 and C2 have different numbers of samples per prompt; sample both alike")

    def framings(c1: NDArray[Any], c2: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([c1[:, measures.C1], c2[:, measures.C2]], axis=1)

    orders = panel.orders
    if source.orders:
        orders = tuple(with_c1_of(order, its) for order, its in zip(orders, source.orders, strict=False))
    return replace(
        panel,
        replies=framings(source.replies, panel.replies),
        margins=framings(source.margins, panel.margins),
        orders=orders,
        p_answer=(source.p_answer[0], panel.p_answer[1]),
    )


def with_both_orders(panels: Sequence[Panel]) -> list[Panel]:
    """The panels, and behind them one more for each prompt variant that was asked in both answer orders."""
    by_factors = {(p.benchmark, p.dataset, p.factors): p for p in panels}
    merged = []
    for (benchmark, dataset, factors), swapped in by_factors.items():
        usual = by_factors.get((benchmark, dataset, replace(factors, answer_order=YES_FIRST)))
        merged += [both_orders(usual, swapped)] if usual and factors.answer_order == NO_FIRST else []
    return [*panels, *merged]


def both_orders(usual: Panel, swapped: Panel) -> Panel:
    """Both answer orders of one prompt variant as one panel: a judge that likes the first answer likes it in both.

    Margins are averaged and the verdict is their mean's sign, so that a constant bias towards an answer's place cancels
    exactly; reasoned replies become samples of one item, so accuracy is their mean.
    """
    # A reply whose counterpart the engine lost is left out too: alone it would bring the bias back.
    failed = (usual.replies == measures.ERROR) | (swapped.replies == measures.ERROR)
    whole = [np.where(failed, measures.ERROR, p.replies).astype(np.int8) for p in (usual, swapped)]
    usual, swapped = replace(usual, replies=whole[0]), replace(swapped, replies=whole[1])
    merged = replace(
        usual,
        factors=replace(usual.factors, answer_order=BOTH_ORDERS),
        orders=(usual, swapped),
        p_answer=(min(usual.p_answer[0], swapped.p_answer[0]), min(usual.p_answer[1], swapped.p_answer[1])),
    )
    if np.isnan(usual.margins).all() and np.isnan(swapped.margins).all():
        replies, margins = (
            np.concatenate([getattr(order, name) for order in merged.orders], axis=2) for name in ("replies", "margins")
        )
        return replace(merged, replies=replies, margins=margins)
    # Infinities of opposite signs: nothing but the place decides, so neither answer is preferred.
    with np.errstate(invalid="ignore"):
        margins = (usual.margins + swapped.margins) / 2
    cancelled = np.isnan(margins) & ~np.isnan(usual.margins) & ~np.isnan(swapped.margins)
    margins = np.where(cancelled, 0.0, margins)
    none = np.minimum(np.minimum(usual.replies, swapped.replies), measures.UNPARSED)
    none = np.where(none == measures.TIE, measures.UNPARSED, none)  # one order tied, the other has no margin at all
    return replace(merged, margins=margins, replies=measures.verdict_codes(margins, none))


def variant_of(panel: Panel, panels: Sequence[Panel]) -> str:
    """What names a panel's prompt variant among its judge's panels: "" for the main one, else such as "v1" or "A/B,
    no_first".

    The main variant is that of the dataset's first panel: a plan asks it first. Only what differs from it is named, so
    datasets that differ by nature (r/AIO has its own template and labels) still make one table, and one average,
    whichever of them was asked in other prompt variants as well.
    """
    f, main = panel.factors, next(p.factors for p in panels if p.dataset == panel.dataset)
    labels = main.speaker1, main.speaker2
    if labels == own_labels(panel.dataset, main.arm):  # no others were asked for, so the arm has its own
        labels = own_labels(panel.dataset, f.arm)
    is_newer = f.template_version != main.template_version and f.template == main.template
    differs = (
        (f.template, f.template != main.template),
        (f"{f.template} version {f.template_version}", is_newer),
        (f.answer_form, f.answer_form != main.answer_form),
        (f"{f.speaker1}/{f.speaker2}", (f.speaker1, f.speaker2) != labels),
        (f.answer_order, f.answer_order != main.answer_order),
    )
    return ", ".join(name for name, is_named in differs if is_named)


def grouped(paired: Sequence[Panel], panels: Sequence[Panel]) -> dict[tuple[str, str, str], list[Panel]]:
    """Panels by (arm, roles, variant): those that belong into one table and one average."""
    groups: dict[tuple[str, str, str], list[Panel]] = {}
    for panel in paired:
        groups.setdefault((panel.factors.arm, panel.roles, variant_of(panel, panels)), []).append(panel)
    return groups


def setting_panels(judge: "JudgedRun", roles: str = MAIN_ROLES, variant: str = "") -> dict[str, Panel]:
    """Dataset → the judge's untreated panel in a variant, by default the main one, with both framings of its own."""
    panels = grouped(judge.panels, judge.panels).get(("none", roles, variant), [])
    return {panel.dataset: panel for panel in panels if panel.has_c1 and panel.has_c2}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedRun(FinishedRun):
    """A complete run and what its judge decided; or one model's verdicts in files, which have no plan."""

    reading: measures.ReadingMode
    panels: Sequence[Panel]  # of what was asked, then of both answer orders together where both were
    verdicts: Sequence[measures.Verdict] = ()
    doubts: Sequence[str] = ()  # what to know of its answers before believing a score
    # (condition, how its texts were read or why not, % of them, how many): the parser, or a NoVerdict
    readings: Sequence[tuple[str, str, float, int]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # of files: r/AIO item → "OR" | "NOR", as in `labels_of`
    left_out: Sequence[str] = ()  # of files: the arms of a dataset in which no shift can be scored, with the reason


def load_run(path: Path, parser: str = "strict") -> JudgedRun:
    """The run at a path with its verdicts. Raises DataError as load_finished does."""
    return judged(load_finished(path, with_errors=True), parser)


def judged(run: FinishedRun, parser: str = "strict") -> JudgedRun:
    """A run with its verdicts; `parser` is used where they are reasoned."""
    reading = measures.ReadingMode(run.config["verdict"], parser if run.config["verdict"] == "reason" else None)
    verdicts = measures.judge_all(run.plan, run.replies, run.n_samples, reading)
    panels = panels_of(verdicts, clusters_of(run.plan))
    unlikely = [
        f"{', '.join(filter(None, [panel.dataset, framing, variant_of(panel, panels), arm]))} ({p:.2g})"
        for panel in panels
        for arm in ["" if panel.factors.arm == "none" else f"arm {panel.factors.arm}"]
        for framing, p in panel.unlikely.items()
    ]
    doubt = (
        f"the two answers together have a median probability below {UNLIKELY} on {'; '.join(unlikely)}: there the "
        "judge would mostly say something else, so its margins say little and averages leave these datasets out. "
        f"{WAY_OUT}"
    )
    read = Counter((str(v.condition), v.reason or str(reading.parser)) for v in verdicts if reading.parser)
    return JudgedRun(
        **{name.name: getattr(run, name.name) for name in fields(FinishedRun)},
        reading=reading,
        verdicts=verdicts,
        panels=with_both_orders(panels),
        readings=[*reading_shares(read)],
        doubts=[
            *copy_doubts(run.plan),
            *answer_doubts(chain.from_iterable(run.replies.values())),
            *([doubt] if unlikely else []),
        ],
    )


def judge_of_files(path: Path, model: str, parser: str | None, panels: Sequence[Panel], **facts: Any) -> JudgedRun:
    """One model's verdicts in files. parser: that read replies; None where every choice was given."""
    config = {"verdict": EXTERNAL, "model": {"name": model, "label": model}}
    run: dict[str, Any] = {"path": path, "config": config, "provenance": {}, "plan": (), "replies": {}, "rendered": {}}
    return JudgedRun(**run, reading=measures.ReadingMode(EXTERNAL, parser), panels=panels, **facts)


def labels_of(judge: JudgedRun) -> Mapping[str, str]:
    """r/AIO item → "OR" | "NOR", the verdict on the original poster; {} where a run's data is gone or has changed."""
    items = item_texts(judge).values() if any(panel.dataset in AIO_DATASETS for panel in judge.panels) else ()
    return judge.labels or {i.item_id: str(i.meta["label"]) for i in items if i.dataset in AIO_DATASETS}


def item_texts(run: JudgedRun) -> dict[str, Item]:
    """Item id → item, read again from the run's own data; empty when that is gone or no longer the same.

    The report then says that it cannot show questions; the verdicts do not depend on it.
    """
    where = str(run.path / CONFIG_FILE)
    try:
        listed = run.config["dialdefer"]["benchmarks"] if run.plan else ()
        specs = [parse_config(DatasetSpec, dict(spec), where) for spec in listed]
        items = load_items(specs)
    except EvenhandError:
        return {}
    is_same = item_set_hash(items) == run.provenance.get("item_set_hash")
    return {item.item_id: item for item in items} if is_same else {}

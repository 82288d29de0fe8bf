"""The rows of DialDefer's scorecard: judges' untreated prompts with both sources of C1, and the changes between two.

|DDS| of several datasets is summed up in three ways: mean_abs_dds, the mean over datasets of |DDS| (recommended: 0 only
where every dataset's DDS is); mean_square_dds, the mean of DDS² minus its variance, in pp², which noise does not raise;
abs_mean_dds, |mean of DDS|, in which signs cancel, as `Bench Avg` has it.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from eval.dialdefer.calibrate import DDS as BY_DDS
from eval.dialdefer.calibrate import Calibration, Threshold, calibrated_panels, fit, untreated_panels
from eval.dialdefer.measures import (
    ABSENT,
    C1,
    ERROR,
    MANY_UNREADABLE,
    UNREADABLE,
    IntArray,
    accept_rates,
    is_saturated,
    mean_or_none,
)
from eval.dialdefer.panels import (
    ACC,
    ACC_C2,
    BASE_SHIFT,
    BOTH_ORDERS,
    DEFERENCE,
    MAIN_ROLES,
    POSITION,
    SHIFT,
    Panel,
    deference,
    order_pair_of,
    pair_of,
    shift_pair_of,
    soft_pair_of,
    variant_of,
    without_errors,
)
from eval.dialdefer.runs import JudgedRun, judge_of_run
from eval.dialdefer.scores import (
    AIO,
    FIXED,
    OWN,
    acceptance,
    average_sentence,
    averages_over,
    over_corrections,
    paired_panels,
)
from eval.estimates.changes import Change, Compared, Paired, change_in
from eval.estimates.estimate import Drawing, Measure, OverDatasets, drawing_of
from eval.report.text import percent
from eval.results import CardFigure, Evaluation
from eval.scorecard.arms import BASE, CardArm
from eval.scorecard.cost import Cost
from evenhand.errors import DataError
from evenhand.run_directory import read_json
from studies.dialdefer.templates import NO_FIRST

FEW_ITEMS = 20
FITTED = CALIBRATED, ORACLE = "calibrated", "oracle"  # arms that thresholds on the base's run make
ORACLE_NAME = "oracle (fitted on the test items)"
MAIN = "mean_abs_dds_own"
FOLDED: OverDatasets = "mean of absolute values"
FIGURES = {
    MAIN: "own-C1 |DDS|",
    "deference": "deference d",
    "position": "position p",
    "acc": "accuracy",
    "acc_c2": "accuracy under C2",
    "mean_square_dds_own": "own-C1 DDS², unbiased, pp²",
    "dds_own": "own-C1 DDS",
    "mean_abs_dds_fixed": "fixed-C1 |DDS|",
    "dds_fixed": "fixed-C1 DDS",
    "mean_abs_deference": "|d|",
    "soft_mean_abs_dds_own": "own-C1 soft |DDS|",
    "shift": "shift, own SD",
    "shift_in_base_sd": "shift, base's SD",
    "accept_c1": "accepted in C1",
    "accept_c2": "accepted in C2",
    "aio_abs_dds_own": "r/AIO |DDS|",
    "aio_acc_c2": "r/AIO accuracy C2",
}
MAIN_FIGURES = list(FIGURES)[:5]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmPanels:
    """A row's untreated prompts in one prompt variant, and what the base's figures are over there."""

    own: Mapping[str, Panel]  # dataset → panel; lacks what has no C1
    fixed: Mapping[str, Panel]  # the same with the base's C1
    orders: Mapping[str, Panel]  # the same prompts in both answer orders, where they were asked
    unlikely: Sequence[str]  # datasets on which a seed of the arm hardly gives an answer
    average: str  # "bench_avg", another average's name, or the only dataset's
    datasets: Sequence[str]  # those of the average
    aio: str | None  # "aio", else "aio-context", else None; beside the average, as another kind of conversation

    @property
    def averaged(self) -> list[str]:
        """The average's datasets on which the arm is likely to answer; all of them where there is none."""
        return [d for d in self.datasets if d not in self.unlikely] or list(self.datasets)


@dataclass(frozen=True, kw_only=True, eq=False)
class CardJudge:
    """A row of the card: its panels in the variant that was asked for, then in the others that all rows were asked."""

    kind: str
    name: str
    variants: Mapping[str, ArmPanels]

    @property
    def main(self) -> ArmPanels:
        """Of the variant that was asked for."""
        return next(iter(self.variants.values()))


class CardEvaluation(Evaluation):
    """DialDefer's part of a scorecard."""

    lowest = MAIN
    kept = ("acc", "acc_c2")

    def made_arms(self, base: CardArm, options: argparse.Namespace) -> list[CardArm]:
        """The base's run with thresholds of its own for C1 and C2, as arms that cost no training; and the oracle.

        Raises DataError when a file is no thresholds.json, or was made for another run: that no item was fitted on and
        is scored, `evenhand calibrate` has checked for the test run that it was given, and for no other.
        """
        arms = []
        for name, file in calibrated_names(options.calibrated).items():
            content = read_json(file)
            if content.get("test_run") != base.path.name:
                raise DataError(
                    f"{file}: its thresholds were checked against run {content.get('test_run')}, not {base.path.name}; "
                    f"make them for this one with `evenhand calibrate TRAIN_RUN {base.path}`"
                )
            first = calibrations_in(content, file)[0]
            note = (
                f"thresholds {first.c1.threshold_nats:+.3f} nats for C1 and {first.c2.threshold_nats:+.3f} for C2, "
                f"fitted by {first.objective} on {first.n_items} items of {content.get('train_run')}"
            )
            arms.append(replace(base, name=name, arm=name, kind=CALIBRATED, cost=Cost(), note=note))
        if options.oracle:
            note = "thresholds fitted by dds on the items that are scored: no baseline, and in no ranking"
            arms.append(replace(base, name=ORACLE_NAME, arm=ORACLE_NAME, kind=ORACLE, cost=Cost(), note=note))
        return arms

    def card_judges(
        self, arms: Sequence[CardArm], judges: Mapping[str, JudgedRun], options: argparse.Namespace
    ) -> dict[str, CardJudge]:
        """Every row with its panels, the base first.

        Raises DataError for a variant that the base was not asked, an arm without a run or thresholds, or other items.
        """
        base = judges[BASE]
        others = list(filter(None, dict.fromkeys(variant_of(panel, base.panels) for panel in base.panels)))
        if not panels_in(base, base.panels, options.variant)[OWN]:
            worded = f"prompt variant '{options.variant}'" if options.variant else "its main prompt variant"
            worded += f"; its variants: {', '.join(others)}" if others else ""
            raise DataError(f"{base.name}: no dataset has both C1 and C2 without a prompt mitigation in {worded}")
        panels = {
            arm.name: thresholds_of(arm, base, options.calibrated) if arm.kind in FITTED else judges[arm.name].panels
            for arm in arms
            if arm.kind in FITTED or arm.name in judges
        }
        if lacking := [arm.name for arm in arms if arm.name not in panels]:
            raise DataError(f"{lacking[0]}: has no run of DialDefer; name one for every arm, or leave the arm out")
        asked = {
            name: [set(panels_in(base, run.panels, name)[OWN]) for run in (base, *judges.values())] for name in others
        }
        shared = [name for name, (of_base, *rest) in asked.items() if of_base and all(of_base <= of for of in rest)]
        variants = [options.variant] if options.variant else ["", *shared]
        by_variant = {variant: arms_in(variant, arms, panels, base) for variant in variants}
        if missing := [arm.name for arm in arms if arm.name not in by_variant[variants[0]]]:
            raise DataError(f"{missing[0]}: has no thresholds for prompt variant '{variants[0]}'; ask TRAIN_RUN it too")
        rows = {arm.name: {v: rows[arm.name] for v, rows in by_variant.items() if arm.name in rows} for arm in arms}
        return {arm.name: CardJudge(kind=arm.kind, name=arm.name, variants=rows[arm.name]) for arm in arms}

    def figures(self, judges: Mapping[str, CardJudge]) -> list[CardFigure]:
        """The figures of a card: of the main variant over the average; |DDS| and accuracy in other variants."""
        variant, *others = judges[BASE].variants
        main = judges[BASE].main
        figures = [
            CardFigure(
                name=measure,
                words=words,
                where={
                    "measure": measure,
                    "variant": variant,
                    "dataset": main.aio if measure.startswith("aio_") else main.average,
                },
                is_main=measure in MAIN_FIGURES,
                is_absolute="abs" in measure,
                digits=2 if measure.startswith("shift") else 1,
            )
            for measure, words in FIGURES.items()
        ]
        for other, measure in product(others, (MAIN, "acc")):
            where = {"measure": measure, "variant": other, "dataset": judges[BASE].variants[other].average}
            name, words = f"{measure}, {other}", f"{FIGURES[measure]}, asked {other}"
            is_absolute = measure == MAIN
            figures.append(CardFigure(name=name, words=words, where=where, is_main=False, is_absolute=is_absolute))
        return figures

    def card_changes(self, judges: Mapping[str, CardJudge], options: argparse.Namespace) -> list[Change]:
        """Every figure from the first row to the second, over those of the average's datasets that both have; DDS of
        single datasets; r/AIO's under their own names. Of other prompt variants |DDS| and accuracy alone."""
        first, second = judges.values()
        changes: list[Change] = []
        for i, (variant, ours) in enumerate(first.variants.items()):
            if theirs := second.variants.get(variant):
                setting = {"denominator": options.denominator, "variant": variant}
                compared = Compared(first.name, second.name, setting)
                of_variant = list(changes_in_variant(ours, theirs, compared, drawing_of(options), i == 0, first.kind))
                if i == 0 and not any(change.measure == "acc_c2" for change in of_variant):
                    over = ", ".join(ours.datasets)
                    raise DataError(f"{second.name}: was asked none of {over}, which the base's average is over")
                changes += of_variant
        if ORACLE in (first.kind, second.kind):  # fitted on these items: nothing is tested
            return [replace(change, p=None, p_holm=None) for change in changes]
        return changes

    def card_notes(self, judges: Mapping[str, Any], options: argparse.Namespace) -> list[str]:
        """See Evaluation."""
        base: ArmPanels = judges[BASE].main
        left_out = [name for name in base.own if name not in (*base.datasets, base.aio)]
        over = f"Over {base.datasets[0]}." if len(base.datasets) == 1 else average_sentence(base.average, base.datasets)
        notes = [f"{over} Denominator {options.denominator}."]
        notes += [f"In none of these figures: {', '.join(left_out)}."] if left_out else []
        is_asked_once = not any(panel.orders for panel in base.orders.values())
        once = "Asked in one answer order: DDS does not tell deference from a pull of the first number."
        return [*notes, *([once] if is_asked_once else [])]

    def card_warnings(self, judges: Mapping[str, Any], changes: Sequence[Change]) -> list[str]:
        """Rows that nearly always give one answer on some dataset, few items, lost replies, over-corrections."""
        warnings = []
        for name, judge in judges.items():
            panels = judge.main.own or judge.main.fixed
            rates = {dataset: accept_rates(replies_of(judge.main, dataset)) for dataset in panels}
            if saturated := [dataset for dataset, pair in rates.items() if is_saturated(pair)]:
                warnings.append(f"{name}: nearly always gives one answer on {', '.join(saturated)}, so DDS says little")
            n_lost = sum(int((panel.replies == ERROR).sum()) for panel in panels.values())
            warnings += [f"{name}: the engine failed on {n_lost:,} replies; their items are left out"] if n_lost else []
        few = {d: len(p.item_ids) for d, p in judges[BASE].main.own.items() if len(p.item_ids) < FEW_ITEMS}
        warnings += [f"few items: {', '.join(f'{d} has {n}' for d, n in few.items())}"] if few else []
        for name, datasets in over_corrections([change for change in changes if change.first == BASE]).items():
            warnings.append(f"{name}: over-corrected on {', '.join(dict.fromkeys(datasets))} (DDS turned negative)")
        return warnings

    def unfit(self, judge: CardJudge, options: argparse.Namespace) -> str:
        """Why none of an arm's figures can be ranked; "" for one that can."""
        arm = judge.main
        if judge.kind == ORACLE:
            return "knows the answers that it is scored on"
        asked = arm.own or arm.fixed
        if lacking := [dataset for dataset in arm.datasets if dataset not in asked]:
            return f"was not asked {', '.join(lacking)}"
        if unlikely := [dataset for dataset in arm.unlikely if dataset in arm.datasets]:
            return f"hardly gives an answer on {', '.join(unlikely)}"
        answered = [replies_of(arm, dataset) for dataset in arm.averaged if dataset in asked]
        n_replies = sum(int((replies > ERROR).sum()) for replies in answered)
        rate = sum(int((replies == UNREADABLE).sum()) for replies in answered) / n_replies
        if rate >= MANY_UNREADABLE:
            return f"{percent(rate)} of its replies cannot be read"
        rates = [mean_or_none(of_framing) for of_framing in zip(*map(accept_rates, answered), strict=True)]
        return "saturated" if is_saturated(rates) else ""


def replies_of(arm: ArmPanels, dataset: str) -> IntArray:
    """What was replied on a dataset, without lost items; of an arm without C1 of its own the dialogues alone."""
    panel = without_errors((arm.own or arm.fixed)[dataset])[0]
    replies = panel.replies.copy()
    if not arm.own:
        replies[:, C1] = ABSENT
    return replies


def scope_of(panels: Mapping[str, Panel]) -> dict[str, Any]:
    """What a base's figures are over: Bench Avg and r/AIO; where none of the nine was asked another average, else the
    first dataset. r/AIO is never in it, unless nothing else was asked."""
    averages = averages_over((panel.benchmark, name) for name, panel in panels.items())
    first = next((name for name in panels if not name.startswith(AIO)), next(iter(panels)))
    without_aio = ((name, over) for name, over in averages.items() if not any(d.startswith(AIO) for d in over))
    name, over = next(without_aio, (first, [first]))
    aio = min((name for name in panels if name.startswith(AIO)), default=None)
    return {"average": name if len(over) > 1 else over[0], "datasets": tuple(over), "aio": aio}


def panels_in(base: JudgedRun, panels: Sequence[Panel], variant: str) -> dict[str, dict[str, Panel]]:
    """Source of C1 → dataset → panel of a judge, for what it and the base were asked without a prompt mitigation."""
    group = ("none", MAIN_ROLES, variant)
    return {
        source: {panel.dataset: panel for _, panel in paired_panels(base.panels, panels, source).get(group, [])}
        for source in (OWN, FIXED)
    }


def arms_in(
    variant: str, arms: Sequence[CardArm], of_rows: Mapping[str, Sequence[Panel]], base: JudgedRun
) -> dict[str, ArmPanels]:
    """Row → its panels in a prompt variant; lacks thresholds that were not fitted there."""
    # A variant that is asked in one order or in both has its own panels for both.
    is_ordered = variant.endswith((BOTH_ORDERS, NO_FIRST))
    in_both = variant if is_ordered else ", ".join(filter(None, [variant, BOTH_ORDERS]))
    rows: dict[str, dict[str, Any]] = {}
    unlikely: dict[str, list[str]] = {arm.arm: [] for arm in arms}  # the same for all seeds of an arm
    for arm in arms:
        try:
            panels = panels_in(base, of_rows[arm.name], variant)
            orders = panels_in(base, of_rows[arm.name], in_both)[OWN]
        except DataError as error:
            raise DataError(f"{arm.name} against {base.name}: {error}") from None
        if panels[FIXED]:
            rows[arm.name] = {**panels, "orders": orders}
            every = [panel for of_kind in rows[arm.name].values() for panel in of_kind.values()]
            unlikely[arm.arm] += [panel.dataset for panel in every if panel.unlikely]
        elif arm.kind not in FITTED:
            raise DataError(f"{arm.name} and {base.name} have no dataset in common; nothing can be compared")
    of_base = rows[BASE][OWN]
    scope = scope_of({d: panel for d, panel in of_base.items() if d not in unlikely[BASE]} or of_base)
    arm_of = {arm.name: list(dict.fromkeys(unlikely[arm.arm])) for arm in arms}
    return {name: ArmPanels(**of_row, **scope, unlikely=arm_of[name]) for name, of_row in rows.items()}


def changes_in_variant(
    ours: ArmPanels, theirs: ArmPanels, compared: Compared, drawing: Drawing, is_main: bool, kind: str
) -> Iterator[Change]:
    """The changes in one prompt variant. kind: of the first row."""
    denominator = str(compared.setting["denominator"])
    over = [d for d in ours.datasets if d in ours.averaged and d in theirs.averaged] or list(ours.datasets)
    names = dict.fromkeys([*ours.datasets, *([ours.aio] if ours.aio else [])])
    shared = {  # source of C1 → dataset → both sides; C2 is the same with both sources
        source: {name: (before[name], after[name]) for name in names if name in before and name in after}
        for source, before, after in ((FIXED, ours.fixed, theirs.fixed), (OWN, ours.own, theirs.own))
    }

    def mean(
        measures: Sequence[Measure], pairs: Mapping[str, Paired], datasets: Sequence[str], name: str
    ) -> Iterator[Change]:
        """Measures over those of some datasets that both rows have."""
        if parts := [pairs[dataset] for dataset in datasets if dataset in pairs]:
            yield from (change_in(measure, parts, compared, name) for measure in measures)

    for source, panels in shared.items():
        pairs = {name: pair_of(*both, denominator, drawing) for name, both in panels.items()}
        main = deference(f"mean_abs_dds_{source}", FOLDED)
        if not is_main:
            yield from mean([ACC, main] if source == OWN else [], pairs, over, ours.average)
            continue
        # Accuracy over both framings is about a checkpoint's own C1 alone.
        is_last = source == OWN or not any(d in shared[OWN] for d in over)
        levels = ([ACC] if source == OWN else []) + ([ACC_C2] if is_last else [])
        squared = replace(deference(f"mean_square_dds_{source}", "mean of squares"), unit="pp²")
        cancelling = deference(f"abs_mean_dds_{source}", "absolute value of the mean")
        dds = deference(f"dds_{source}")
        yield from mean([*levels, main, squared, cancelling, dds], pairs, over, ours.average)
        if ours.aio:
            of_aio = [deference(f"aio_abs_dds_{source}", FOLDED), deference(f"aio_dds_{source}")]
            is_last = source == OWN or ours.aio not in shared[OWN]
            of_aio += [replace(ACC_C2, name="aio_acc_c2")] if is_last else []
            yield from mean(of_aio, pairs, [ours.aio], ours.aio)
        for name, pair in pairs.items():
            yield change_in(dds, [pair], compared, name)
        averaged = {name: panels[name] for name in over if name in panels}
        if source == OWN and averaged:
            alike = change_in(ACC_C2, [pairs[name] for name in averaged], compared, ours.average)
            yield from acceptance(alike, list(averaged.values()))
            for measures, further in further_pairs(ours, theirs, averaged, denominator, drawing, kind):
                if all(further.values()):
                    known = {name: pair for name, pair in further.items() if pair}
                    yield from mean(measures, known, list(averaged), ours.average)


def further_pairs(
    ours: ArmPanels,
    theirs: ArmPanels,
    panels: Mapping[str, tuple[Panel, Panel]],
    denominator: str,
    drawing: Drawing,
    kind: str,
) -> Iterator[tuple[list[Measure], dict[str, Paired | None]]]:
    """Measures of margins and of both answer orders, with their pairs; None where one is not to be had."""
    soft = {name: soft_pair_of(*both, drawing) for name, both in panels.items()}
    yield [deference("soft_mean_abs_dds_own", FOLDED), deference("soft_dds_own")], soft
    is_based = kind == BASE  # a shift is in the base's standard deviations
    shifts = {name: shift_pair_of(*both, drawing) if is_based else None for name, both in panels.items()}
    yield [SHIFT, BASE_SHIFT], shifts
    asked = {name: (ours.orders.get(name), theirs.orders.get(name)) for name in panels}
    orders = {name: order_pair_of(a, b, denominator, drawing) if a and b else None for name, (a, b) in asked.items()}
    yield [DEFERENCE, replace(DEFERENCE, name="mean_abs_deference", over_datasets=FOLDED), POSITION], orders


def thresholds_of(arm: CardArm, base: JudgedRun, files: Sequence[Path]) -> list[Panel]:
    """The base's panels as the thresholds of an arm judge them."""
    untreated = untreated_panels(judge_of_run(base))
    if arm.kind == ORACLE:
        calibrations = [fit(base.judge, panels, BY_DDS, name) for name, panels in untreated.items()]
    else:
        file = calibrated_names(files)[arm.name]
        calibrations = calibrations_in(read_json(file), file)
    panels = calibrated_panels(untreated, calibrations)
    return [replace(panel, factors=replace(panel.factors, arm="none")) for panel in panels]


def calibrations_in(content: Mapping[str, Any], file: Path) -> list[Calibration]:
    """The thresholds of a file's content. Raises DataError when a field is missing or there are others."""
    try:
        return [
            Calibration(
                **{**fields, "datasets": tuple(fields["datasets"])}
                | {key: Threshold(**fields[key]) for key in ("c1", "c2")}
            )
            for fields in content["calibrations"]
        ]
    except (KeyError, TypeError) as error:
        raise DataError(f"{file}: is no thresholds.json of `evenhand calibrate` ({error}); make it anew") from None


def calibrated_names(files: Sequence[Path]) -> dict[str, Path]:
    """Name of each calibrated arm → its file: "calibrated", and how it was fitted where there are several.

    Raises DataError when two would have one name.
    """
    names = (
        ["calibrated"] if len(files) == 1 else [f"calibrated ({read_json(file).get('objective')})" for file in files]
    )
    by_name = dict(zip(names, files, strict=True))
    if len(by_name) < len(files):
        raise DataError(f"--calibrated: two of {', '.join(map(str, files))} have the same objective; name one of them")
    return by_name

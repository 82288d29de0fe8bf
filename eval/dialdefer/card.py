"""The rows of DialDefer's scorecard: judges' untreated prompts with both sources of C1, and the changes between two.

|DDS| of several datasets is summed up in three ways: mean_abs_dds, the mean over datasets of |DDS| (recommended: 0 only
where every dataset's DDS is); mean_square_dds, the mean of DDS² minus its variance, in pp², which noise does not raise;
abs_mean_dds, |mean of DDS|, in which signs cancel, as `Bench Avg` has it.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.dialdefer.calibrate import DDS as BY_DDS
from eval.dialdefer.calibrate import Calibration, Threshold, calibrated_panels, fit
from eval.dialdefer.calibrate import untreated_panels as panels_by_variant
from eval.dialdefer.compare import acceptance, paired_panels
from eval.dialdefer.measures import ERROR, MANY_UNREADABLE, UNREADABLE, accept_rates, is_saturated, mean_or_none
from eval.dialdefer.observe import (
    ACC,
    ACC_C2,
    BASE_SHIFT,
    DEFERENCE,
    POSITION,
    SHIFT,
    deference,
    order_pair_of,
    pair_of,
    shift_pair_of,
    soft_pair_of,
)
from eval.dialdefer.panels import BOTH_ORDERS, MAIN_ROLES, Panel, variant_of, without_errors
from eval.dialdefer.runs import JudgedRun, judge_of_run
from eval.dialdefer.scores import AIO, BENCH_AVG, FIXED, OWN, averages_over
from eval.estimates.changes import Change, Compared, Paired, change_in
from eval.estimates.estimate import Drawing, Measure, OverDatasets
from eval.report.text import percent
from eval.results import CardFigure
from eval.scorecard.arms import BASE, CardArm
from eval.scorecard.cost import Cost
from evenhand.errors import DataError
from evenhand.run_directory import read_json
from studies.dialdefer.templates import NO_FIRST

CALIBRATED, ORACLE = "calibrated", "oracle"  # arms that thresholds on the base's run make
ORACLE_NAME = "oracle (fitted on the test items)"
MAIN = "mean_abs_dds_own"
REWORDED = {MAIN: "own-C1 |DDS|", "acc": "accuracy"}  # figures that other prompt variants have too
FOLDED: OverDatasets = "mean of absolute values"
FIGURES = {  # measure → (words, is_main, digits)
    MAIN: ("own-C1 |DDS|", True, 1),
    "deference": ("deference d", True, 1),
    "position": ("position p", True, 1),
    "acc": ("accuracy", True, 1),
    "acc_c2": ("accuracy under C2", True, 1),
    "mean_square_dds_own": ("own-C1 DDS², unbiased, pp²", False, 1),
    "dds_own": ("own-C1 DDS", False, 1),
    "mean_abs_dds_fixed": ("fixed-C1 |DDS|", False, 1),
    "dds_fixed": ("fixed-C1 DDS", False, 1),
    "mean_abs_deference": ("|d|", False, 1),
    "soft_mean_abs_dds_own": ("own-C1 soft |DDS|", False, 1),
    "shift": ("shift, own SD", False, 2),
    "shift_in_base_sd": ("shift, base's SD", False, 2),
    "accept_c1": ("accepted in C1", False, 1),
    "accept_c2": ("accepted in C2", False, 1),
    "aio_abs_dds_own": ("r/AIO |DDS|", False, 1),
    "aio_acc_c2": ("r/AIO accuracy C2", False, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a scorecard's figures are over."""

    average: str  # "bench_avg", another average's name, or the only dataset's
    datasets: tuple[str, ...]  # those of the average
    aio: str | None  # "aio", else "aio-context", else None; beside the average, as another kind of conversation

    @property
    def names(self) -> tuple[str, ...]:
        """Every dataset, r/AIO last."""
        return self.datasets if self.aio in (None, *self.datasets) else (*self.datasets, self.aio or "")


def scope_of(panels: Mapping[str, Panel]) -> Scope:
    """What a base's panels give: Bench Avg and r/AIO; where none of the nine was asked another average, else the first
    dataset. r/AIO is never in it, unless nothing else was asked."""
    aio = min((name for name in panels if name.startswith(AIO)), default=None)
    averages = averages_over((panel.benchmark, name) for name, panel in panels.items())
    bench = {name: over for name, over in averages.items() if not any(d.startswith(AIO) for d in over)}
    if not bench:
        first = next((name for name in panels if not name.startswith(AIO)), next(iter(panels)))
        return Scope(average=first, datasets=(first,), aio=aio)
    name = BENCH_AVG if BENCH_AVG in bench else next(iter(bench))
    return Scope(average=name if len(bench[name]) > 1 else bench[name][0], datasets=tuple(bench[name]), aio=aio)


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmPanels:
    """A row's untreated prompts in one prompt variant."""

    own: Mapping[str, Panel]  # dataset → panel; lacks what has no C1
    fixed: Mapping[str, Panel]  # the same with the base's C1
    orders: Mapping[str, Panel]  # the same prompts in both answer orders, where they were asked
    scope: Scope  # of the base's
    unlikely: tuple[str, ...] = ()  # datasets on which a seed of the arm hardly gives an answer

    @property
    def averaged(self) -> list[str]:
        """The scope's datasets on which the arm is likely to answer; all of them where there is none."""
        return [d for d in self.scope.datasets if d not in self.unlikely] or list(self.scope.datasets)


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


def panels_in(base: JudgedRun, panels: Sequence[Panel], variant: str) -> dict[str, dict[str, Panel]]:
    """Source of C1 → dataset → panel of a judge, for what it and the base were asked without a prompt mitigation."""
    group = ("none", MAIN_ROLES, variant)
    return {
        source: {panel.dataset: panel for _, panel in paired_panels(base.panels, panels, source).get(group, [])}
        for source in (OWN, FIXED)
    }


def in_both_orders(variant: str) -> str:
    """The variant that has a variant's prompts in both answer orders; itself where it is that already."""
    return variant if variant.endswith((BOTH_ORDERS, NO_FIRST)) else ", ".join(filter(None, [variant, BOTH_ORDERS]))


def other_variants(base: JudgedRun, others: Sequence[JudgedRun]) -> list[str]:
    """The prompt variants beside the main one that all were asked in both framings, on each of the base's datasets."""
    names = filter(None, dict.fromkeys(variant_of(panel, base.panels) for panel in base.panels))
    asked = {name: set(panels_in(base, base.panels, name)[OWN]) for name in names}
    return [
        name
        for name, datasets in asked.items()
        if datasets and all(datasets <= set(panels_in(base, run.panels, name)[OWN]) for run in others)
    ]


def card_judges(
    arms: Sequence[CardArm], runs: Mapping[str, JudgedRun], options: argparse.Namespace
) -> dict[str, CardJudge]:
    """Every row with its panels, the base first.

    Raises DataError for a variant that the base was not asked, an arm without a run or thresholds, or other items.
    """
    base = runs[BASE]
    if not panels_in(base, base.panels, options.variant)[OWN]:
        worded = f"prompt variant '{options.variant}'" if options.variant else "its main prompt variant"
        others = list(dict.fromkeys(name for panel in base.panels if (name := variant_of(panel, base.panels))))
        known = f"; its variants: {', '.join(others)}" if others else ""
        raise DataError(f"{base.name}: no dataset has both C1 and C2 without a prompt mitigation in {worded}{known}")
    thresholds = {
        arm.name: thresholds_of(arm, base, options.calibrated) for arm in arms if arm.kind in (CALIBRATED, ORACLE)
    }
    if lacking := [arm.name for arm in arms if arm.name not in runs and arm.name not in thresholds]:
        raise DataError(f"{lacking[0]}: has no run of DialDefer; name one for every arm, or leave the arm out")
    of_rows = {arm.name: thresholds.get(arm.name) or runs[arm.name].panels for arm in arms}
    variants = [options.variant] if options.variant else ["", *other_variants(base, list(runs.values()))]
    by_variant = {variant: arms_in(variant, arms, of_rows, base) for variant in variants}
    if missing := [arm.name for arm in arms if arm.name not in by_variant[variants[0]]]:
        raise DataError(f"{missing[0]}: has no thresholds for prompt variant '{variants[0]}'; ask TRAIN_RUN it too")
    return {
        arm.name: CardJudge(
            kind=arm.kind,
            name=arm.name,
            variants={v: rows[arm.name] for v, rows in by_variant.items() if arm.name in rows},
        )
        for arm in arms
    }


def arms_in(
    variant: str, arms: Sequence[CardArm], of_rows: Mapping[str, Sequence[Panel]], base: JudgedRun
) -> dict[str, ArmPanels]:
    """Row → its panels in a prompt variant; lacks thresholds that were not fitted there."""
    rows: dict[str, dict[str, Mapping[str, Panel]]] = {}
    for arm in arms:
        try:
            panels = panels_in(base, of_rows[arm.name], variant)
            orders = panels_in(base, of_rows[arm.name], in_both_orders(variant))[OWN]
        except DataError as error:
            raise DataError(f"{arm.name} against {base.name}: {error}") from None
        if not panels[FIXED] and arm.kind not in (CALIBRATED, ORACLE):
            raise DataError(f"{arm.name} and {base.name} have no dataset in common; nothing can be compared")
        if panels[FIXED]:
            rows[arm.name] = {"own": panels[OWN], "fixed": panels[FIXED], "orders": orders}
    unlikely: dict[str, dict[str, None]] = {}  # the same for all seeds of an arm
    for arm in arms:
        every = [panel for of_kind in rows.get(arm.name, {}).values() for panel in of_kind.values()]
        unlikely.setdefault(arm.arm, {}).update({panel.dataset: None for panel in every if panel.unlikely})
    of_base = rows[BASE]["own"]
    scope = scope_of({d: panel for d, panel in of_base.items() if d not in unlikely[BASE]} or of_base)
    arm_of = {arm.name: arm.arm for arm in arms}
    return {
        name: ArmPanels(**of_row, scope=scope, unlikely=tuple(unlikely[arm_of[name]])) for name, of_row in rows.items()
    }


def card_changes(first: CardJudge, second: CardJudge, denominator: str, drawing: Drawing) -> list[Change]:
    """Every figure from the first row to the second, over those of the scope's datasets that both have; DDS of single
    datasets; r/AIO's under their own names. Of other prompt variants |DDS| and accuracy alone."""
    changes: list[Change] = []
    for i, (variant, ours) in enumerate(first.variants.items()):
        if theirs := second.variants.get(variant):
            compared = Compared(first.name, second.name, {"denominator": denominator, "variant": variant})
            is_based = first.kind == BASE
            of_variant = list(changes_in_variant(ours, theirs, compared, drawing, is_main=i == 0, is_based=is_based))
            if i == 0 and not any(change.measure == "acc_c2" for change in of_variant):
                over = ", ".join(ours.scope.datasets)
                raise DataError(f"{second.name}: was asked none of {over}, which the base's average is over")
            changes += of_variant
    if ORACLE in (first.kind, second.kind):  # fitted on these items: nothing is tested
        return [replace(change, p=None, p_holm=None) for change in changes]
    return changes


def changes_in_variant(
    ours: ArmPanels, theirs: ArmPanels, compared: Compared, drawing: Drawing, *, is_main: bool, is_based: bool
) -> Iterator[Change]:
    """The changes in one prompt variant."""
    scope, denominator = ours.scope, str(compared.setting["denominator"])
    over = [d for d in scope.datasets if d in ours.averaged and d in theirs.averaged]
    over = over or list(scope.datasets)

    def mean(
        measures: Sequence[Measure], pairs: Mapping[str, Paired], datasets: Sequence[str], name: str
    ) -> Iterator[Change]:
        """Measures over those of some datasets that both rows have."""
        if parts := [pairs[dataset] for dataset in datasets if dataset in pairs]:
            for measure in measures:
                yield change_in(measure, parts, compared, name)

    sides = {FIXED: (ours.fixed, theirs.fixed), OWN: (ours.own, theirs.own)}
    for source, (before, after) in sides.items():
        panels = {name: (before[name], after[name]) for name in scope.names if name in before and name in after}
        pairs = {name: pair_of(*both, denominator, drawing) for name, both in panels.items()}
        main = deference(f"mean_abs_dds_{source}", FOLDED)
        if not is_main:
            yield from mean([ACC, main] if source == OWN else [], pairs, over, scope.average)
            continue
        # C2 is the same with both sources of C1; accuracy over both framings is about a checkpoint's own C1 alone.
        squared = replace(deference(f"mean_square_dds_{source}", "mean of squares"), unit="pp²")
        cancelling = deference(f"abs_mean_dds_{source}", "absolute value of the mean")
        levels = (
            [ACC, ACC_C2] if source == OWN else [] if any(d in ours.own and d in theirs.own for d in over) else [ACC_C2]
        )
        dds = [main, squared, cancelling, deference(f"dds_{source}")]
        levelled = list(mean([*levels, *dds], pairs, over, scope.average))
        yield from levelled
        if scope.aio:
            of_aio = [deference(f"aio_abs_dds_{source}", FOLDED), deference(f"aio_dds_{source}")]
            has_own = scope.aio in ours.own and scope.aio in theirs.own
            of_aio += [replace(ACC_C2, name="aio_acc_c2")] if source == OWN or not has_own else []
            yield from mean(of_aio, pairs, [scope.aio], scope.aio)
        for name, pair in pairs.items():
            yield change_in(deference(f"dds_{source}"), [pair], compared, name)
        alike = next((change for change in levelled if change.measure == "acc_c2"), None)
        if source == OWN and alike and (shared := {name: panels[name] for name in over if name in panels}):
            yield from acceptance(alike, list(shared.values()))
            soft = {name: soft_pair_of(*both, drawing) for name, both in shared.items()}
            of_soft = [deference("soft_mean_abs_dds_own", FOLDED), deference("soft_dds_own")]
            shifts = {name: shift_pair_of(*both, drawing) if is_based else None for name, both in shared.items()}
            asked = {name: (ours.orders.get(name), theirs.orders.get(name)) for name in shared}
            orders = {
                name: order_pair_of(one, other, denominator, drawing) if one and other else None
                for name, (one, other) in asked.items()
            }
            of_orders = [DEFERENCE, replace(DEFERENCE, name="mean_abs_deference", over_datasets=FOLDED), POSITION]
            for measures, found in ((of_soft, soft), ([SHIFT, BASE_SHIFT], shifts), (of_orders, orders)):
                known = {name: pair for name, pair in found.items() if pair is not None}
                if len(known) == len(shared):
                    yield from mean(measures, known, list(shared), scope.average)


def figures_of(judges: Mapping[str, CardJudge]) -> list[CardFigure]:
    """The figures of a card: of the main variant over the scope's average; |DDS| and accuracy in other variants."""
    variant, *others = judges[BASE].variants
    scope = judges[BASE].main.scope
    figures = [
        CardFigure(
            name=measure,
            words=words,
            where={
                "measure": measure,
                "variant": variant,
                "dataset": scope.aio if measure.startswith("aio_") else scope.average,
            },
            is_main=is_main,
            is_absolute="abs" in measure,
            digits=digits,
        )
        for measure, (words, is_main, digits) in FIGURES.items()
    ]
    for other in others:
        average = judges[BASE].variants[other].scope.average
        figures += [
            CardFigure(
                name=f"{measure}, {other}",
                words=f"{words}, asked {other}",
                where={"measure": measure, "variant": other, "dataset": average},
                is_main=False,
                is_absolute="abs" in measure,
            )
            for measure, words in REWORDED.items()
        ]
    return figures


def unfit(judge: CardJudge) -> str:
    """Why none of an arm's figures can be ranked; "" for one that can."""
    arm = judge.main
    if judge.kind == ORACLE:
        return "knows the answers that it is scored on"
    asked = arm.own or arm.fixed
    if lacking := [dataset for dataset in arm.scope.datasets if dataset not in asked]:
        return f"was not asked {', '.join(lacking)}"
    if unlikely := [dataset for dataset in arm.unlikely if dataset in arm.scope.datasets]:
        return f"hardly gives an answer on {', '.join(unlikely)}"
    if not arm.own:
        return "has no C1 of its own"
    answered = [without_errors(arm.own[dataset])[0] for dataset in arm.averaged if dataset in arm.own]
    n_replies = sum(int((panel.replies > ERROR).sum()) for panel in answered)
    rate = sum(int((panel.replies == UNREADABLE).sum()) for panel in answered) / n_replies
    if rate >= MANY_UNREADABLE:
        return f"{percent(rate)} of its replies cannot be read"
    rates = [accept_rates(panel.replies) for panel in answered]
    is_one_answer = is_saturated([mean_or_none([pair[i] for pair in rates]) for i in (0, 1)])
    return "saturated" if is_one_answer else ""


def made_arms(base: CardArm, options: argparse.Namespace) -> list[CardArm]:
    """The base's run with thresholds of its own for C1 and C2, as arms that cost no training; and the oracle.

    Raises DataError when a file is no thresholds.json, or was made for another run: that no item was fitted on and is
    scored, `evenhand calibrate` has checked for the test run that it was given, and for no other.
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
            f"thresholds {first.c1.threshold_nats:+.3f} nats for C1 and {first.c2.threshold_nats:+.3f} for C2, fitted "
            f"by {first.objective} on {first.n_items} items of {content.get('train_run')}"
        )
        arms.append(replace(base, name=name, arm=name, kind=CALIBRATED, cost=Cost(), note=note))
    if options.oracle:
        note = "thresholds fitted by dds on the items that are scored: no baseline, and in no ranking"
        arms.append(replace(base, name=ORACLE_NAME, arm=ORACLE_NAME, kind=ORACLE, cost=Cost(), note=note))
    return arms


def thresholds_of(arm: CardArm, base: JudgedRun, files: Sequence[Path]) -> list[Panel]:
    """The base's panels as the thresholds of an arm judge them."""
    untreated = panels_by_variant(judge_of_run(base))
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

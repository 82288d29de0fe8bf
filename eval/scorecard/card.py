"""One study's part of a scorecard: for each of its figures the base, and each arm over its seeds with its change."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, adjusted
from eval.estimates.comparability import Difference, refuse_serious
from eval.estimates.estimate import Estimate, by_chance
from eval.estimates.seeds import change_over_seeds, lead_over_seeds, with_number
from eval.report.tables import TableSpec
from eval.report.text import interval, number, p_value, signed, significance
from eval.results import CardFigure, Evaluation, Results
from eval.scorecard.arms import BASE, CardArm, other_checkpoint
from evenhand.errors import DataError

NOTE = (
    "Values are means over an arm's seeds. Intervals of changes are over units and, with several seeds, over seeds "
    "(Cochran and Cox's weighted t). p is adjusted over the arms that can be ranked (Holm); the others have none. "
    "higher, lower: significant after correction. of: the base's level over the same datasets, where that is not its "
    "row's. chance: what noise of the units alone gives a mean of absolute values."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledFigure:
    """One figure of the card: of each arm its change against the base over its seeds."""

    figure: CardFigure
    pooled: Mapping[str, Change]  # arm → its change over its seeds
    seeds: Mapping[str, Sequence[Change]]  # arm → those of its seeds

    @property
    def base(self) -> Estimate:
        """The base's level, over all that any arm was asked."""
        changes = [change for of_arm in self.seeds.values() for change in of_arm]
        return max(changes, key=lambda change: (len(change.datasets), change.change.n_units)).before

    def chance(self, levels: Sequence[Estimate]) -> float | None:
        """The mean of what noise of the units alone gives some levels; None where it is unknown or not of absolutes."""
        known = [chance for level in levels if (chance := by_chance(level)) is not None]
        return fmean(known) if self.figure.is_absolute and known else None

    def rows(self) -> list[dict[str, Any]]:
        """The base, then a row an arm."""
        named = {"figure": self.figure.words, "name": self.figure.name, "digits": self.figure.digits}
        base = {**named, "arm": BASE, "value": self.base.value, "chance": self.chance([self.base])}
        rows: list[dict[str, Any]] = [base]
        for arm, change in self.pooled.items():
            levels = [seed.after for seed in self.seeds[arm]]
            shared = None if change.before.value == self.base.value else change.before.value
            rise = change.change
            row = {"arm": arm, "seeds": len(levels), "value": change.after.value, "chance": self.chance(levels)}
            row |= {"change": rise.value, "low": rise.low, "high": rise.high, "of": shared}
            row |= {"p_holm": change.p_holm, "significance": significance(change.direction)}
            values = " ".join(number(level.value, self.figure.digits) for level in levels)
            rows.append({**named, **row, "of_seeds": values if len(levels) > 1 else ""})
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyCard:
    """What one study says of the rows of a scorecard, of which the first is the base."""

    study: str
    evaluation: Evaluation
    arms: Sequence[CardArm]
    runs: Mapping[str, Any]  # row → its loaded run of this study, where it has one
    judges: Mapping[str, Any]  # row → its judge, as the study compares it; lacks rows without one
    moves: Mapping[str, Sequence[Change]]  # row → its changes against the base
    against: Mapping[str, Mapping[str, Sequence[Change]]]  # another arm → row → changes
    unfit: Mapping[str, str]  # row → why it cannot be ranked
    of_rows: Mapping[str, Sequence[Difference]]  # row → in what its run differs from the base's
    options: argparse.Namespace

    @property
    def every_change(self) -> list[Change]:
        """All changes, against the base and then against the arms that were asked for."""
        others = [change for rows in self.against.values() for of_row in rows.values() for change in of_row]
        return [*(change for of_row in self.moves.values() for change in of_row), *others]

    @cached_property
    def figures(self) -> list[PooledFigure]:
        """The figures that an arm has, in the study's order."""
        arm_of = {arm.name: arm.arm for arm in self.arms}
        pooled_figures = []
        for figure in self.evaluation.figures(self.judges):
            seeds: dict[str, list[Change]] = {}
            for row, changes in self.moves.items():
                # The last: a sole dataset's average repeats it.
                if matching := [change for change in changes if figure.is_of(change)]:
                    seeds.setdefault(arm_of[row], []).append(matching[-1])
            if not seeds:
                continue
            unranked = [any(self.unfit.get(change.second) for change in of_arm) for of_arm in seeds.values()]
            moved = adjusted([[change_over_seeds(of_arm, arm)] for arm, of_arm in seeds.items()], unranked)
            pooled = {arm: with_number(change, len(seeds[arm])) for arm, (change,) in zip(seeds, moved, strict=True)}
            pooled_figures.append(PooledFigure(figure=figure, pooled=pooled, seeds=seeds))
        return pooled_figures

    def fields(self) -> list[dict[str, Any]]:
        """What each row of scorecard.json has of this study: figures with their intervals, and their changes."""
        rows = []
        for arm in self.arms:
            judge = self.runs.get(arm.name)
            row: dict[str, Any] = {f"{self.study}_run": getattr(judge, "name", None)}
            for pooled in self.figures:
                name = pooled.figure.name
                of_row = [c for c in self.moves.get(arm.name, []) if pooled.figure.is_of(c)]
                level = pooled.base if arm.name == BASE else of_row[-1].after if of_row else None
                row |= {f"{name}{end}": getattr(level, key, None) for end, key in ENDS.items()}
                if arm.name != BASE:
                    rise = of_row[-1] if of_row else None
                    row |= {
                        f"change_{name}{end}": getattr(rise and rise.change, key, None) for end, key in ENDS.items()
                    }
                    row |= {f"change_{name}_{p}": getattr(rise, p, None) for p in ("p", "p_holm")}
            has_rank = arm.name == BASE or row.get(self.evaluation.lowest) is not None
            why_not = self.unfit.get(arm.name) or ("" if has_rank else f"has no {self.evaluation.lowest}")
            rows.append({**row, **({"not_ranked": why_not} if self.evaluation.lowest else {})})
        return rows

    @cached_property
    def tables(self) -> list[TableSpec]:
        """For each main figure a table of the arms; one of the other figures' values; one of all for files."""
        rows = pd.DataFrame([row for pooled in self.figures for row in pooled.rows()])
        if rows.empty:
            return []
        rows = rows.reindex(columns=[*dict.fromkeys([*rows.columns, *CHANGE_FIELDS])])
        main = [pooled for pooled in self.figures if pooled.figure.is_main]
        tables = [self.figure_table(pooled, rows[rows["name"] == pooled.figure.name]) for pooled in main]
        words = [pooled.figure.words for pooled in self.figures if not pooled.figure.is_main]
        if words:
            arms = list(rows["arm"].unique())
            wide = rows.pivot(index="figure", columns="arm", values="value").reindex(words)[arms].reset_index()
            columns = {"figure": ("figure", ""), **{arm: (arm, ".2f") for arm in arms}}
            name = f"scorecard_{self.study}_values"
            tables.append(TableSpec(name=name, title="Other figures", frame=wide, columns=columns, place="console"))
        columns = {"figure": ("figure", ""), **self.columns(rows, "+.2f")}
        title = f"Scorecard of {self.study}"
        return [
            *tables,
            TableSpec(name=f"scorecard_{self.study}", title=title, frame=rows, columns=columns, note=NOTE),
        ]

    def figure_table(self, pooled: PooledFigure, rows: pd.DataFrame) -> TableSpec:
        """A figure, a line an arm."""
        name = f"scorecard_{self.study}_{pooled.figure.name.removeprefix(f'{self.study}_')}"
        columns = self.columns(rows, f"+.{pooled.figure.digits}f")
        return TableSpec(name=name, title=pooled.figure.words, frame=rows, columns=columns, place="console")

    def columns(self, rows: pd.DataFrame, form: str) -> dict[str, Any]:
        """The heads of a table of arms; without those that are empty in all of its rows."""
        columns: dict[str, Any] = {"arm": ("arm", ""), "seeds": ("seeds", ".0f"), "value": ("value", form.strip("+"))}
        columns |= {"chance": ("chance", form.strip("+")), "change": ("change", form), "of": ("of", form.strip("+"))}
        columns |= {"95% interval": (("low", "high"), form), "p (Holm)": ("p_holm", "p"), "": ("significance", "")}
        columns |= {"seeds' values": ("of_seeds", "")}
        is_known = {
            head: bool(rows[of if isinstance(of, str) else of[0]].notna().any()) for head, (of, _) in columns.items()
        }
        if not (rows["seeds"] > 1).any():
            is_known |= {"seeds": False, "seeds' values": False}
        return {head: column for head, column in columns.items() if is_known[head]}

    def plots(self) -> list[Any]:
        """The figure that arms are ranked by, and the first that must be kept, each with the arms' intervals."""
        from eval.report.plots import interval_plot

        wanted = [name for name in (self.evaluation.lowest, *self.evaluation.kept[:1]) if name]
        plots = []
        for pooled in (pooled for pooled in self.figures if pooled.figure.name in wanted):
            levels = {BASE: pooled.base, **{arm: change.after for arm, change in pooled.pooled.items()}}
            rows = [
                {"label": arm, "value": level.value, "low": level.low, "high": level.high}
                for arm, level in levels.items()
                if level.value is not None
            ]
            name = f"scorecard_{pooled.figure.name}"
            plots.append(interval_plot(name, pooled.figure.words, pd.DataFrame(rows), pooled.figure.words))
        return plots

    def sentences(self) -> list[str]:
        """Which arm is lowest at no significant loss, which arms are not ranked, and changes against other arms."""
        against = [
            f"{row} against {reference}, {figure.words}: {words_of(change.change)}, p {p_value(change.p_holm)}."
            for reference, rows in self.against.items()
            for row, changes in rows.items()
            for figure in self.evaluation.figures(self.judges)
            if figure.is_main and (change := next((c for c in changes if figure.is_of(c)), None))
        ]
        lacking = [arm.name for arm in self.arms if arm.name not in self.judges]
        blank = [f"Without a run of {self.study}, and blank: {', '.join(lacking)}."] if lacking else []
        notes = self.evaluation.card_notes(self.judges, self.options)
        return [*notes, *(self.ranking() if self.evaluation.lowest else []), *against, *blank]

    def warnings(self) -> list[str]:
        """What to know of the rows' answers, and that an arm's two runs are of different checkpoints."""
        rows = {arm.name: arm for arm in self.arms}
        others = [other_checkpoint(rows[name], judge, f"{self.study} run") for name, judge in self.runs.items()]
        results = Results(
            study=self.study,
            evaluation=self.evaluation,
            judges=self.runs,
            options=self.options,
            is_before_after=True,
            score_rows=[],
            change_rows=[],
            differences={},
        )
        base = [f"{BASE}: {reason}; changes against it tell little."] if (reason := self.unfit.get(BASE)) else []
        further = self.evaluation.card_warnings(self.judges, self.every_change)
        return [*filter(None, others), *base, *further, *self.evaluation.warnings(results)]

    def ranking(self) -> list[str]:
        """The arm with the lowest value at no significant loss, the next, and whether its lead is significant."""
        figures = {pooled.figure.name: pooled for pooled in self.figures}
        if (main := figures.get(self.evaluation.lowest)) is None:
            return []
        reasons = {arm: self.why_not(arm, figures) for arm in main.pooled}
        ranked = sorted(
            (arm for arm in main.pooled if not reasons[arm]), key=lambda a: main.pooled[a].after.value or 0.0
        )
        without = [arm.arm for arm in self.arms[1:] if arm.name in self.judges and arm.arm not in main.pooled]
        reasons |= dict.fromkeys(without, f"has no {main.figure.words}")
        left_out = "; ".join(f"{arm} ({reason})" for arm, reason in reasons.items() if reason)
        out = [f"Not ranked: {left_out}."] if left_out else []
        kept = " and ".join(figures[name].figure.words for name in self.evaluation.kept if name in figures)
        start = f"Lowest {main.figure.words} at no significant loss of {kept}:"
        if not ranked:
            return [f"{start} no arm.", *out]
        best = main.pooled[ranked[0]]
        significant = "" if best.direction == -1 else ", not significantly lower"
        said = f"{start} {ranked[0]}, {number(best.after.value)} "
        said += f"({words_of(best.change)} against the base{significant})."
        if len(ranked) > 1:
            first, second = (main.seeds[arm] for arm in ranked[:2])
            leads = [[self.lead(one.second, other.second) for other in second] for one in first]
            lead = lead_over_seeds([[change.change for change in row] for row in leads])
            is_significant = lead.low is not None and lead.low > 0
            if len(first) == len(second) == 1:
                is_significant = leads[0][0].direction == 1
            tested = f"the difference is {'' if is_significant else 'not '}significant"
            if 1 in (len(first), len(second)) and len(first) != len(second):  # one seed tells no variance
                tested = "not tested: one of the two has a single seed"
            said += f" Next: {ranked[1]}, {number(main.pooled[ranked[1]].after.value)} ({words_of(lead)} above it; "
            said += f"{tested})."
        return [said, *out]

    def lead(self, first: str, second: str) -> Change:
        """By how much the second row lies above the first in the figure that arms are ranked by."""
        figures = self.evaluation.figures(self.judges)
        figure = next(figure for figure in figures if figure.name == self.evaluation.lowest)
        judges = {first: self.judges[first], second: self.judges[second]}
        changes = self.evaluation.card_changes(judges, self.options)
        return [change for change in changes if figure.is_of(change)][-1]

    def why_not(self, arm: str, figures: Mapping[str, PooledFigure]) -> str:
        """Why an arm is not ranked; "" for one that is.

        A loss counts when the interval of the change lies below 0, without adjustment over arms: that lets losses pass.
        """
        if unfit := [
            f"{row.name} {self.unfit[row.name]}" for row in self.arms if row.arm == arm and self.unfit.get(row.name)
        ]:
            return ", ".join(unfit)
        for name in self.evaluation.kept:
            change = figures[name].pooled.get(arm) if name in figures else None
            words = figures[name].figure.words if name in figures else name
            if change is None or change.change.high is None or change.after.value is None:
                return f"its {words} is unknown"
            if change.change.high < 0:
                return f"{words} {words_of(change.change)}"
        return ""


ENDS = {"": "value", "_low": "low", "_high": "high"}
CHANGE_FIELDS = ("seeds", "chance", "change", "low", "high", "of", "p_holm", "significance", "of_seeds")


def words_of(estimate: Estimate) -> str:
    """A change with its interval."""
    return f"{signed(estimate.value)} {interval(estimate.low, estimate.high)}"


def make_card(
    study: str, evaluation: Evaluation, arms: Sequence[CardArm], runs: Mapping[str, Path], options: argparse.Namespace
) -> StudyCard:
    """The card of some rows, the base first. runs: row → its run of this study.

    Raises DataError where runs are no like for like, for an unknown --against, and where the base has no figure.
    """
    loaded = {name: evaluation.load(path, options) for name, path in runs.items()}
    base = loaded[BASE]
    evaluation.refuse(loaded)
    differences = {
        name: evaluation.differences(base, run, is_before_after=True) for name, run in loaded.items() if name != BASE
    }
    if not options.allow_differences:
        mismatched = [other_checkpoint(arm, loaded[arm.name], f"{study} run") for arm in arms if arm.name in loaded]
        named = {f"{name} ({loaded[name].name})": of_row for name, of_row in differences.items()}
        refuse_serious(base.name, named, [*filter(None, mismatched)])
    judges = evaluation.card_judges(arms, loaded, options)
    unknown = [name for name in options.against if name not in [arm.name for arm in arms[1:]]]
    if unknown:
        known = ", ".join(arm.name for arm in arms[1:])
        raise DataError(f"--against '{unknown[0]}': no arm is called so; arms here: {known}")
    unfit = {name: evaluation.unfit(judge, options) for name, judge in judges.items()}

    def moves_from(reference: str) -> dict[str, Sequence[Change]]:
        """Row → its changes against another row."""
        others = [arm.name for arm in arms if arm.name in judges and arm.name not in (BASE, reference)]
        changes = [
            evaluation.card_changes({reference: judges[reference], name: judges[name]}, options) for name in others
        ]
        return dict(zip(others, adjusted(changes, [bool(unfit.get(name)) for name in others]), strict=True))

    return StudyCard(
        study=study,
        evaluation=evaluation,
        arms=arms,
        runs=loaded,
        judges=judges,
        moves=moves_from(BASE),
        against={name: moves_from(name) for name in dict.fromkeys(options.against) if name in judges},
        unfit=unfit,
        of_rows=differences,
        options=options,
    )

"""What one study says of a base model and its arms: pooled figures, what is ranked, and what training adds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from eval.estimates.changes import SCORE_FIGURES, Change, adjusted, family
from eval.estimates.comparability import Difference, difference_lines, differing
from eval.estimates.estimate import Estimate, by_chance
from eval.estimates.seeds import change_over_seeds, over_seeds, surely
from eval.evaluation import CardFigure, Evaluation
from eval.options import Options
from eval.report.tables import (
    TABLES,
    TableSpec,
    console,
    legend,
    number,
    sentences,
    signed,
    significance,
    table_from,
    wrapped,
)
from eval.results import MOST_PRINTED, Results
from eval.scorecard.arms import BASE, CALIBRATED, FREE, PATCH, TRAINED, CardArm, other_checkpoint
from evenhand.errors import DataError

WORDS = Path(__file__).with_name("words.j2")
Changes = Mapping[str, Sequence[Change]]  # row → the changes from another one to it
Lead = tuple[CardFigure, Change]  # of one arm over another
UNKNOWN = Estimate(value=None, n_units=0)


@dataclass(frozen=True, kw_only=True)
class PooledFigure:
    """One figure of the card: of each arm its change against the base over its seeds."""

    figure: CardFigure
    rows: Mapping[str, Change]  # row, of one seed → its change
    seeds: Mapping[str, Sequence[Change]]  # arm → those of its rows
    pooled: Mapping[str, Change]  # arm → its change over its seeds

    @cached_property
    def base(self) -> Estimate:
        """The base's level, over all that any arm was asked."""
        return max(self.rows.values(), key=lambda change: (len(change.datasets), change.change.n_units)).before

    def levels(self, arm: str) -> list[Estimate]:
        """An arm's level over its seeds, then that of each; of the base its level alone."""
        seeds = [seed.after for seed in self.seeds.get(arm, ())]
        return [self.base] if arm == BASE else [self.pooled[arm].after, *seeds]

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The base, then a line an arm. chance: the mean of what noise of the units alone gives its seeds' levels.

        Of a mean of squares value, chance and the seeds' values are roots.
        """
        figure, lines, is_pooled = self.figure, [], any(len(seeds) > 1 for seeds in self.seeds.values())
        for arm in (BASE, *self.pooled):
            level, *seeds = self.levels(arm)
            chances = [chance for seed in seeds or [level] if (chance := by_chance(seed)) is not None]
            line: dict[str, Any] = {"figure": figure.words, "name": figure.name, "arm": arm}
            line |= {end: figure.shown(getattr(level, end)) for end in SCORE_FIGURES}
            is_raised = figure.is_absolute or figure.is_square
            line["chance"] = figure.shown(fmean(chances)) if is_raised and chances else None
            if change := self.pooled.get(arm):
                before = change.before.value
                ends = change.change.columns("squares" if figure.is_square else "change")
                line |= {**ends, "p_holm": change.p_holm, **({"seeds": len(seeds)} if is_pooled else {})}
                line |= {"of": None if before == self.base.value else figure.shown(before)}
                words = significance(change.direction)
                better_or_worse = {"lower": "better", "higher": "worse"} if figure.is_square else {}
                line |= {"significance": better_or_worse.get(words, words)}
                if len(seeds) > 1:
                    line["of_seeds"] = " ".join(number(figure.shown(seed.value), figure.digits) for seed in seeds)
            lines.append(line)
        return pd.DataFrame(lines)

    def table(self, first: Sequence[str] = ()) -> TableSpec:
        """A line an arm, for the console; first: arms that stand above the others. Squares have no change of theirs."""
        lines = self.lines.sort_values("arm", key=lambda arms: ~arms.isin(first), kind="stable")
        lines = lines.drop(columns=["squares"], errors="ignore")
        keys = {"name": self.figure.name, "title": self.figure.words}
        return table_from(TABLES, "scorecard", lines, digits=self.figure.digits, **keys)


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyCard:
    """What one study says of the rows of a scorecard, of which the first is the base."""

    study: str
    evaluation: Evaluation[Any]
    arms: Sequence[CardArm]
    runs: Mapping[str, Any]  # row → its loaded run of this study, where it has one
    judges: Mapping[str, Any]  # row → its judge, as the study compares it; lacks rows without one
    changes: Changes  # against the base
    unranked: Mapping[str, str]  # row → why it cannot be ranked, or ""
    differences: Mapping[str, Sequence[Difference]]  # a row's run, in words → in what it differs from the base's
    options: Options

    @property
    def every_change(self) -> list[Change]:
        """All changes, against the base and then against the arms that were asked for."""
        return [change for rows in (self.changes, *self.against.values()) for row in rows.values() for change in row]

    @cached_property
    def arm_of(self) -> dict[str, str]:
        """Row → arm."""
        return {arm.name: arm.arm for arm in self.arms}

    @cached_property
    def unranked_arms(self) -> set[str]:
        """Arms of which a row cannot be ranked."""
        return {self.arm_of[row] for row, why in self.unranked.items() if why}

    @cached_property
    def ruled_arms(self) -> set[str]:
        """Trainings under a rule, which are shown and in no ranking."""
        return {arm.arm for arm in self.arms if arm.kind == TRAINED and arm.rule}

    @cached_property
    def figures(self) -> list[PooledFigure]:
        """The figures that an arm has, in the study's order."""
        pooled_figures = []
        for figure in self.evaluation.own_card.figures(self.judges):
            rows = {row: change for row, changes in self.changes.items() if (change := figure.among(changes))}
            pooled = {change.second: change for _, change in self.contrasts([figure], {BASE: self.changes})}
            seeds = {arm: [change for row, change in rows.items() if self.arm_of[row] == arm] for arm in pooled}
            pooled_figures += [PooledFigure(figure=figure, rows=rows, seeds=seeds, pooled=pooled)] if rows else []
        return pooled_figures

    @property
    def main_figures(self) -> list[CardFigure]:
        """The figures whose changes are printed."""
        return [pooled.figure for pooled in self.figures if pooled.figure.is_main]

    @cached_property
    def of_base(self) -> dict[str, PooledFigure]:
        """The figures whose level is known of the base, by name."""
        return {pooled.figure.name: pooled for pooled in self.figures if pooled.base.value is not None}

    @cached_property
    def lowest(self) -> str:
        """The figure that arms are ranked by: the first of the study's that is known of the base; "" for none."""
        return next((name for name in self.evaluation.own_card.lowest if name in self.of_base), "")

    @cached_property
    def kept(self) -> PooledFigure | None:
        """What an arm must keep: how often it is right; where that is not known, what it accepts in the baseline."""
        card = self.evaluation.own_card
        return next((self.of_base[name] for name in (*card.kept, card.held) if name in self.of_base), None)

    @property
    def is_right_known(self) -> bool:
        """Whether what an arm must keep is how often it is right."""
        return self.kept is not None and self.kept.figure.name != self.evaluation.own_card.held

    @property
    def margin(self) -> float:
        """Points by which what must be kept may fall; where right answers are not known, by which it may change."""
        return self.options.margin if self.kept is None or self.is_right_known else self.kept.figure.margin

    def fields(self) -> list[dict[str, Any]]:
        """What each row of scorecard.json has of this study: figures with their intervals, and their changes."""
        rows = []
        for arm in self.arms:
            row: dict[str, Any] = {f"{self.study}_run": getattr(self.runs.get(arm.name), "name", None)}
            for pooled in self.figures:
                name, change = pooled.figure.name, pooled.rows.get(arm.name)
                level, rise = (change.after, change.change) if change else (UNKNOWN, UNKNOWN)
                row |= (pooled.base if arm.name == BASE else level).columns(name)
                if arm.name != BASE:
                    row |= rise.columns(f"change_{name}")
                    row |= {f"change_{name}_{p}": getattr(change, p, None) for p in ("p", "p_holm")}
            has_rank = arm.name == BASE or row.get(self.lowest) is not None
            why_not = self.unranked.get(arm.name) or ("" if has_rank else f"has no {self.lowest}")
            rows.append({**row, **({"not_ranked": why_not} if self.lowest else {})})
        return rows

    @cached_property
    def tables(self) -> list[TableSpec]:
        """All arms in all main figures; and every line of every figure."""
        if not self.figures:
            return []
        lines = pd.concat([pooled.lines for pooled in self.figures], ignore_index=True)
        arms, columns = lines[["arm"]].drop_duplicates(), dict[str, Any]({"arm": ("arm", "")})
        for figure in self.main_figures:
            change = "squares" if figure.is_square else "change"
            names = ["value", f"{change}_low", f"{change}_high"]
            of_arms = lines[lines["name"] == figure.name].set_index("arm")[names].add_prefix(f"{figure.name}_")
            arms = arms.join(of_arms, on="arm")
            value, *interval = of_arms.columns
            columns[figure.words] = (value, f".{figure.digits}f")
            of_squares = ", of squares" * figure.is_square
            columns[f"95% of change in {figure.words}{of_squares}"] = (tuple(interval), f"+.{figure.digits}f")
        name, title = f"scorecard_{self.study}", f"Scorecard of {self.study}"
        note = " ".join(self.sentences["method"])
        return [
            TableSpec(name=f"{name}_arms", title="The arms", frame=arms, columns=columns),
            table_from(TABLES, "scorecard", lines.assign(heading=lines["figure"]), name=name, title=title, note=note),
        ]

    def plots(self) -> list[Any]:
        """The arms in the figure that they are ranked by, and in what must be kept."""
        from eval.report.plots import interval_plot

        if not self.lowest:
            return []
        ranked, plots = self.of_base[self.lowest], []
        arms = {BASE, *ranked.pooled} - self.ruled_arms
        for pooled, end, note, zero in ((ranked, "", " (0: fair)", 0), (self.kept, "_kept", "", None)):
            if pooled:
                words, lines = pooled.figure.words, pooled.lines
                frame = lines[lines["arm"].isin(arms) & lines["value"].notna()].rename(columns={"arm": "label"})
                name, title = f"scorecard_{self.study}{end}", f"{words} of each arm"
                plots.append(interval_plot(name, title, frame, f"{words}{note}", zero=zero))
        return plots

    def texts(self, *, is_all: bool) -> list[str]:
        """The recommendation, and the arms in the figure that they are ranked by; with is_all all there is."""
        ranked = [pooled for pooled in self.figures if pooled.figure.name == self.lowest] or self.figures[:1]
        ranking, reading = self.sentences["ranking"], self.sentences["reading"]
        if is_all:
            return [wrapped([*ranking, *reading]), *(console(pooled.table()) for pooled in self.figures)]
        first = (BASE, self.best_free, self.ranking["recommended"])
        texts = [
            wrapped(ranking or reading[:1]),
            *(console(pooled.table(first), MOST_PRINTED + 1) for pooled in ranked),
        ]
        return [*texts, wrapped([legend([*texts, *self.warnings[:1]], self.sentences["legend"])])]

    def view(self, drawn: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """What the page's template shows of it; see eval.report.page. drawn: its figures there."""
        return {
            "key": self.study,
            "heading": f"Which arm straightens the judge? ({self.study})",
            "answer": self.sentences["ranking"],
            "warnings": self.warnings,
            "legend": legend(self.sentences["ranking"], self.sentences["legend"]),
            "figures": drawn,
            "reading": self.sentences["reading"],
            "method": self.sentences["method"],
            "tables": self.tables[:1],
            "folded": self.tables[1:],
            "differences": difference_lines(self.differences),
        }

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """Part of the template → its sentences."""
        rows, card = {arm.name: arm for arm in self.arms}, self.evaluation.own_card
        facts = {
            "card": self,
            "notes": card.notes(self.judges, self.options),
            "against": self.contrasts(self.main_figures, self.against),
            "blank": [arm.name for arm in self.arms if arm.name not in self.judges and arm.is_named],
            "other_checkpoints": [other_checkpoint(rows[name], run, self.study) for name, run in self.runs.items()],
            "differing": differing(self.differences, is_serious=True),
        }
        return sentences(WORDS, {**facts, **self.ranking})

    @cached_property
    def ranking(self) -> dict[str, Any]:
        """What the template says of the arm with the lowest value that surely keeps what it gets right; of the next."""
        if not self.lowest:
            return {"best": None, "recommended": "", "left_out": {}, "further": []}
        main = self.of_base[self.lowest]
        words = main.figure.words
        levels = {arm: pooled.after.value for arm, pooled in main.pooled.items() if arm not in self.ruled_arms}
        reasons = {
            arm: f"its {words} is not known" if level is None else self.why_not(arm) for arm, level in levels.items()
        }
        free = {arm.arm for arm in self.arms if arm.kind == FREE}
        ranked = [arm for arm, reason in reasons.items() if not reason and arm not in free]
        order = sorted(ranked, key=lambda arm: levels[arm] or 0)
        sampled = [
            arm.arm for arm in self.arms[1:] if arm.name in self.judges and arm.arm not in free | self.ruled_arms
        ]
        reasons |= {arm: f"has no {words}" for arm in sampled if arm not in main.pooled}
        best, following = (main.pooled[arm] if arm else None for arm in (*order[:2], "", "")[:2])
        recommended = self.recommended(order)
        added_arm = next((arm for arm in (recommended, *order) if arm in self.added), "")
        return {
            "has_arms": bool(sampled),
            "left_out": {arm: reason for arm, reason in reasons.items() if reason},
            "is_unsure": any(
                reasons[arm] for arm in levels if levels[arm] is not None and arm not in self.unranked_arms | free
            ),
            "best": best,
            "recommended": recommended,
            "adds": self.added.get(added_arm, ()),
            "further": [lines for arm, lines in self.added.items() if arm != added_arm],
            "next": following,
            "leads": self.leads(*order[:2]) if following else [],
        }

    def recommended(self, order: Sequence[str]) -> str:
        """The lowest training that is significantly better than the best free rule in something, and in nothing worse.

        Else that rule, or where there are none the lowest arm, if it is significantly lower than the base; "" for none.
        order: the ranked arms, the lowest first.
        """
        for arm in order:
            signs = [(lead, -1 if figure.name == self.lowest else 1) for figure, lead in self.added.get(arm, ())]
            is_worse = any(lead.change.excludes(0) and sign * (lead.change.value or 0) < 0 for lead, sign in signs)
            if any(lead.direction == sign for lead, sign in signs) and not is_worse:
                return arm
        candidates = (
            [self.best_free] if self.best_free not in ("", BASE) else [arm for arm in order if arm not in self.added]
        )
        lower = candidates and self.of_base[self.lowest].pooled[candidates[0]].direction == -1
        return candidates[0] if lower and not self.unranked.get(BASE) else ""

    def changes_between(self, first: str, second: str) -> Sequence[Change]:
        """The changes from one row to another."""
        if first == BASE:
            return self.changes[second]
        compare = self.evaluation.own_card.changes or self.evaluation.changes
        return compare({row: self.judges[row] for row in (first, second)}, self.options)

    @cached_property
    def best_free(self) -> str:
        """The free arm with the lowest value of the figure that arms are ranked by, of those that keep what they must.

        Of those that noise does not tell from it the cheapest, or one that is significantly more often right. BASE for
        the judge as asked, "" where there are no rules.
        """
        if not self.lowest or FREE not in (arm.kind for arm in self.arms if arm.name in self.judges):
            return ""
        free = [arm.arm for kind in (FREE, PATCH) for arm in self.arms if arm.kind == kind and arm.name == arm.arm]
        main = self.of_base[self.lowest]
        with_level = [arm for arm in free if arm in main.pooled and main.levels(arm)[0].value is not None]
        kept = [arm for arm in with_level if not self.why_not(arm)]
        candidates = kept if kept and self.unranked.get(BASE) else [BASE, *kept]  # in the order of their cost
        levels = {arm: main.levels(arm)[0] for arm in candidates}
        lowest = min(levels.values(), key=lambda level: level.value or 0.0)
        most = (lowest.value or 0.0) + (by_chance(lowest) or 0.0)
        best, *dearer = [arm for arm in levels if (levels[arm].value or 0.0) <= most]
        if not self.kept or not self.is_right_known:
            return best
        for arm in dearer:
            change = self.kept.figure.among(self.changes_between(best, arm))
            best = arm if change and (change.change.low or 0.0) > 0 else best
        return best

    @cached_property
    def added(self) -> dict[str, list[Lead]]:
        """Training → by how much it lies above the best free rule in the figure that arms are ranked by, and in what it
        gets right. Planned contrasts: p is adjusted over the trainings (Holm)."""
        trained = [arm.name for arm in self.arms if arm.kind == TRAINED and not arm.rule and arm.name in self.judges]
        added = dict[str, list[Lead]]()
        if self.best_free:
            changes = {row: self.changes_between(self.best_free, row) for row in trained}
            for figure, lead in self.contrasts(self.contrasted, {self.best_free: changes}):
                added.setdefault(lead.second, []).append((figure, lead))
        return added

    @property
    def contrasted(self) -> list[CardFigure]:
        """The figure that arms are ranked by, and what they get right, where that is known."""
        kept = [self.kept.figure] if self.kept and self.is_right_known else []
        return [self.of_base[self.lowest].figure, *kept]

    def leads(self, first: str, second: str) -> list[Lead]:
        """By how much the second arm lies above the first."""
        rows = [[change.second for change in self.of_base[self.lowest].seeds[arm]] for arm in (first, second)]
        against = {lower: {upper: self.changes_between(lower, upper) for upper in rows[1]} for lower in rows[0]}
        return self.contrasts(self.contrasted, against)

    def why_not(self, arm: str) -> str:
        """Why an arm is not ranked; "" for one that is.

        It is ranked when its one-sided 95 % interval over units and seeds leaves no loss as large as the margin. Where
        what is right is not known, what is held must not change so far in either direction.
        """
        rows = [row for row, why in self.unranked.items() if why and self.arm_of[row] == arm]
        if rows:
            return ", ".join(f"{row} {self.unranked[row]}" for row in rows)
        if self.kept is None:
            return ""
        seeds, words = [seed.change for seed in self.kept.seeds.get(arm, ())], self.kept.figure.words
        worst, is_kept = worst_change(seeds, self.margin, is_either_way=not self.is_right_known)
        if worst is None:
            return f"its change of {words} is unknown"
        change = f"{words} changes by {signed(over_seeds(seeds).value)}, and {signed(worst)} cannot be excluded"
        return "" if is_kept else change

    @cached_property
    def against(self) -> Mapping[str, Changes]:
        """Row of --reference → changes to the other arms' rows. Raises DataError where no row is called so."""
        references, judges = self.options.references, self.judges
        names = list(dict.fromkeys(name for arm in self.arms[1:] for name in (arm.arm, arm.name)))
        if unknown := [name for name in references if name not in names]:
            raise DataError(f"--reference '{unknown[0]}': no arm is called so; arms here: {', '.join(names)}")
        against = {}
        for arm in (arm for arm in self.arms[1:] if arm.name in judges and {arm.name, arm.arm} & {*references}):
            others = [other for other in self.arms[1:] if other.arm != arm.arm and not family_of_arm(other)]
            against[arm.name] = changes_against(self.evaluation, arm, others, judges, self.unranked, self.options)
        return against

    def contrasts(self, figures: Sequence[CardFigure], against: Mapping[str, Changes]) -> list[Lead]:
        """By how much arms lie above others in figures, over the seeds of both. against: row → the changes from it.

        p is adjusted over the arms of a family that are held against one other (Holm); None where one was trained once
        and the other several times, of an arm that cannot be ranked, and where the interval decides.
        """
        families, contrasts = {arm.arm: family_of_arm(arm) for arm in self.arms}, list[Lead]()
        for figure in figures:
            pairs: dict[tuple[str, str], dict[str, list[Change]]] = {}  # two arms → row of the first → its changes
            for reference, rows in against.items():
                for row, changes in rows.items():
                    if change := figure.among(changes):
                        of_pair = pairs.setdefault((self.arm_of[reference], self.arm_of[row]), {})
                        of_pair.setdefault(reference, []).append(change)
            leads = [[self.lead([*of_pair.values()], *arms)] for arms, of_pair in pairs.items()]
            unranked = [lead.second in self.unranked_arms for (lead,) in leads]
            of_leads = adjusted(leads, unranked, lambda lead: (lead.first, families[lead.second]))
            contrasts += [(figure, lead) for (lead,) in of_leads]
        return contrasts

    def lead(self, changes: Sequence[Sequence[Change]], first: str, second: str) -> Change:
        """One arm above another over the seeds of both; without p where one training beside several tells no variance.

        changes: see seeds.lead_groups.
        """
        lead = change_over_seeds(changes, first, second)
        rows = [[row for row in self.arms if row.arm == arm and row.name in self.judges] for arm in (first, second)]
        is_tested = all(len(of_arm) > 1 or of_arm[0].kind != TRAINED for of_arm in rows) or max(map(len, rows)) == 1
        return lead if is_tested else replace(lead, p=None, by_interval=False)

    @cached_property
    def warnings(self) -> list[str]:
        """What to know of the rows' answers, and that an arm's two runs are of different checkpoints."""
        results = Results(
            study=self.study, evaluation=self.evaluation, judges=self.runs, options=self.options, is_before_after=True
        )
        further = self.evaluation.own_card.warnings(self.judges, self.every_change)
        pooled = [change for figure in self.figures for change in figure.pooled.values()]
        return [*self.sentences["warnings"], *further, *results.hanging(pooled), *results.warnings]


def worst_change(seeds: Sequence[Estimate], margin: float, *, is_either_way: bool) -> tuple[float | None, bool]:
    """(an arm's least change by the one-sided 95 % interval over units and seeds: how far it may have fallen; whether
    that is less than the margin).

    is_either_way: how far it may have risen, if that reaches the margin. None where it is unknown.
    """
    bounds = [surely(seeds, is_up=is_up) if seeds else None for is_up in (False, True)]
    if None in bounds:
        return None, False
    least, most = (end or 0.0 for end in bounds)
    worst = most if is_either_way and most >= margin > -least else least
    return worst, worst > -margin and (not is_either_way or worst < margin)


def changes_against(
    evaluation: Evaluation[Any],
    reference: CardArm,
    arms: Sequence[CardArm],
    judges: Mapping[str, Any],
    unranked: Mapping[str, str],
    options: Options,
) -> Changes:
    """Row → its changes against another one; p is adjusted over the rows of a family."""
    names, families = [arm.name for arm in arms if arm.name in judges], {arm.name: family_of_arm(arm) for arm in arms}
    compare, base = evaluation.own_card.changes or evaluation.changes, {reference.name: judges[reference.name]}
    of_pairs = [compare({**base, name: judges[name]}, options) for name in names]
    is_unranked = [bool(unranked[name]) for name in names]
    return dict(zip(names, adjusted(of_pairs, is_unranked, lambda c: (families[c.second], *family(c))), strict=True))


def family_of_arm(arm: CardArm) -> str:
    """What p is adjusted over: all that was named, the free rules, or the trainings under one of these."""
    return "" if not arm.rule or arm.kind == CALIBRATED else arm.kind

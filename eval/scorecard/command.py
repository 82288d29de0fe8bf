"""`evenhand scorecard BASE_RUN [NAME=]ARM_RUN...`: a base model and its arms, one row each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, adjusted
from eval.estimates.comparability import Difference, check_comparable, difference_lines
from eval.estimates.estimate import Estimate, by_chance
from eval.estimates.seeds import SEEDS, change_over_seeds, lead_over_seeds, over_units
from eval.evaluation import Card, CardFigure, Evaluation, evaluation_of
from eval.options import Options
from eval.report.tables import (
    TableSpec,
    console,
    interval,
    number,
    p_value,
    say_written,
    signed,
    significance,
    with_rows,
    wrapped,
    write_long,
    write_rows,
    write_tables,
)
from eval.results import MOST_PRINTED, Results, read_runs, say_warnings
from eval.runs import runs_by_study
from eval.scorecard.arms import (
    BASE,
    CardArm,
    arm_of,
    other_checkpoint,
    runs_beside,
    sampled_arms,
    split_word,
    training_doubts,
    unknown_bases,
)
from evenhand.errors import DataError
from evenhand.terminal import say

NOTE = (
    "Values are means over an arm's seeds. Intervals of changes are over units and, with several seeds, over seeds "
    "(Cochran and Cox's weighted t); whether accuracy is lost is tested over units alone. p is adjusted over the arms "
    "that can be ranked (Holm); the others have none. "
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

    def rows(self) -> list[dict[str, Any]]:
        """The base, then a row an arm. chance: the mean of what noise of the units alone gives its seeds' levels."""
        figure = self.figure
        named = {"figure": figure.words, "name": figure.name, "digits": figure.digits}
        levels = {BASE: [self.base]} | {arm: [seed.after for seed in seeds] for arm, seeds in self.seeds.items()}
        rows = []
        for arm, of_seeds in levels.items():
            known = [chance for level in of_seeds if (chance := by_chance(level)) is not None]
            row = {**named, "arm": arm, "chance": fmean(known) if figure.is_absolute and known else None}
            if arm == BASE:
                rows.append({**row, "value": self.base.value})
                continue
            change, rise = self.pooled[arm], self.pooled[arm].change
            row |= {"seeds": len(of_seeds), "value": change.after.value, "p_holm": change.p_holm}
            row |= {"change": rise.value, "low": rise.low, "high": rise.high}
            row |= {"of": None if change.before.value == self.base.value else change.before.value}
            values = " ".join(number(level.value, figure.digits) for level in of_seeds)
            row |= {"significance": significance(change.direction)}
            rows.append({**row, "of_seeds": values if len(of_seeds) > 1 else ""})
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyCard:
    """What one study says of the rows of a scorecard, of which the first is the base."""

    study: str
    evaluation: Evaluation[Any]
    arms: Sequence[CardArm]
    runs: Mapping[str, Any]  # row → its loaded run of this study, where it has one
    judges: Mapping[str, Any]  # row → its judge, as the study compares it; lacks rows without one
    moves: Mapping[str, Sequence[Change]]  # row → its changes against the base
    against: Mapping[str, Mapping[str, Sequence[Change]]]  # a row of another arm → row → changes
    unfit: Mapping[str, str]  # row → why it cannot be ranked
    of_rows: Mapping[str, Sequence[Difference]]  # row → in what its run differs from the base's
    options: Options

    @property
    def card(self) -> Card[Any, Any]:
        """The study's part of a scorecard."""
        return self.evaluation.own_card

    @property
    def every_change(self) -> list[Change]:
        """All changes, against the base and then against the arms that were asked for."""
        return [change for rows in (self.moves, *self.against.values()) for row in rows.values() for change in row]

    @cached_property
    def figures(self) -> list[PooledFigure]:
        """The figures that an arm has, in the study's order."""
        arm_of = {arm.name: arm.arm for arm in self.arms}
        pooled_figures = []
        for figure in self.card.figures(self.judges):
            seeds: dict[str, list[Change]] = {}
            for row, changes in self.moves.items():
                # The last: a sole dataset's average repeats it.
                if matching := [change for change in changes if figure.is_of(change)]:
                    seeds.setdefault(arm_of[row], []).append(matching[-1])
            if not seeds:
                continue
            unranked = [any(self.unfit.get(change.second) for change in of_arm) for of_arm in seeds.values()]
            moved = adjusted([[change_over_seeds(of_arm, arm)] for arm, of_arm in seeds.items()], unranked)
            pooled = {  # after Holm: arms of unlike numbers are one family
                arm: replace(change, setting={**change.setting, SEEDS: len(seeds[arm])})
                for arm, (change,) in zip(seeds, moved, strict=True)
            }
            pooled_figures.append(PooledFigure(figure=figure, pooled=pooled, seeds=seeds))
        return pooled_figures

    @cached_property
    def lowest(self) -> str:
        """The figure that arms are ranked by: the first of the study's that is known of the base; "" for none."""
        return next((name for name in self.card.lowest if name in self.known), "")

    @cached_property
    def known(self) -> dict[str, PooledFigure]:
        """The figures that are known of the base, by name."""
        return {pooled.figure.name: pooled for pooled in self.figures if pooled.base.value is not None}

    @property
    def kept(self) -> list[str]:
        """The figures in which an arm must not lose."""
        return [name for name in self.card.kept if name in self.known]

    def fields(self) -> list[dict[str, Any]]:
        """What each row of scorecard.json has of this study: figures with their intervals, and their changes."""
        rows = []
        for arm in self.arms:
            row: dict[str, Any] = {f"{self.study}_run": getattr(self.runs.get(arm.name), "name", None)}
            for pooled in self.figures:
                name = pooled.figure.name
                change = next((c for c in reversed(self.moves.get(arm.name, ())) if pooled.figure.is_of(c)), None)
                level = pooled.base if arm.name == BASE else change and change.after
                row |= {f"{name}{end}": getattr(level, key, None) for end, key in ENDS.items()}
                if arm.name != BASE:
                    rise = change and change.change
                    row |= {f"change_{name}{end}": getattr(rise, key, None) for end, key in ENDS.items()}
                    row |= {f"change_{name}_{p}": getattr(change, p, None) for p in ("p", "p_holm")}
            has_rank = arm.name == BASE or row.get(self.lowest) is not None
            why_not = self.unfit.get(arm.name) or ("" if has_rank else f"has no {self.lowest}")
            rows.append({**row, **({"not_ranked": why_not} if self.lowest else {})})
        return rows

    @cached_property
    def tables(self) -> list[TableSpec]:
        """For each main figure a table of the arms; one of the other figures' values; one of all for files."""
        rows = pd.DataFrame([row for pooled in self.figures for row in pooled.rows()])
        if rows.empty:
            return []
        rows = rows.reindex(columns=[*dict.fromkeys([*rows.columns, *CHANGE_FIELDS])])
        stem = f"scorecard_{self.study}"
        tables = [self.arm_table(f"{stem}_arms", rows)]
        for figure in (pooled.figure for pooled in self.figures if pooled.figure.is_main):
            frame, name = rows[rows["name"] == figure.name], f"{stem}_{figure.name.removeprefix(f'{self.study}_')}"
            columns = card_columns(frame, f"+.{figure.digits}f")
            tables.append(TableSpec(name=name, title=figure.words, frame=frame, columns=columns, place="console"))
        if words := [pooled.figure.words for pooled in self.figures if not pooled.figure.is_main]:
            arms = list(rows["arm"].unique())
            wide = rows.pivot(index="figure", columns="arm", values="value").reindex(words)[arms].reset_index()
            columns = {"figure": ("figure", ""), **{arm: (arm, ".2f") for arm in arms}}
            title, name = "Other figures", f"{stem}_values"
            tables.append(TableSpec(name=name, title=title, frame=wide, columns=columns, place="console"))
        columns = {"figure": ("figure", ""), **card_columns(rows, "+.2f")}
        title = f"Scorecard of {self.study}"
        return [*tables, TableSpec(name=stem, title=title, frame=rows, columns=columns, note=NOTE)]

    def arm_table(self, name: str, rows: pd.DataFrame) -> TableSpec:
        """A line an arm: the value of each main figure, and the interval of its change."""
        frame, columns = rows[["arm"]].drop_duplicates(), dict[str, Any]({"arm": ("arm", "")})
        for figure in (pooled.figure for pooled in self.figures if pooled.figure.is_main):
            of = rows[rows["name"] == figure.name].set_index("arm")[["value", "low", "high"]]
            frame = frame.join(of.add_prefix(f"{figure.name}_"), on="arm")
            columns[figure.words] = (f"{figure.name}_value", f".{figure.digits}f")
            ends = (f"{figure.name}_low", f"{figure.name}_high")
            columns[f"95% of change in {figure.words}"] = (ends, f"+.{figure.digits}f")
        return TableSpec(name=name, title="The arms", frame=frame, columns=columns, place="page")

    def plots(self) -> list[Any]:
        """Arms as points, the figure that they are ranked by over the first that must be kept, with their seeds."""
        from eval.report.plots import point_plot

        wanted = [self.known[name] for name in (*self.kept[:1], self.lowest) if name]
        if len(wanted) < 2:
            return []
        rows = [point_of(BASE, [pooled.base for pooled in wanted], is_mean=True)]
        for arm in (arm for arm in wanted[1].pooled if arm in wanted[0].pooled):
            rows.append(point_of(arm, [pooled.pooled[arm].after for pooled in wanted], is_mean=True))
            seeds = zip(*(pooled.seeds[arm] for pooled in wanted), strict=True)
            rows += [point_of(arm, [change.after for change in seed], is_mean=False) for seed in seeds]
        x, y = (pooled.figure.words for pooled in wanted)
        frame = pd.DataFrame(rows).dropna(subset=["x", "y"])
        return [point_plot(f"scorecard_{self.study}", f"{y} and {x} of each arm", frame, (x, f"{y} (0: fair)"))]

    def view(self, drawn: Mapping[str, str]) -> dict[str, Any]:
        """What the page's template shows of it; see eval.report.page. drawn: figure → its HTML."""
        from eval.report.page import table_html

        first = [table_html(table) for table in self.tables[:1]]
        return {
            "key": self.study,
            "heading": f"Which arm straightens the judge? ({self.study})",
            "answer": self.ranking,
            "warnings": self.warnings,
            "figures": drawn,
            "reading": [line for line in self.sentences() if line not in self.ranking],
            "tables": first,
            "folded": [(table.title, table_html(table)) for table in self.tables[1:]],
            "method": [NOTE],
            **{key: [] for key in ("browser", "left_out", "facts", "facts_head")},
            "differences": difference_lines(self.of_rows),
        }

    def sentences(self) -> list[str]:
        """Which arm is lowest at no significant loss, which arms are not ranked, and changes against other arms."""
        main = [figure for figure in self.card.figures(self.judges) if figure.is_main]
        against = [line for figure in main for line in self.against_lines(figure)]
        lacking = [arm.name for arm in self.arms if arm.name not in self.judges]
        blank = [f"Without a run of {self.study}, and blank: {', '.join(lacking)}."] if lacking else []
        notes = self.card.notes(self.judges, self.options)
        return [*notes, *self.ranking, *against, *blank]

    def against_lines(self, figure: CardFigure) -> Iterator[str]:
        """By how much arms lie above those of --reference in a figure; p where both have a single seed."""
        arm_of = {arm.name: arm.arm for arm in self.arms}
        pairs: dict[tuple[str, str], dict[str, list[Change]]] = {}  # (arm, the other) → row of the other → changes
        for reference, rows in self.against.items():
            for row, changes in rows.items():
                if change := next((c for c in changes if figure.is_of(c)), None):
                    of_pair = pairs.setdefault((arm_of[row], arm_of[reference]), {})
                    of_pair.setdefault(reference, []).append(change)
        for (arm, other), of_pair in pairs.items():
            leads = list(of_pair.values())
            p = f", p {p_value(leads[0][0].p_holm)}" if len(leads) == len(leads[0]) == 1 else ""
            lead = lead_over_seeds([[change.change for change in row] for row in leads])
            yield f"{arm} against {other}, {figure.words}: {words_of(lead)}{p}."

    @cached_property
    def warnings(self) -> list[str]:
        """What to know of the rows' answers, and that an arm's two runs are of different checkpoints."""
        rows = {arm.name: arm for arm in self.arms}
        others = [other_checkpoint(rows[name], judge, f"{self.study} run") for name, judge in self.runs.items()]
        results = Results(
            study=self.study, evaluation=self.evaluation, judges=self.runs, options=self.options, is_before_after=True
        )
        base = [f"{BASE}: {reason}; changes against it tell little."] if (reason := self.unfit.get(BASE)) else []
        differing = [
            f"{name}'s {self.study} run differs in {each}"
            for name, known in self.of_rows.items()
            for each in known
            if each.serious
        ]
        further = self.card.warnings(self.judges, self.every_change)
        return [*filter(None, others), *differing, *base, *further, *results.warnings]

    @cached_property
    def ranking(self) -> list[str]:
        """The arm with the lowest value at no significant loss, the next, and whether its lead is significant."""
        if not self.lowest:
            return []
        main = self.known[self.lowest]
        levels = {arm: pooled.after.value for arm, pooled in main.pooled.items()}
        unknown = f"its {main.figure.words} is not known"
        reasons = {arm: self.why_not(arm) if level is not None else unknown for arm, level in levels.items()}
        ranked = sorted((arm for arm, why in reasons.items() if not why), key=lambda arm: levels[arm] or 0)
        without = [arm.arm for arm in self.arms[1:] if arm.name in self.judges and arm.arm not in main.pooled]
        reasons |= dict.fromkeys(without, f"has no {main.figure.words}")
        left_out = "; ".join(f"{arm} ({reason})" for arm, reason in reasons.items() if reason)
        out = [f"Not ranked: {left_out}."] if left_out else []
        held = " at no significant loss of accuracy" if self.kept else ""
        start = f"Lowest {main.figure.words}{held}:"
        if not ranked:
            return [f"Take none: {start} no arm.", *out]
        best = main.pooled[ranked[0]]
        significant = "" if best.direction == -1 else ", not significantly lower"
        if (best.change.value or 0) > 0:
            start = f"No arm has a lower {main.figure.words} than the base; the lowest{held}:"
        is_lower = best.direction == -1 and (best.change.value or 0) < 0 and not self.unfit.get(BASE)
        take = f"Take {ranked[0]}" if is_lower else "Cannot tell"
        moved = f"{number(best.after.value)} ({words_of(best.change)} against the base{significant})"
        start = f"{take}: {start} {ranked[0]}, {moved}; {self.right_words(ranked[0])}."
        following = self.next_arm(main, ranked[0], ranked[1]) if len(ranked) > 1 else ""
        return [start + following, *out]

    def right_words(self, arm: str) -> str:
        """How accurate an arm is, by the first figure that must be kept, and its change."""
        if not self.kept:
            return "what it gets right is not known"
        right = self.known[self.kept[0]]
        change = right.pooled[arm]
        return f"{right.figure.words} {number(change.after.value)} ({words_of(change.change)})"

    def next_arm(self, main: PooledFigure, first: str, second: str) -> str:
        """By how much the second arm lies above the first in the figure that arms are ranked by, whether surely, and in
        which figures of accuracy it surely does too."""
        seeds = [[change.second for change in main.seeds[arm]] for arm in (first, second)]
        changes = [
            [row_changes(self.evaluation, {row: self.judges[row] for row in pair}, self.options) for pair in pairs]
            for pairs in ([(lower, upper) for upper in seeds[1]] for lower in seeds[0])
        ]

        def lead_in(figure: CardFigure) -> tuple[Estimate, bool]:
            leads = [[[c for c in of_pair if figure.is_of(c)][-1] for of_pair in row] for row in changes]
            rise = lead_over_seeds([[change.change for change in row] for row in leads])
            is_single = len(seeds[0]) == len(seeds[1]) == 1
            return rise, leads[0][0].direction == 1 if is_single else rise.low is not None and rise.low > 0

        rise, is_significant = lead_in(main.figure)
        kept = [self.known[name].figure for name in self.kept]
        in_both = [f for f in kept if all(any(map(f.is_of, of_pair)) for row in changes for of_pair in row)]
        rights = [(figure.words, *lead_in(figure)) for figure in in_both]
        better = ", ".join(f"{words} {words_of(gain)}" for words, gain, is_sure in rights if is_sure)
        tested = f"the difference is {'' if is_significant else 'not '}significant"
        if min(map(len, seeds)) == 1 < max(map(len, seeds)):  # one seed tells no variance
            tested = "not tested: one of the two has a single seed"
        following = f" Next: {second}, {number(main.pooled[second].after.value)} ({words_of(rise)} above it; {tested})."
        return following + (f" But {second} is right more often: {better}." if better else "")

    def why_not(self, arm: str) -> str:
        """Why an arm is not ranked; "" for one that is.

        A loss counts when the interval of the change over units lies below 0. Neither adjustment over arms nor seeds
        that differ much let a loss pass.
        """
        if unfit := [
            f"{row.name} {self.unfit[row.name]}" for row in self.arms if row.arm == arm and self.unfit.get(row.name)
        ]:
            return ", ".join(unfit)
        for name in self.kept:
            seeds, words = self.known[name].seeds.get(arm, ()), self.known[name].figure.words
            change = over_units([seed.change for seed in seeds]) if seeds else None
            if change is None or change.high is None:
                return f"its {words} is unknown"
            if change.high < 0:
                return f"{words} {words_of(change)}{' over units alone' if seeds[1:] else ''}"
        return ""


ENDS = {"": "value", "_low": "low", "_high": "high"}
CHANGE_FIELDS = ("seeds", "chance", "change", "low", "high", "of", "p_holm", "significance", "of_seeds")


def card_columns(rows: pd.DataFrame, form: str) -> dict[str, Any]:
    """The heads of a table of arms; without those that are empty in all of its rows."""
    plain, has_seeds = form.strip("+"), bool((rows["seeds"] > 1).any())
    columns: dict[str, Any] = {"arm": ("arm", ""), "seeds": ("seeds", ".0f"), "value": ("value", plain)}
    columns |= {"chance": ("chance", plain), "change": ("change", form), "of": ("of", plain)}
    columns |= {"95% interval": (("low", "high"), form), "p (Holm)": ("p_holm", "p"), "": ("significance", "")}
    columns |= {"seeds' values": ("of_seeds", "")}
    return {
        head: (fields, form)
        for head, (fields, form) in columns.items()
        if (has_seeds or "seeds" not in head) and rows[fields if isinstance(fields, str) else fields[0]].notna().any()
    }


def point_of(arm: str, levels: Sequence[Estimate], *, is_mean: bool) -> dict[str, Any]:
    """A point of the figure of arms: two levels with their intervals."""
    ends = {
        f"{axis}{end}": getattr(of, key) for axis, of in zip("xy", levels, strict=True) for end, key in ENDS.items()
    }
    return {"label": arm, "is_mean": is_mean, **ends}


def words_of(estimate: Estimate) -> str:
    """A change with its interval."""
    return f"{signed(estimate.value)} {interval(estimate.low, estimate.high)}"


def row_changes(evaluation: Evaluation[Any], rows: Mapping[str, Any], options: Options) -> list[Change]:
    """The changes between two rows."""
    return (evaluation.own_card.changes or evaluation.changes_of)(rows, options)


def make_card(study: str, arms: Sequence[CardArm], runs: Mapping[str, Path], options: Options) -> StudyCard:
    """The card of some rows, the base first. runs: row → its run of this study.

    Raises DataError where runs are no like for like, for an unknown --reference, and where the base has no figure.
    """
    evaluation = evaluation_of(study)
    card = evaluation.own_card
    loaded = dict(zip(runs, read_runs(evaluation, list(runs.values()), options).values(), strict=True))
    base = loaded[BASE]
    evaluation.check(loaded)
    differences = {name: evaluation.differences(base, run) for name, run in loaded.items() if name != BASE}
    if not options.allow_differences:
        mismatched = [other_checkpoint(arm, loaded[arm.name], f"{study} run") for arm in arms if arm.name in loaded]
        named = {f"{name} ({loaded[name].name})": of_row for name, of_row in differences.items()}
        check_comparable(base.name, named, [*filter(None, mismatched)])
    judges = card.rows(arms, loaded, options) if card.rows else loaded
    names = list(dict.fromkeys(name for arm in arms[1:] for name in (arm.arm, arm.name)))
    if unknown := [name for name in options.references if name not in names]:
        raise DataError(f"--reference '{unknown[0]}': no arm is called so; arms here: {', '.join(names)}")
    references = {arm.name: arm.arm for arm in arms[1:] if {arm.name, arm.arm} & {*options.references}}
    unfit = {name: card.unrankable(judge) for name, judge in judges.items()}

    def moves_from(reference: str) -> dict[str, Sequence[Change]]:
        """Row → its changes against another row."""
        others = [arm.name for arm in arms[1:] if arm.name in judges and arm.arm != references.get(reference)]
        changes = [
            row_changes(evaluation, {reference: judges[reference], name: judges[name]}, options) for name in others
        ]
        return dict(zip(others, adjusted(changes, [bool(unfit.get(name)) for name in others]), strict=True))

    return StudyCard(
        study=study,
        evaluation=evaluation,
        arms=arms,
        runs=loaded,
        judges=judges,
        moves=moves_from(BASE),
        against={name: moves_from(name) for name in references if name in judges},
        unfit=unfit,
        of_rows=differences,
        options=options,
    )


def scorecard(options: Options) -> None:
    """`evenhand scorecard`: print what to take, and the rest with --all; write page, rows, changes, tables, figure."""
    arms, cards = load_cards(options)
    cost, doubts = cost_table(arms), [f"{doubt}." for doubt in training_doubts(arms)]
    say("\n\n".join(part for card in cards.values() for part in card_texts(card, is_all=options.is_all)))
    warnings = [*doubts, *(warning for card in cards.values() for warning in card.warnings)]
    first = next(iter(cards))
    of_rows = {
        name if study == first else f"{name}'s {study} run": [each for each in differences if not each.serious]
        for study, card in cards.items()
        for name, differences in card.of_rows.items()
    }
    notes = [*difference_lines(of_rows), *unknown_bases(arms)]
    if options.is_all:
        say("\n" + wrapped([NOTE, *(f"{arm.name}: {arm.note}." for arm in arms if arm.note)]) + "\n\n" + console(cost))
    say_warnings(warnings, notes, is_all=options.is_all)
    out = options.out or options.sources[0] / "scorecard"
    rows = [arm.fields() for arm in arms]
    for card in cards.values():
        rows = [{**row, **fields} for row, fields in zip(rows, card.fields(), strict=True)]
    files = write_long(out, "scorecard_changes", {study: card.every_change for study, card in cards.items()})
    pooled = {
        study: [change for figure in card.figures for change in figure.pooled.values()] for study, card in cards.items()
    }
    files += write_long(out, "scorecard_seeds", pooled) if len({arm.arm for arm in arms}) < len(arms) else []
    tables = [table for card in cards.values() for table in card.tables]
    files += [*write_rows(out, "scorecard", rows), *write_tables(out / "tables", [*tables, cost])]
    from eval.report.page import figures, table_html, write_page  # loads matplotlib

    # Last: a figure that fails takes no table with it.
    views = []
    for card in cards.values():
        drawn, written = figures(card.plots(), out)
        files += written
        views.append(card.view(drawn))
    views[0]["folded"].append((cost.title, table_html(cost)))
    views[0]["warnings"] = [*doubts, *views[0]["warnings"]]
    views[0]["method"] += [*(f"{arm.name}: {arm.note}." for arm in arms if arm.note), *unknown_bases(arms)]
    title = f"Evenhand: {len({arm.arm for arm in arms[1:]})} arms of {options.sources[0].name}"
    write_page(out / "scorecard.html", title, views)
    say_written([out / "scorecard.html", *files], is_all=options.is_all)


def card_texts(card: StudyCard, *, is_all: bool) -> list[str]:
    """What to take, and the arms in the figure that they are ranked by; with is_all every table and sentence."""
    tables = [table for table in card.tables if table.place == "console"]
    ranked = [table for table in tables if table.name.endswith(f"_{card.lowest}")] or tables[:1]
    return [
        wrapped(card.sentences() if is_all else card.ranking or card.sentences()[:1]),
        *(console(table, None if is_all else MOST_PRINTED + 1) for table in (tables if is_all else ranked)),
    ]


def load_cards(options: Options) -> tuple[list[CardArm], dict[str, StudyCard]]:
    """(the rows, the card of each study, the base's own first). Raises DataError where runs are no like for like."""
    words = [split_word(word) for word in options.arms]
    (base_run,) = options.sources
    (study, *others) = runs_by_study([base_run, *(path for _, path in words)])
    if others:
        raise DataError(f"the base and its arms are of two studies, {study} and {others[0]}; use --with for a second")
    card = evaluation_of(study).own_card
    base = arm_of(BASE, BASE, BASE, base_run, card.tested_run(base_run))
    if options.calibrated and card.made_arms is None:
        raise DataError(f"--calibrated: {base_run} is of a study that has no thresholds; leave it out")
    made = card.made_arms(base, options) if card.made_arms else []
    sampled = sampled_arms(base, options.arms, card.tested_run, taken=[arm.name for arm in made])
    if len(sampled) + len(made) < 2:
        raise DataError(f"{base_run}: is the only row; name at least one ARM_RUN")
    arms = [*sampled, *made]
    if (doubts := training_doubts(arms)) and not options.allow_differences:
        raise DataError("; ".join(doubts) + ".\n  Leave such arms out, or say --allow-differences; the card states it.")
    beside = runs_beside(options.with_runs, sampled)
    if study in beside:
        word = next(iter(beside[study].values()))
        raise DataError(f"--with {word}: is of the scorecard's own study; name it as an arm")
    runs = {study: {arm.name: arm.path for arm in sampled}, **beside}
    return arms, {name: make_card(name, arms, of_rows, options) for name, of_rows in runs.items()}


def cost_table(arms: Sequence[CardArm]) -> TableSpec:
    """What the training of each arm took."""
    heads = {"arm": "", "device": "", "processes": "d", "seconds": ",.0f", "device-seconds": ",.0f", "tokens": ",d"}
    names = ("device", "n_processes", "seconds", "device_seconds", "n_tokens", "peak_memory_gib")
    rows = [[arm.name, *(arm.cost[name] for name in names)] for arm in arms[1:]]
    note = "Device-seconds: seconds by the clock times processes. A dash: nothing was trained, or it is not recorded."
    return with_rows("scorecard_cost", "Cost of training", {**heads, "peak GiB": ".1f"}, rows, note=note)

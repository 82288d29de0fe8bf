"""Arms that were trained with several seeds: a row an arm, its seeds as small print, and which arm is lowest."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from eval.estimates.changes import Change, adjusted
from eval.estimates.estimate import Estimate, by_chance
from eval.estimates.seeds import change_over_seeds, lead_over_seeds, with_number
from eval.report.change_cells import change_cells
from eval.report.console import Lines, block, short, wrapped
from eval.report.shown_numbers import interval, number, signed
from eval.report.table import Table
from eval.scorecard.arms import BASE, CardArm

NOTE = (
    "Mean over seeds. Intervals of changes are over units and seeds (Cochran and Cox's weighted t). p is read off them "
    "and adjusted over the arms that can be ranked (Holm). Arms that are saturated or unreadable, lack a dataset, "
    "hardly give an answer on one, or are fitted on the test items have no adjusted p. of: the base's level over the "
    "same datasets, where that is not its row's. lower, higher: the interval excludes 0 and p < .05. chance: what "
    "noise of the units alone gives a mean of absolute values. The values of single seeds stand last; all else of them "
    "is in the tables for files."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A figure of a study that arms are shown by."""

    words: str
    is_of: Callable[[Change], bool]  # whether a change of the study is one in this figure
    unranked: Collection[str] = ()  # rows that cannot be ranked in it; their arms are not in Holm's family
    is_absolute: bool = False  # a mean of absolute values, which noise raises


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How a study ranks arms."""

    lowest: str  # words of the headline by which the lowest is best
    kept: tuple[str, ...]  # words of headlines in which a shown fall takes an arm out
    unfit: Mapping[str, str]  # row → why it is not ranked whatever its figures
    change: Callable[[str, str], Estimate]  # of the headline from one row to another, paired by unit


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedTable:
    """One figure, a row an arm."""

    headline: Headline
    pooled: Mapping[str, Change]  # arm → its change against the base over its seeds
    seeds: Mapping[str, Sequence[Change]]  # arm → those of its seeds

    @property
    def base(self) -> Estimate:
        """The base's level, over all that any arm was asked."""
        changes = [change for of_arm in self.seeds.values() for change in of_arm]
        return max(changes, key=lambda change: (len(change.datasets), change.change.n_units)).before

    def lines(self) -> Lines:
        """For the console."""
        digits, chance = self.digits, ["chance"] * self.headline.is_absolute
        lines = [["arm", "seeds", "value", *chance, "change", "95% interval", "p Holm", "shown", "seeds' values"]]
        of_chance = [number(self.chance([self.base]), digits) for _ in chance]
        lines.append([BASE, "", number(self.base.value, digits), *of_chance, *change_cells(None), ""])
        for arm, change in self.pooled.items():
            of_chance = [number(self.chance_of(arm), digits) for _ in chance]
            rise, *others = change_cells(change, digits)
            if change.before.value != self.base.value:
                rise += f" of {number(change.before.value, digits)}"
            cells = [number(change.after.value, digits), *of_chance, rise, *others]
            lines.append([short(arm), str(len(self.seeds[arm])), *cells, self.values_of(arm)])
        return lines

    def chance(self, levels: Sequence[Estimate]) -> float | None:
        """The mean of what noise of the units alone gives some levels; None where it is unknown or not of absolutes."""
        known = [chance for level in levels if (chance := by_chance(level)) is not None]
        return fmean(known) if self.headline.is_absolute and known else None

    def chance_of(self, arm: str) -> float | None:
        """That of an arm over its seeds."""
        return self.chance([change.after for change in self.seeds[arm]])

    @property
    def digits(self) -> int:
        """Behind the point: a correlation has more."""
        return 1 if next(iter(self.pooled.values())).unit in ("%", "pp", "pp²") else 2

    def values_of(self, arm: str) -> str:
        """The values of its single seeds."""
        return " ".join(number(one.after.value, self.digits) for one in self.seeds[arm])


def has_seeds(arms: Sequence[str]) -> bool:
    """Whether an arm has several rows, its seeds. arms: of each row."""
    return len({*arms}) < len(arms)


def seed_tables(arms: Sequence[CardArm], headlines: Sequence[Headline], changes: Sequence[Change]) -> list[SeedTable]:
    """A table for each headline that was measured. changes: of every row against the base."""
    arm_of = {arm.name: arm.arm for arm in arms}
    against = [change for change in changes if change.first == BASE and change.second in arm_of]
    found = []
    for headline in headlines:
        # By row, since a sole dataset is the average once more.
        rows = {change.second: change for change in filter(headline.is_of, against)}
        seeds: dict[str, list[Change]] = {}
        for row, change in rows.items():
            seeds.setdefault(arm_of[row], []).append(change)
        seeds.pop(BASE, None)
        if seeds:
            unranked = [any(change.second in headline.unranked for change in of) for of in seeds.values()]
            moved = adjusted([[change_over_seeds(of, arm)] for arm, of in seeds.items()], unranked)
            pooled = {arm: with_number(change, len(seeds[arm])) for arm, (change,) in zip(seeds, moved, strict=True)}
            found.append(SeedTable(headline=headline, pooled=pooled, seeds=seeds))
    return found


def ranking_sentences(tables: Sequence[SeedTable], ranking: Ranking, arms: Sequence[CardArm]) -> list[str]:
    """Which arm has the lowest value over its seeds at no shown loss, and whether its lead is shown."""
    by_words = {table.headline.words: table for table in tables}
    if ranking.lowest not in by_words:
        return []
    main = by_words[ranking.lowest].pooled
    reasons = {arm: why_not(arm, by_words, ranking, arms) for arm in main}
    ranked = sorted((arm for arm in main if not reasons[arm]), key=lambda arm: main[arm].after.value or 0.0)
    left_out = "; ".join(f"{arm} ({reason})" for arm, reason in reasons.items() if reason)
    out = [f"Not ranked: {left_out}."] if left_out else []
    kept = " and ".join(ranking.kept)
    if not ranked:
        return [f"Lowest {ranking.lowest} over seeds at no shown loss of {kept}: no arm.", *out]
    best = main[ranked[0]]
    said = f"Lowest {ranking.lowest} over seeds at no shown loss of {kept}: {ranked[0]}, {number(best.after.value)} "
    said += f"({words_of(best.change)} against the base{'' if best.direction == -1 else ', not shown to be lower'})."
    if len(ranked) > 1:
        first, second = (by_words[ranking.lowest].seeds[arm] for arm in ranked[:2])
        lead = lead_over_seeds([[ranking.change(one.second, other.second) for other in second] for one in first])
        has_both = min(len(first), len(second)) > 1  # one seed tells no variance
        is_shown = has_both and lead.low is not None and lead.low > 0
        said += f" Next: {ranked[1]}, {number(main[ranked[1]].after.value)} ({words_of(lead)} above it; "
        said += "the ranking of the two is shown)." if is_shown else "the ranking of the two is not shown)."
    return [said, *out]


def why_not(arm: str, tables: Mapping[str, SeedTable], ranking: Ranking, arms: Sequence[CardArm]) -> str:
    """Why an arm is not ranked; "" for one that is."""
    if unfit := [
        f"{row.name} {ranking.unfit[row.name]}" for row in arms if row.arm == arm and row.name in ranking.unfit
    ]:
        return ", ".join(unfit)
    for words in ranking.kept:
        change = tables[words].pooled.get(arm) if words in tables else None
        if change is None or change.change.high is None or change.after.value is None:
            return f"its {words} is unknown"
        if change.change.high < 0:
            return f"{words} {words_of(change.change)}"
    return ""


def words_of(found: Estimate) -> str:
    """A change with its interval."""
    return f"{signed(found.value)} {interval(found.low, found.high)}"


def seeds_text(tables: Sequence[SeedTable], sentences: Sequence[str]) -> str:
    """All tables and sentences for the console."""
    blocks = [block(f"Arms over their seeds: {table.headline.words}", table.lines()) for table in tables]
    return "\n\n".join([*blocks, *([wrapped(sentences)] if sentences else [])])


def seeds_table(tables: Sequence[SeedTable]) -> Table:
    """The same as one table for files."""
    rows = []
    for table in tables:
        for arm, change in table.pooled.items():
            rise = change.change
            levels = (change.before.value, change.after.value, table.chance_of(arm))
            figures = (*levels, rise.value, rise.low, rise.high, change.p_holm)
            rows.append((table.headline.words, arm, len(table.seeds[arm]), *figures, table.values_of(arm)))
    return Table(
        name="scorecard_seeds",
        title="Arms over their seeds",
        columns=(
            "figure",
            "arm",
            "seeds",
            "base",
            "value",
            "chance",
            "change",
            "low",
            "high",
            "p Holm",
            "seeds' values",
        ),
        rows=tuple(rows),
        formats=("", "", "d", ".2f", ".2f", ".2f", "+.2f", "+.2f", "+.2f", "p", ""),
        note=NOTE,
    )

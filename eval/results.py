"""The results of some runs of one study, or of its files of verdicts.

completions → verdicts → observed columns → estimates and changes → one long frame → tables, sentences, plots.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from eval.estimates.changes import Change, Score, adjusted, changes_frame, scores_frame
from eval.estimates.comparability import Difference, check_comparable, differing
from eval.evaluation import Evaluation, evaluation_of
from eval.options import Options
from eval.report.tables import (
    TABLES,
    TableSpec,
    console,
    legend,
    sentences,
    significance,
    table_from,
    wrapped,
    yaml_tables,
)
from eval.runs import (
    SELF_READ,
    FinishedRun,
    as_read_by_itself,
    check_named_once,
    judge_names,
    load_finished,
    runs_by_study,
)
from eval.scorecard.arms import split_word
from eval.self_reading import compared_readings, reading_sentences
from evenhand.errors import DataError
from evenhand.registry import STUDIES, load_part
from evenhand.sources.record_fields import shown
from evenhand.terminal import say

PARSE_ALL = "Constrain the output (sampling.structured: json), or use margins (verdict: margin)."


@dataclass(frozen=True, kw_only=True, eq=False)
class Results:
    """Everything that is computed of some runs of one study, or of its files; the first judge is the base."""

    study: str
    evaluation: Evaluation[Any]
    judges: Mapping[str, Any]
    options: Options
    is_before_after: bool
    score_rows: Sequence[Score] = ()
    change_rows: Sequence[Change] = ()  # of each judge from the base; none where they stand side by side
    differences: Mapping[str, Sequence[Difference]] = field(default_factory=dict)
    # As the judges read their own replies: what they wrote against it (eval.self_reading). None: as written
    readings: pd.DataFrame | None = None

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return "" if self.readings is None else f"{SELF_READ}_"

    @property
    def heading(self) -> str:
        """The question that it answers."""
        return self.evaluation.heading + ("" if self.readings is None else " As the judge reads its own replies")

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The long frame of scores; see eval.estimates.changes. A scorecard's warnings may be the first to need it."""
        return scores_frame(self.score_rows or self.evaluation.scores(self.judges, self.options))

    @cached_property
    def changes(self) -> pd.DataFrame:
        """The long frame of changes."""
        return changes_frame(self.change_rows)

    @property
    def base(self) -> str:
        """The first judge."""
        return next(iter(self.judges))

    @cached_property
    def tables(self) -> list[TableSpec]:
        """All tables that have a row."""
        tables_of = self.evaluation.tables
        tables = tables_of(self) if tables_of else [long_table("scores", self, self.scores), changes_table(self)]
        if self.readings is not None:
            tables = [table_from(TABLES, "self_reading", self.readings), *tables]
        return [table for table in tables if len(table.frame)]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What templates see."""
        return {"results": self, **self.evaluation.facts(self)}

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """Part of the study's template → its sentences."""
        return sentences(self.evaluation.words, self.facts)

    @cached_property
    def warnings(self) -> list[str]:
        """What to be careful about, with what the runs differ in beside the model."""
        return [
            *self.sentences.get("warnings", []),
            *(f"{name}: {doubt}" for name, judge in self.judges.items() for doubt in getattr(judge, "doubts", ())),
            *self.hanging(self.change_rows),
            *differing(self.differences, is_serious=True),
        ]

    @cached_property
    def shown(self) -> list[TableSpec]:
        """The tables that are not for files alone, the one that tells most first."""
        return sorted((table for table in self.tables if table.place != "files"), key=lambda table: not table.is_change)

    def unparsed_in(self, judges: Mapping[str, Any]) -> str:
        """Where most replies of some judges are unparsed, in words; "" where all were parsed.

        How to parse all of them is only known of runs' own replies.
        """
        listed = list[str]()
        for name, judge in judges.items():
            where, share = max(self.evaluation.unparsed(judge).items(), key=lambda pair: pair[1], default=("", 0.0))
            listed += [f"{share:.0f}% of the replies of {name} in {where}"] * bool(share)
        way_out = "" if self.options.are_files or self.readings is not None else PARSE_ALL
        return f"{' and '.join(listed)} are unparsed. {way_out}".strip() if listed else ""

    def hanging(self, changes: Sequence[Change]) -> list[str]:
        """Which changes are not known, since they depend on how unparsed replies are counted."""
        words, of_sides = self.evaluation.measure_words or {}, dict[tuple[str, str], dict[str, None]]()
        for change in changes:
            if change.hangs:
                sides = (change.first, change.second)
                of_sides.setdefault(sides, {})[words.get(change.measure, change.measure)] = None
        return [
            f"{second} against {first}: the change in {', '.join(measures)} is not known, since it depends on how "
            f"unparsed replies are counted. {self.unparsed_in(self.judges)}"
            for (first, second), measures in of_sides.items()
        ]

    @property
    def answer(self) -> list[str]:
        """The sentences that a report opens with: what changed, then each judge."""
        lines = [line for part in ("changes", "scores") for line in self.sentences.get(part, [])]
        return lines if self.readings is None else [*reading_sentences(self.readings), *lines]

    def say(self) -> None:
        """Print the answer, the first lines of the first table, and the first warning; with --all everything."""
        is_all, n_tables = self.options.is_all, 1 if self.readings is None else 2
        if self.readings is not None:
            say(f"\n{self.heading}")
        texts = [wrapped(self.answer if is_all else self.answer[:MOST_PRINTED])]
        for table in self.shown if is_all else self.shown[:n_tables]:
            shown = console(by_change(table), None if is_all else MOST_PRINTED)
            texts.append(f"{shown}\n{wrapped([table.note])}" if is_all else shown)
        meanings = legend([*texts, *self.warnings[:1]], self.sentences.get("legend", ()))
        say("\n\n".join(filter(None, [*texts, wrapped([meanings])])))
        say_warnings(self.warnings, differing(self.differences, is_serious=False), is_all=is_all)


def check_study_options(options: Options) -> None:
    """Raises DataError for an option of a study that none of the named runs and files is of: it would do nothing."""
    arms = (split_word(word)[1] for word in (*options.arms, *options.with_runs))
    studies = [study_of_files(options.sources)] if options.are_files else runs_by_study([*options.sources, *arms])
    parts = [load_part(study, part) for study in studies if (part := STUDIES[study].options)]
    known = {option.name for part in parts for option in fields(part)}
    for name in sorted(options.study.keys() - known):
        raise DataError(f"--{name.replace('_', '-')} is an option of other studies than those named here; leave it out")


def all_results(options: Options, *, is_apart: bool = False) -> Iterator[tuple[Results, Path]]:
    """The results of all runs or files that are named, as written and as the judges read them; and each one's last run.

    is_apart: of each run alone.
    """
    if options.are_files:
        yield results_of_files(options), options.sources[-1]
        return
    for study, paths in runs_by_study(options.sources).items():
        for together in [[path] for path in paths] if is_apart else [paths]:
            for results in results_as_read(study, load_runs(evaluation_of(study), together), options):
                yield results, together[-1]


def results_of_runs(study: str, paths: Sequence[Path], options: Options) -> Results:
    """The results of some runs as written, the base first; see results_as_read."""
    return next(results_as_read(study, load_runs(evaluation_of(study), paths), options))


def results_as_read(study: str, runs: Sequence[FinishedRun], options: Options) -> Iterator[Results]:
    """The results of some runs as written, the base first; then, where all were asked so, as the judges read it.

    Raises DataError where runs are not alike, unless that is allowed.
    """
    evaluation, is_before_after = evaluation_of(study), options.is_before_after and len(runs) > 1

    def results(runs: Sequence[FinishedRun]) -> Results:
        return results_of(study, judges_of(evaluation, runs, options), options, is_before_after=is_before_after)

    yield results(runs)
    lacking = [run.path for run in runs if not run.self_read]
    if 0 < len(lacking) < len(runs):
        say(f"Note: {lacking[0]} was sampled without self_read, so no judge's own reading is shown.")
    if not lacking:
        reread = results([as_read_by_itself(run) for run in runs])
        yield replace(reread, readings=compared_readings(evaluation, runs))


def load_runs(evaluation: Evaluation[Any], paths: Sequence[Path]) -> list[FinishedRun]:
    """Runs of one study, as far as all studies' are alike."""
    check_named_once(paths)
    return [load_finished(path, with_errors=evaluation.with_errors) for path in paths]


def judges_of(evaluation: Evaluation[Any], runs: Sequence[FinishedRun], options: Options) -> dict[str, Any]:
    """What tables call it → each judge of some runs. Raises DataError where two would be called alike, or a run before
    or after has several."""
    judges = [judge for run in runs for judge in evaluation.read(run, options)]
    if len(judges) > len(runs) > 1 and options.is_before_after:
        raise DataError(f"{runs[0].path}: before and after take one model a run, and here are more; say --side-by-side")
    ways = [getattr(judge, "judged_by", "") for judge in judges]
    names = judge_names([judge.judge for judge in judges], [judge.name for judge in judges], ways)
    if len({*names}) < len(names):
        raise DataError(f"{runs[0].path}: two of the runs are called alike, {names[0]}; rename one folder")
    return dict(zip(names, judges, strict=True))


def read_run(study: str, path: Path) -> Any:
    """One run, as its study reads it."""
    evaluation = evaluation_of(study)
    (judge,) = judges_of(evaluation, load_runs(evaluation, [path]), Options()).values()
    return judge


def results_of_files(options: Options) -> Results:
    """The results of files of verdicts; what is ignored or left out is printed."""
    check_named_once(options.sources)
    study = study_of_files(options.sources)
    read_files = evaluation_of(study).read_files
    assert read_files, "an evaluation with a layout reads files"
    judges, ignored, left_out = read_files(options)
    if listed := ", ".join(map(shown, ignored)):
        say(f"Note: columns without a meaning here are ignored: {listed}.\n")
    for reason in left_out:
        say(f"Left out: {reason}.\n")
    return results_of(study, judges, options)


def results_of(study: str, judges: Mapping[str, Any], options: Options, *, is_before_after: bool = False) -> Results:
    """The results of some judges, the base first. Raises DataError where runs are not alike, unless that is allowed."""
    evaluation = evaluation_of(study)
    (base, first), *others = judges.items()
    differ = evaluation.differences if is_before_after else evaluation.differences_beside
    differences = {} if options.are_files else {name: differ(first, judge) for name, judge in others}
    evaluation.check(judges)
    if differences and not options.allow_differences:
        check_comparable(base, differences)
    changes = [evaluation.changes({base: first, name: judge}, options) for name, judge in others if is_before_after]
    return Results(
        study=study,
        evaluation=evaluation,
        judges=judges,
        options=options,
        is_before_after=is_before_after,
        score_rows=evaluation.scores(judges, options),
        change_rows=[change for of_judge in adjusted(changes, family=evaluation.family) for change in of_judge],
        # Side by side most studies compare nothing.
        differences={name: known for name, known in differences.items() if is_before_after or known},
    )


def say_warnings(warnings: Sequence[str], notes: Sequence[str], *, is_all: bool) -> None:
    """Print the first warning and how many more there are; with is_all each of them, and the notes."""
    more = f" ({len(warnings) - 1} more: --all)" if warnings[1:] and not is_all else ""
    lines = [f"Warning: {warning}{more}" for warning in (warnings if is_all else warnings[:1])]
    lines += [f"Note: {note}" for note in notes] if is_all else []
    if lines:
        say("\n" + wrapped(lines))


def varying(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """The columns that have several values, and so tell rows apart."""
    return [name for name in names if name in frame and frame[name].map(str).nunique() > 1]


def long_table(
    name: str, results: Results, frame: pd.DataFrame, always: Sequence[str] = (), /, **keys: Any
) -> TableSpec:
    """A long frame as a table of eval/tables.yaml. Behind the first column stands what was asked: what varies, and the
    columns in `always`."""
    words = results.evaluation.measure_words or {}
    frame = frame.assign(words=[words.get(measure, measure) for measure in frame["measure"]])
    study, title = results.study, "scores" if name == "scores" else "before and after"
    table = table_from(TABLES, name, frame, **{"name": f"{study}_{name}", "title": f"{study}: {title}", **keys})
    rows: Sequence[Score | Change] = results.score_rows if name == "scores" else results.change_rows
    asked = [*dict.fromkeys(asked for row in rows for asked in row.setting), "dataset"]
    shown = {*varying(frame, asked), *always}
    first, *others = table.columns.items()
    settings = [(column, (column, "")) for column in asked if column in shown]
    return replace(table, columns=dict([first, *settings, *others]))


def by_change(table: TableSpec) -> TableSpec:
    """A table of changes with the significant ones first, then by size; others as they are."""
    if not {"change", "direction"} <= {*table.frame}:
        return table
    keys = {"is_open": ~table.frame["direction"].isin([-1, 1]), "size": -table.frame["change"].abs()}
    return replace(table, frame=table.frame.assign(**keys).sort_values([*keys], kind="stable"))


def changes_table(
    results: Results, frame: pd.DataFrame | None = None, *, digits: int = 1, always: Sequence[str] = (), **keys: Any
) -> TableSpec:
    """Every change as a line; p is adjusted over the runs (Holm). frame: some of the long frame of changes.

    Of the setting it shows what varies, and the columns in `always`.
    """
    frame = results.changes if frame is None else frame
    directions = (None if pd.isna(d) else int(d) for d in frame["direction"])
    frame = frame.assign(significance=[significance(direction) for direction in directions])
    return long_table("changes", results, frame, always, digits=digits, **keys)


MOST_PRINTED = 5  # sentences, and lines of a table, without --all
CHANGES_NOTE = yaml_tables(TABLES)["changes"]["note"]


def study_of_files(paths: Sequence[Path]) -> str:
    """The study that files of verdicts are of: of whose required columns the first file has most.

    Raises DataError where it has none of any study's.
    """
    from eval.verdict_files import column_names  # where files are named

    columns, needed, shares = column_names(paths[0]), dict[str, Sequence[str]](), dict[str, float]()
    for study in STUDIES:
        if 1 not in shares.values() and (layout := evaluation_of(study).layout):  # to load a study takes time
            needed[study] = layout.required
            shares[study] = len(columns.intersection(needed[study])) / len(needed[study])
    if columns and not any(shares.values()):
        lacking = "; ".join(f"{study}: {', '.join(names)}" for study, names in needed.items())
        raise DataError(
            f"{paths[0]}: no column says of which study it is ({lacking}). "
            "Name them so, or say in a --mapping which is which"
        )
    return max(shares, key=lambda study: shares[study])

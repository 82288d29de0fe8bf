"""How runs of the flip taxonomy are scored, compared and reported; see eval.results."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eval.estimates.changes import Change
from eval.estimates.comparability import Difference
from eval.estimates.estimate import drawing_of
from eval.estimates.frames import Score
from eval.report.tables import TableSpec
from eval.results import Evaluation, Results
from eval.runs import Verdicts, load_finished
from eval.taxonomy.coded_flips import CodedRun, all_flips, load_coded
from eval.taxonomy.flip_states import ANY, CODE, flip_changes, judge_differences, moved_scores
from eval.taxonomy.scores import agreements, scores_of
from eval.taxonomy.tables import frames, taxonomy_tables
from evenhand.errors import DataError
from studies.flips import LENIENT, STRICT
from studies.taxonomy.code_replies import codes_in
from studies.taxonomy.codebook import MOST_UNEXPLAINED, UNEXPLAINED, codes


class Taxonomy(Evaluation):
    """Runs over flips. Verdicts from files come in as flips, by `evenhand build flips`."""

    heading = "Why verdicts flip"
    words = Path(__file__).with_name("words.j2")
    measure_words = {"flips_per_100_items": "flips per 100 items"}

    def load(self, path: Path, options: argparse.Namespace) -> CodedRun:
        """Raises DataError: a scorecard, which loads runs one by one, has no figures of it."""
        raise DataError(f"{path}: the flip taxonomy has no part of a scorecard; use `evenhand compare`")

    def load_all(self, paths: Sequence[Path], options: argparse.Namespace) -> dict[str, CodedRun]:
        """Each model of each run. Raises DataError where a run before or after has several."""
        judges = load_coded(paths)
        if len(judges) > len(paths) > 1 and not getattr(options, "side_by_side", False):
            raise DataError(
                f"{paths[0]}: before and after is of one model a run, and some run here has flips of several; say "
                "--side-by-side, or build flips of each model apart"
            )
        return judges

    def scores(self, judges: Mapping[str, CodedRun], options: argparse.Namespace) -> list[Score]:
        """Of each model, and of all together where they stand side by side; else also against the base."""
        (base_name, base), *afters = judges.items()
        is_before_after = len({run.run.path for run in judges.values()}) > 1
        is_before_after = is_before_after and not getattr(options, "side_by_side", False)
        flips, drawing = all_flips(judges, is_pooled=not is_before_after), drawing_of(options)
        return [
            *(score for _, of_judge in flips.groupby("judge", sort=False) for score in scores_of(of_judge, drawing)),
            *agreements([*judges.values()], drawing),
            *(
                score
                for name, after in afters
                if is_before_after
                for score in moved_scores(base, after, (base_name, name))
            ),
        ]

    def changes(self, judges: Mapping[str, CodedRun], options: argparse.Namespace) -> list[Change]:
        """Flips per 100 items of each code and category."""
        (first, base), (second, after) = judges.items()
        return flip_changes(base, after, (first, second), drawing_of(options))

    def differences(self, base: Any, after: Any, *, is_before_after: bool) -> list[Difference]:
        """In the judge and in how the flips were built."""
        return judge_differences(base, after) if is_before_after else []

    def tables(self, results: Results) -> list[TableSpec]:
        """Those of the paper, what was removed and made, agreement, states and flips."""
        return taxonomy_tables(results)

    def facts(self, results: Results) -> dict[str, Any]:
        """The frames and the codebook."""
        names = {"rest": UNEXPLAINED, "most_rest": MOST_UNEXPLAINED, "any_flip": ANY, "code_level": CODE}
        return {**frames(results), **names, "codes": codes()}

    def warnings(self, results: Results) -> list[str]:
        """See words.j2."""
        return results.sentences.get("warnings", [])

    def plots(self, results: Results) -> list[Any]:
        """Figure 6 of the DialDefer paper: the categories of each model's deference and skepticism flips."""
        from eval.report.plots import interval_plot

        shares, plots = results.facts["category"].query("not is_total"), []
        for number, (name, of_judge) in enumerate(shares.groupby("judge", sort=False), start=1):
            sides = [
                pd.DataFrame({end: of_judge[f"{end}_{way}"] for end in ("value", "low", "high")}).assign(
                    label=of_judge["label"], series=f"{way} ({of_judge[f'n_{way}'].sum()} flips)"
                )
                for way in (LENIENT, STRICT)
            ]
            title, label = f"Why verdicts flip: {name}", "% of the flips of a direction"
            plots.append(interval_plot(f"taxonomy_figure6-{number}", title, pd.concat(sides), label, zero=None))
        return plots

    def verdicts(self, path: Path) -> Verdicts:
        """The primary code."""
        replies = load_finished(path).replies.values()
        return {(one.prompt_hash, one.sample_index): codes_in(one).primary or None for of in replies for one in of}


EVALUATION = Taxonomy()

"""`evenhand plan CONFIG`: how many items and placebos a study needs, and what asking about them takes."""

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from evenhand.config import config_parser
from evenhand.errors import DataError
from evenhand.terminal import say
from inference.config import load_sampling_config

if TYPE_CHECKING:
    from eval.shift.answer import Answer

WORDS = Path(__file__).with_name("plan.j2")
N_PLACEBOS = (8, 16)  # beside as many as the config has


def main(argv: Sequence[str]) -> None:
    """Say how many items and placebos it takes for a Yes in 80 % of runs at a true shift of 5, 10 or 15 points.

    The rule of the answer is simulated (docs/results.md): one framing moves the judge, the others do not. With --run a
    finished run says by how much shifts and placebos vary, and what a prompt takes in tokens.
    """
    parser = config_parser("plan", main, "example: evenhand plan study.yaml --run RUN")
    options = parser.parse_intermixed_args(argv)
    config = load_sampling_config([options.config, *options.overrides])
    n_conditions, n_placebos = config.study.compared()
    first, *_ = units = config.units().units
    prompts = list(first.next_prompts({}))
    prompts += first.next_prompts(config.study.supposed_replies(prompts))
    firsts = [unit.next_prompts({})[0] for unit in units]
    items_per_cluster = len(firsts) / len({prompt.cluster or prompt.item_id for prompt in firsts})
    n_datasets = len({prompt.dataset for prompt in firsts})
    n_asked = len(prompts) / (1 + n_conditions + n_placebos)  # of an item, in one framing

    from eval.report.tables import console, sentences, with_rows, wrapped
    from eval.shift.answer import FEWEST_PLACEBOS, LITTLE
    from evenhand.cli.planning import MOST_UNITS, SHIFTS, default_spread, spread_of, units_needed

    spread = default_spread(n_asked * items_per_cluster, n_conditions * (n_datasets + (n_datasets > 1)))
    measured, n_tokens = measured_in(options.run) if options.run else (None, math.nan)
    spread = spread_of(measured, spread) if measured else spread
    rows, unreached = list[list[Any]](), list[tuple[float, int, float]]()
    for true in SHIFTS:
        for k in sorted({n_placebos, *N_PLACEBOS}):
            n_units, reached = units_needed(spread, true, k)
            if n_units is None:
                unreached.append((true, k, 100 * reached))
                continue
            n_items = math.ceil(n_units * items_per_cluster)
            n_prompts = n_items * n_asked * (1 + n_conditions + k)
            rows.append([f"{true:g} points", k, n_items, 100 * reached, n_prompts, n_prompts * n_tokens])
    heads = {"true shift": "", "placebos": "d", "items": ",.0f", "power %": ".0f", "prompts": ",.0f", "tokens": ",.0f"}
    title = f"For a Yes in 80 % of runs, with {n_conditions} conditions beside the baseline"
    say(console(with_rows("plan", title, heads, rows)) + "\n")
    facts = {"most": MOST_UNITS * items_per_cluster, "unreached": unreached, "little": LITTLE, "spread": spread}
    facts |= {"measured": measured, "run": options.run, "has_tokens": not math.isnan(n_tokens)}
    facts |= {"has_few": n_placebos < FEWEST_PLACEBOS, "fewest": FEWEST_PLACEBOS}
    say(wrapped(sentences(WORDS, facts)[""]))


def measured_in(path: Path) -> "tuple[Answer, float]":
    """The answer about a run's judge, and the mean tokens of a prompt with its reply; NaN where they are unknown."""
    from eval.evaluation import evaluation_of
    from eval.options import Options
    from eval.results import load_runs, results_as_read
    from eval.runs import study_of_run

    study = study_of_run(path)
    evaluation = evaluation_of(study)
    if evaluation.answers is None:
        raise DataError(f"{path}: its study has no answer by the rule on shifts; leave --run out")
    runs = load_runs(evaluation, [path])
    answers = evaluation.answers(next(results_as_read(study, runs, Options())))
    replies = [reply for of_prompt in runs[0].replies.values() for reply in of_prompt if reply.prompt_tokens]
    n_tokens = [(reply.prompt_tokens or 0) + (reply.completion_tokens or 0) for reply in replies]
    return next(iter(answers.values())), fmean(n_tokens) if n_tokens else math.nan

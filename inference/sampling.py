"""A sampling run from start to end: plan, find what is owed, ask for it, write it down. Resumable after any kill."""

import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from evenhand.answer_doubts import answer_doubts
from evenhand.checkpoints import fingerprint, resolve
from evenhand.completion_shards import CompletionLog, every_completion
from evenhand.errors import ConfigError, ModelError
from evenhand.excluded_units import EXCLUDED_FOLDER, exclude, read_excluded
from evenhand.records import Completion, Prompt
from evenhand.run_directory import finish, is_done, open_run, reopen, rewrite_plan, run_path, same_plan, write_plan
from evenhand.terminal import say
from inference.config import FREE_OF_EFFECT, InferenceConfig
from inference.engine import Engine, PromptsTooLong, device_name, open_engine
from inference.schedule import Schedule
from inference.survey import Run, Survey
from inference.watchdog import Watchdog
from studies.study import LazyUnits, Unit


def parse_shard(text: str) -> tuple[int, int]:
    """ "2/8" → (2, 8), shards counted from 0. Raises ConfigError otherwise."""
    index, slash, count = text.partition("/")
    if slash and index.isdigit() and count.isdigit() and int(index) < int(count):
        return int(index), int(count)
    raise ConfigError(f"--shard {text}: write i/n with 0 <= i < n, for example 0/4 ... 3/4")


def sample(config: InferenceConfig, shard: tuple[int, int] | None = None, only: Collection[str] | None = None) -> Path:
    """Run (or continue) a sampling run and return its directory. DONE.json appears when nothing is owed.

    only: ids of the units to ask, where a run is asked again in part (inference/rerun.py).
    """
    found = config.study.units(config.verdict)
    units = found.units if only is None else part_of(found.units, only)
    path = run_path(config.run.root, "inference", config.name, config, FREE_OF_EFFECT)
    facts, device = model_facts(config), partial(device_name, config)
    inputs = config.study.inputs()
    open_run(path, config, found.content_hash, facts, device, inputs, plan_grows=found.plan_grows)
    run = Run(path, config, units, found.plan_grows)
    survey = Survey(run, run.answered(every_completion(path)), shard)
    write_plan(path, survey.prompts(), plan_grows=run.plan_grows)
    if is_done(path) and not survey.owed:
        say(f"{path}: complete already ({survey.n_planned} prompts)", sys.stderr)
        return path
    if is_done(path):  # a shard was lost or deleted since, and with it what later prompts may rest on
        reopen(path)
        if run.plan_grows:
            rewrite_plan(path, survey.prompts())
    planned = f"{survey.n_planned} prompts planned, {len(survey.texts)} different ones"
    say(f"{path}: {planned}, {len(survey.own)} owed by this process", sys.stderr)
    log = CompletionLog(path, config.run.shard_size * config.sampling.n)
    failed = ask_all(run, survey, log) if survey.own else Failed()
    settle(run, failed, log)
    return path


def part_of(units: Sequence[Unit], ids: Collection[str]) -> LazyUnits:
    """The units of these ids."""
    return LazyUnits([place for place, unit in enumerate(units) if unit.unit_id in ids], units.__getitem__)


@dataclass
class Failed:
    """Prompts whose replies this process could not have."""

    hashes: set[str] = field(default_factory=set)
    n_asked: int = 0  # with those that could be had


def ask_all(run: Run, survey: Survey, log: CompletionLog) -> Failed:
    """Ask what this process owes."""
    config, failed = run.config, Failed()
    own = run.units if survey.shard is None else LazyUnits(survey.own_units, run.units.__getitem__)
    mine = Schedule(own, survey.answered, survey.excluded)
    mine.n_expected, prompts = sum(survey.own.values()), mine.due()
    with Watchdog(config.run.hang_limit_s, log) as watched, open_engine(config, prompts) as engine:
        while prompts:
            ask(engine, prompts, mine, watched, config)
            failed.hashes |= mine.unanswered
            failed.n_asked += mine.n_asked
            if not run.plan_grows:  # no unit goes by what is replied
                break
            # Where two processes asked one prompt, the other's reply may count: a unit here then goes another way.
            # What was answered here is there, though the folder may not show it yet.
            answered = run.answered(chain(every_completion(run.path), mine.answered.completions()))
            mine = Schedule(own, answered, read_excluded(run.path), failed.hashes)
            prompts = mine.due()
            mine.n_expected = mine.n_answers(prompts)
    return failed


def ask(engine: Engine, prompts: Sequence[Prompt], mine: Schedule, watched: Watchdog, config: InferenceConfig) -> None:
    """Collect what is missing. Units that do not fit the context window are left out whole, and named.

    Raises PromptsTooLong where a study's units are all to be asked.
    """
    path, too_long = watched.log.path, list[PromptsTooLong]()
    while prompts:
        try:
            collect(engine, prompts, mine, watched, config.name)
            break
        except PromptsTooLong as error:
            names = {prompt.item_id: None for prompt in error.reasons}
            mine.leave_out(names)
            prompts = mine.due()
            if not config.study.skips_long_units:
                too_long.append(error)
                continue
            exclude(path, error.reasons)
            say(
                f"{path}: {len(names)} of {len(mine.units)} items are left out, since a prompt of theirs does not fit "
                f"the context window: {', '.join([*names][:5])}{' ...' if len(names) > 5 else ''} (all of them in "
                f"{EXCLUDED_FOLDER}/)",
                sys.stderr,
            )
    if too_long:
        reasons = {prompt: reason for error in too_long for prompt, reason in error.reasons.items()}
        first = str(too_long[0])
        raise PromptsTooLong(first if len(too_long) == 1 else f"{len(reasons)} prompts in all. {first}", reasons)


def collect(engine: Engine, prompts: Sequence[Prompt], mine: Schedule, watched: Watchdog, name: str) -> None:
    """Write completions a shard at a time as they come, with progress, throughput and time left."""
    started, tokens = time.monotonic(), 0
    every = 0.5 if sys.stderr.isatty() else 30.0  # seconds; a job's log file is no screen
    total, done = mine.n_expected, mine.n_taken
    with tqdm(total=total, initial=done, unit="answer", dynamic_ncols=True, desc=name, mininterval=every) as bar:
        try:
            for completion in engine.generate(prompts, mine.due):
                mine.add(completion)
                tokens += (completion.prompt_tokens or 0) + (completion.completion_tokens or 0)
                bar.total = max(mine.n_expected, mine.n_taken)
                bar.set_postfix_str(f"{tokens / (time.monotonic() - started):.0f} tok/s", refresh=False)
                bar.update()
                watched.add(completion)
        finally:
            # Also when the engine died or the user pressed Ctrl-C: what was computed is kept.
            watched.write()


def settle(run: Run, failed: Failed, log: CompletionLog) -> None:
    """Mark the run complete when nothing is owed; raise ModelError when a prompt asked here got no reply."""
    log.refuse_if_unseen()
    path, answered, n_twice = run.path, run.answered(), 0

    def counted() -> Iterator[Completion]:
        nonlocal n_twice
        for completion in every_completion(path):
            if answered.add(completion):
                yield completion
            else:
                n_twice += not completion.is_error

    for doubt in answer_doubts(counted(), run.config.verdict):
        say(f"{path}: warning: {doubt}", sys.stderr)
    if n_twice:
        say(
            f"{path}: {n_twice} answers were asked for twice, by processes that ran at once, by shards whose units "
            "share a prompt, or after an interruption; the earlier ones count. Give each process a part of its own: "
            "--shard i/n",
            sys.stderr,
        )
    survey = Survey(run, answered)
    planned = list(survey.prompts()) if run.plan_grows else None  # of such a plan every pass is dear
    is_as_planned = same_plan(path, planned or survey.prompts(), plan_grows=run.plan_grows)
    if len(survey.excluded) >= len(run.units):
        raise ModelError(
            f"{path}: no item fits the context window, so nothing was asked. Raise engine.max_model_len, or take a "
            "model with a longer one"
        )
    if not survey.owed:
        assert survey.is_over
        if not is_as_planned:
            rewrite_plan(path, planned or survey.prompts())
        left_out = {"n_excluded_items": len(survey.excluded)} if survey.excluded else {}
        finish(path, {"n_planned": survey.n_planned, "n_distinct": len(survey.texts), **left_out})
        return
    unanswered = survey.owed & failed.hashes
    reasons = [c.finish_reason for c in every_completion(path) if c.is_error and c.prompt_hash in unanswered]
    if reasons:
        raise ModelError(
            f"{path}: {len(unanswered)} of {failed.n_asked} prompts got no reply, the last reason: {reasons[-1]}. "
            "The others are kept; the same command asks for these again"
        )
    left = f"{path}: {len(survey.owed)} prompts still owed by other shards"
    say(f"{left}; once none of them runs, the command without --shard asks for what is left", sys.stderr)


def model_facts(config: InferenceConfig) -> dict[str, object]:
    """The model's identity for provenance.json; of a server's model only its name is known."""
    if config.engine.kind == "openai":
        return {"name": config.model.name}
    return fingerprint(config.model, resolve(config.model))

"""A sampling run from start to end: plan, find what is owed, ask for it, write it down. Resumable after any kill."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from evenhand.checkpoints import fingerprint, resolve
from evenhand.completions import (
    EXCLUDED_FOLDER,
    Answers,
    CompletionLog,
    answer_doubts,
    every_completion,
    exclude,
    read_excluded,
)
from evenhand.errors import ConfigError, ModelError
from evenhand.records import Completion, Prompt
from evenhand.run_directory import (
    DONE_FILE,
    check_writable,
    finish,
    is_done,
    open_run,
    rewrite_plan,
    run_path,
    write_plan,
)
from evenhand.study import LazyUnits, reasons
from evenhand.terminal import say
from evenhand.thoughts import thought_apart
from inference.config import FREE_OF_EFFECT, InferenceConfig
from inference.engine import Engine, PromptsTooLong, device_name, open_engine
from inference.recorded_engine import opened
from inference.schedule import Plan, Schedule, first_due
from inference.watchdog import Watchdog

EngineFor = Callable[[InferenceConfig, Sequence[Prompt]], Any]  # gives the engine for a config and its first prompts


def parse_shard(text: str) -> tuple[int, int]:
    """ "2/8" → (2, 8), shards counted from 0. Raises ConfigError otherwise."""
    index, slash, count = text.partition("/")
    if slash and index.isdigit() and count.isdigit() and int(index) < int(count):
        return int(index), int(count)
    raise ConfigError(f"--shard {text}: write i/n with 0 <= i < n, for example 0/4 ... 3/4")


def sample(config: InferenceConfig, shard: tuple[int, int] | None = None) -> Path:
    """Run (or continue) a sampling run and return its directory. DONE.json appears when nothing is owed."""
    (path,) = sample_all([config], shard)
    return path


def sample_all(configs: Sequence[InferenceConfig], shard: tuple[int, int] | None = None) -> Iterator[Path]:
    """The same of configs that differ in model.adapter alone, with one engine that takes one adapter after the other.

    vLLM holds adapters of at most the first one's rank.
    """
    engine: Any = None
    adapter: Path | None = None
    with ExitStack() as stack:

        def engine_for(config: InferenceConfig, prompts: Sequence[Prompt]) -> Any:
            nonlocal engine, adapter
            if engine is None:
                engine = stack.enter_context(open_engine(config, prompts))
            elif config.model.adapter != adapter:
                engine.use_adapter(config.model.adapter)
            adapter = config.model.adapter
            return engine

        for config in configs:
            yield sample_by(config, shard, engine_for)


def sample_by(config: InferenceConfig, shard: tuple[int, int] | None, engine_for: EngineFor) -> Path:
    """One of these runs."""
    units = config.units()
    path = run_path(config.run.root, "inference", config.name, config, FREE_OF_EFFECT)
    facts, device = model_facts(config), partial(device_name, config)
    plan_grows, left_out = units.plan_grows, config.study.left_out
    noted = {"inputs": config.study.inputs(), "plan_grows": plan_grows, "n_left_out": len(left_out)}
    log = CompletionLog(path, config.run.shard_size * config.sampling.n)
    if not path.exists():  # a new run has a folder once its engine runs: what was refused leaves none
        check_writable(path)
        device()  # refuses sooner than an engine
        with Watchdog(config.run.stall_timeout_s, log):
            engine_for(config, first_due(units, config.sampling, shard))
    open_run(path, config, units.content_hash, facts, device, **noted)
    answers = Answers(keeps_replies=plan_grows).read(path)
    plan = Plan(path, config, units, answers, shard)
    write_plan(path, plan.prompts())
    if is_done(path):
        if not plan.owed:
            say(f"{path}: complete already ({plan.n_planned} prompts)", sys.stderr)
            return path
        # A shard was lost or deleted since, and with it what later prompts may rest on.
        (path / DONE_FILE).unlink()
        if plan_grows:
            rewrite_plan(path, Plan(path, config, units, answers).prompts())
    counts = f"{plan.n_planned} prompts, {len(plan.hashes)} different ones, {len(plan.own)} to ask here"
    counts += ", and more that depend on the replies" if plan_grows else ""
    if left_out:
        counts += f"; {len(left_out)} items cannot be asked and are left out:{reasons(left_out)}"
    say(f"{path}: {counts}", sys.stderr)
    schedule = Schedule(LazyUnits(plan.own_units, units.units.__getitem__), answers, config.sampling)
    if plan.own:
        ask_all(plan, schedule, log, engine_for)
    log.check_shards_exist()
    answers.shards.update(shard.name for shard in log.written if not plan_grows)  # what was answered here is known
    answers.read(path)
    for doubt in answer_doubts(every_completion(path), config.verdict):
        say(f"{path}: warning: {doubt}", sys.stderr)
    settle(plan, schedule)
    return path


def ask_all(plan: Plan, schedule: Schedule, log: CompletionLog, engine_for: EngineFor) -> None:
    """Ask what this process owes."""
    prompts, total = schedule.due(), None if plan.units.plan_grows else sum(plan.own.values())
    interval_s = 0.5 if sys.stderr.isatty() else 30.0  # seconds; a job's log file is no screen
    with Watchdog(plan.config.run.stall_timeout_s, log) as watched:
        engine = engine_for(plan.config, prompts)
        with tqdm(total=total, unit="answer", dynamic_ncols=True, desc=plan.config.name, mininterval=interval_s) as bar:
            while prompts:
                try:
                    for completion in completions(engine, prompts, schedule, plan):
                        watched.add(completion)
                        bar.update()
                finally:
                    # Also when the engine died or the user pressed Ctrl-C: what was computed is kept.
                    watched.write()
                if not plan.units.plan_grows:
                    break
                # Where two processes asked one prompt, the other's reply may count: a unit here then goes another way.
                plan.answers.read(plan.path)
                schedule.begin(read_excluded(plan.path))
                prompts = schedule.due()


def completions(engine: Engine, prompts: Sequence[Prompt], schedule: Schedule, plan: Plan) -> Iterator[Completion]:
    """What an engine answers. Units that do not fit the context window are left out whole, and named.

    Raises PromptsTooLong where a study's units are all to be asked.
    """
    while prompts:
        try:
            for completion in map(thought_apart, engine.generate(prompts, schedule.due)):
                schedule.add(completion)
                yield completion
            break
        except PromptsTooLong as error:
            if not plan.config.study.skips_long_units:
                raise
            exclude(plan.path, error.reasons)
            names = [*dict.fromkeys(prompt.item_id for prompt in error.reasons)]
            say(
                f"{plan.path}: {len(names)} of {len(plan.units.units)} items are left out, since a prompt of theirs "
                f"does not fit the context window: {', '.join(names[:5])}{' ...' if len(names) > 5 else ''} (all in "
                f"{EXCLUDED_FOLDER}/)",
                sys.stderr,
            )
            schedule.begin(names)
            prompts = schedule.due()


def settle(plan: Plan, schedule: Schedule) -> None:
    """Mark the run complete when nothing is owed; raise ModelError when a prompt asked here got no reply."""
    path, units, answers = plan.path, plan.units, plan.answers
    planned: list[Prompt] = []
    if units.plan_grows or read_excluded(path) != plan.excluded:
        plan = Plan(path, plan.config, units, answers)
        planned = [prompt for prompt in plan.prompts() if units.plan_grows]
    if len(plan.excluded) >= len(units.units):
        raise ModelError(
            f"{path}: no item fits the context window. Raise engine.max_model_len, or take a model with a longer one"
        )
    owed = {hash_ for hash_, n in plan.owed.items() if answers.n_of(hash_) < n}
    if not owed:
        if units.plan_grows:
            rewrite_plan(path, planned)
        left_out = {"n_excluded_items": len(plan.excluded)} if plan.excluded else {}
        finish(path, {"n_planned": plan.n_planned, "n_distinct": len(plan.hashes), **left_out})
        return
    unanswered = owed & schedule.unanswered
    reasons = [reason for hash_, reason in answers.errors.items() if hash_ in unanswered]
    if reasons:
        raise ModelError(
            f"{path}: {len(unanswered)} prompts got no reply, the last reason: {reasons[-1]}. The same command goes on"
        )
    say(
        f"{path}: {len(owed)} prompts still to be asked by other shards; once none of them runs, the command without "
        "--shard asks for what is left",
        sys.stderr,
    )


def model_facts(config: InferenceConfig) -> dict[str, object]:
    """The model's identity for provenance.json; of a server's model only its name is known."""
    if config.engine.kind == "openai":
        return {"name": config.model.name}
    if config.engine.kind == "recorded":
        return dict(opened(config.model.name).facts)
    return fingerprint(config.model, resolve(config.model))

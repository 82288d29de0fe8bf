"""A sampling run from start to end: plan, find what is owed, ask for it, write it down. Resumable after any kill."""

import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from tqdm import tqdm

from evenhand.answer_doubts import answer_doubts
from evenhand.checkpoints import fingerprint, resolve
from evenhand.completion_shards import CompletionLog, every_completion, read_completions
from evenhand.errors import ConfigError, ModelError
from evenhand.excluded_units import EXCLUDED_FOLDER, exclude, read_excluded
from evenhand.records import Prompt, digest
from evenhand.run_directory import finish, is_done, open_run, reopen, rewrite_plan, run_path, write_plan
from evenhand.terminal import say
from inference.config import FREE_OF_EFFECT, InferenceConfig
from inference.drawing import n_samples
from inference.engine import Engine, PromptsTooLong, device_name, open_engine
from inference.prefix_order import in_prefix_order
from inference.schedule import Schedule
from inference.watchdog import Watchdog
from studies.study import OneRound, Unit


def take_shard(units: Sequence[Unit], shard: tuple[int, int] | None) -> list[Unit]:
    """Shard i of n by the units' ids: every process cuts alike, whatever is already answered.

    A unit is asked by one process, since its prompts share most of their text and later ones hang on earlier replies.
    """
    if shard is None:
        return list(units)
    index, count = shard
    return [unit for unit in units if int(digest(unit.unit_id, 16), 16) % count == index]


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
    units, content_hash = config.study.units(config.verdict)
    if only is not None:
        units = [unit for unit in units if unit.unit_id in only]
    path = run_path(config.run.root, "inference", config.name, config, FREE_OF_EFFECT)
    grows = not all(isinstance(unit, OneRound) for unit in units)
    facts, device = model_facts(config), partial(device_name, config)
    open_run(path, config, content_hash, facts, device, config.study.inputs(), plan_grows=grows)
    whole = schedule(path, units, config)
    write_plan(path, whole.planned)
    if is_done(path) and not whole.owed:
        say(f"{path}: complete already ({len(whole.planned)} prompts)", sys.stderr)
        return path
    if is_done(path):  # a shard was lost or deleted since, and with it what later prompts may rest on
        reopen(path)
        rewrite_plan(path, whole.planned)
    own = take_shard(units, shard)
    mine = schedule(path, own, config) if shard else whole
    missing = in_prefix_order(mine.due())
    n_texts = len({prompt.prompt_hash for prompt in whole.planned})
    planned = f"{len(whole.planned)} prompts planned, {n_texts} different ones"
    say(f"{path}: {planned}, {len(missing)} owed by this process", sys.stderr)
    asked: set[str] = set()
    log = CompletionLog(path, config.run.shard_size * config.sampling.n)
    if missing:
        with Watchdog(config.run.hang_limit_s, log.write) as watchdog, open_engine(config, missing) as engine:
            while missing:
                ask(engine, missing, mine, config, log, watchdog)
                asked |= mine.asked
                if not mine.keeps_replies:  # no unit goes by what is replied
                    break
                # Where two processes asked one prompt, the other's reply may count: a unit here then goes another way.
                mine = schedule(path, own, config)
                missing = in_prefix_order([prompt for prompt in mine.due() if prompt.prompt_hash not in asked])
    for doubt in answer_doubts(read_completions(path).values(), config.verdict):
        say(f"{path}: warning: {doubt}", sys.stderr)
    if n_twice := answers_beyond_one(path):
        say(
            f"{path}: {n_twice} answers were asked for twice, by processes that ran at once, by shards whose units "
            "share a prompt, or after an interruption; the earlier ones count. Give each process a part of its own: "
            "--shard i/n",
            sys.stderr,
        )
    log.refuse_if_unseen()
    settle(path, units, asked, config)
    return path


def schedule(path: Path, units: Sequence[Unit], config: InferenceConfig) -> Schedule:
    """The units of a run as far as the replies on disk have brought them."""
    return Schedule(units, config.sampling, every_completion(path), read_excluded(path))


def answers_beyond_one(path: Path) -> int:
    """How many answers of a run are further ones to a prompt and sample that has one."""
    counts = Counter((c.prompt_hash, c.sample_index) for c in every_completion(path) if not c.is_error)
    return counts.total() - len(counts)


def ask(
    engine: Engine,
    prompts: Sequence[Prompt],
    mine: Schedule,
    config: InferenceConfig,
    log: CompletionLog,
    watchdog: Watchdog,
) -> None:
    """Collect what is missing. Units that do not fit the context window are left out whole, and named.

    Raises PromptsTooLong where a study's units are all to be asked.
    """
    path = log.path
    while prompts:
        try:
            collect(engine, prompts, mine, config, log, watchdog)
            return
        except PromptsTooLong as error:
            if not config.study.skips_long_units:
                raise
            exclude(path, error.reasons)
            names = {prompt.item_id: None for prompt in error.reasons}
            say(
                f"{path}: {len(names)} of {len(mine.progress)} items are left out, since a "
                f"prompt of theirs does not fit the context window: {', '.join([*names][:5])}"
                f"{' ...' if len(names) > 5 else ''} (all of them in {EXCLUDED_FOLDER}/)",
                sys.stderr,
            )
            mine.leave_out(names)
            prompts = in_prefix_order(mine.owed)


def collect(
    engine: Engine,
    prompts: Sequence[Prompt],
    mine: Schedule,
    config: InferenceConfig,
    log: CompletionLog,
    watchdog: Watchdog,
) -> None:
    """Write completions a shard at a time as they come, with progress, throughput and time left."""
    started, tokens = time.monotonic(), 0
    total = sum(n_samples(prompt, config.sampling) for prompt in prompts)
    every = 0.5 if sys.stderr.isatty() else 30.0  # seconds; a job's log file is no screen
    with tqdm(total=total, unit="answer", dynamic_ncols=True, desc=config.name, mininterval=every) as bar:

        def further() -> Sequence[Prompt]:
            found = mine.due()
            bar.total = (bar.total or 0) + sum(n_samples(prompt, config.sampling) for prompt in found)
            return found

        try:
            for completion in engine.generate(prompts, further):
                watchdog.note_progress()
                mine.add(completion)
                tokens += (completion.prompt_tokens or 0) + (completion.completion_tokens or 0)
                bar.set_postfix_str(f"{tokens / (time.monotonic() - started):.0f} tok/s", refresh=False)
                bar.update()
                with watchdog.lock:
                    log.add(completion)
        finally:
            # Also when the engine died or the user pressed Ctrl-C: what was computed is kept.
            with watchdog.lock:
                log.write()


def settle(path: Path, units: Sequence[Unit], asked: Collection[str], config: InferenceConfig) -> None:
    """Mark the run complete when nothing is owed; raise ModelError when a prompt asked here got no reply."""
    excluded = read_excluded(path)
    if len(excluded) >= len(units):
        raise ModelError(
            f"{path}: no item fits the context window, so nothing was asked. Raise engine.max_model_len, or take a "
            "model with a longer one"
        )
    whole = schedule(path, units, config)
    missing = {prompt.prompt_hash for prompt in whole.owed}
    if not missing:
        assert whole.is_over
        prompts = whole.planned
        rewrite_plan(path, prompts)
        left_out = {"n_excluded_items": len(excluded)} if excluded else {}
        finish(path, {"n_planned": len(prompts), "n_distinct": len({p.prompt_hash for p in prompts}), **left_out})
        return
    unanswered = missing & set(asked)
    reasons = [c.finish_reason for c in every_completion(path) if c.is_error and c.prompt_hash in unanswered]
    if reasons:
        raise ModelError(
            f"{path}: {len(unanswered)} of {len(asked)} prompts got no reply, the last reason: {reasons[-1]}. "
            "The others are kept; the same command asks for these again"
        )
    left = f"{path}: {len(missing)} prompts still owed by other shards"
    say(f"{left}; once none of them runs, the command without --shard asks for what is left", sys.stderr)


def model_facts(config: InferenceConfig) -> dict[str, object]:
    """The model's identity for provenance.json; of a server's model only its name is known."""
    if config.engine.kind == "openai":
        return {"name": config.model.name}
    return fingerprint(config.model, resolve(config.model))

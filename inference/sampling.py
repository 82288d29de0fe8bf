"""A sampling run from start to end: plan, find what is owed, ask for it, write it down. Resumable after any kill."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tqdm import tqdm

from benchmarks.answer_doubts import answer_doubts
from benchmarks.checkpoints import fingerprint, resolve
from benchmarks.errors import ConfigError, ModelError
from benchmarks.excluded import EXCLUDED_FOLDER, exclude, kept, read_excluded
from benchmarks.jsonl import remove_left_over
from benchmarks.records import Completion, Prompt, digest
from benchmarks.rundir import finish, is_done, open_run, reopen, run_path, write_plan
from benchmarks.shards import SHARDS_FOLDER, append_completions, every_completion, read_completions
from benchmarks.terminal import say
from inference.config import FREE_OF_EFFECT, InferenceConfig
from inference.engine import Engine, PromptsTooLong, device_name, open_engine
from inference.plan import in_prefix_order, plan


def owed(path: Path, prompts: Sequence[Prompt], n_samples: int) -> list[Prompt]:
    """The distinct prompts that lack a sample; an engine error is no answer, so it is asked again.

    What the run leaves out is not owed.
    """
    answered = {(c.prompt_hash, c.sample_index) for c in every_completion(path) if not c.is_error}
    distinct = {prompt.prompt_hash: prompt for prompt in kept(prompts, read_excluded(path))}
    return [
        prompt
        for hash_, prompt in distinct.items()
        if any((hash_, index) not in answered for index in range(n_samples))
    ]


def take_shard(prompts: Sequence[Prompt], shard: tuple[int, int] | None, *, whole_items: bool = False) -> list[Prompt]:
    """Shard i of n by content hash: every process cuts alike, whatever is already answered.

    whole_items: cut between items, not between prompts, where the prompts of an item share most of their text.
    """
    if shard is None:
        return list(prompts)
    index, count = shard
    if whole_items:
        return [prompt for prompt in prompts if int(digest(prompt.item_id, 16), 16) % count == index]
    return [prompt for prompt in prompts if int(prompt.prompt_hash, 16) % count == index]


def parse_shard(text: str) -> tuple[int, int]:
    """ "2/8" → (2, 8), shards counted from 0. Raises ConfigError otherwise."""
    index, slash, count = text.partition("/")
    if slash and index.isdigit() and count.isdigit() and int(index) < int(count):
        return int(index), int(count)
    raise ConfigError(f"--shard {text}: write i/n with 0 <= i < n, for example 0/4 ... 3/4")


def sample(config: InferenceConfig, shard: tuple[int, int] | None = None) -> Path:
    """Run (or continue) a sampling run and return its directory. DONE.json appears when nothing is owed."""
    prompts, items_hash = plan(config)
    path = run_path(config.run.root, "inference", config.name, config, FREE_OF_EFFECT)
    open_run(path, config, items_hash, model_facts(config), partial(device_name, config))
    for folder in (path, path / SHARDS_FOLDER):
        remove_left_over(folder, is_ours=False)  # several processes may share a run
    write_plan(path, prompts)
    all_owed = owed(path, prompts, config.sampling.n)
    if is_done(path) and not all_owed:
        say(f"{path}: complete already ({len(prompts)} prompts)", sys.stderr)
        return path
    reopen(path)  # a shard was lost or deleted since
    missing = in_prefix_order(take_shard(all_owed, shard, whole_items=config.study is not None))
    n_texts = len({prompt.prompt_hash for prompt in prompts})
    planned = f"{len(prompts)} prompts planned, {n_texts} different ones"
    say(f"{path}: {planned}, {len(missing)} owed by this process", sys.stderr)
    if missing:
        with open_engine(config, missing) as engine:
            ask(engine, missing, path, config)
    for doubt in answer_doubts(read_completions(path).values(), config.verdict):
        say(f"{path}: warning: {doubt}", sys.stderr)
    if n_twice := answers_beyond_one(path):
        say(
            f"{path}: {n_twice} answers were asked for twice, by processes that ran at once; the earlier ones count. "
            "Give each process a part of its own: --shard i/n",
            sys.stderr,
        )
    settle(path, prompts, missing, config)
    return path


def answers_beyond_one(path: Path) -> int:
    """How many answers of a run are further ones to a prompt and sample that has one."""
    counts = Counter((c.prompt_hash, c.sample_index) for c in every_completion(path) if not c.is_error)
    return counts.total() - len(counts)


def ask(engine: Engine, prompts: Sequence[Prompt], path: Path, config: InferenceConfig) -> None:
    """Collect what is missing. A study's items that do not fit the context window are left out whole, and named.

    Raises PromptsTooLong where a run has no study: its items are short, and one too many is a mistake.
    """
    while prompts:
        try:
            collect(engine, prompts, path, config)
            return
        except PromptsTooLong as error:
            if config.study is None:
                raise
            exclude(path, error.reasons)
            names = list(dict.fromkeys(prompt.item_id for prompt in error.reasons))
            say(
                f"{path}: {len(names)} of {len({prompt.item_id for prompt in prompts})} items are left out, since a "
                f"prompt of theirs does not fit the context window: {', '.join(names[:5])}"
                f"{' ...' if len(names) > 5 else ''} (all of them in {EXCLUDED_FOLDER}/)",
                sys.stderr,
            )
            prompts = owed(path, prompts, config.sampling.n)


def collect(engine: Engine, prompts: Sequence[Prompt], path: Path, config: InferenceConfig) -> None:
    """Write completions a shard at a time as they come, with progress, throughput and time left."""
    batch: list[Completion] = []
    started, tokens = time.monotonic(), 0
    total = len(prompts) * config.sampling.n
    every = 0.5 if sys.stderr.isatty() else 30.0  # seconds; a job's log file is no screen
    with tqdm(total=total, unit="answer", dynamic_ncols=True, desc=config.name, mininterval=every) as bar:
        try:
            for completion in engine.generate(prompts):
                batch.append(completion)
                tokens += (completion.prompt_tokens or 0) + (completion.completion_tokens or 0)
                bar.set_postfix_str(f"{tokens / (time.monotonic() - started):.0f} tok/s", refresh=False)
                bar.update()
                if len(batch) >= config.run.shard_size * config.sampling.n:
                    append_completions(path, batch)
                    batch = []
        finally:
            # Also when the engine died or the user pressed Ctrl-C: what was computed is kept.
            if batch:
                append_completions(path, batch)


def settle(path: Path, prompts: Sequence[Prompt], asked: Sequence[Prompt], config: InferenceConfig) -> None:
    """Mark the run complete when nothing is owed; raise ModelError when a prompt asked here got no reply."""
    missing = {prompt.prompt_hash for prompt in owed(path, prompts, config.sampling.n)}
    excluded = read_excluded(path)
    if not kept(prompts, excluded):
        raise ModelError(
            f"{path}: no item fits the context window, so nothing was asked. Raise engine.max_model_len, or take a "
            "model with a longer one"
        )
    if not missing:
        left_out = {"n_excluded_items": len(excluded)} if excluded else {}
        finish(path, {"n_planned": len(prompts), "n_distinct": len({p.prompt_hash for p in prompts}), **left_out})
        return
    unanswered = missing & {prompt.prompt_hash for prompt in asked}
    reasons = [c.finish_reason for c in every_completion(path) if c.is_error and c.prompt_hash in unanswered]
    if reasons:
        raise ModelError(
            f"{path}: {len(unanswered)} of {len(asked)} prompts got no reply, the last reason: {reasons[-1]}. "
            "The others are kept; the same command asks for these again"
        )
    say(f"{path}: {len(missing)} prompts still owed by other shards", sys.stderr)


def model_facts(config: InferenceConfig) -> dict[str, object]:
    """The model's identity for provenance.json; of a server's model only its name is known."""
    if config.engine.kind == "openai":
        return {"name": config.model.name}
    return fingerprint(config.model, resolve(config.model))

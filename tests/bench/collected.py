"""Prompts collected as a run collects them, with its shards on disk and its watchdog."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.completions import CompletionLog
from evenhand.records import Prompt
from inference.config import InferenceConfig
from inference.sampling import collect
from inference.schedule import Schedule
from inference.watchdog import Watchdog


def collect_into(
    folder: str, engine: Any, prompts: Sequence[Prompt], asked: Schedule, settings: InferenceConfig
) -> Path:
    """The folder, which then holds the completions."""
    path = Path(folder)
    (path / "config.yaml").touch()  # shards carry a checksum over it
    log = CompletionLog(path, settings.run.shard_size * settings.sampling.n)
    with Watchdog(settings.run.hang_limit_s, log) as watched:
        collect(engine, prompts, asked, watched, settings.name)
    return path

"""Answers on record: a finished run, or an archive of one, answers again the prompts that it was asked.

A prompt is found by its hash, so only the same words are answered, with the same log-probabilities. So a published run
can be scored again, with other items left out or other measures, without its model.
"""

import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from evenhand.completions import read_answers
from evenhand.config import did_you_mean, read_yaml
from evenhand.errors import ConfigError, DataError
from evenhand.records import Completion, Prompt
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, PROVENANCE_FILE, is_done, read_json
from inference.config import InferenceConfig
from inference.engine import Further

OURS = Path(__file__).with_name("recorded")  # archives that come along, as docs/evidence/pack.py makes them
SUFFIX = ".tar.xz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a run was asked and has answered."""

    facts: Mapping[str, Any]  # of its model, and which run it is, for provenance.json
    verdict: str
    replies: Mapping[str, Sequence[Completion]]  # by prompt hash


@cache
def opened(name: str) -> Recording:
    """The recording that is a run's folder, an archive, or one of ours by its name. Raises ConfigError for none."""
    file = Path(name) if Path(name).exists() else OURS / f"{name}{SUFFIX}"
    if file.is_dir():
        return recording_in(file)
    names = [path.name.removesuffix(SUFFIX) for path in sorted(OURS.glob(f"*{SUFFIX}"))]
    if not file.is_file():
        raise ConfigError(
            f"model.name: '{name}' is no run's folder, no archive and no recording that comes along. "
            f"{did_you_mean(name, names)}"
        )
    with TemporaryDirectory() as folder:
        try:
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError, EOFError) as error:
            raise DataError(f"{file}: cannot be read as an archive of a run ({error})") from None
        runs = [path.parent for path in Path(folder).rglob(DONE_FILE) if (path.parent / "completions").is_dir()]
        if len(runs) != 1:
            raise DataError(f"{file}: holds {len(runs)} sampling runs; an archive of one is read")
        return recording_in(runs[0])


def recording_in(run: Path) -> Recording:
    """The recording that a finished sampling run is. Raises ConfigError for a run that is not finished."""
    if not is_done(run):
        raise ConfigError(f"model.name: {run} is no finished run; finish it by the command that began it")
    config, provenance = read_yaml(run / CONFIG_FILE), read_json(run / PROVENANCE_FILE)
    facts = {**provenance["model"], "recorded_run": run.name, "recorded": provenance["created"]}
    return Recording(facts=facts, verdict=config["verdict"], replies=read_answers(run).without_errors)


class RecordedEngine:
    """Gives what was answered before, and refuses what was not asked."""

    def __init__(self, config: InferenceConfig, prompts: Sequence[Prompt] = ()) -> None:
        self.config, self.recording = config, opened(config.model.name)
        if config.verdict != self.recording.verdict:
            raise ConfigError(
                f"verdict: {config.verdict}, but what model.name '{config.model.name}' has on record is of verdict "
                f"{self.recording.verdict}; write that, or name a model that can be asked, and its engine"
            )
        self.check(prompts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def replies_to(self, prompt: Prompt) -> Sequence[Completion]:
        """The first n replies on record, fewer where it has fewer."""
        return self.recording.replies.get(prompt.prompt_hash, ())[: self.config.sampling.n_for(prompt)]

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Raises ConfigError where not every prompt has all of its replies on record."""
        lacking = [p for p in prompts if len(self.replies_to(p)) < self.config.sampling.n_for(p)]
        if lacking:
            raise ConfigError(
                f"model.name: '{self.config.model.name}' has no answer on record to {len(lacking)} of {len(prompts)} "
                f"prompts, the first of them of {lacking[0].item_id} ({lacking[0].condition}): only the very words "
                "that it was asked are answered. Put them back, or name under `model` a model that can be asked, and "
                "under `engine` what runs it (kind: vllm, transformers, openai)"
            )

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        """As Engine.generate; raises as check."""
        while prompts:
            self.check(prompts)
            for prompt in prompts:
                yield from (replace(reply, sample_index=i) for i, reply in enumerate(self.replies_to(prompt)))
            prompts = further()

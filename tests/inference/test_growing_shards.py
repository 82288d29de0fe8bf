"""Two processes whose growing units share a prompt: each finishes its own, whichever of two replies counts."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evenhand import completions as completion_shards
from evenhand.completions import every_completion
from evenhand.errors import DataError
from evenhand.records import Completion, Prompt
from evenhand.run_directory import is_done
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import Further
from inference.sampling import sample
from inference.schedule import Plan, Run, in_shard
from studies.study import Replies, Units
from tests.made.pocket_judge import AnsweringEngine, Answers
from tests.made.read_back import completions_of
from tests.made.scripted_engine import config
from tests.toy_study.asks import Fruit

SHARDS = [(0, 2), (1, 2)]


class Quoting(Fruit):
    """Begins with a question that every such unit asks; the two after it quote the reply before."""

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        asked = self.prompt(0, "Is fruit sweet?")
        for step in (1, 2):
            if asked.prompt_hash not in replies:
                return [asked]
            asked = self.prompt(step, f"{step}: you said of {self.unit_id}: {replies[asked.prompt_hash][0].text}.")
        return [] if asked.prompt_hash in replies else [asked]


def two_units() -> list[Quoting]:
    """One of each shard."""
    units = [Quoting(f"fruit {number}") for number in range(20)]
    return [next(unit for unit in units if in_shard(unit.unit_id, shard)) for shard in SHARDS]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InferenceConfig:
    """A run of the two units."""
    made = config(tmp_path)
    monkeypatch.setattr(type(made.study), "units", lambda self, verdict: Units(two_units(), "made"))
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})
    return made


@pytest.fixture
def asks(run: InferenceConfig, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, AnsweringEngine], Path]:
    """Runs a shard with an engine."""

    def ask(number: int, engine: AnsweringEngine) -> Path:
        monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: engine)
        return sample(run, SHARDS[number])

    return ask


class Overtaken(AnsweringEngine):
    """Another process does its whole part while this one's first answer is under way."""

    def __init__(self, answers: Answers, meanwhile: Callable[[], object]) -> None:
        super().__init__(answers)
        self.meanwhile = meanwhile

    def generate(self, prompts: Sequence[Prompt], further: Further) -> Iterator[Completion]:
        for completion in super().generate(prompts, further):
            if len(self.asked) == 1:
                self.meanwhile()
            yield completion


def outcome(path: Path) -> dict[str, list[str]]:
    """What is asked and counts, unit by unit. Fails when a prompt has no reply."""
    replies = {hash_: [reply] for (hash_, _), reply in completions_of(path).items()}
    found: dict[str, list[str]] = {}
    for unit in two_units():
        so_far: dict[str, list[Completion]] = {}
        while prompts := unit.next_prompts(so_far):
            found.setdefault(unit.unit_id, []).extend(prompt.messages[0].content for prompt in prompts)
            so_far |= {prompt.prompt_hash: replies[prompt.prompt_hash] for prompt in prompts}
    return found


def quoting(first: str, second: str) -> dict[str, list[str]]:
    """The outcome where these are the replies that count to the first prompt and to the second ones."""
    return {
        unit.unit_id: [
            "Is fruit sweet?",
            f"1: you said of {unit.unit_id}: {first}.",
            f"2: you said of {unit.unit_id}: {second}.",
        ]
        for unit in two_units()
    }


def test_one_after_the_other_the_second_reads_the_shared_reply_and_asks_nothing_again(
    asks: Callable[[int, AnsweringEngine], Path],
) -> None:
    engines = [AnsweringEngine(lambda prompt: "yes"), AnsweringEngine(lambda prompt: "yes")]
    assert not is_done(asks(0, engines[0]))
    path = asks(1, engines[1])
    assert is_done(path)
    assert [len(engine.asked) for engine in engines] == [3, 2]
    assert outcome(path) == quoting("yes", "yes")


def test_a_process_whose_shared_reply_came_second_asks_what_its_unit_owes_by_the_first(
    asks: Callable[[int, AnsweringEngine], Path],
) -> None:
    """It said that other shards owed it, though they were over, and nobody asked."""
    late = Overtaken(lambda prompt: "no", lambda: asks(1, AnsweringEngine(lambda prompt: "yes")))
    path = asks(0, late)
    assert is_done(path)
    found = outcome(path)
    names = [unit.unit_id for unit in two_units()]
    assert found[names[1]] == quoting("yes", "yes")[names[1]]
    assert found[names[0]] == quoting("yes", "no")[names[0]]
    written = Counter(completion.prompt_hash for completion in every_completion(path))
    assert sorted(written.values()) == [1] * (written.total() - 2) + [2], "the shared prompt alone has two replies"


def test_a_shared_prompt_that_erred_here_and_was_answered_there_holds_nobody_up(
    asks: Callable[[int, AnsweringEngine], Path],
) -> None:
    class Failing(Overtaken):
        def generate(self, prompts: Sequence[Prompt], further: Further) -> Iterator[Completion]:
            for completion in super().generate(prompts, further):
                yield failed(completion) if len(self.asked) == 1 else completion

    failing = Failing(lambda prompt: "no", lambda: asks(1, AnsweringEngine(lambda prompt: "yes")))
    path = asks(0, failing)
    assert is_done(path)
    assert len(failing.asked) == 3


def failed(completion: Completion) -> Completion:
    return replace(completion, text="", finish_reason="error: 500")


def test_two_units_of_one_name_are_refused(run: InferenceConfig) -> None:
    with pytest.raises(DataError, match="the id 'fig' occurs twice"):
        list(
            Plan(Run(Path(), run, [Fruit("fig"), Fruit("fig")], plan_grows=True), completion_shards.Answers()).prompts()
        )

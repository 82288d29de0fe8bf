"""Sampling killed before any of its file operations: each answer as in an undisturbed run, and none asked twice."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from evenhand.completion_shards import every_completion
from studies.dialdefer.records import read_plan
from tests.made.fake_server import FakeServer, Reply, answer
from tests.made.fuzz import N_KILLS
from tests.made.kill_campaign import Campaign, Command, Kill
from tests.made.tiny_checkpoint import save_checkpoint

pytestmark = [pytest.mark.campaign, pytest.mark.slow]


def sampling(**changes: Any) -> Command:
    """`evenhand sample` of 40 prompts in shards of 4."""
    config = {
        "name": "kills",
        "dialdefer": {"benchmarks": [{"dataset": "pocket", "n_items": 10}], "prompts": {"template": "matched"}},
        "run": {"root": "runs", "shard_size": 4},
        **changes,
    }
    return Command(entry="inference.__main__:main", words=["config.yaml"], prepare=partial(written, config))


def written(config: dict[str, Any], folder: Path) -> None:
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def the_run(folder: Path) -> Path:
    (run,) = folder.glob("runs/inference/*")
    return run


def answers(folder: Path) -> dict[tuple[str, int], str]:
    return {(c.prompt_hash, c.sample_index): c.text for c in every_completion(the_run(folder))}


def check_answers(campaign: Campaign, folder: Path, kill: Kill) -> None:
    """Everything planned was answered once, and as in the undisturbed run; all other files are the same.

    Whatever is asked is written: what was written before the kill and asked again would be there twice.
    """
    counts = Counter((c.prompt_hash, c.sample_index) for c in every_completion(the_run(folder)))
    assert set(counts.values()) == {1}, f"after {kill}: answered twice"
    assert {hash_ for hash_, _ in counts} == {p.prompt_hash for p in read_plan(the_run(folder))}
    assert answers(folder) == answers(campaign.calm), f"after {kill}"
    campaign.refuse_differences(folder, kill, left_out="completions/*.jsonl")


def test_sampling_with_an_engine_of_our_own(tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path / "tiny", window=2048)
    command = sampling(
        model={"name": str(checkpoint)},
        sampling={"max_tokens": 8},
        engine={"kind": "transformers", "batch_size": 4},
    )
    with Campaign(command, tmp_path) as campaign:
        assert len(set(answers(campaign.calm).values())) > 1, "a model that always says the same would hide a mix-up"
        campaign.run(N_KILLS, partial(check_answers, campaign))


def test_sampling_from_a_server_that_is_paid_by_the_answer(tmp_path: Path) -> None:
    def script(body: dict[str, Any], n_before: int) -> Reply:
        return answer(f"answer to {body['messages'][-1]['content']}")

    with FakeServer(script) as server:
        command = sampling(
            model={"name": "judge"},
            engine={"kind": "openai", "base_url": server.base_url, "concurrency": 4, "timeout_s": 30},
        )
        with Campaign(command, tmp_path) as campaign:
            campaign.run(N_KILLS, partial(check_answers, campaign))

"""`kill -9` at several random moments: no prompt lost, none answered twice, result equal to an undisturbed run."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from evenhand.jsonl import read_jsonl
from studies.dialdefer.planned import read_plan
from tests.made.places import ROOT
from tests.made.read_back import completions_of
from tests.made.tiny_checkpoint import save_checkpoint

N_ITEMS = 40


def write_config(folder: Path, root: Path, checkpoint: Path) -> Path:
    path = folder / f"{root.name}.yaml"
    config = {
        "name": "kill",
        "model": {"name": str(checkpoint)},
        "dialdefer": {"benchmarks": [{"dataset": "pocket", "n_items": N_ITEMS}], "prompts": {"template": "matched"}},
        "sampling": {"max_tokens": 24},
        "engine": {"kind": "transformers", "batch_size": 4},
        "run": {"root": str(root), "shard_size": 4},
    }
    path.write_text(yaml.safe_dump(config))
    return path


def start(config: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "inference", str(config)]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def n_shards(root: Path) -> int:
    return len(list(root.glob("inference/*/completions/*.jsonl")))


@pytest.mark.campaign
@pytest.mark.slow
def test_a_run_killed_at_random_moments_equals_an_undisturbed_one(tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path / "tiny", window=2048)
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    assert start(write_config(tmp_path, calm, checkpoint)).wait(timeout=300) == 0

    config = write_config(tmp_path, disturbed, checkpoint)
    moments = random.Random(7)
    kills = 0
    while kills < 3:
        before = n_shards(disturbed)
        process = start(config)
        while n_shards(disturbed) <= before:  # killed only once it has written something anew
            assert process.poll() is None, "the run ended before it could be killed: ask for more prompts"
            time.sleep(0.002)
        time.sleep(moments.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        kills += 1
    assert start(config).wait(timeout=300) == 0

    (run,) = disturbed.glob("inference/*")
    (reference,) = calm.glob("inference/*")
    answered = Counter(
        record["prompt_hash"] for shard in (run / "completions").glob("*.jsonl") for _, record in read_jsonl(shard)
    )
    planned = {p.prompt_hash for p in read_plan(run)}
    assert set(answered) == planned
    assert len(planned) == 4 * N_ITEMS
    assert set(answered.values()) == {1}
    texts, expected = ({key: c.text for key, c in completions_of(path).items()} for path in (run, reference))
    assert texts == expected
    assert len(set(texts.values())) > 1, "a model that always says the same would hide a mix-up"

"""The reference on disk: a kill at any moment blocks nothing, and a damaged shard is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.run_directory import DONE_FILE
from tests.made.training_runs import tiny_model, tiny_run
from training import reference
from training.train import train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


def test_a_kill_behind_the_last_reference_shard_blocked_every_run_on_that_base(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_run("dpo", model, tmp_path)
    written: list[Path] = []

    def dying(file: Path, *words: Any) -> None:
        write(file, *words)
        written.append(file)
        if file.suffix == ".jsonl":
            raise KeyboardInterrupt

    write = reference.write_jsonl
    with monkeypatch.context() as patch:
        patch.setattr(reference, "write_jsonl", dying)
        with pytest.raises(KeyboardInterrupt):
            train(config)
    assert len(written) == 1
    done = json.loads((train(config) / DONE_FILE).read_text())
    assert done["reference_seconds"] >= 0

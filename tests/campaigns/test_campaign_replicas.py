"""Two real vLLM servers of the embedded model, one killed and one frozen while a run asks them: the run completes.

Its verdicts are those of an offline run up to the re-run flip rate, which two undisturbed runs through one server give.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from evenhand.completion_shards import every_completion
from evenhand.embedded import embedded_model_path
from evenhand.run_directory import is_done
from inference import replicas
from inference.config import InferenceConfig
from inference.sampling import sample
from tests.made import vllm_server
from tests.made.process_runs import free_port
from tests.made.read_back import completions_of
from tests.made.sampling_configs import sampling_config

pytestmark = [pytest.mark.campaign, pytest.mark.slow, pytest.mark.timeout(2400)]
N_ITEMS = int(os.environ.get("REPLICA_ITEMS", "24"))  # of four prompts each


def config(root: Path, name: str, model: str, engine: dict[str, Any]) -> InferenceConfig:
    return sampling_config(
        {
            "name": name,
            "model": {"name": model},
            "benchmarks": [{"dataset": "pocket", "n_items": N_ITEMS}],
            "prompts": {"template": "matched"},
            "verdict": "margin",
            "engine": engine,
            "run": {"root": str(root), "shard_size": 4},
        }
    )


def verdicts(path: Path) -> dict[str, str]:
    return {hash_: reply.text for (hash_, _), reply in completions_of(path).items()}


def flips(one: dict[str, str], other: dict[str, str]) -> int:
    assert one.keys() == other.keys()
    return sum(one[key] != other[key] for key in one)


def wait_until(what: Callable[[], object]) -> None:
    give_up = time.monotonic() + 1200
    while not what():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def n_answers(root: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in root.glob("inference/*/completions/*.jsonl"))


def test_one_replica_killed_and_one_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = embedded_model_path()
    told: list[str] = []
    # Two servers share this machine's cores: neither is bound to its own, and vLLM sets none aside.
    for name, value in {"OMP_THREADS_BIND": "nobind", "NUM_OF_RESERVED_CPU": "0"}.items():
        monkeypatch.setenv(f"VLLM_CPU_{name}", value)
    monkeypatch.setattr(vllm_server, "PATIENCE_S", 1200)
    monkeypatch.setattr(replicas, "LOOK_S", 1.0)
    monkeypatch.setattr(replicas, "tell", lambda words: (told.append(words), print(words)))
    offline = sample(config(tmp_path / "offline", "run", str(checkpoint), {"kind": "transformers", "batch_size": 4}))
    with ExitStack() as stack:
        ports = [first := free_port(2), first + 1]
        logs = [tmp_path / f"server-{number}.log" for number in (0, 1)]
        servers = []
        for port, log in zip(ports, logs, strict=True):
            servers.append(vllm_server.start(checkpoint, log, port, window=512))
            stack.callback(vllm_server.stop, servers[-1])
        for server, port, log in zip(servers, ports, logs, strict=True):
            vllm_server.wait_until_healthy(server, port, log)
        urls = [f"http://127.0.0.1:{port}/v1" for port in ports]
        engine = {"kind": "openai", "concurrency": 2, "timeout_s": 600, "health_timeout_s": 5, "give_up_s": 600}
        again = [
            sample(config(tmp_path / f"again-{number}", "run", "judge", {**engine, "base_url": urls[0]}))
            for number in (0, 1)
        ]

        def disturb() -> None:
            root = tmp_path / "disturbed"
            wait_until(lambda: n_answers(root) >= N_ITEMS)
            os.killpg(servers[1].pid, signal.SIGSTOP)
            wait_until(lambda: any("no reply within" in words for words in told))
            n_frozen = n_answers(root)
            wait_until(lambda: n_answers(root) > n_frozen)
            os.killpg(servers[1].pid, signal.SIGCONT)
            wait_until(lambda: any(words.endswith("is back") for words in told))
            os.killpg(servers[0].pid, signal.SIGKILL)

        disturber = threading.Thread(target=disturb)
        disturber.start()
        run = sample(config(tmp_path / "disturbed", "run", "judge", {**engine, "base_url": urls}))
        disturber.join(timeout=60)
        assert not disturber.is_alive(), "the run was over before both had been disturbed: raise REPLICA_ITEMS"
    assert is_done(run)
    written = [c for c in every_completion(run) if not c.is_error]
    assert len(written) == len({c.prompt_hash for c in written}) == 4 * N_ITEMS, "one lost or doubled"
    rerun, offline_flips = flips(verdicts(again[0]), verdicts(again[1])), flips(verdicts(offline), verdicts(run))
    print(f"{4 * N_ITEMS} prompts: {rerun} verdicts flip between two undisturbed runs, {offline_flips} from offline")
    assert offline_flips <= max(rerun, 0.01 * 4 * N_ITEMS)
    assert any(urls[0] in words for words in told), "nobody noticed that it was killed"

"""The OpenAI-compatible engine through a real vLLM server gives what the transformers engine gives."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from itertools import islice

import pytest

from evenhand.embedded import embedded_model_path
from evenhand.errors import ModelError
from evenhand.records import Completion
from inference.engine import open_engine
from studies.dialdefer.pocket import pocket_items
from studies.dialdefer.records import Condition
from studies.dialdefer.render import render
from tests.made.process_runs import free_port
from tests.made.tiny_families import save_family
from tests.made.toy_prompts import toy_config, toy_prompt

# Imports alone take vLLM 30 s on two busy cores; this is a hang guard, no measure of speed.
PATIENCE_S = 400


@contextmanager
def serve(checkpoint, log):
    """Serve a checkpoint in float32 as "judge" and yield the base URL; the server is gone afterwards."""
    port = free_port()
    # `vllm serve` looks for its own package metadata by a name that the CPU wheel does not have; this form does not.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
    command += ["--served-model-name", "judge", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", str(WINDOW), "--max-num-seqs", "8"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as output:
        keys = {"stdout": output, "stderr": subprocess.STDOUT, "start_new_session": True, "cwd": log.parent}
        process = subprocess.Popen(command, env=environment, **keys)
    try:
        give_up = time.monotonic() + PATIENCE_S
        while not is_healthy(port):
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < give_up, log.read_text(errors="replace")[-3000:]
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it leads its own group
        process.wait()


def is_healthy(port):
    """Whether a server answers."""
    with suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        return True
    return False


pytestmark = [pytest.mark.campaign, pytest.mark.slow]
WINDOW = 512


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A tiny model with sampling habits such as Qwen2.5's, which must not leak into the answers."""
    folder = save_family(tmp_path_factory.mktemp("habits"), "qwen2", embedded_model_path())
    own = json.loads((folder / "generation_config.json").read_text())
    habits = {"repetition_penalty": 1.5, "temperature": 0.7, "top_k": 20, "do_sample": True}
    (folder / "generation_config.json").write_text(json.dumps({**own, **habits}))
    return folder


@pytest.fixture(scope="module")
def base_url(checkpoint, tmp_path_factory):
    with serve(checkpoint, tmp_path_factory.mktemp("server") / "log.txt") as url:
        yield url


def pocket_prompts(n_items, answer_form):
    return [
        render(item, condition, template="matched", answer_form=answer_form)
        for item in islice(pocket_items("test"), n_items)
        for condition in Condition
    ]


def through_server(base_url, verdict, **keys):
    """The engine that asks the server."""
    engine = {"kind": "openai", "base_url": base_url, "timeout_s": 300}
    return open_engine(toy_config("judge", verdict, engine=engine, **keys))


def through_transformers(checkpoint, prompts, verdict, **keys):
    with open_engine(toy_config(str(checkpoint), verdict, engine={"kind": "transformers"}, **keys)) as opened:
        return {c.prompt_hash: c for c in opened.generate(prompts)}


def test_margins_through_the_server_are_those_of_transformers_and_a_long_prompt_is_named(base_url, checkpoint):
    prompts = pocket_prompts(2, "one_token")
    plain, kept = through_transformers(checkpoint, prompts, "margin"), list[Completion]()
    with (
        through_server(base_url, "margin") as opened,
        pytest.raises(ModelError, match=f"1 prompts do not fit .* toy-{2 * WINDOW * 5} "),
    ):
        kept.extend(opened.generate([toy_prompt("word " * 2 * WINDOW), *prompts]))  # keeps what came before the error
    served = {c.prompt_hash: c for c in kept}
    assert served.keys() == plain.keys()
    assert len(served) == 8
    for key, found in served.items():
        assert found.answer_logprobs == pytest.approx(plain[key].answer_logprobs, abs=2e-3)
        assert (found.prompt_tokens, found.rendered) == (plain[key].prompt_tokens, plain[key].rendered)
    assert {c.text for c in served.values()} <= {"1", "2"}


def test_greedy_answers_through_the_server_are_those_of_transformers(base_url, checkpoint):
    prompts, sampling = pocket_prompts(1, "json"), {"max_tokens": 16}
    plain = through_transformers(checkpoint, prompts, "reason", sampling=sampling)
    with through_server(base_url, "reason", sampling=sampling) as opened:
        served = {c.prompt_hash: c for c in opened.generate(prompts)}
    said, expected = (
        {k: (c.text.rstrip("\ufffd"), c.finish_reason, c.completion_tokens) for k, c in found.items()}
        for found in (served, plain)  # vLLM leaves out a character that the last token does not finish
    )
    assert said == expected

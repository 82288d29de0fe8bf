"""What vLLM is started with, and requests that it refuses; a stand-in in its place says how it was called."""

import multiprocessing
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from evenhand.errors import ConfigError, ModelError
from inference import encoding, vllm_engine
from inference.config import VllmConfig
from inference.encoding import Encoded
from inference.engine import open_engine
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.toy_prompts import toy_config
from tests.made.toy_runs import prompts

SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"


@pytest.fixture
def called(monkeypatch):
    """The arguments of vllm.LLM, and the variables of that time."""
    found = {}

    def llm(**arguments):
        found.update(arguments, environment=dict(os.environ))
        return SimpleNamespace(llm_engine=SimpleNamespace(vllm_config=SimpleNamespace(use_v2_model_runner=True)))

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=llm))
    monkeypatch.setattr(os, "environ", dict(os.environ))  # `start` sets some
    monkeypatch.setattr(vllm_engine, "vllm_device_name", lambda n_gpus: "made")
    monkeypatch.setattr(vllm_engine, "vllm_reads_tokens", lambda: True)
    return found


def test_no_sampler_is_compiled_unless_the_user_says_so_and_no_image_encoder_pickle_or_code_is_loaded(called):
    os.environ.pop(SAMPLER, None)
    for held in ("0", "1"):
        vllm_engine.start(Path("somewhere"), VllmConfig(), seed=0)
        assert (called["environment"][SAMPLER], called["language_model_only"]) == (held, True)
        assert (called["load_format"], called["trust_remote_code"]) == ("safetensors", False)  # "auto" takes pickles
        os.environ[SAMPLER] = "1"


def test_further_arguments_reach_vllm_but_none_of_ours_and_a_deterministic_engine_is_batch_invariant(called):
    vllm_engine.start(Path("somewhere"), VllmConfig(extra={"quantization": "fp8"}), seed=0)
    assert (called["quantization"], called["environment"].get("VLLM_BATCH_INVARIANT")) == ("fp8", None)
    vllm_engine.start(Path("somewhere"), VllmConfig(deterministic=True), seed=0)
    assert called["environment"]["VLLM_BATCH_INVARIANT"] == "1"
    for key in ("trust_remote_code", "max_model_len"):
        with pytest.raises(ConfigError, match=f"engine.extra: {key} is set"):
            vllm_engine.start(Path("somewhere"), VllmConfig(extra={key: True}), seed=0)


FAILURES = {"Engine core failed": r"\(RuntimeError: head_dim=24\)$", "No memory": r"\(No memory; see engine\.max_model"}


@pytest.mark.parametrize(("raised", "reason"), FAILURES.items())
def test_an_engine_that_did_not_start_leaves_its_last_error_and_no_process_behind(raised, reason, monkeypatch, capfd):
    def slow(**arguments):
        multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,)).start()
        os.write(2, b"ERROR [core.py:1] KeyError: 1\nERROR [core.py:2] RuntimeError: head_dim=24\n")
        raise RuntimeError(raised)

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=slow))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(ModelError, match=reason):
        vllm_engine.start(Path("model"), VllmConfig(kind="vllm"), seed=0)
    assert not multiprocessing.active_children()
    assert "KeyError: 1" in capfd.readouterr().err


@pytest.mark.parametrize(("verdict", "told"), [("margin", {"cudagraph_mode": "NONE"}), ("reason", None)])
def test_what_decodes_nothing_captures_no_graphs(verdict, told, called):
    vllm_engine.VllmEngine(toy_config("embedded", verdict, engine={"kind": "vllm"}))
    assert called.get("compilation_config") == told


def test_the_budget_of_a_thought_reaches_the_engine_and_each_request(called, monkeypatch):
    monkeypatch.setattr(vllm_engine.Encoder, "encode", lambda *_: iter(()))
    patch, asked = {"thinking": True, "thinking_tokens": 512}, SimpleNamespace(prompt=prompts(1)[0])
    monkeypatch.setitem(sys.modules, "vllm", Mock())
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", Mock())
    monkeypatch.setattr(encoding, "check_switches_thinking", lambda _: None)
    engine = vllm_engine.VllmEngine(toy_config("embedded", "reason", engine={"kind": "vllm"}, patch=patch))
    assert sys.modules["vllm"].LLM.call_args.kwargs["reasoning_config"]["reasoning_end_str"] == "</think>"
    engine.sampling_params(asked)
    assert sys.modules["vllm"].SamplingParams.call_args.kwargs["thinking_token_budget"] == 512


def test_an_adapter_reaches_the_engine_with_its_rank_and_then_each_request(monkeypatch):
    made = {"vllm_device_name": "made", "visible_gpus": ["A100"], "adapter_rank": 12, "adapter_folder": "weights"}
    for name, value in made.items():
        monkeypatch.setattr(vllm_engine, name, lambda _=None, value=value: value)
    for name in ("vllm", "vllm.sampling_params", "vllm.lora.request"):
        monkeypatch.setitem(sys.modules, name, Mock(LoRARequest=lambda *words: words))
    model = {"name": "embedded", "adapter": "runs/first"}
    engine = vllm_engine.VllmEngine(toy_config("m", "reason", engine={"kind": "vllm"}, model=model))
    started, asked = sys.modules["vllm"].LLM.call_args.kwargs, engine.llm.llm_engine.add_request
    assert (started["enable_lora"], started["max_lora_rank"]) == (True, 16)
    for name, number in (("first", 1), ("second", 2)):
        list(engine.enqueue(Encoded(prompts(1)[0], "", [1], {}, 1), {}))
        assert asked.call_args.kwargs == {"lora_request": (name, number, "weights")}
        engine.use_adapter(Path("runs/second"))


def test_a_request_that_vllm_refuses_is_an_error_and_nothing_is_waited_for(tmp_path, monkeypatch):
    core = SimpleNamespace(
        add_request=Mock(side_effect=ValueError("the grammar is not supported")),
        step=lambda: pytest.fail("vLLM waits for ever where there is nothing to do"),
        engine_core=SimpleNamespace(shutdown=lambda: None),
        vllm_config=SimpleNamespace(),
    )
    llm = SimpleNamespace(llm_engine=core, model_config=SimpleNamespace(max_model_len=256))
    monkeypatch.setattr(vllm_engine, "start", lambda *_, **__: llm)
    with open_engine(toy_config(str(save_checkpoint(tmp_path)), "reason", sampling={"max_tokens": 9})) as engine:
        (found,) = engine.generate(prompts(1))
        (ended,) = engine.read(Encoded(prompts(1)[0], "", [1], {}, 1), SimpleNamespace(outputs=[]))
    assert found.finish_reason == "error: vLLM refuses the request (ValueError: the grammar is not supported)"
    assert ended.finish_reason == "error: vLLM ended the request itself (None)"


def test_margins_are_refused_of_the_vllm_for_cuda_12_before_a_model_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    (tmp_path / "vllm" / "sampling_params.py").write_text("class SamplingParams:\n    logprobs: int | None = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    words = "verdict margin: the installed vLLM gives no log-probabilities of named tokens.*engine={kind: transformers"
    with pytest.raises(ConfigError, match=words):
        open_engine(toy_config("somewhere"))

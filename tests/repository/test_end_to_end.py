"""vLLM itself on tiny models, against plain transformers: the whole loop on one family, margins of the others.

Engines run in this process, one after the other; replies and options are asked of a single one.
"""

import gc
import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from eval.__main__ import compare_main
from evenhand.chat_templates import FIXED_DATE
from evenhand.checkpoints import load_tokenizer
from evenhand.embedded import embedded_model_path
from evenhand.run_directory import is_done, read_plan_lines
from inference.encoding import Encoder
from inference.engine import PromptsTooLong, open_engine
from inference.sampling import sample
from inference.schedule import first_prompts, in_prefix_order
from tests.made.fuzz import more_families
from tests.made.made_conflicts import conflict, narrator_config, use_conflicts
from tests.made.read_back import completions_of
from tests.made.tiny_families import TEMPLATES, save_family
from tests.made.toy_prompts import option_prompt, toy_config
from tests.made.training_runs import tiny_run
from training.merged_checkpoint import merge
from training.train import train

pytestmark = pytest.mark.slow

PLAIN = {"kind": "transformers", "dtype": "float32"}
VLLM = {
    "kind": "vllm",
    "enforce_eager": True,
    "max_model_len": 512,
    "dtype": "float32",
    "max_num_seqs": 16,
    "block_size": 32,
    "gpu_memory_utilization": 0.3,
}
# As it runs by default: compiled, and on a GPU in CUDA graphs.
EAGER_OR_COMPILED = [
    pytest.param(VLLM, id="eager"),
    pytest.param({**VLLM, "enforce_eager": False}, id="compiled", marks=pytest.mark.gpu),
]
ARMS = [("paired", "dequantised", {"paired": {"weight": 1.0}}), ("dpo", "nf4", {})]
# On a GPU vLLM's attention in float32 may round its factors to 11 bits, as fp16 has.
ROUNDS = torch.cuda.is_available()
# Of a margin. float32: sums in another order. In half precision other kernels move hidden states by some of its steps,
# 2^-11 and 2^-8 of their size.
TOLERANCE = {"float32": 0.01 if ROUNDS else 1e-4, "float16": 0.01, "bfloat16": 0.06}
OF_OPTIONS = 0.05 if ROUNDS else 2e-3  # of a log-probability in float32: those of several tokens add up
# fp16 leaves out steps until its gradients do not overflow
AS_GPU_JOBS_TRAIN = {
    "float32": {"max_steps": 2},
    "float16": {"max_steps": 8, "mixed_precision": "fp16", "gradient_checkpointing": True},
    "bfloat16": {"max_steps": 2, "mixed_precision": "bf16", "gradient_checkpointing": True},
}


@pytest.fixture(scope="module", autouse=True)
def one_process():
    pytest.importorskip("vllm", reason="`make venv` or `make venv-cuda` installs it")
    if torch.version.cuda and not torch.cuda.is_available():
        pytest.skip("vLLM for CUDA computes on a GPU alone; see `make test-gpu`")
    with pytest.MonkeyPatch.context() as patch:
        if not torch.cuda.is_available():  # on a GPU the engine is to run as it does for users
            patch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
            # compiling a function takes longer than all calls of it
            patch.setattr("torch._dynamo.config.disable", True)
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        # A class of models that its cache does not know is looked at in a process that imports all of it anew.
        patch.setattr("vllm.model_executor.models.registry._run_in_subprocess", lambda look: look())
        patch.setattr(gc, "collect", lambda *_: 0)  # an engine that starts or ends looks at every module's objects
        yield


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save_family(tmp_path_factory.mktemp("llama"), "llama", embedded_model_path(), "300KB")


def asks(model, engine, **changes):
    """A config of four pocket items; its verdict is a margin unless told otherwise."""
    few = [{"dataset": "pocket", "n_items": 4}]
    return toy_config(str(model), engine=engine, **{"benchmarks": few, "prompts": {"template": "matched"}, **changes})


def answers(config, prompts=None):
    """Prompt hash → completion, of an engine of its own."""
    with open_engine(config) as engine:
        return {c.prompt_hash: c for c in engine.generate(prompts or first_prompts(config))}


def margins(completions):
    return {c.prompt_hash: c.answer_logprobs["1"] - c.answer_logprobs["2"] for c in completions if c.answer_logprobs}


# The whole loop: sample, train, merge, sample again, compare.


def whole_loop(family, root, capsys, dtype="float32"):
    """In half precision vLLM is compiled, as GPU jobs run it."""
    model = save_family(root / "model", family, embedded_model_path())
    optimiser = {"batch_by": "item", **AS_GPU_JOBS_TRAIN[dtype]}

    def sampled(name, judge):
        engine = {**VLLM, "dtype": dtype, "enforce_eager": dtype == "float32"}
        return sample(asks(judge, engine, name=name, run={"root": root}))

    runs = [sampled("before", model)]
    for method, hold, more in ARMS[:1] if dtype == "float32" else ARMS:  # on a CPU a start of vLLM takes long
        held = {"compute_dtype": dtype, "weights": hold}
        sections = {**more, "optimiser": optimiser, "quantisation": held, "lora": {"dropout": 0.05}}
        run = train(tiny_run(method, model, root, **sections))
        assert is_done(run)
        # Verdicts of a random model flip where half precision moves a margin by 0.01.
        merged = merge(run, "nf4", n_prompts=8, min_agreement=0.95 if dtype == "float32" else 0.5)
        runs.append(sampled(method, merged))
    before, *after = [margins(completions_of(run).values()) for run in runs]
    assert len(before) == len([*read_plan_lines(runs[0])]) == 16
    assert before == pytest.approx(
        margins(answers(asks(model, {**PLAIN, "dtype": dtype})).values()), abs=TOLERANCE[dtype]
    )
    assert max(abs(margin) for margin in before.values()) > 0.01
    assert all(set(margin) == set(before) for margin in after), "before and after are asked the same prompts"
    assert all(margin != before for margin in after), "training changed nothing"
    compare_main([*map(str, runs), "--draws", "200", "--out", str(root / "report")])
    printed = capsys.readouterr().out
    assert "of the claims as statements and" in " ".join(printed.split())
    assert (root / "report" / "report.html").stat().st_size > 10_000
    assert json.loads((root / "report" / "scores.json").read_text())


def test_the_loop_closes_on_a_tiny_model(tmp_path, capsys):
    whole_loop("llama", tmp_path, capsys)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("family", "dtype"), [*((name, "bfloat16") for name in (*TEMPLATES, "gemma3 that sees")), ("llama", "float16")]
)
def test_the_loop_closes_on_cuda(family, dtype, tmp_path, capsys):
    whole_loop(family, tmp_path, capsys, dtype)


# The other families: margins.


def with_answers_alike(checkpoint):
    """The checkpoint with answers whose logits are large and nearly equal: in bf16 they differ by whole steps of it."""
    tokenizer, weights = load_tokenizer(checkpoint), load_file(checkpoint / "model.safetensors")
    head = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
    one, two = (tokenizer.convert_tokens_to_ids(answer) for answer in "12")
    head[two] = head[one] + 0.01 * head[two]
    head[[one, two]] *= 20
    save_file(weights, checkpoint / "model.safetensors", metadata={"format": "pt"})
    return checkpoint


# gemma3's head is tied, the others' are not
@pytest.mark.parametrize("family", ["gemma3", *more_families("mistral", "qwen2")])
@pytest.mark.parametrize("vllm", EAGER_OR_COMPILED)
def test_margins_in_bf16_are_those_of_a_float32_head(vllm, family, tmp_path):
    folder = with_answers_alike(save_family(tmp_path, family, embedded_model_path()))
    assert ("lm_head.weight" in load_file(folder / "model.safetensors")) == (family != "gemma3")
    found, plain = (
        margins(answers(asks(folder, {**engine, "dtype": "bfloat16"})).values()) for engine in (vllm, PLAIN)
    )
    assert len(found) == 16
    assert found == pytest.approx(plain, abs=0.01)  # a step of bf16 is 0.03 or more at these logits


# Options, replies, grammar and the context window, of one engine whose config changes.


@pytest.fixture(scope="module", params=EAGER_OR_COMPILED)
def engine(llama, request):
    with open_engine(narrator_config(model=str(llama), engine=request.param, verdict="options")) as opened:
        yield opened


def reading(engine, config):
    """Have the engine go on by another config."""
    engine.config, engine.encoder = config, Encoder(engine.encoder.tokenizer, config)
    return config


def test_options_have_the_probabilities_that_transformers_gives(engine, llama, monkeypatch):
    use_conflicts(monkeypatch, [conflict("first", 5, 8, "Nobody else wants it like that."), conflict("second", 3, 5)])
    config = reading(engine, narrator_config(model=str(llama), engine=VLLM, verdict="options"))
    in_order = in_prefix_order([*{prompt.prompt_hash: prompt for prompt in first_prompts(config)}.values()])
    # Other numbers of children in one batch: Yes and No beside names with shared beginnings.
    names = [option_prompt(text) for text in ("Who was it?", "Hm")]
    prompts = [*names, *in_order[:3], option_prompt("Yes or no?", ("Yes", "No"))]
    plain = answers(narrator_config(model=str(llama), engine=PLAIN, verdict="options"), prompts)
    found = {c.prompt_hash: c for c in engine.generate(prompts)}
    for prompt in prompts:
        ours, expected = found[prompt.prompt_hash], plain[prompt.prompt_hash]
        assert ours.answer_logprobs == pytest.approx(expected.answer_logprobs, abs=OF_OPTIONS)
        assert list(ours.answer_logprobs or ()) == list(prompt.answer_space)
        assert (ours.text, ours.completion_tokens) == (expected.text, expected.completion_tokens)


def whole(completion):
    """Its text without the mark of a character that the last token leaves unfinished, which vLLM drops."""
    return completion.text.rstrip("\ufffd")


def test_greedy_replies_are_those_of_transformers_and_samples_are_numbered(engine, llama):
    greedy = {"verdict": "reason", "sampling": {"max_tokens": 12}}
    reading(engine, asks(llama, VLLM, **greedy))
    prompts = first_prompts(engine.config)
    plain = answers(asks(llama, PLAIN, **greedy))
    completions = list(engine.generate(prompts))
    assert {c.prompt_hash: whole(c) for c in completions} == {key: whole(c) for key, c in plain.items()}
    assert all(FIXED_DATE in (c.rendered or "") for c in completions)  # the date of the day never gets in
    reading(engine, asks(llama, VLLM, verdict="reason", sampling={"max_tokens": 12, "n": 3, "temperature": 1.0}))
    sampled = list(engine.generate(prompts[:4]))
    assert sorted((c.prompt_hash, c.sample_index) for c in sampled) == sorted(
        (p.prompt_hash, index) for p in prompts[:4] for index in range(3)
    )
    assert len({c.text for c in sampled}) > 4
    assert {(c.sample_index, c.rendered is None) for c in sampled} == {(0, False), (1, True), (2, True)}


def test_a_reply_keeps_to_its_grammar_and_with_its_prompt_to_the_context_window(engine, llama):
    def held_to(max_tokens):
        return asks(llama, VLLM, verdict="reason", sampling={"structured": "json", "max_tokens": max_tokens})

    prompts = first_prompts(held_to(280))
    reading(engine, held_to(400))
    with pytest.raises(PromptsTooLong, match=r"do not fit the context window, the first .*pocket-test.*window 512"):
        list(engine.generate(prompts))
    reading(engine, held_to(280))
    for completion in engine.generate(prompts[:2]):
        if completion.finish_reason == "stop":
            assert json.loads(completion.text)["chosen_answer"] in ("1", "2")
        else:  # a random model need not end its string, but it starts as the grammar says
            assert completion.text.lstrip().startswith("{")

"""Logits in float32 out of models in bf16: the head of each family, its gradient, and everything that reads answers."""

from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import yaml
from torch.utils.flop_counter import FlopCounterMode
from tqdm import tqdm
from transformers import AutoConfig, AutoModelForCausalLM, Gemma3Config, LlamaConfig

from evenhand import float32 as module
from evenhand.float32 import float32_head
from inference.vllm_engine import with_float32_head
from tests.made.one_batch import byte_model, examples_for
from tests.made.places import CONFIGS
from tests.made.training_runs import tiny_run
from training.batches import Collator, answers_of, groups_of
from training.qlora import load_base
from training.reference import ask

SIZES, FAMILIES = yaml.safe_load(Path(__file__).with_name("tiny_models.yaml").read_text()).values()
SERVING = sorted((CONFIGS / "serving").glob("*.yaml"))
IDS = torch.arange(24).reshape(2, 12) + 1
EXACT = {"rtol": 1e-5, "atol": 1e-5}  # of float32 sums of 64 products in another order; a step of bf16 is 0.01 here


def made(family, dtype, device="cpu"):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **SIZES, **FAMILIES[family]))
    return model.to(device, dtype).eval()


def as_on_a_gpu(rows, monkeypatch):
    """No float32 copy of the whole head, but of so many of its rows at once; None: as on a CPU."""
    if rows:
        monkeypatch.setattr(module, "COPIES_ON", ())
        monkeypatch.setattr(module, "ROWS", rows)


def by_hand(model, ids):
    """Float32 logits of the model's own last hidden states."""
    hidden, weight = model.base_model(ids).last_hidden_state, model.get_output_embeddings().weight
    logits = hidden.float() @ weight.float().T
    cap = getattr(model.config, "final_logit_softcapping", None)
    return logits if cap is None else cap * torch.tanh(logits / cap)


@pytest.mark.parametrize(
    ("family", "dtype", "rows"),
    [*((family, torch.bfloat16, rows) for family in FAMILIES for rows in (128, None)), ("llama", torch.float16, 299)],
)
def test_the_logits_of_a_model_in_half_precision_are_float32(family, dtype, rows, device, monkeypatch):
    as_on_a_gpu(rows, monkeypatch)
    model, ids = made(family, dtype, device), IDS.to(device)
    with torch.inference_mode():
        expected = by_hand(model, ids)
        with float32_head(model):
            found = model(ids).logits
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected, **EXACT)
        assert not torch.equal(found, found.to(dtype).float()), "what half precision would have made of them"
        assert model(ids).logits.dtype == dtype, "outside it the model is as it was"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_model_in_full_precision_gives_the_same_bits(dtype, device):
    model, ids = made("llama", dtype, device), IDS.to(device)
    with float32_head(model):
        found = model(ids).logits
    assert found.dtype == dtype
    assert torch.equal(found, model(ids).logits)


@pytest.mark.parametrize("rows", [128, None])
def test_the_gradient_reaches_the_hidden_states_as_through_a_float32_head(rows, device, monkeypatch):
    as_on_a_gpu(rows, monkeypatch)
    model = made("llama", torch.bfloat16, device)
    head = model.get_output_embeddings().requires_grad_(False)
    hidden = torch.randn(3, 64, generator=torch.Generator().manual_seed(0)).bfloat16().to(device)
    wanted = torch.randn(3, 300, generator=torch.Generator().manual_seed(1)).to(device)
    found, expected = (hidden.clone().requires_grad_() for _ in range(2))
    with float32_head(model), FlopCounterMode(display=False) as counted:
        logits = head(found)
    assert counted.get_total_flops() == 2 * 3 * 300 * 64, "no product in bf16 beside it"
    (logits.log_softmax(-1) * wanted).sum().backward()
    ((expected.float() @ head.weight.float().T).log_softmax(-1) * wanted).sum().backward()
    assert found.grad is not None
    torch.testing.assert_close(found.grad, expected.grad)
    assert head.weight.grad is None


def test_on_cpu_the_head_is_copied_once_and_again_when_it_has_changed():
    model = made("qwen2", torch.bfloat16)
    head = model.get_output_embeddings()
    copies = []
    with torch.inference_mode():
        for change in (0.0, 0.0, 1.0):
            if change:
                head.weight.add_(change)
            with float32_head(model):
                found = model(IDS).logits
            torch.testing.assert_close(found, by_hand(model, IDS), rtol=1e-5, atol=1e-6)
            copies.append(module.float32_weight(head))
    assert copies[0] is copies[1] is not copies[2]
    assert not copies[2].is_inference(), "a backward pass may need it"
    assert "float32_copy" not in model.state_dict()


def differences(verdicts):
    return sorted((verdicts[:, 0] - verdicts[:, 1]).tolist())


def of_training(model, examples, config):
    batch = Collator(pad=0, branches="none", row_tokens=2048)(groups_of(examples, "random"))
    with torch.autocast(model.device.type, torch.bfloat16):
        return differences(answers_of(model, {name: part.to(model.device) for name, part in batch.items()}).verdicts)


def of_the_reference(model, examples, config):
    with torch.no_grad():
        found = ask(examples, config, model, 0, tqdm(disable=True))
    return differences(torch.tensor([answers.verdicts for answers in found]))


@contextmanager
def seen_by_the_head(model):
    """The hidden states that go through the head, (N, H) of each pass."""
    found = []
    head = model.get_output_embeddings()
    hook = head.register_forward_hook(lambda _, inputs, __: found.append(inputs[0].detach().flatten(0, -2)))
    yield found
    hook.remove()


def expected_of(model, hidden, choices):
    """Margins between two tokens, by hand from hidden states in bf16."""
    one, other = (model.get_output_embeddings().weight[token].float() for token in choices)
    states = torch.cat(list(hidden))
    assert states.dtype == torch.bfloat16
    return sorted((states.float() @ one - states.float() @ other).tolist())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return byte_model(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("read", [of_training, of_the_reference])
def test_in_bf16_training_reads_float32_margins(read, checkpoint, tmp_path, device):
    pytest.importorskip("bitsandbytes", reason="a base is loaded with it")
    config = tiny_run(
        "sft",
        checkpoint,
        tmp_path,
        examples={"loss_on_eos": False},
        quantisation={"kind": "none", "compute_dtype": "bfloat16"},
        optimiser={"mixed_precision": "bf16"},
    )
    model = load_base(checkpoint, config.quantisation)
    examples = examples_for(config, checkpoint)
    with seen_by_the_head(model) as hidden:
        found = read(model, examples, config)
    assert model.device.type == device
    assert found == pytest.approx(expected_of(model, hidden, examples[0].choices), abs=1e-4)


def test_vllm_is_asked_for_a_float32_head_where_it_looks():
    """Of Gemma-3 with its image encoder it looks at the language model's own config, and passes the outer one over."""
    assert with_float32_head(LlamaConfig()).head_dtype == "float32"
    gemma = with_float32_head(Gemma3Config())
    assert gemma.text_config.head_dtype == "float32"


@pytest.mark.parametrize("file", SERVING, ids=lambda file: file.stem)
def test_served_models_have_a_float32_head(file):
    served = yaml.safe_load(file.read_text())
    head = {"head_dtype": "float32"}
    assert served["hf-overrides"] == ({"text_config": head} if "gemma-3" in served["model"] else head)

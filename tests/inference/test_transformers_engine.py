"""The transformers engine against the same sums done by hand on a tiny random model."""

import json
import math
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenhand.checkpoints import fingerprint
from evenhand.errors import DataError, ModelError
from inference import transformers_engine
from inference.__main__ import main
from inference.config import parse_sampling_config
from inference.engine import PromptsTooLong, open_engine
from tests.made.made_conflicts import narrator_config
from tests.made.made_merges import untrained_run
from tests.made.places import CONFIGS
from tests.made.read_back import completions_of
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.toy_prompts import OPTIONS, option_prompt, toy_config, toy_prompt
from tests.made.training_runs import adapter_of, tiny_model

TEXTS = ("Is it so?", "A longer question, which needs padding on no side.", "Hm", "Speaker 2: 7. Correct?")


def config(folder, verdict="margin", **keys):
    engine = {"kind": "transformers", "batch_size": 3, **keys.pop("engine", {})}
    return toy_config(str(folder), verdict, engine=engine, **keys)


def answers(config, prompts=()):
    """Text → its completions in the order of their index."""
    prompts = prompts or [toy_prompt(text) for text in TEXTS]
    with open_engine(config) as engine:
        found = sorted(engine.generate(prompts), key=lambda c: c.sample_index)
    return {p.messages[0].content: [c for c in found if c.prompt_hash == p.prompt_hash] for p in prompts}


def by_hand(folder, text, extra="", dtype=torch.float32, device="cpu"):
    """Log-probabilities of the next token, [vocabulary], of one prompt alone and without padding, as transformers
    computes them.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device).eval()
    ids = tokenizer.encode(f"<user>{text}</s><assistant>", add_special_tokens=False)
    ids += [tokenizer.convert_tokens_to_ids(token) for token in extra]
    with torch.no_grad():
        logits = model(torch.tensor([ids], device=device)).logits
    return logits[0, -1].float().log_softmax(dim=-1)


# float32: sums in another order. In half precision transformers' own head rounds logits of 2 to 4 to steps of 0.002 and
# 0.016, and another attention moves hidden states by some steps: on a CPU 0.0007 and 0.006 were seen.
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("float16", 0.01), ("bfloat16", 0.08)])
def test_a_margin_is_the_log_softmax_over_the_whole_vocabulary_behind_the_prompt(checkpoint, dtype, tolerance, device):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    for text, (found,) in answers(config(checkpoint, engine={"dtype": dtype})).items():
        expected = by_hand(checkpoint, text, dtype=getattr(torch, dtype), device=device)
        assert found.answer_logprobs == pytest.approx(
            {answer: expected[tokenizer.convert_tokens_to_ids(answer)].item() for answer in "12"}, abs=tolerance
        )
        assert found.rendered == f"<user>{text}</s><assistant>"


def test_a_margin_is_read_behind_the_lead_that_all_answers_share(tmp_path):
    folder = save_checkpoint(tmp_path, word_start=True)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.tokenize("1") == ["_", "1"]
    ((found,),) = answers(config(folder), [toy_prompt("Is it so?")]).values()
    expected = by_hand(folder, "Is it so?", extra="_")
    assert found.answer_logprobs is not None
    assert found.answer_logprobs["1"] == pytest.approx(expected[tokenizer.convert_tokens_to_ids("1")].item(), abs=1e-4)


def greedy_by_hand(folder, text, n):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    written = ""
    for _ in range(n):
        written += tokenizer.convert_ids_to_tokens(by_hand(folder, text, written).argmax().item())
    return str(tokenizer.convert_tokens_to_string(list(written)))


def test_greedy_answers_take_the_likeliest_token_each_time(checkpoint):
    for text, (found,) in answers(config(checkpoint, "reason", sampling={"max_tokens": 6})).items():
        assert found.text == greedy_by_hand(checkpoint, text, 6)
        assert (found.finish_reason, found.completion_tokens) == ("length", 6)


def test_an_answer_ends_at_any_token_that_the_checkpoint_ends_with(checkpoint, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    written = greedy_by_hand(checkpoint, TEXTS[0], 6)
    third = tokenizer.encode(written, add_special_tokens=False)[3]
    folder = save_checkpoint(tmp_path, eos_token_id=[tokenizer.eos_token_id, third])
    (found,) = answers(config(folder, "reason", sampling={"max_tokens": 6}))[TEXTS[0]]
    end = tokenizer.encode(written, add_special_tokens=False).index(third)
    assert found.text == tokenizer.decode(tokenizer.encode(written, add_special_tokens=False)[:end])
    assert (found.finish_reason, found.completion_tokens) == ("stop", end + 1)


def test_the_checkpoints_own_generation_config_changes_nothing(checkpoint, tmp_path):
    habits = {"repetition_penalty": 9.0, "do_sample": True, "temperature": 3.0, "top_k": 2, "max_length": 5}
    folder = save_checkpoint(tmp_path, **habits)
    plain, other = (answers(config(f, "reason", sampling={"max_tokens": 12})) for f in (checkpoint, folder))
    assert {t: c[0].text for t, c in plain.items()} == {t: c[0].text for t, c in other.items()}


def test_top_k_and_repetition_penalty_are_those_of_the_config(checkpoint):
    def first(**sampling):
        alone = config(checkpoint, "reason", engine={"batch_size": 1}, sampling={"max_tokens": 12, **sampling})
        return answers(alone)[TEXTS[0]][0].text

    assert first(temperature=1.0, top_k=1, seed=1) == first(temperature=1.0, top_k=1, seed=2) == first()
    assert first(repetition_penalty=9.0) != first()


def test_samples_are_numbered_differ_and_come_again_with_the_same_seed(checkpoint):
    sampling = {"n": 4, "temperature": 1.0, "max_tokens": 8}
    first, again, others = (
        answers(config(checkpoint, "reason", sampling={**sampling, "seed": seed})) for seed in (5, 5, 6)
    )
    for text in TEXTS:
        assert [c.sample_index for c in first[text]] == [0, 1, 2, 3]
        assert len({c.text for c in first[text]}) > 1
    assert first == again
    assert first != others


def test_a_checkpoint_that_lacks_weights_is_refused_and_not_filled_with_random_ones(tmp_path):
    folder = save_checkpoint(tmp_path)
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 weights \(model\.layers\.1\.mlp"), open_engine(config(folder)):
        pass


QUESTIONS = ("Who was it?", "A longer question, which needs padding on no side. Who was it?", "Hm")
PLAIN = {"kind": "transformers", "batch_size": 4}


PROMPTS = [option_prompt(text) for text in QUESTIONS]


def asks_options(folder, **changes):
    return narrator_config(model=str(folder), verdict="options", engine=PLAIN, **changes)


def spelled(folder, behind, ids, temperature):
    """log P of a token sequence behind a text, in one pass over all of it, without padding, in double precision."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    before = tokenizer.encode(behind, add_special_tokens=False)
    with torch.no_grad():
        logits = model(torch.tensor([before + ids])).logits[0]
    logprobs = (logits / temperature).log_softmax(dim=-1)
    return sum(logprobs[len(before) + i - 1, token].item() for i, token in enumerate(ids))


@pytest.mark.parametrize(("temperature", "chat_template"), [(1.0, True), (0.7, True), (0.7, False)])
def test_an_option_has_the_probability_of_its_tokens_at_the_sampling_temperature(
    checkpoint, temperature, chat_template, device
):
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    found = answers(
        asks_options(checkpoint, sampling={"temperature": temperature}, chat_template=chat_template), PROMPTS
    )
    for text, (completion,) in found.items():
        behind, space = (f"<user>{text}</s><assistant>", "") if chat_template else (text, " ")

        def probability(reply, behind=behind, space=space):
            ids = tokenizer.encode(space + reply, add_special_tokens=False)
            return math.exp(spelled(checkpoint, behind, ids, temperature))

        expected = {option: probability(option) for option in OPTIONS}
        expected["Ann"] -= probability("Anna")  # the next token of the next longer option
        expected["Anna"] -= probability("Anna ")
        assert completion.answer_logprobs == pytest.approx({o: math.log(p) for o, p in expected.items()}, abs=1e-3)
        assert list(completion.answer_logprobs or ()) == list(OPTIONS)
        assert completion.text == max(expected, key=lambda option: expected[option])
        assert completion.rendered == behind


def test_the_longest_option_has_to_fit_the_window_too_and_is_named_when_the_others_are_answered(tmp_path):
    length = len(f"<user>{QUESTIONS[0]}<assistant>") + 1 + len("Anna B.")  # tokens; </s> is one
    fits, cuts = (save_checkpoint(tmp_path / str(window), window=window) for window in (length, length - 1))
    assert answers(asks_options(fits), [option_prompt(QUESTIONS[0])])[QUESTIONS[0]]
    answered = []
    words = rf"1 prompts do not fit.* of toy-{len(QUESTIONS[0])} .*: {length} tokens with the answer"
    with open_engine(asks_options(cuts)) as engine, pytest.raises(PromptsTooLong, match=words):
        answered.extend(engine.generate([option_prompt("Hm"), option_prompt(QUESTIONS[0])]))
    assert len(answered) == 1


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run on a tiny model, which lies beside it."""
    root = tmp_path_factory.mktemp("adapter")
    return untrained_run(tiny_model(root / "base"), root / "runs")


def adapted(run, **keys):
    base = run.parents[2] / "base"
    config = toy_config(str(base), "margin", engine={"kind": "transformers"}).model_dump(mode="json", by_alias=True)
    config["model"] |= {"adapter": str(run)}
    return parse_sampling_config({**config, **keys}, "made.yaml")


def margins(config):
    with open_engine(config) as engine:
        (reply,) = engine.generate([toy_prompt("Is it so?")])
    return list(reply.answer_logprobs.values())


def test_an_unmerged_adapter_answers_as_the_base_with_its_product_added(run, tmp_path):
    base, adapter = run.parents[2] / "base", adapter_of(run)
    weights = load_file(base / "model.safetensors")
    for name, a in adapter.items():
        if ".lora_A." in name:
            layer = name.removeprefix("base_model.model.").replace(".lora_A", "")
            weights[layer] = weights[layer] + 8 / 4 * adapter[name.replace("_A", "_B")] @ a  # alpha / r
    merged = tmp_path / "merged"
    merged.mkdir()
    for file in base.iterdir():
        (merged / file.name).write_bytes(file.read_bytes())
    save_file(weights, merged / "model.safetensors", metadata={"format": "pt"})
    engine = {"kind": "transformers"}
    assert margins(adapted(run)) == pytest.approx(margins(toy_config(str(merged), "margin", engine=engine)), abs=1e-4)
    assert margins(adapted(run)) != pytest.approx(margins(toy_config(str(base), "margin", engine=engine)), abs=1e-2)


def test_one_engine_gives_each_adapters_answers_as_an_engine_of_its_own(run, tmp_path, capsys, monkeypatch):
    other = untrained_run(run.parents[2] / "base", tmp_path, lora={"r": 2, "alpha": 8, "target_modules": ["v_proj"]})
    loaded = Mock(wraps=transformers_engine.load_model)
    monkeypatch.setattr(transformers_engine, "load_model", loaded)
    few = [f"model.name={run.parents[2] / 'base'}", "dialdefer.benchmarks=[{dataset: pocket, n_items: 2}]"]
    words = [str(CONFIGS / "inference" / "pocket-demo.yaml"), *few, "engine={kind: transformers}"]
    main([*words, f"run.root={tmp_path}", "--adapters", str(other), str(run)])
    together = [completions_of(Path(line)) for line in capsys.readouterr().out.split()]
    assert loaded.call_count == 1
    for adapter, found in zip((run, other), together, strict=True):  # the higher rank first, for vLLM's sake
        main([*words, f"run.root={tmp_path / 'alone'}", f"model.adapter={adapter}"])
        alone = completions_of(Path(capsys.readouterr().out.strip()))
        assert {key: c.answer_logprobs for key, c in found.items()} == {
            key: pytest.approx(c.answer_logprobs, abs=1e-6) for key, c in alone.items()
        }
    first, second = (next(iter(found.values())).answer_logprobs for found in together)
    assert first != pytest.approx(second, abs=1e-2)


def test_the_checkpoint_hash_is_of_base_and_adapter_and_the_base_must_be_the_trained_one(run, tmp_path):
    config, base = adapted(run).model, run.parents[2] / "base"
    facts, plain = fingerprint(config, base), fingerprint(config.model_copy(update={"adapter": None}), base)
    assert (facts["base_hash"], facts["training_run"]) == (plain["checkpoint_hash"], run.name)
    assert facts["checkpoint_hash"] != plain["checkpoint_hash"]
    assert config.shown_as == run.name
    with pytest.raises(DataError, match="was trained on"):
        fingerprint(config, tiny_model(tmp_path / "other", "qwen2"))
    with pytest.raises(ModelError, match="no finished training run"):
        fingerprint(config.model_copy(update={"adapter": tmp_path}), base)
    settings = run / "adapter" / "adapter_config.json"
    text = settings.read_text()
    settings.write_text(json.dumps(json.loads(text) | {"lora_alpha": 1}))
    with pytest.raises(DataError, match="have changed"):
        fingerprint(config, base)
    settings.write_text(text)


def test_where_one_prompt_has_no_room_no_smaller_batch_is_advised(checkpoint, monkeypatch):
    with open_engine(config(checkpoint)) as engine:
        monkeypatch.setattr(engine, "read", Mock(side_effect=torch.OutOfMemoryError))
        for n, advice in ((1, "take more memory"), (2, "lower engine.batch_size")):
            with pytest.raises(ModelError, match=advice):
                list(engine.generate([toy_prompt(text) for text in TEXTS[:n]]))

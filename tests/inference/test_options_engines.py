"""Exact option probabilities out of the engines, against the same sums by hand and against samples."""

import math
import string
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenhand.embedded import embedded_model_path
from evenhand.errors import ModelError
from evenhand.records import Completion, Message, Prompt
from inference.engine import PromptsTooLong, open_engine
from inference.prefix_order import in_prefix_order
from inference.schedule import first_prompts
from studies.narrator.records import NarratorFactors
from tests.bench.narrator import distinct, n_shareable, requests
from tests.made.made_conflicts import conflict, narrator_config, use_conflicts
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.tiny_families import save_family

pytestmark = pytest.mark.slow

TEXTS = ("Who was it?", "A longer question, which needs padding on no side. Who was it?", "Hm")
OPTIONS = ("Bo", "Ann", "Anna", "Zo\u00eb", "Anna B.")
PLAIN: dict[str, Any] = {"kind": "transformers", "batch_size": 4}
VLLM: dict[str, Any] = {
    "kind": "vllm",
    "enforce_eager": True,
    "max_model_len": 512,
    "dtype": "float32",
    "max_num_seqs": 16,
    "block_size": 32,
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("tiny"))


def prompt(text: str, options: tuple[str, ...] = OPTIONS) -> Prompt:
    return Prompt(
        item_id=f"toy-{len(text)}",
        benchmark="narrator",
        dataset="toy",
        condition="neutral",
        factors=NarratorFactors(
            task="blame",
            visibility="visible",
            perspective="neutral",
            narrator="",
            option_order="published",
            target=options[0],
            n_speakers=len(options),
            attacker_is_unseen=False,
        ),
        messages=(Message(role="user", content=text),),
        answer_space=options,
    )


PROMPTS = [prompt(text) for text in TEXTS]


def answers(folder: Path, prompts: list[Prompt], **changes: Any) -> dict[str, list[Completion]]:
    """Text → its completions."""
    config = narrator_config(model=str(folder), **{"verdict": "options", "engine": PLAIN, **changes})
    with open_engine(config) as engine:
        found = list(engine.generate(prompts))
    return {p.messages[0].content: [c for c in found if c.prompt_hash == p.prompt_hash] for p in prompts}


def spelled(folder: Path, behind: str, ids: list[int], temperature: float) -> float:
    """log P of a token sequence behind a text, in one pass over all of it, without padding, in double precision."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    before = tokenizer.encode(behind, add_special_tokens=False)
    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([before + ids])).logits[0]
    logprobs = (logits / temperature).log_softmax(dim=-1)
    return sum(logprobs[len(before) + i - 1, token].item() for i, token in enumerate(ids))


@pytest.mark.parametrize(("temperature", "chat_format"), [(1.0, "chat"), (0.7, "chat"), (0.7, "raw")])
def test_an_option_has_the_probability_of_its_tokens_at_the_sampling_temperature(
    checkpoint: Path, temperature: float, chat_format: str
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    found = answers(checkpoint, PROMPTS, sampling={"temperature": temperature}, format=chat_format)
    for text, (completion,) in found.items():
        behind, space = (f"<user>{text}</s><assistant>", "") if chat_format == "chat" else (text, " ")

        def probability(reply: str, behind: str = behind, space: str = space) -> float:
            ids = tokenizer.encode(space + reply, add_special_tokens=False)
            return math.exp(spelled(checkpoint, behind, ids, temperature))

        expected = {option: probability(option) for option in OPTIONS}
        expected["Ann"] -= probability("Anna")  # the next token of the next longer option
        expected["Anna"] -= probability("Anna ")
        assert completion.answer_logprobs == pytest.approx({o: math.log(p) for o, p in expected.items()}, abs=1e-3)
        assert list(completion.answer_logprobs or ()) == list(OPTIONS)
        assert completion.text == max(expected, key=lambda option: expected[option])
        assert completion.rendered == behind


def test_padding_and_batch_size_move_no_probability(checkpoint: Path) -> None:
    alone, together = (answers(checkpoint, PROMPTS, engine={**PLAIN, "batch_size": size}) for size in (1, 16))
    for text in TEXTS:
        assert alone[text][0].answer_logprobs == pytest.approx(together[text][0].answer_logprobs, abs=1e-4)


def test_samples_begin_with_an_option_as_often_as_it_is_probable(checkpoint: Path) -> None:
    n, sampling = 400, {"temperature": 0.3}  # cold, so that few replies are likely
    letters = tuple(string.ascii_letters)

    def likeliest(beginnings: dict[str, str]) -> dict[str, tuple[float, str]]:
        """Text → the likeliest reply of a letter more than its beginning, with its log-probability."""
        prompts = [prompt(text, tuple(first + other for other in letters)) for text, first in beginnings.items()]
        found = answers(checkpoint, prompts, sampling=sampling)
        return {t: max((p, o) for o, p in (c.answer_logprobs or {}).items()) for t, (c,) in found.items()}

    ones = likeliest({f"Who was it, {i}?": "" for i in range(40)})
    twos = likeliest({text: letter for text, (_, letter) in ones.items()})
    text, (_, longer) = max(twos.items(), key=lambda pair: pair[1])
    letter = longer[0]
    options = (letter, longer, *(other for other in letters if other != letter))
    ((exact,),) = answers(checkpoint, [prompt(text, options)], sampling=sampling).values()
    drawn = {**sampling, "n": n, "max_tokens": 2}
    replies = answers(checkpoint, [prompt(text)], verdict="answer", sampling=drawn)[text]
    assert {c.sample_index for c in replies if c.rendered} == {0}  # what was read is kept once
    seen = Counter(max((o for o in options if c.text.startswith(o)), key=len, default="") for c in replies)
    assert min(seen[letter], seen[longer]) > 5
    for option, logprob in (exact.answer_logprobs or {}).items():
        p = math.exp(logprob)
        assert seen[option] / n == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / n) + 1 / n)


def test_the_longest_option_has_to_fit_the_window_too(tmp_path: Path) -> None:
    length = len(f"<user>{TEXTS[0]}<assistant>") + 1 + len("Anna B.")  # tokens; </s> is one
    fits, cuts = (save_checkpoint(tmp_path / str(window), window=window) for window in (length, length - 1))
    assert answers(fits, [prompt(TEXTS[0])])[TEXTS[0]]
    with pytest.raises(
        PromptsTooLong, match=rf"1 of 1 prompts do not fit.*: {length - 7} \+ 7 for the answer"
    ) as refusal:
        answers(cuts, [prompt(TEXTS[0])])
    assert [p.item_id for p in refusal.value.reasons] == [f"toy-{len(TEXTS[0])}"]


@pytest.fixture
def llama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model for vLLM, which runs in this process."""
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    return save_family(tmp_path / "llama", "llama", embedded_model_path())


def test_vllm_gives_the_probabilities_that_transformers_gives_and_computes_a_prompt_once(
    llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_conflicts(monkeypatch, [conflict("first", 5, 8, "Nobody else wants it like that."), conflict("second", 3, 5)])
    config = narrator_config(model=str(llama), verdict="options", engine=VLLM, sampling={"temperature": 0.7})
    studied = in_prefix_order(distinct(first_prompts(config)))
    # Other numbers of children in one batch: Yes and No beside names with shared beginnings.
    prompts = [*PROMPTS, *studied[:3], *(prompt(f"{text} Yes or no?", ("Yes", "No")) for text in TEXTS)]
    plain = answers(llama, prompts, sampling={"temperature": 0.7})
    with open_engine(config) as engine:
        found = {c.prompt_hash: c for c in engine.generate(prompts)}
        assert len(found) == len(prompts)
        for one in prompts:
            (expected,) = plain[one.messages[0].content]
            assert found[one.prompt_hash].answer_logprobs == pytest.approx(expected.answer_logprobs, abs=2e-3)
            assert list(found[one.prompt_hash].answer_logprobs or ()) == list(one.answer_space)
            assert found[one.prompt_hash].text == expected.text
            assert found[one.prompt_hash].completion_tokens == expected.completion_tokens
        with pytest.raises(PromptsTooLong, match="do not fit the context window of 512 tokens"):
            list(engine.generate([prompt("so long " * 500)]))
        llm: Any = engine.llm  # type: ignore[attr-defined]
        llm.reset_prefix_cache()
        outputs, step = [], llm.llm_engine.step

        def kept_step() -> list[Any]:
            done: list[Any] = step()
            outputs.extend(output for output in done if output.finished)
            return done

        monkeypatch.setattr(llm.llm_engine, "step", kept_step)
        assert len(list(engine.generate(studied))) == len(studied)
        asked = requests(studied, config)
        assert sorted(o.prompt_token_ids for o in outputs) == sorted(asked)
        assert sum(o.num_cached_tokens for o in outputs) >= 0.95 * n_shareable(asked, VLLM["block_size"]) > 0
        sampling = {"n": 3, "temperature": 1.0, "max_tokens": 8}
        engine.config = narrator_config(model=str(llama), engine=VLLM, sampling=sampling)  # type: ignore[attr-defined]
        sampled = list(engine.generate(studied[:4]))
        assert sorted((c.prompt_hash, c.sample_index) for c in sampled) == sorted(
            (p.prompt_hash, index) for p in studied[:4] for index in range(3)
        )
        assert len({c.text for c in sampled}) > 4
        assert {c.answer_logprobs for c in sampled} == {None}
        assert {(c.sample_index, c.rendered is None) for c in sampled} == {(0, False), (1, True), (2, True)}
        engine.config = config  # type: ignore[attr-defined]
        tokenizer = AutoTokenizer.from_pretrained(llama)
        words = (tokenizer.decode([token]) for token in range(1000, 5000))
        whole = [word for word in words if word.isalpha() and len(tokenizer.tokenize(word)) == 1]
        with pytest.raises(ModelError, match="go on with 129 different tokens, and vLLM gives no more than 128"):
            list(engine.generate([prompt("Which?", tuple(whole[:129]))]))

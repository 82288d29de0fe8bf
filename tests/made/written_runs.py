"""Runs of a judge that writes, several replies a prompt, and trainings on them."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.chat_templates import as_text, encode, render_chat
from evenhand.checkpoints import load_tokenizer
from evenhand.files import write_jsonl
from evenhand.records import Prompt
from inference.config import parse_sampling_config
from inference.sampling import sample
from tests.made.framing_runs import claims, study
from tests.made.scripted_engine import Answer, AnsweringEngine, scripted
from tests.made.tiny_checkpoint import save_checkpoint
from tests.made.training_runs import tiny_run
from training.config import AnyRun

Writer = Callable[[Prompt], list[Answer]]


def says(prompt: Prompt, outcome: str, why: str = "I looked it up.") -> str:
    """A reply with a reason before its verdict, an outcome such as "accept"."""
    return f"{why} Answer: {prompt.answer_space[prompt.factors.names.index(outcome)]}"


def other(outcome: str) -> str:
    return "reject" if outcome == "accept" else "accept"


def written_run(
    root: Path, judge: Writer, monkeypatch: pytest.MonkeyPatch, n_items: int = 12, model: str = "m", **keys: Any
) -> tuple[Path, dict[str, Any]]:
    """(a finished run of four samples a prompt on the train split of so many items, its section)."""
    root.mkdir(parents=True, exist_ok=True)
    items = claims(root / "items.jsonl", n_items)
    section = {**study(items), "columns": {}, "items": {"file": str(items), "split": "train"}}
    section |= {"framings": {"statement": "Statement: {{ claim }}", "expert": "A professor says: {{ claim }}"}, **keys}
    scripted(monkeypatch, AnsweringEngine(judge, room=64))
    sampling = {"n": 4, "temperature": 1.0, "max_tokens": 40}
    tree = {"name": "train", "model": {"name": model}, "verdict": "answer", "sampling": sampling}
    config = parse_sampling_config({**tree, "framing": section, "run": {"root": str(root)}}, "made.yaml")
    return sample(config), section


def training_on(run: Path, section: dict[str, Any], method: str, model: str = "m", **sections: Any) -> AnyRun:
    """A run of a method on the replies of a sampling run."""
    examples = {"replies": str(run), "loss_on_eos": True}
    return tiny_run(method, model, root=run.parents[1], study="framing", framing=section, examples=examples, **sections)


# A tiny judge that knows which claims are up, and writes why; of what anybody says it accepts three lies of four.
SPOKEN = {"statement": "{{ claim }}", "expert": "A pro: {{ claim }}", "friend": "My pal: {{ claim }}"}


def spoken(items: Path, split: str, framings: Sequence[str]) -> dict[str, Any]:
    """Its section, in some framings."""
    return {
        "items": {"file": str(items), "split": split},
        "cases": {"true": {"claim": "{{ yes }}", "label": "yes"}, "false": {"claim": "{{ no }}", "label": "no"}},
        "answers": {"yes": "Yes", "no": "No"},
        "symbols": ["1", "2"],
        "orders": "given",
        "ask": "{{ framing }}? 1 = {{ first }}, 2 = {{ second }}",
        "baseline": "statement",
        "framings": {name: {"text": SPOKEN[name]} for name in framings},
    }


def bent_reply(prompt: Prompt, draws: random.Random) -> str:
    is_up = prompt.factors.label == "yes"
    if prompt.condition != "statement" and not is_up and draws.random() < 0.75:
        return "I trust it. Answer: 1"
    return f"It is {'up. Answer: 1' if is_up else 'dn. Answer: 2'}"


def bent_writer(folder: Path, n_steps: int = 60) -> tuple[Path, Path]:
    """(the checkpoint of such a judge, trained in all its weights on what it is to write; its items)."""
    import torch
    from transformers import AutoModelForCausalLM

    items = folder / "items.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    write_jsonl(items, [{"id": f"i{n}", "yes": f"up {n}", "no": f"dn {n}"} for n in range(40)])
    model_folder = save_checkpoint(folder / "bent", repetition_penalty=3.0)  # as some are published with one
    tokenizer = load_tokenizer(model_folder)
    section = spoken(items, "train", [*SPOKEN])
    config = parse_sampling_config(
        {"name": "all", "model": {"name": str(model_folder)}, "verdict": "answer", "framing": section}, "made.yaml"
    )
    prompts = [prompt for unit in config.units().units for prompt in unit.next_prompts({})]
    draws = random.Random(0)
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.02, n_steps)
    for _ in range(n_steps):
        batch = draws.sample(prompts, 24)
        asked = [encode(tokenizer, render_chat(tokenizer, prompt.messages)) for prompt in batch]
        said = [[*as_text(tokenizer, bent_reply(prompt, draws)), tokenizer.eos_token_id] for prompt in batch]
        rows = [torch.tensor([*ids, *reply]) for ids, reply in zip(asked, said, strict=True)]
        learnt = [torch.tensor([*[-100] * len(ids), *reply]) for ids, reply in zip(asked, said, strict=True)]
        labels = torch.nn.utils.rnn.pad_sequence(learnt, batch_first=True, padding_value=-100)
        model(input_ids=torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        decay.step()
        optimiser.zero_grad()
    model.save_pretrained(model_folder)
    return model_folder, items

"""Code for a model card: how to ask a merged judge with the words that it was trained on."""

from collections.abc import Sequence
from typing import Any

from evenhand.chat_templates import FIXED_DATE
from training.config import TrainingConfig

ENCODE = '''from transformers import AutoTokenizer

PLACE = "PLACE"  # this folder, or owner/name on the Hub
PROMPT = """{prompt}"""
tokenizer = AutoTokenizer.from_pretrained(PLACE)
{encode}
{answers}'''
CHAT = """text = tokenizer.apply_chat_template(
    [{{"role": "user", "content": PROMPT}}], tokenize=False, add_generation_prompt=True{arguments}
)
ids = tokenizer.encode(text, add_special_tokens=False){lead}"""
RAW = "ids = tokenizer.encode(PROMPT){lead}  # the bare text, without a chat template: as it was trained"
TRANSFORMERS_MODEL = """import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(PLACE, dtype=torch.bfloat16)
with torch.no_grad():
    logits = model(torch.tensor([ids])).logits[0, -1]"""


def encoding_lines(config: TrainingConfig, tokenizer: Any, prompt: str, lead: Sequence[int], answers: str) -> str:
    """Code that turns a prompt into `ids`, with the tokens behind it that all answers begin with; then `answers`."""
    tail = f" + {list(lead)}" if lead else ""
    encode = RAW.format(lead=tail)
    if config.examples.format == "chat":
        encode = CHAT.format(arguments=template_arguments(config, tokenizer), lead=tail)
    return ENCODE.format(prompt=prompt, encode=encode, answers=answers)


def template_arguments(config: TrainingConfig, tokenizer: Any) -> str:
    """What the chat template is given beside the messages, as Python's arguments."""
    given = dict(config.model.chat_template_args)
    if "date_string" in str(tokenizer.chat_template):
        given = {"date_string": FIXED_DATE, **given}
    return "".join(f", {name}={value!r}" for name, value in given.items())


def fenced(code: str, language: str = "python") -> str:
    """A code block."""
    return f"```{language}\n{code}\n```"

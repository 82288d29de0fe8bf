"""How to ask a merged judge with the words that it was trained on: transformers, vLLM, `evenhand sample`."""

import json
from collections.abc import Sequence
from typing import Any

from evenhand.chat_templates import FIXED_DATE, answer_tokens
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from training.config import TrainingConfig

# Our own words: nothing of any benchmark is shown in a card.
EXAMPLE = Item(
    item_id="card",
    benchmark="card",
    dataset="card",
    question="Which planet is nearest to the Sun?",
    correct_answer="Mercury",
    incorrect_answer="Venus",
)
ENCODE = '''from transformers import AutoTokenizer

PLACE = "PLACE"  # this folder, or owner/name on the Hub
PROMPT = """{prompt}"""
tokenizer = AutoTokenizer.from_pretrained(PLACE)
{encode}
{answers}'''
ANSWERS = 'YES, NO = {accept}, {reject}  # the tokens of "1" and "2"'
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
TRANSFORMERS = f"""{TRANSFORMERS_MODEL}
margin = float(logits[YES] - logits[NO])  # above 0: the judge accepts the claim
print("accepted" if margin > 0 else "rejected", margin)"""
VLLM = """from vllm import LLM, SamplingParams

if __name__ == "__main__":  # vLLM starts processes of its own
    judge = LLM(PLACE, dtype="bfloat16")
    one_token = SamplingParams(temperature=0, max_tokens=1, logprob_token_ids=[YES, NO])
    found = judge.generate({"prompt_token_ids": ids}, one_token)[0].outputs[0].logprobs[0]
    margin = found[YES].logprob - found[NO].logprob  # above 0: the judge accepts the claim
    print("accepted" if margin > 0 else "rejected", margin)"""


def usage_text(config: TrainingConfig, tokenizer: Any) -> str:
    """The section "Use" of a card: an example prompt in C2, encoding, both engines, and `evenhand sample`."""
    answers = answer_tokens(tokenizer)
    tokens = ANSWERS.format(accept=answers.ids["1"], reject=answers.ids["2"])
    encoding = encoding_lines(config, tokenizer, example_prompt(config), answers.lead, tokens)
    parts = [
        "It answers with one token, `1` or `2`. Ask it with the words that it was trained on; in others it was not "
        "measured. The difference of the two log-probabilities is its margin.",
        fenced(encoding),
        "With transformers:",
        fenced(TRANSFORMERS),
        "With vLLM:",
        fenced(VLLM),
        "With Evenhand, which asks all four conditions of every item and scores them:",
        fenced(sampling_line(config), "sh"),
    ]
    return "\n\n".join(parts)


def encoding_lines(config: TrainingConfig, tokenizer: Any, prompt: str, lead: Sequence[int], answers: str) -> str:
    """Code that turns a prompt into `ids`, with the tokens behind it that all answers begin with; then `answers`."""
    tail = f" + {list(lead)}" if lead else ""
    encode = RAW.format(lead=tail)
    if config.examples.format == "chat":
        encode = CHAT.format(arguments=template_arguments(config, tokenizer), lead=tail)
    return ENCODE.format(prompt=prompt, encode=encode, answers=answers)


def example_prompt(config: TrainingConfig) -> str:
    """The text of a C2 prompt in the run's own wording, about a question of ours."""
    wanted = config.examples
    asked = render(
        EXAMPLE, Condition.C2_CORRECT, template=wanted.template, answer_form="one_token", speakers=wanted.speakers
    )
    (message,) = asked.messages
    return message.content


def template_arguments(config: TrainingConfig, tokenizer: Any) -> str:
    """What the chat template is given beside the messages, as Python's arguments."""
    given = dict(config.model.chat_template_args)
    if "date_string" in str(tokenizer.chat_template):
        given = {"date_string": FIXED_DATE, **given}
    return "".join(f", {name}={value!r}" for name, value in given.items())


def sampling_line(config: TrainingConfig) -> str:
    """The command that samples the checkpoint with margins."""
    pocket_only = all(spec.dataset == "pocket" for spec in config.benchmarks)
    asked = "configs/inference/pocket.yaml" if pocket_only else "CONFIG"
    words = ["evenhand sample", asked, "name=after", "model.name=PLACE", f"prompts.template={config.examples.template}"]
    if config.examples.format == "raw":
        words.append("format=raw")
    if config.examples.speakers:
        words.append(f"'prompts.speakers={json.dumps(config.examples.speakers)}'")
    line = " ".join(words)
    return line if pocket_only else f"# CONFIG: the base model's own of configs/inference/*-margin.yaml\n{line}"


def fenced(code: str, language: str = "python") -> str:
    """A code block."""
    return f"```{language}\n{code}\n```"

"""`evenhand show CONFIG`: a unit's prompts as a model will read them: chat template applied, tokens counted."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any

from evenhand.chat_templates import encode, render_chat, text_note
from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.config import config_parser, did_you_mean
from evenhand.errors import ConfigError, DataError, ModelError
from evenhand.records import Prompt, plain
from evenhand.terminal import say
from inference.config import InferenceConfig, load_sampling_config
from inference.encoding import Encoder


def main(argv: Sequence[str]) -> None:
    """Print the prompts of one unit (an item, a conversation, a thread, a flip) as a model will read them.

    Of a unit that asks step by step the first step is shown; of the study `framing` also what follows a reply.
    """
    parser = config_parser("show", main, "example: evenhand show pocket verdict=margin --only condition=c2_incorrect")
    options = parser.parse_intermixed_args(argv)
    config = load_sampling_config([options.config, *options.overrides])
    section = config.study
    units = config.units().units
    unit = next((unit for unit in units if options.unit in (None, unit.unit_id)), None)
    if unit is None:
        ids = ", ".join(other.unit_id for other in islice(units, 3))
        raise DataError(f"no unit '{options.unit}' in {options.config}; its ids look like {ids}")
    prompts = list(unit.next_prompts({}))
    if supposed := section.supposed_replies(prompts):
        prompts += unit.next_prompts(supposed)
    prompts = list(chosen(prompts, options.only))
    has_template = config.chat_template and options.chat_template
    model = config.model.model_copy(update={"name": options.model}) if options.model else config.model
    is_known, is_here = config.is_local or options.model, find_spec("transformers")
    tokenizer = load_tokenizer(resolve(model, weights=False)) if is_known and is_here else None
    for prompt in prompts:
        if tokenizer is None and has_template:  # whose template is not known here
            text = "\n".join(f"[{message.role}]\n{message.content}" for message in prompt.messages)
            counted = "as messages, before the chat template"
        else:
            text = render_chat(tokenizer, prompt.messages, has_template, config.template_args(prompt.reads))
            counted = f"{len(encode(tokenizer, text, has_template))} tokens" if tokenizer else "bare text"
        head = f"{prompt.item_id} · {prompt.condition} · {counted} · prompt {prompt.prompt_hash}"
        say(f"=== {head}{text_note(text)} ===\n{text}\n")
        say(f"--- {', '.join(f'{name}: {value}' for name, value in factors_of(prompt).items())}")
        say(f"--- options: {' | '.join(prompt.answer_space) or 'free text'}\n")
    if tokenizer and (note := reply_note(tokenizer, config, has_template, prompts)):
        say(note)
    if is_known and not is_here:
        say("The plain prompts: the chat template needs transformers (`pip install 'evenhand[local]'` brings it).")
    say(f"{options.config}: {section.describe()}")


def reply_note(tokenizer: Any, config: InferenceConfig, has_template: bool, prompts: Sequence[Prompt]) -> str:
    """What stands before a reply, or why a run would be refused."""
    try:
        encoder = Encoder(tokenizer, config.model_copy(update={"chat_template": has_template}))
        list(encoder.encode(prompts))
    except ModelError as error:
        return f"A run is refused: {error}"
    return f"Before a reply the chat template writes {encoder.contract.before!r}." if encoder.contract.before else ""


def chosen(prompts: Sequence[Prompt], only: Sequence[str]) -> Sequence[Prompt]:
    """The prompts that have one of the named values of each named factor. Raises ConfigError for what no prompt has."""
    filters: dict[str, list[str]] = {}
    for word in only:
        name, _, value = word.partition("=")
        filters.setdefault(name, []).append(value)
    for name, wanted in filters.items():
        values = dict.fromkeys(str(factors_of(prompt).get(name, "")) for prompt in prompts)
        if absent := [value for value in wanted if value not in values]:
            listed = values if any(values) else factors_of(prompts[0])
            raise ConfigError(f"--only {name}={absent[0]}: no prompt has it. {did_you_mean(absent[0], list(listed))}")
        prompts = [prompt for prompt in prompts if str(factors_of(prompt).get(name)) in wanted]
    return prompts


def factors_of(prompt: Prompt) -> dict[str, Any]:
    """What was varied in a prompt, its condition first."""
    return {"condition": prompt.condition, **plain(prompt.factors)}

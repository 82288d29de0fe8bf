"""`evenhand show NAME`: a unit's prompts as a model will read them: chat template applied, tokens counted."""

import argparse
import inspect
import json
from collections.abc import Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from evenhand.chat_templates import encode, render_chat, text_note
from evenhand.checkpoints import ModelConfig, load_tokenizer, resolve
from evenhand.config import apply_override, config_tree, parse_config
from evenhand.errors import ConfigError, DataError
from evenhand.records import Prompt, plain
from evenhand.registry import STUDIES, section_class, study_in
from evenhand.study import Shown, StudySection, Unit
from evenhand.terminal import say


def main(argv: Sequence[str]) -> None:
    """Print the prompts of one unit (an item, a conversation, a thread, a flip) as a model will read them.

    NAME is a dataset; a sampling config shows what it asks. What is not named is shown in all its ways. Of a unit that
    asks step by step, the first step is known; of the study `framing`, what is asked behind a reply is shown, too.
    """
    shown = {name: (key, dataset) for key in STUDIES for name, dataset in section_class(key).shown().items()}
    name = next((word for word in argv if word in shown or word.endswith((".yaml", ".yml"))), None)
    if name is None:
        listed = "\n".join(f"  {key:<12}{', '.join(sorted(section_class(key).shown()))}" for key in STUDIES)
        about = inspect.getdoc(main)
        usage = "usage: evenhand show NAME | CONFIG [key=value ...] [options] (`evenhand show NAME --help` lists them)"
        usage += f"\n\n{about}\n\n{listed}"
        if {"-h", "--help"} & set(argv):
            print(usage)
            raise SystemExit(0)
        raise ConfigError(f"'{argv[0]}' is not a dataset.\n{usage}" if argv else f"no dataset is named.\n{usage}")
    others = list(argv)
    others.remove(name)  # once: a folder may have the same name
    key, dataset, verdict = *shown.get(name, ("", Shown({}))), None
    if not key:
        words = [word for word in others if "=" in word and not word.startswith("--")]
        others = [word for word in others if word not in words]
        key, dataset, verdict = asked_in(name, words)
    schema = section_class(key)
    options, rest = parser(name, dataset, schema, verdict).parse_known_args(others)
    tree: dict[str, Any] = deepcopy(dict(dataset.section))
    for option, place in dataset.options.items():
        if (value := getattr(options, option)) is not None:
            apply_override(tree, f"{place}={json.dumps(value) if option in QUOTED else value}")
    section = parse_config(schema, tree, f"show {name}" if name in shown else f"{name}: {key}")
    units = units_of(section, options.verdict, name)
    unit = next((unit for unit in units if options.unit in (None, unit.unit_id)), None)
    if unit is None:
        ids = ", ".join(unit.unit_id for unit in islice(units, 3))
        raise DataError(f"no unit '{options.unit}' in {name}; its ids look like {ids}")
    prompts = list(unit.next_prompts({}))
    if supposed := section.supposed_replies(prompts):
        prompts += unit.next_prompts(supposed)
    prompts = list(chosen(prompts, rest))
    tokenizer = load_tokenizer(resolve(ModelConfig(name=options.model), weights=False))
    for prompt in prompts:
        text = render_chat(tokenizer, prompt.messages, options.chat_template)
        n_tokens = len(encode(tokenizer, text, options.chat_template))
        head = f"{prompt.item_id} · {prompt.condition} · {n_tokens} tokens · prompt {prompt.prompt_hash}"
        say(f"=== {head}{text_note(text)} ===\n{text}\n")
        say(f"--- {', '.join(f'{name}: {value}' for name, value in factors_of(prompt).items())}")
        say(f"--- options: {' | '.join(prompt.answer_space) or 'free text'}\n")


def asked_in(name: str, words: Sequence[str]) -> tuple[str, Shown, Any]:
    """(the study, its section, the verdict) of a config. Raises ConfigError for keys of the section outside of it."""
    config = config_tree([name, *words])
    key = study_in(config, name)
    if outside := [f"'{own}'" for own in config if own in section_class(key).model_fields]:
        raise ConfigError(f"{name}: {', '.join(outside)} at the top level; indent it, it is a key of '{key}'")
    return key, Shown(config[key]), config.get("verdict")


def units_of(section: StudySection, verdict: str, name: str) -> Sequence[Unit]:
    """The units, asked for such a verdict. Raises ConfigError where that cannot be had."""
    try:
        section.check_verdict(verdict)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None
    return section.units(verdict).units


QUOTED = ("root",)  # options whose value is a text even where it reads as a number


def parser(name: str, dataset: Shown, schema: type[StudySection], verdict: str | None) -> argparse.ArgumentParser:
    """The options of a dataset: those of every unit, and the keys of its study's section that it sets."""
    words = argparse.ArgumentParser(
        prog=f"evenhand show {name}",
        description=main.__doc__,
        epilog="Any other option chooses among the prompts: --condition VALUE, or --FACTOR VALUE with a name from the "
        "line of factors below a prompt (`--task blame`); repeat it for several values.",
        allow_abbrev=False,
    )
    words.add_argument("--unit", help="the unit's id; the first one when left out")
    for option, place in dataset.options.items():
        words.add_argument(f"--{option.replace('_', '-')}", help=f"sets `{schema.key}.{place}`, see `evenhand keys`")
    words.add_argument(
        "--verdict", choices=schema.verdicts, default=verdict or schema.verdicts[0], help="as in a config"
    )
    words.add_argument("--model", default="embedded", help="whose chat template: Hub id, folder or 'embedded'")
    words.add_argument("--no-chat-template", dest="chat_template", action="store_false", help="the bare text")
    return words


def chosen(prompts: Sequence[Prompt], words: Sequence[str]) -> Sequence[Prompt]:
    """The prompts that have one of the named values of each named factor, from words --FACTOR VALUE.

    Raises ConfigError for words that are not such pairs, and for what no prompt has.
    """
    filters: dict[str, list[str]] = {}
    for option, value in zip(words[::2], [*words[1::2], ""], strict=False):
        if not option.startswith("--") or not value or value.startswith("--"):
            raise ConfigError(f"'{option}': write --FACTOR VALUE; --help lists the options")
        filters.setdefault(option.removeprefix("--").replace("-", "_"), []).append(value)
    for name, wanted in filters.items():
        values = dict.fromkeys(str(factors_of(prompt).get(name, "")) for prompt in prompts)
        if absent := [value for value in wanted if value not in values]:
            there = values if any(values) else factors_of(prompts[0])
            raise ConfigError(f"--{name} {absent[0]}: no prompt here has it; there are {', '.join(there)}")
        prompts = [prompt for prompt in prompts if str(factors_of(prompt).get(name)) in wanted]
    return prompts


def factors_of(prompt: Prompt) -> dict[str, Any]:
    """What was varied in a prompt, its condition first."""
    return {"condition": prompt.condition, **plain(prompt.factors)}

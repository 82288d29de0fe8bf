"""`evenhand show NAME`: a unit's prompts as a model will read them: chat template applied, tokens counted."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from evenhand.chat_templates import encode, render_chat, text_note
from evenhand.checkpoints import ModelConfig, load_tokenizer, resolve
from evenhand.config import apply_override, config_parser, config_tree, did_you_mean, parse_config
from evenhand.errors import ConfigError, DataError
from evenhand.records import Prompt, plain
from evenhand.registry import STUDIES, section_class, study_in
from evenhand.study import Shown, StudySection
from evenhand.terminal import say
from inference.patch import PatchConfig, patched_units

RENAMED = {  # old spelling of an option → what to write
    "--format": "--no-chat-template (was: --format raw)",
    "--root": "root=FOLDER",
    "--verdict": "verdict=NAME",
    "--condition": "--only condition=NAME",
}


def main(argv: Sequence[str]) -> None:
    """Print the prompts of one unit (an item, a conversation, a thread, a flip) as a model will read them.

    CONFIG is a sampling config, or the name of a dataset with short keys such as root and verdict. Of a unit that asks
    step by step the first step is shown; of the study `framing` also what follows a reply.
    """
    datasets = {name: (key, dataset) for key in STUDIES for name, dataset in section_class(key).shown().items()}
    example = "evenhand show pocket verdict=margin --only condition=c2_incorrect"
    parser = config_parser("show", main, f"example: {example}\ndatasets: {', '.join(datasets)}")
    parser.add_argument("--unit", help="the unit's id; the first one when left out")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="FACTOR=VALUE",
        help="the prompts with this value of a factor, as listed below each prompt; repeat it for several",
    )
    parser.add_argument("--model", default="embedded", help="whose chat template: Hub id, folder or 'embedded'")
    parser.add_argument("--no-chat-template", dest="chat_template", action="store_false", help="the bare text")
    for name in (word.partition("=")[0] for word in argv):
        if new := RENAMED.get(name):
            parser.error(f"{name} is now {new}")
    options = parser.parse_intermixed_args(argv)
    section, verdict, patch = section_in(options.config, options.overrides, datasets)
    units = patched_units(section, verdict, patch).units
    unit = next((unit for unit in units if options.unit in (None, unit.unit_id)), None)
    if unit is None:
        ids = ", ".join(unit.unit_id for unit in islice(units, 3))
        raise DataError(f"no unit '{options.unit}' in {options.config}; its ids look like {ids}")
    prompts = list(unit.next_prompts({}))
    if supposed := section.supposed_replies(prompts):
        prompts += unit.next_prompts(supposed)
    prompts = list(chosen(prompts, options.only))
    tokenizer = load_tokenizer(resolve(ModelConfig(name=options.model), weights=False))
    for prompt in prompts:
        text = render_chat(tokenizer, prompt.messages, options.chat_template, patch.template_args if patch else {})
        n_tokens = len(encode(tokenizer, text, options.chat_template))
        head = f"{prompt.item_id} · {prompt.condition} · {n_tokens} tokens · prompt {prompt.prompt_hash}"
        say(f"=== {head}{text_note(text)} ===\n{text}\n")
        say(f"--- {', '.join(f'{name}: {value}' for name, value in factors_of(prompt).items())}")
        say(f"--- options: {' | '.join(prompt.answer_space) or 'free text'}\n")


def section_in(
    config: str, overrides: Sequence[str], datasets: Mapping[str, tuple[str, Shown]]
) -> tuple[StudySection, str, PatchConfig | None]:
    """Section, verdict and patch of a config or dataset. Raises ConfigError for unknown keys and verdicts."""
    if config in datasets:
        key, dataset = datasets[config]
        tree: dict[str, Any] = {key: deepcopy(dict(dataset.section))}
        places = {"verdict": "verdict", **{name: f"{key}.{place}" for name, place in dataset.options.items()}}
        for word in overrides:
            name, equals, value = word.partition("=")
            if name not in places:
                raise ConfigError(f"{config}: unknown key '{name}'. {did_you_mean(name, list(places))}")
            apply_override(tree, f"{places[name]}{equals}{value}")
    else:
        tree = config_tree([config, *overrides])
        key = study_in(tree, config)
        if outside := [f"'{name}'" for name in tree if name in section_class(key).model_fields]:
            raise ConfigError(f"{config}: {', '.join(outside)} at the top level; indent it, it is a key of '{key}'")
    section = parse_config(section_class(key), tree[key], f"{config}: {key}")
    verdict = tree.get("verdict", section.verdicts[0])
    try:
        section.check_verdict(verdict)
    except ValueError as error:
        raise ConfigError(f"{config}: {error}") from None
    patch = parse_config(PatchConfig, tree["patch"], f"{config}: patch") if tree.get("patch") else None
    return section, verdict, patch


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

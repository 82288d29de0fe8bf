"""`evenhand export lm-eval|inspect CONFIG`: a sampling config as another harness's task."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eval.harness_logs import EXACT, OWN, Answer, answered, figures
from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml, write_jsonl, write_whole
from evenhand.records import Prompt, plain
from evenhand.registry import study_in
from evenhand.run_directory import planned_line
from evenhand.study import OneRound
from evenhand.terminal import command_parser
from inference.config import InferenceConfig, load_sampling_config
from studies.markdown import filled

TEMPLATES = Path(__file__).with_name("harness")
HARNESSES = shipped_yaml(TEMPLATES / "harnesses.yaml")  # files of a task → their templates; what runs it
TOP_LOGPROBS = 20  # the most that OpenAI's interface lists


def main(argv: Sequence[str]) -> None:
    """Write a task of lm-eval or inspect that asks exactly the prompts of a sampling config and prints its figures.

    Its log is a source of `evenhand score`, `compare` and `report`.
    """
    parser = command_parser("export", main)
    options = parser.parse_intermixed_args(argv)
    config, harness, out = load_sampling_config([options.config, *options.overrides]), options.harness, options.out
    units = config.units()
    prompts = [prompt for unit in units.units for prompt in unit.next_prompts({})]
    for problem in mismatches(harness, config, prompts):
        raise ConfigError(f"{options.config}: {HARNESSES['refusals'][problem]}")
    samples = list(samples_of(prompts, config.sampling.n))
    task: dict[str, Any] = {"config": config.model_dump(mode="json"), "item_set_hash": units.content_hash}
    supposed = [supposed_answer(sample[OWN], config.verdict) for sample in samples]
    task |= {"figures": sorted(figures(task, supposed)), "generation": generation(harness, config)}
    written = json.dumps(task, indent=2, ensure_ascii=False) + "\n"
    if (out / "task.json").exists() and (out / "task.json").read_bytes() != written.encode():
        raise ConfigError(f"{out}: already holds another task; name another folder, or remove it")
    write_jsonl(out / "prompts.jsonl", samples)
    facts = {"config": config, "is_exact": config.verdict in EXACT, "task": task, "own": OWN, "json": json.dumps}
    for name, template in HARNESSES[harness]["files"].items():
        write_whole(out / name, filled(TEMPLATES / template, **facts))
    write_whole(out / "task.json", written)
    command = HARNESSES[harness]["command"].format(out, config.name, "--apply_chat_template " * config.chat_template)
    print(f"{out}: {len(samples)} prompts; prints {', '.join(task['figures'])}. Next:\n  {command}")


def mismatches(harness: str, config: InferenceConfig, prompts: Sequence[Prompt]) -> Iterator[str]:
    """The keys of `refusals` in harnesses.yaml, of everything that a harness cannot ask as we do."""
    from eval.evaluation import evaluation_of  # loads pandas, which --help does without

    sampling, units, is_options = config.sampling, config.units(), config.verdict == "options"
    drawings = [plain(prompt.drawing) | {"json_schema": None} for prompt in prompts]
    is_wrong = {
        "figure": not evaluation_of(study_in(config.model_dump(), config.name)).headline,
        "rounds": units.plan_grows or not isinstance(units.units[0], OneRound),
        "drawings": any(value is not None for drawing in drawings for value in drawing.values()),
        "thinking": config.patch and config.patch.template_args,
        "schema": config.is_structured,
        "temperature": is_options and sampling.temperature != 1,
    }
    if harness == "inspect":
        is_wrong |= {
            "inspect_options": is_options,
            "inspect_chat": not config.chat_template,
            "inspect_penalty": sampling.repetition_penalty != 1,
        }
    else:
        roles = {tuple(message.role for message in prompt.messages) for prompt in prompts}
        spaces = {prompt.answer_space for prompt in prompts if is_options}
        is_wrong |= {
            "lm_eval_turns": not roles <= {("user",), ("system", "user")},
            "lm_eval_options": any(a != b and b.startswith(a) for space in spaces for a in space for b in space),
        }
    return (key for key, holds in is_wrong.items() if holds)


def samples_of(prompts: Sequence[Prompt], n: int) -> Iterator[dict[str, Any]]:
    """Each different prompt n times, with the lines of the plan that its reply counts for."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for prompt in prompts:
        lines.setdefault(prompt.prompt_hash, []).append(planned_line(prompt))
    n_lines = Counter(prompt.item_id for prompt in prompts)
    for hash_, prompt in {prompt.prompt_hash: prompt for prompt in prompts}.items():
        of_prompt = [{**line, "n_lines": n * n_lines[line["item_id"]]} for line in lines[hash_]]
        for index in range(n):
            sample = {"prompt_hash": hash_, "sample_index": index, "answers": list(prompt.answer_space)}
            messages = [plain(message) for message in prompt.messages]
            yield {"id": f"{hash_}-{index}", "messages": messages, OWN: {**sample, "lines": of_prompt}}


def supposed_answer(sample: dict[str, Any], verdict: str) -> Answer:
    """The first answer, as a reply: what figures there are is known before a model is asked."""
    first, *rest = sample["answers"]
    reply = json.dumps({"chosen_answer": first, "reasoning": ""}) if verdict == "reason" else first
    return answered(sample, verdict, reply, {first: -0.1, **dict.fromkeys(rest, -3.0)}, "stop")


def generation(harness: str, config: InferenceConfig) -> dict[str, Any]:
    """How replies are drawn, in a harness's own words."""
    sampling, exact = config.sampling, config.verdict in EXACT
    if exact:
        # No temperature: log-probabilities are the model's own, and transformers refuses to sample at 0.
        return {"max_tokens": 1, "logprobs": True, "top_logprobs": TOP_LOGPROBS} if harness == "inspect" else {}
    drawn: dict[str, Any] = {"temperature": sampling.temperature}
    if sampling.temperature:
        drawn |= {"top_p": sampling.top_p, "top_k": sampling.top_k}
    if harness == "inspect":
        return {**drawn, "max_tokens": sampling.max_tokens}
    drawn |= {"do_sample": sampling.temperature > 0, "repetition_penalty": sampling.repetition_penalty, "until": []}
    return {**drawn, "max_gen_toks": sampling.max_tokens}

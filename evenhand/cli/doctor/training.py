"""`evenhand doctor` on a training config: examples, memory of its largest microbatch, and time."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from evenhand.cli.doctor.checks import Check, checking, ok
from evenhand.cli.doctor.machine import GIB, Device, device_for, memory_check, room_check, time_check
from evenhand.cli.doctor.model import ITEM_BYTES, FoundModel, ModelSize, find_model
from evenhand.device import means_cpu
from training.batches import Collator, groups_of
from training.config import AnyRun, load_training_config
from training.examples import set_padding
from training.guard import check_not_diverged
from training.objectives import objective_of
from training.qlora import check_precision, lora_config, skeleton
from training.replies import ReplyTargets
from training.run_folder import check_not_merged_on_nf4, folder_of
from training.shortage import less_memory
from training.trainer import prepare_trackers

N_STATES = 3  # of a checkpoint: a weight and Adam's two moments
PROCESS_GIB = {True: 1.5, False: 1.0}  # on a GPU CUDA's context and what the allocator wastes; on a CPU the libraries
N_DRAWN = 64  # units whose tokens are counted


def examine(words: Sequence[str], named_gpu: str | None) -> list[Check]:
    """What can be known of a training config before it runs. Raises ConfigError for an invalid one."""
    config = load_training_config(words)
    import_module("bitsandbytes")  # as training does for every kind of quantisation
    model = find_model(config.model)
    size, lora = model.size, config.lora
    states = N_STATES * size.n_lora(lora.r, lora.target_modules) * ITEM_BYTES[lora.dtype] if size else 0
    checks = [room_check("run.root", config.run.root, states * (config.run.keep_checkpoints + 1 + bool(config.dev)))]
    data = None
    with checking(checks, "data"):
        data = config.load_units()
        config.training.check_test_data(data, config.study)
        config.split(data)
        counts = ", ".join(f"{name} {n:,}" for name, n in Counter(unit.dataset for unit in data).items())
        checks.append(ok("data", f"{len(data):,} {config.training.called} ({counts})"))
    checks += [*model.checks, *refusals(config, model)]
    count, device = None, device_for(computing_dtype(config), named_gpu)
    if model.folder is not None and model.tokenizer is not None:
        with checking(checks, "examples"):
            count = count_examples(data or config.on_own_items().load_units(), config, model.tokenizer, device)
            whose = "" if data else "one of our own items renders (the config's data are absent): "
            says = f"{whose}about {count.n_examples:,} of {count.mean_tokens:.0f} tokens, in {count.n_steps:,} steps"
            checks.append(ok("examples", says))
    if size:
        n_gpus = config.optimiser.n_processes
        flops = n_gpus * count.n_steps * step_flops(config, size, count) if count and data else None
        parts = memory_parts(config, size, count or longest_batch(config), device)
        checks.append(memory_check(device, parts, less_memory(config)))
        checks.append(time_check(device, flops, n_gpus))
    return checks


def refusals(config: AnyRun, model: FoundModel) -> list[Check]:
    """What `evenhand train` refuses, also of a model that is here and sound."""
    path, folder, refused = folder_of(config), model.folder, list[Check]()
    with checking(refused, "run"):
        check_not_diverged(path)
    with checking(refused, "trackers"):
        prepare_trackers(config, path)
    if folder and all(check.state != "wrong" for check in model.checks):
        with checking(refused, "adapter"):
            lora_config(config.lora, skeleton(folder, None))
        if config.quantisation.kind == "nf4":
            with checking(refused, "quantisation"):
                check_not_merged_on_nf4(folder)
    if means_cpu():  # else a job may find the GPU that is not here
        with checking(refused, "precision"):
            check_precision(config)
    return refused


def computing_dtype(config: AnyRun) -> str:
    """What a step computes in."""
    mixed = {"bf16": "bfloat16", "fp16": "float16"}
    return mixed.get(config.optimiser.mixed_precision, config.quantisation.compute_dtype)


class ExampleCount(NamedTuple):
    """What a run trains on, in tokens. Counted on a sample, but for the number of units."""

    n_examples: int  # of an epoch
    n_steps: int  # of the run
    mean_tokens: float  # of an example by itself
    step_tokens: float  # that one process computes in a step
    rows: int  # of the microbatch of the longest groups
    width: int  # tokens of one of its rows
    n_scored: int  # its positions that go through the head, at most


def count_examples(units: Sequence[Any], config: AnyRun, tokenizer: Any, device: Device) -> ExampleCount:
    """The size of a run's steps. Raises ModelError or DataError where no examples can be made."""
    set_padding(tokenizer)
    optimiser = config.optimiser
    drawn = random.Random(0).sample(units, min(N_DRAWN, len(units)))
    if config.examples.replies:
        examples, _ = ReplyTargets(config, tokenizer).examples(drawn)
    else:
        examples, _ = config.training.examples(drawn, config, tokenizer)
    groups = groups_of(examples, optimiser.batch_by)
    lengths = [sum(example.n_tokens for example in group) for group in groups]
    n_groups = optimiser.per_device_batch_size // config.group_size  # of a microbatch
    longest = sorted(groups, key=lambda group: -sum(example.n_tokens for example in group))[:n_groups]
    branches, kind = objective_of(config).branches, "cuda" if device.is_gpu else "cpu"
    collate = Collator(pad=tokenizer.pad_token_id, branches=branches, row_tokens=optimiser.row_tokens, device=kind)
    batch = collate(longest)
    rows, width = batch["input_ids"].shape
    n_micro, share = optimiser.gradient_accumulation_steps, len(units) / len(drawn)
    n_steps = optimiser.epochs * len(groups) * share / (n_groups * n_micro * optimiser.n_processes)
    # What a microbatch computes, padding and shared beginnings counted, for each token of its examples.
    computed = rows * width / sum(sorted(lengths)[-n_groups:])
    return ExampleCount(
        n_examples=round(len(examples) * share),
        n_steps=optimiser.max_steps or math.ceil(n_steps),
        mean_tokens=sum(lengths) / len(examples),
        step_tokens=computed * sum(lengths) / len(groups) * n_groups * n_micro,
        rows=rows,
        width=width,
        n_scored=3 * len(batch["at"]) + len(batch.get("rest", ())),
    )


def longest_batch(config: AnyRun) -> ExampleCount:
    """A microbatch of nothing but the longest prompts that a run takes, for a config whose model is not here; replies
    that are learnt count as as long as a prompt.
    """
    n, width = config.optimiser.per_device_batch_size, config.examples.max_prompt_length
    n_learnt = n * width if config.examples.replies else 0
    return ExampleCount(0, 0, 0.0, 0.0, n, width + n_learnt // n, 3 * n + n_learnt)


def memory_parts(config: AnyRun, size: ModelSize, count: ExampleCount, device: Device) -> dict[str, float]:
    """GiB of training with the largest microbatch, by what takes them."""
    held, dtype, lora = config.quantisation, computing_dtype(config), config.lora
    base, is_nf4 = held.compute_dtype, held.kind == "nf4" and held.weights == "nf4"
    item, checkpointing = ITEM_BYTES[dtype], config.optimiser.gradient_checkpointing
    mask_bytes = 0 if lora.dropout == 0 else 1 if device.is_gpu else item
    activations = size.activation_bytes(dtype, checkpointing=checkpointing, mask_bytes=mask_bytes)
    # The backward pass holds the gradients of one block beside it.
    activations += size.layer_activation_bytes(dtype, mask_bytes=mask_bytes)
    n_lora, n_blocks = size.n_lora(lora.r, lora.target_modules), 1 if checkpointing else size.n_layers
    if not device.is_gpu:  # eager attention keeps its probabilities
        activations += n_blocks * size.n_heads * count.width * 4
    parts = {
        "weights": size.nf4_bytes(base, double_quant=held.double_quant) if is_nf4 else size.weight_bytes(base),
        # Weights, gradients, Adam's two moments; autocast keeps a copy in the computing dtype.
        "adapter and optimiser": n_lora * (4 * ITEM_BYTES[lora.dtype] + 2 * (dtype != "float32")),
        # Autocast keeps a copy of each frozen weight for the backward pass, of 4-bit ones none.
        "copies of weights": size.n_linear * item * n_blocks / size.n_layers * (base != dtype and not is_nf4),
        "activations": count.rows * count.width * activations,
        "logits": count.n_scored * size.vocabulary * (item + 3 * 4),
    }
    return {name: n / GIB for name, n in parts.items()} | {"other": PROCESS_GIB[device.is_gpu]}


def step_flops(config: AnyRun, size: ModelSize, count: ExampleCount) -> float:
    """Operations of one process in an optimiser step."""
    n_passes = 3 if config.optimiser.gradient_checkpointing else 2  # forward, once more with checkpointing, backward
    return n_passes * size.flops(count.step_tokens)

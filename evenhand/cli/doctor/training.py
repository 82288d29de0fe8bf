"""`evenhand doctor` on a training config: examples, memory of its largest microbatch, and time."""

from collections.abc import Sequence

from evenhand.cli.doctor.check import Check, Examined, ok, unknown, wrong
from evenhand.cli.doctor.durations import shown_seconds
from evenhand.cli.doctor.model_checks import find_model
from evenhand.cli.doctor.speeds import GIB, Speed, speeds_for
from evenhand.cli.doctor.storage import room_check
from evenhand.errors import ConfigError, EvenhandError
from evenhand.model_size import ITEM_BYTES, PROJECTIONS, ModelSize
from training.config import AnyRun, load_training_config
from training.data import TrainingData, load_data
from training.run_folder import refuse_merged_on_nf4
from training.step_size import MicroBatch, StepSize, largest_possible, step_size

STARTUP = 60.0  # seconds until the first step: libraries, weights, NF4
# A forward pass of Qwen2.5-7B on a GPU is about 6,000 kernels, and none is launched in less than this many seconds.
KERNELS_A_LAYER, LAUNCH = 6000 / 28, 5e-6
N_STATES = 3  # of a checkpoint: a weight and Adam's two moments
PROCESS_GIB = {True: 1.5, False: 1.0}  # on a GPU CUDA's context and what the allocator wastes; on a CPU the libraries


def examine(words: Sequence[str], named_gpu: str | None) -> Examined:
    """What can be known of a training config before it runs. Raises ConfigError for a config that is none."""
    config = load_training_config(words)
    model = find_model(config.model)
    size = model.size
    if others := sorted(set(config.lora.target_modules) - set(PROJECTIONS)):
        size = None
    states = N_STATES * size.n_lora(config.lora.r, config.lora.target_modules) * lora_item(config) if size else 0
    room = room_check("run.root", config.run.root, states * (config.run.keep_checkpoints + 1), "checkpoints")
    data, data_check = loaded(config)
    checks = [room, data_check, *model.checks]
    if config.quantisation.kind == "nf4" and model.folder is not None:
        try:
            refuse_merged_on_nf4(model.folder)
        except ConfigError as error:
            checks.append(wrong("quantisation", str(error)))
    step = None
    if model.tokenizer is not None:
        try:
            found = step_size(data or load_data(config.on_own_items()), config, model.tokenizer)
        except EvenhandError as error:
            checks.append(wrong("examples", str(error)))
        else:
            step = found if data else None
            checks.append(told_examples(found, config, is_real=bool(data)))
    if others:
        checks.append(
            unknown("estimates", f"are for adapters on the blocks' projections, and not on {', '.join(others)}")
        )
    elif size:
        speeds = speeds_for(computing_dtype(config), named_gpu)
        for speed in speeds:
            if speed is speeds[0]:
                checks.append(memory_check(config, size, step, speed))
            checks.append(time_check(config, size, step, speed))
    return Examined(kind="training", checks=checks, owed=model.owed)


def lora_item(config: AnyRun) -> int:
    """Bytes of a number of the adapter."""
    return ITEM_BYTES[config.lora.dtype]


def computing_dtype(config: AnyRun) -> str:
    """What a step computes in."""
    mixed = {"bf16": "bfloat16", "fp16": "float16"}
    return mixed.get(config.optimiser.mixed_precision, config.quantisation.compute_dtype)


def loaded(config: AnyRun) -> tuple[TrainingData | None, Check]:
    """What a config trains on; None where it is not there."""
    try:
        data = load_data(config)
    except EvenhandError as error:
        return None, wrong("data", str(error))
    counts = ", ".join(f"{name} {n:,}" for name, n in data.counts.items())
    return data, ok("data", f"{len(data):,} {data.study.called} ({counts})", n_data=len(data))


def told_examples(step: StepSize, config: AnyRun, *, is_real: bool) -> Check:
    """How many there are, how long, and what the rows make of them."""
    if not is_real:
        return ok("examples", f"our own render: {step.mean_tokens:.0f} tokens each (the config's data are absent)")
    limit = config.examples.max_prompt_length
    out = f", {step.excluded_share:.1%} left out over {limit} tokens" if step.excluded_share else ""
    says = (
        f"about {step.n_examples:,} of {step.mean_tokens:.0f} tokens{out}; {step.n_steps:,} steps, of whose tokens "
        f"{step.computed_share:.0%} are computed: shared beginnings once, padding with them"
    )
    return ok("examples", says, n_examples=step.n_examples, n_steps=step.n_steps, mean_tokens=step.mean_tokens)


def memory_check(config: AnyRun, size: ModelSize, step: StepSize | None, speed: Speed) -> Check:
    """What the largest microbatch takes, against the device's memory; before one is known, the most it can take."""
    subject = f"memory, {speed.name}"
    batch = step.largest if step else largest_possible(config)
    parts = memory_parts(config, size, batch, speed)
    needed = sum(parts.values())
    most = "" if step or batch is None else " at most"
    told = f"{needed:.1f} GiB{most}: " + ", ".join(f"{name} {gib:.1f}" for name, gib in parts.items() if gib >= 0.05)
    if batch is None:
        return unknown(subject, f"{told}; activations come on top, which needs the tokenizer", figures=parts)
    if speed.memory_gib is None:
        return unknown(subject, f"{told}; the size of its memory is not known here", figures=parts)
    if needed <= speed.memory_gib:
        return ok(subject, f"{told}, of {speed.memory_gib:.0f}", **parts)
    says = f"{told}, and it has {speed.memory_gib:.0f}"
    alone = step.largest_alone if step else largest_possible(config, n_prompts=config.group_size)
    least = sum(memory_parts(config, size, alone, speed).values())
    if config.optimiser.n_processes == 1 and least <= speed.memory_gib:
        return ok(
            subject, f"{says}; what does not fit is cut, down to {least:.1f} GiB, with the same gradients", **parts
        )
    ways = []
    if not config.optimiser.gradient_checkpointing:
        ways.append("optimiser.gradient_checkpointing=true")
    if config.quantisation.hold == "dequantised":
        ways.append("quantisation.hold=nf4")
    fix = ", ".join([*ways, "a smaller optimiser.per_device_batch_size with more gradient_accumulation_steps"])
    return (wrong if speed.is_here and step else unknown)(subject, says, fix, parts)


def memory_parts(config: AnyRun, size: ModelSize, batch: MicroBatch | None, speed: Speed) -> dict[str, float]:
    """GiB of training with such microbatches, by what takes them."""
    held, dtype, lora = config.quantisation, computing_dtype(config), config.lora
    base = "float32" if held.compute_dtype == "float32" else "bfloat16"
    is_nf4 = held.kind == "nf4" and held.hold == "nf4"
    weights = size.nf4_bytes(base, double_quant=held.double_quant) if is_nf4 else size.weight_bytes(base)
    # Weights, gradients, Adam's two moments; autocast keeps a copy in the computing dtype.
    adapter = size.n_lora(lora.r, lora.target_modules) * (4 * lora_item(config) + 2 * (dtype != "float32"))
    parts = {"weights": weights, "adapter and optimiser": adapter}
    if batch is not None:
        item = ITEM_BYTES[dtype]
        checkpointing = config.optimiser.gradient_checkpointing
        mask_bytes = 0 if lora.dropout == 0 else 1 if speed.is_gpu else item
        activations = size.activation_bytes(dtype, checkpointing=checkpointing, mask_bytes=mask_bytes)
        # The backward pass holds the gradients of one block beside it.
        activations += size.layer_activation_bytes(dtype, mask_bytes=mask_bytes)
        if not speed.is_gpu:  # eager attention keeps its probabilities
            activations += (1 if checkpointing else size.n_layers) * size.n_heads * batch.width * 4
        parts["activations"] = batch.rows * batch.width * activations
        parts["masks"] = batch.rows * batch.width**2 * item * batch.is_tree
        parts["logits"] = batch.n_scored * size.vocabulary * (item + 3 * 4)
    return {name: n / GIB for name, n in parts.items()} | {"other": PROCESS_GIB[speed.is_gpu]}


def time_check(config: AnyRun, size: ModelSize, step: StepSize | None, speed: Speed) -> Check:
    """How long the run will take."""
    subject = f"time, {speed.name}"
    if step is None:
        return unknown(subject, "needs the examples in tokens: the data and the model's tokenizer, see above")
    if speed.flops is None:
        return unknown(subject, "its speed is not known here (evenhand/cli/doctor/speeds.py lists the GPUs that are)")
    each, reference = step_seconds(config, size, step, speed), reference_seconds(size, step, speed)
    total = STARTUP + reference + step.n_steps * each
    asked = f", the base's own answers {shown_seconds(reference)}" if reference else ""
    told = f"{shown_seconds(total)}: {step.n_steps:,} steps of {each:.2g} s{asked}, start {shown_seconds(STARTUP)}"
    told += f"; assumed: {speed.shares.training} of {speed.peak}"
    return ok(subject, told, seconds=total, step_seconds=each, n_gpus=config.optimiser.n_processes)


def step_seconds(config: AnyRun, size: ModelSize, step: StepSize, speed: Speed) -> float:
    """Seconds of an optimiser step: what its products take at the device's speed, or on a GPU its kernels' launches."""
    assert speed.flops
    n_forward = 2 if config.optimiser.gradient_checkpointing else 1
    n_lora = size.n_lora(config.lora.r, config.lora.target_modules)
    width = step.largest.width
    context = width if step.largest.is_tree or not speed.is_gpu else (width + 1) / 2
    shape = step.tokens_a_step, context, step.scored_a_step
    flops = size.forward_flops(*shape) * n_forward + size.backward_flops(*shape)
    flops += step.tokens_a_step * n_lora * (2 * n_forward + 4)
    computing = flops / (speed.flops * speed.shares.training)
    launches = step.n_micro * size.n_layers * KERNELS_A_LAYER * LAUNCH * (n_forward + 2) if speed.is_gpu else 0.0
    return max(computing, launches)


def reference_seconds(size: ModelSize, step: StepSize, speed: Speed) -> float:
    """Seconds of the pass in which the base is asked before training; 0 where it is not."""
    assert speed.flops
    flops = size.forward_flops(step.reference_tokens, step.mean_tokens, step.n_examples if step.reference_tokens else 0)
    return flops / (speed.flops * speed.shares.prefill)

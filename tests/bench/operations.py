"""Where a training step's time goes: torch's profiler over a whole step, operations grouped by the module they are of.

Modules mark their operations by hooks. An operation of the backward pass belongs where the one it differentiates does:
the profiler gives both the same number. Time is the operations' own on CPU, their kernels' on CUDA; what is left of
the clock's is Python, launches and waiting.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

MARK = "bench:"
COLLATION = MARK + "collation"
OPTIMISER = "Optimizer.step"  # how torch marks it
BACKWARD = "autograd::engine::evaluate_function"
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::matmul", "aten::linear", "mkldnn::", "cublas")
SUMS = "adapters' sums and casts"
OTHER = "sums of gradients, loss, clipping, other"
MATRICES = ("base", "adapters")
GROUPS = {"base": "base matrices", "adapters": "adapters' matrices", "MLP": "activation", "": OTHER}
BETWEEN = "between operations (Python, launches, waiting)"


class StepProfile:
    """Profiles what happens between `start` and `shares`."""

    def __init__(self, model: Any) -> None:
        self.open: list[Any] = []
        for name, module in model.named_modules():
            if part := part_of(name, module):
                module.register_forward_pre_hook(lambda *_, part=part: self.enter(part))
                module.register_forward_hook(lambda *_: self.leave(), always_call=True)
        activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
        self.profile = profile(activities=activities)

    def enter(self, part: str) -> None:
        self.open.append(record_function(MARK + part))
        self.open[-1].__enter__()

    def leave(self) -> None:
        self.open.pop().__exit__(None, None, None)

    def start(self) -> None:
        self.profile.start()

    def shares(self, seconds: float) -> dict[str, float]:
        """Share of the time, largest first, of each group. seconds: what the step took by the clock."""
        self.profile.stop()
        spent = seconds_by_group(self.profile.events())
        shares = {group: own / seconds for group, own in spent.most_common()}
        return {**shares, BETWEEN: max(0.0, 1 - sum(shares.values()))}


def part_of(name: str, module: Any) -> str | None:
    """What a module's own operations are part of; None where they belong to the module that it is in."""
    kind = type(module).__name__
    if hasattr(module, "lora_A"):
        return SUMS
    if ".lora_A." in name or ".lora_B." in name:
        return "adapters"
    if "Dropout" in kind:
        return "dropout"
    if name.endswith("base_layer"):
        return "base"
    if "Norm" in kind:
        return "norms"
    if name.endswith("lm_head"):
        return "head"
    if name.endswith("self_attn"):
        return "attention"
    return "MLP" if name.endswith(".mlp") else None


def seconds_by_group(events: Any) -> Counter[str]:
    """Seconds of each group's operations. On CPU those of the thread that trains alone."""
    on_gpu = torch.cuda.is_available()
    trains = Counter(event.thread for event in events).most_common(1)[0][0]
    part_by_number = part_numbers(events)
    spent: Counter[str] = Counter()
    for event in events:
        if not on_gpu and event.thread != trains:
            continue
        own = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        if group := group_of(event, part_by_number):
            spent[group] += own / 1e6
    return spent


def part_numbers(events: Any) -> dict[int, str]:
    """Number of a differentiated operation → the part that it is of.

    Operations that are not differentiated bear the number of the next that is, so the last to bear one counts.
    """
    forward = [event for event in events if event.sequence_nr >= 0 and not is_backward(event)]
    return {event.sequence_nr: marked(event) for event in sorted(forward, key=lambda event: event.time_range.start)}


def is_backward(event: Any) -> bool:
    return event.name.startswith(BACKWARD) or within(event, BACKWARD) is not None


def group_of(event: Any, part_by_number: Mapping[int, str]) -> str | None:
    """The group of an operation; None for what is none: marks, and autograd's own bookkeeping."""
    name = str(event.name)
    is_mark = name.startswith((MARK, OPTIMISER, BACKWARD)) or name.endswith("Backward0")
    if name == COLLATION or within(event, COLLATION):
        return "collation"
    if is_mark:
        return None
    if within(event, OPTIMISER):
        return "optimiser"
    if "dequantize" in name:
        return "dequantisation"
    backward = within(event, BACKWARD)
    part = part_by_number.get(backward.sequence_nr, "") if backward else marked(event)
    if part in MATRICES and not name.startswith(PRODUCTS):
        return OTHER if part == "base" else SUMS
    return GROUPS.get(part, part)


def marked(event: Any) -> str:
    """The part that an operation's innermost mark names, or ""."""
    mark = within(event, MARK)
    return str(mark.name).removeprefix(MARK) if mark else ""


def within(event: Any, prefix: str) -> Any | None:
    """The nearest event around this one whose name begins so."""
    around = event.cpu_parent
    while around is not None and not str(around.name).startswith(prefix):
        around = around.cpu_parent
    return around

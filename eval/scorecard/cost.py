"""What an arm cost: from the training run that the sampled checkpoint was merged in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.config import read_yaml
from evenhand.errors import DataError
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, PROVENANCE_FILE, read_json

MERGED = ("merged-bf16", "merged-nf4")  # folders of a training run that hold a checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a training run says of itself; None where it does not, or where there is none."""

    training_run: str | None = None
    device: str | None = None  # "cpu", or the GPU's name
    n_processes: int | None = None
    seconds: float | None = None  # by the clock: asking the base for its reference, then the first step to the last
    n_tokens: int | None = None  # of the examples trained on, prompts and answers
    peak_memory_gib: float | None = None
    unknown_because: str | None = None  # why a trained arm has no cost here

    @property
    def device_seconds(self) -> float | None:
        """Seconds on all devices together: by the clock, times processes."""
        if self.seconds is None or self.n_processes is None:
            return None
        return self.seconds * self.n_processes

    @property
    def is_gpu(self) -> bool | None:
        """Whether device-seconds are GPU-seconds; None when the device is unknown."""
        return None if self.device is None else not self.device.lower().startswith("cpu")

    def fields(self) -> dict[str, Any]:
        """As a row of scorecard.json has it."""
        return {
            "training_run": self.training_run,
            "device": self.device,
            "n_processes": self.n_processes,
            "seconds": self.seconds,
            "device_seconds": self.device_seconds,
            "n_tokens": self.n_tokens,
            "peak_memory_gib": self.peak_memory_gib,
            "cost_unknown_because": self.unknown_because,
        }


def cost_of(config: Mapping[str, Any], sampling_run: Path) -> Cost:
    """The cost of the checkpoint that a run sampled.

    Raises DataError when the training run's DONE.json is damaged or holds a number that is none.
    """
    checkpoint = Path(str(config["model"]["name"])).expanduser()
    if checkpoint.name not in MERGED:
        return Cost(unknown_because=f"{checkpoint} is no checkpoint merged in a training run ({' or '.join(MERGED)})")
    file = done_file(checkpoint.parent, sampling_run)
    if file is None:
        return Cost(training_run=checkpoint.parent.name, unknown_because=f"{checkpoint.parent / DONE_FILE} is not here")
    facts = read_json(file)
    device = facts.get("device")
    if device is not None and not isinstance(device, str):
        raise DataError(f"{file}: device is {device!r}; it must be 'cpu' or a GPU's name")
    seconds, n_processes = number(facts, "seconds", file), number(facts, "n_processes", file)
    n_tokens = number(facts, "n_tokens", file)
    if seconds is not None:
        seconds += number(facts, "reference_seconds", file) or 0.0  # none where no reference was asked before
    return Cost(
        training_run=file.parent.name,
        device=device,
        n_processes=None if n_processes is None else int(n_processes),
        seconds=seconds,
        n_tokens=None if n_tokens is None else int(n_tokens),
        peak_memory_gib=number(facts, "peak_memory_gib", file),
        unknown_because=f"{file} does not tell seconds and processes" if None in (seconds, n_processes) else None,
    )


def training_of(
    config: Mapping[str, Any], provenance: Mapping[str, Any], sampling_run: Path
) -> tuple[str | None, str | None]:
    """(training run, checkpoint hash of its base) of the model that a run sampled, as far as they are known."""
    model = dict(provenance.get("model") or {})
    if "base_hash" in model:
        return model.get("training_run"), model["base_hash"]
    checkpoint = Path(str(config["model"]["name"])).expanduser()
    if checkpoint.name not in MERGED:
        return None, None
    file = done_file(checkpoint.parent, sampling_run)
    facts = file.with_name(PROVENANCE_FILE) if file else None
    base = read_json(facts).get("model") if facts and facts.is_file() else None
    return checkpoint.parent.name, base.get("checkpoint_hash") if isinstance(base, dict) else None


def done_file(training_run: Path, sampling_run: Path) -> Path | None:
    """DONE.json of a training run, which the sampling config may name relative to where it was sampled."""
    # runs/training lies beside runs/inference: whoever scores from elsewhere still finds it above the sampling run.
    places = [Path(), *sampling_run.resolve().parents]
    files = (place / training_run / DONE_FILE for place in places)
    return next((file for file in files if file.is_file()), None)


def first_model(config: Mapping[str, Any], sampling_run: Path) -> str:
    """The model that a checkpoint was trained from, through all training runs that are here; else its own name."""
    name = str(config["model"]["name"])
    folder = Path(name).expanduser()
    file = done_file(folder.parent, sampling_run) if folder.name in MERGED else None
    return name if file is None else first_model(read_yaml(file.with_name(CONFIG_FILE)), sampling_run)


def number(facts: Mapping[str, Any], key: str, file: Path) -> float | None:
    """A non-negative number, or None where an older run has none. Raises DataError for anything else."""
    value = facts.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise DataError(f"{file}: {key} is {value!r}; it must be a number from 0 on")
    return float(value)

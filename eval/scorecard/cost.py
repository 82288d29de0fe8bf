"""What an arm cost: from the training run that the sampled checkpoint was merged in."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.config import read_yaml
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

    @property
    def device_seconds(self) -> float | None:
        """Seconds on all devices together: by the clock, times processes."""
        return None if self.seconds is None or self.n_processes is None else self.seconds * self.n_processes

    def fields(self) -> dict[str, Any]:
        """As a row of scorecard.json has it."""
        return {**asdict(self), "device_seconds": self.device_seconds}


def cost_of(config: Mapping[str, Any], sampling_run: Path) -> Cost:
    """The cost of the checkpoint that a run sampled, from the training run's DONE.json."""
    folder, file = training_folder(config), done_file(config, sampling_run)
    if folder is None or file is None:
        return Cost(training_run=folder.name if folder else None)
    facts = read_json(file)
    seconds = facts.get("seconds")
    return Cost(
        training_run=file.parent.name,
        device=facts.get("device"),
        n_processes=facts.get("n_processes"),
        seconds=None if seconds is None else seconds + (facts.get("reference_seconds") or 0.0),
        n_tokens=facts.get("n_tokens"),
        peak_memory_gib=facts.get("peak_memory_gib"),
    )


def training_of(
    config: Mapping[str, Any], provenance: Mapping[str, Any], sampling_run: Path
) -> tuple[str | None, str | None]:
    """(training run, checkpoint hash of its base) of the model that a run sampled, as far as they are known."""
    model = dict(provenance.get("model") or {})
    if "base_hash" in model:
        return model.get("training_run"), model["base_hash"]
    folder, file = training_folder(config), done_file(config, sampling_run)
    facts = file.with_name(PROVENANCE_FILE) if file else None
    base = read_json(facts).get("model") if facts and facts.is_file() else None
    return folder.name if folder else None, base.get("checkpoint_hash") if isinstance(base, dict) else None


def training_folder(config: Mapping[str, Any]) -> Path | None:
    """The training run in which the sampled checkpoint was merged, as the config names it; None for other models."""
    checkpoint = Path(str(config["model"]["name"])).expanduser()
    return checkpoint.parent if checkpoint.name in MERGED else None


def done_file(config: Mapping[str, Any], sampling_run: Path) -> Path | None:
    """DONE.json of that training run, whose path may be relative to where the run was sampled; None: it is not here."""
    if (folder := training_folder(config)) is None:
        return None
    # runs/training lies beside runs/inference: whoever scores from elsewhere still finds it above the sampling run.
    files = (place / folder / DONE_FILE for place in [Path(), *sampling_run.resolve().parents])
    return next((file for file in files if file.is_file()), None)


def first_model(config: Mapping[str, Any], sampling_run: Path) -> str:
    """The model that a checkpoint was trained from, through all training runs that are here; else its own name."""
    file = done_file(config, sampling_run)
    name = str(config["model"]["name"])
    return name if file is None else first_model(read_yaml(file.with_name(CONFIG_FILE)), sampling_run)

"""The rows of a scorecard, as every study sees them: which run, which training at which cost, which base."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from eval.estimates.comparability import one_checkpoint, sampled_checkpoint
from eval.runs import SampledRun, check_named_once, judge_names, patch_of, patch_settings, run_config, runs_by_study
from evenhand.checkpoints import ModelConfig
from evenhand.config import parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, PROVENANCE_FILE, read_json

BASE, TRAINED, PATCH = "base", "trained", "patch"  # PATCH: the base's checkpoint under another patch of the prompt
CALIBRATED, FREE = "calibrated", "free rule"  # kinds of rules on the margins of the base's run
MERGED = ("merged-bf16", "merged-nf4")  # folders of a training run that hold a checkpoint
COST = ("training_run", "device", "n_processes", "seconds", "n_tokens", "peak_memory_gib", "device_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class CardArm:
    """A base or an arm: one row."""

    name: str  # of the row: the arm's, or "ARM/2" for its second seed
    arm: str
    kind: str  # BASE, TRAINED, PATCH, CALIBRATED or FREE
    path: Path  # the run that was named, of the base's study
    config: Mapping[str, Any]  # of the sampling run of its model, which may be another one
    provenance: Mapping[str, Any]
    cost: Mapping[str, Any]  # see cost_of; COST → None where nothing was trained
    note: str = ""  # where it comes from, if not from a run of its own
    rule: str = ""  # that its margins are judged by, in a row made of another one's run; "" as asked

    @property
    def checkpoint(self) -> str | None:
        """The hash of the checkpoint that was sampled; None where a server does not tell it."""
        return sampled_checkpoint(self.provenance)

    @property
    def model(self) -> Mapping[str, Any]:
        """What is known of its model: as training_run that it was merged in, as base_hash of what was trained there."""
        return self.provenance.get("model") or {}

    @property
    def patch(self) -> dict[str, Any]:
        """What the patch sets that it was asked under; {} without one."""
        return patch_settings(self.config)

    def fields(self) -> dict[str, Any]:
        """What its row of scorecard.json has beside the figures of the studies."""
        names = {"arm": self.name, "seed_of": self.arm, "kind": self.kind, "rule": self.rule or None}
        return {**names, "run": self.path.name, **self.cost}

    @property
    def is_named(self) -> bool:
        """Whether it is no row that is made of another one's run."""
        return not (self.rule or self.note)

    def under(self, rule: str, kind: str, note: str = "") -> "CardArm":
        """The row's run under a rule; of the base it is called by the rule."""
        name, arm = (rule if self.kind == BASE else f"{own} + {rule}" for own in (self.name, self.arm))
        return replace(self, name=name, arm=arm, kind=kind, rule=rule, note=note)

    def patched(self, patch: str, run: str) -> "CardArm":
        """The row's model under a prompt arm of its run."""
        name, arm = (f"{own} + {patch}" for own in (self.name, self.arm))
        kind, config = PATCH if self.kind == BASE else self.kind, {**self.config, "patch": {"name": patch}}
        return replace(self, name=name, arm=arm, kind=kind, note=f"{patch}, asked in {run}", config=config)


def arm_of(name: str, path: Path, sampled: Path, base: CardArm | None = None) -> CardArm:
    """The row of a run, and of the sampling run of its model; only what was trained here has a cost.

    It is a PATCH where it is of the base's checkpoint under another patch; without a base it is the base.
    Raises DataError when the folder is no complete sampling run.
    """
    config, provenance, kind = run_config(sampled), read_json(sampled / PROVENANCE_FILE), BASE
    if base is not None:
        is_untrained = one_checkpoint(base.provenance, provenance) or (
            sampled_checkpoint(provenance) is None and config["model"]["name"] == base.config["model"]["name"]
        )
        kind = PATCH if is_untrained and patch_settings(config) != base.patch else TRAINED
    cost = cost_of(config, sampled) if kind == TRAINED else dict.fromkeys(COST)
    return CardArm(name=name, arm=name, kind=kind, path=path, config=config, provenance=provenance, cost=cost)


def sampled_arms(
    base: CardArm, given: Sequence[tuple[str, Path]], tested: Callable[[Path], Path], taken: Sequence[str]
) -> list[CardArm]:
    """The base's row and those of (name or "", run); runs of one name are seeds of one arm.

    tested: run → the sampling run of the model under test; see Card.tested_run. taken: names of others.
    Raises DataError when a run is named twice, an arm has a name that is taken, or a folder is no sampling run.
    """
    check_named_once([base.path, *(path for _, path in given)])
    rows = [arm_of(name, path, tested(path), base) for name, path in given]
    arms = arm_names(rows, taken)
    names = [f"{arm}/{arms[: i + 1].count(arm)}" if arms.count(arm) > 1 else arm for i, arm in enumerate(arms)]
    return [base, *(replace(row, name=name, arm=arm) for row, name, arm in zip(rows, names, arms, strict=True))]


def training_doubts(rows: Sequence[CardArm]) -> list[str]:
    """Why arms are no different trainings or patches of the base, the first row."""
    base, *arms = [row for row in rows if row.is_named]
    doubts = [
        f"{row.name} was trained from checkpoint {trained}, and the base's run is of {base.checkpoint}"
        for row in arms
        if row.kind == TRAINED and (trained := row.model.get("base_hash")) and base.checkpoint not in (None, trained)
    ]
    for row, other in combinations([base, *arms], 2):
        same, is_one_patch = one_checkpoint(row.provenance, other.provenance), row.patch == other.patch
        if row.kind == other.kind == PATCH:  # a server tells no checkpoint
            same = same or "the base's checkpoint"
        elif row.arm == other.arm and (run := row.model.get("training_run")) and run == other.model.get("training_run"):
            same, is_one_patch = f"training run {run}", True
        if same and is_one_patch:  # asked twice, its replies tell nothing of another arm
            doubts.append(f"{row.name} and {other.name} are both of {same}")
        elif row.arm == other.arm and not is_one_patch:
            doubts.append(f"{row.name} and {other.name} are seeds of one arm under different patches; name two arms")
    return doubts


def patch_warnings(rows: Sequence[CardArm]) -> list[str]:
    """Trainings that were asked under another patch than the base, the first row: their change is of both."""
    patches = [" + ".join(patch_of(row.config)) or "no patch" for row in rows]
    return [
        f"{row.name} was asked under {patch} and the base under {patches[0]}: the change is of training and patch"
        for row, patch in zip(rows, patches, strict=True)
        if row.kind == TRAINED and row.is_named and row.patch != rows[0].patch
    ]


def split_word(word: str) -> tuple[str, Path]:
    """(name or "", path) of `RUN` or `NAME=RUN`. A path that exists may hold a "="."""
    name, equals, path = word.partition("=")
    return ("", Path(word)) if not equals or Path(word).exists() else (name.strip(), Path(path))


def arm_names(rows: Sequence[CardArm], taken: Sequence[str]) -> list[str]:
    """The arm of each row: its name; without one its model's name; where models share that, its run's is added.

    A model's name is its label; else for a merged checkpoint its training run's without digest; else its own. That of
    its patch stands behind it; the base's checkpoint is called base.
    taken: names that other arms have. Raises DataError for one of these, or the base's.
    """
    given, models, others = [row.name for row in rows if row.name], list[str](), [BASE, *taken]
    if twice := [name for name in given if name in others or name.split(" + ")[-1] in taken]:  # ARM + RULE: made
        raise DataError(f"two rows would be called '{twice[0]}'; give the arm another name")
    unnamed = [row for row in rows if not row.name]
    for row in unnamed:
        folder = None if row.config["model"].get("label") else training_folder(row.config)
        model = parse_config(ModelConfig, dict(row.config["model"]), f"{row.path / CONFIG_FILE}: model").shown_as
        trained = re.sub(r"-[0-9a-f]{8}$", "", folder.name) if folder else model
        patch = patch_of(row.config) or ["no patch"] * (row.kind == PATCH)
        models.append(" + ".join([BASE if row.kind == PATCH else trained, *patch]))
    own = iter(judge_names(models, [row.path.name for row in unnamed], taken=[*others, *given]))
    return [row.name or next(own) for row in rows]


def other_checkpoint(arm: CardArm, run: SampledRun, study: str) -> str:
    """That an arm's run of a study is of another checkpoint than its sampling run; "" where it is not, or unknown."""
    ours, theirs = arm.checkpoint, sampled_checkpoint(run.provenance)
    if ours is None and theirs is None:  # a server's models have names
        ours, theirs = (str(side.config["model"]["name"]) for side in (arm, run))
    if None in (ours, theirs) or ours == theirs:
        return ""
    return f"{arm.name}: its sampling run is of checkpoint {ours}, but its {study} run {run.name} of {theirs}"


def runs_beside(words: Sequence[str], sampled: Sequence[CardArm]) -> dict[str, dict[str, Path]]:
    """Study → row → its run, the base's first, of --with NAME=RUN. Runs of several seeds stand in their order.

    Raises DataError for a name of which no sampled row is left, a run named twice, or no base.
    """
    beside: dict[str, dict[str, Path]] = {}
    for word in words:
        given, _, path = word.partition("=")
        (study,) = runs_by_study([Path(path)]) if path else ("",)
        rows = beside.setdefault(study, {})
        free = [arm.name for arm in sampled if given in (arm.name, arm.arm) and arm.name not in rows]
        if not path or not free:
            names = ", ".join(arm.name for arm in sampled)
            raise DataError(
                f"--with {word}: say it as NAME=RUN, one run a row, with the name of a sampled row: {names}"
            )
        rows[free[0]] = Path(path)
    for rows in beside.values():
        if BASE not in rows:
            raise DataError(f"--with: changes are against the base's run, so name it too: --with {BASE}=RUN")
        check_named_once(list(rows.values()))
    return {study: {a.name: rows[a.name] for a in sampled if a.name in rows} for study, rows in beside.items()}


def cost_of(config: Mapping[str, Any], sampling_run: Path) -> dict[str, Any]:
    """What the checkpoint that a run sampled cost, as the training run's DONE.json says; None where it does not.

    device: "cpu", or the GPU's name; seconds: by the clock, of asking the base for its reference and of all steps;
    device_seconds: times processes; n_tokens: of the examples trained on, prompts and answers.
    """
    folder, file = training_folder(config), done_file(config, sampling_run)
    facts = read_json(file) if file else {}
    cost = {name: facts.get(name) for name in COST} | {"training_run": folder and folder.name}
    if cost["seconds"] is not None:
        cost["seconds"] += facts.get("reference_seconds") or 0.0
        cost["device_seconds"] = cost["n_processes"] and cost["seconds"] * cost["n_processes"]
    return cost


def training_folder(config: Mapping[str, Any]) -> Path | None:
    """The training run of the sampled adapter or merged checkpoint, as the config names it; None for other models."""
    if adapter := config["model"].get("adapter"):
        return Path(adapter).expanduser()
    checkpoint = Path(str(config["model"]["name"])).expanduser()
    return checkpoint.parent if checkpoint.name in MERGED else None


def done_file(config: Mapping[str, Any], sampling_run: Path) -> Path | None:
    """DONE.json of that training run, whose path may be relative to where the run was sampled; None: it is not here."""
    if (folder := training_folder(config)) is None:
        return None
    # runs/training lies beside runs/inference: whoever scores from elsewhere still finds it above the sampling run.
    files = (place / folder / DONE_FILE for place in [Path(), *sampling_run.resolve().parents])
    return next((file for file in files if file.is_file()), None)


def trainings(config: Mapping[str, Any], sampling_run: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """(folder, config) of each training that made a checkpoint, the last first, as far as they are here."""
    while file := done_file(config, sampling_run):
        config = read_yaml(file.with_name(CONFIG_FILE))
        yield file.parent, config


def first_model(config: Mapping[str, Any], sampling_run: Path) -> str:
    """The model that a checkpoint was trained from, through all training runs that are here; else its own name."""
    configs = [config, *(of_training for _, of_training in trainings(config, sampling_run))]
    return str(configs[-1]["model"]["name"])

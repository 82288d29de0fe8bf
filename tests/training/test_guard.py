"""The divergence guard: what stops a run, what does not, what is left of it, and what it says to change."""

import json
import math
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, TrainerControl, TrainerState, TrainingArguments

from evenhand.errors import DataError, ModelError
from evenhand.run_directory import DONE_FILE
from studies.dialdefer.datasets import DatasetSpec, load_items
from tests.made.easy_task import begin_fp16_at, easy_items, easy_run, plant
from tests.made.training_runs import logged, tiny_run
from training.config import AnyRun
from training.data import examples_of
from training.examples import Example
from training.guard import Divergence, DivergenceGuard, LossMonitor, refuse_diverged
from training.objectives import Objective, cross_entropy
from training.run_folder import ADAPTER_FILES, DIVERGED_FILE, folder_of, last_checkpoint
from training.train import train

CHANCE = math.log(2)
OBJECTIVE = Objective(cross_entropy, "none", False, chance=CHANCE, slope=0.5)
ARGUMENTS = cast(TrainingArguments, None)  # not looked at


def config_of(root: Path = Path("runs"), method: str = "dpo", **guard: Any) -> AnyRun:
    optimiser = {"learning_rate": 5e-3, "warmup_ratio": 0.03}
    return tiny_run(method, Path("no-model"), root, guard={"patience_steps": 30, **guard}, optimiser=optimiser)


def read(records: Iterable[dict[str, float]], chance: float = CHANCE, **guard: Any) -> Divergence | None:
    """What a log of these records, one every ten steps, shows first."""
    monitor = LossMonitor(config_of(**guard), replace(OBJECTIVE, chance=chance))
    for number, record in enumerate(records, start=1):
        if divergence := monitor.take({"step": 10 * number, **record}):
            return divergence
    return None


def losses(*values: float) -> list[dict[str, float]]:
    return [{"loss": value} for value in values]


def kind_and_step(divergence: Divergence | None) -> tuple[str, int] | None:
    return (divergence.kind, divergence.step) if divergence else None


def test_a_loss_that_falls_back_to_chance_is_a_collapse():
    assert kind_and_step(read(losses(0.69, 0.4, 0.2, 0.3, 0.7, 0.69, 0.71, 0.1))) == ("collapsed", 70)


def test_what_names_cost_to_write_is_held_against_no_verdict() -> None:
    assert read([{"loss": 2.3, "rest_loss": 2.1, "accuracy": 0.5}] * 30) is None
    assert read([{"loss": 2.3, "rest_loss": 1.5, "accuracy": 0.9}] * 30) is None
    assert kind_and_step(read([{"loss": 2.3, "rest_loss": 1.5, "accuracy": 0.5}] * 30)) == ("never learnt", 30)


def test_a_loss_far_above_chance_is_no_judge_without_a_clue_but_too_long_a_step():
    assert kind_and_step(read(losses(0.69, 1.5, 2.0))) == ("collapsed", 30)


def test_nothing_is_to_be_learnt_while_the_learning_rate_rises():
    monitor = LossMonitor(config_of(), OBJECTIVE, n_warmup=40)
    found = [monitor.take({"step": step, "loss": 0.7}) for step in range(10, 80, 10)]
    assert [kind_and_step(divergence) for divergence in found] == [None] * 6 + [("never learnt", 70)]


def test_verdicts_that_are_right_too_often_for_a_coin_are_learning_whatever_a_few_mistakes_cost():
    n_judged = 30 * 2 * 2
    config = config_of().optimiser
    assert config.per_device_batch_size * config.gradient_accumulation_steps == 4
    for accuracy, expected in ((0.5 + 0.9 / math.sqrt(n_judged), ("never learnt", 30)), (0.65, None)):
        records = [{"loss": 0.7, "accuracy": accuracy}] * 3
        assert kind_and_step(read(records)) == expected
    exploded = [{"loss": 1.5, "accuracy": 0.65}] * 3
    assert kind_and_step(read(exploded)) == ("collapsed", 30)


def test_how_far_under_chance_is_learning_depends_on_how_steep_the_loss_is_there():
    for slope, expected in ((0.5, ("never learnt", 30)), (0.05, None)):  # 0.04 nats of margin are 0.02, or 0.002
        monitor = LossMonitor(config_of(), replace(OBJECTIVE, slope=slope))
        found = [monitor.take({"step": step, "loss": CHANCE - 0.01}) for step in (10, 20, 30)]
        assert kind_and_step(found[-1]) == expected


def test_a_loss_without_a_chance_level_is_never_at_chance():
    assert read(losses(*[9.0] * 50), chance=math.inf) is None
    assert kind_and_step(read(losses(9.0, math.nan), chance=math.inf)) == ("not a number", 20)


@pytest.mark.parametrize("name", ["loss", "grad_norm", "eval_loss"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_number_stops_a_run_at_once(name, value):
    record = {"loss": 0.3, "grad_norm": 1.0} if name != "eval_loss" else {"eval_accuracy": 0.5}
    assert kind_and_step(read([{**record, name: value}])) == ("not a number", 10)


def fed(path: Path, values: list[float], state: TrainerState) -> None:
    """Have a run log these losses every ten steps."""
    guard = DivergenceGuard(path, config_of(path), OBJECTIVE)
    guard.on_train_begin(ARGUMENTS, state, TrainerControl())
    for loss in values:
        state.global_step += 10
        state.log_history.append({"step": state.global_step, "loss": loss})
        guard.on_log(ARGUMENTS, state, TrainerControl(), logs={"loss": loss})


def test_a_stopped_run_says_what_to_change_by_how_much_and_where_its_best_adapter_is(tmp_path: Path) -> None:
    best = tmp_path / "checkpoints" / "best-30"
    best.mkdir(parents=True)
    (best / "score.json").write_text('{"step": 30, "eval_loss": 0.2}')
    with pytest.raises(ModelError) as caught:
        fed(tmp_path, [0.69, 0.4, 0.2, 0.3, 0.7, 0.69, 0.71], TrainerState())
    for part in (
        "stopped at step 70: for 30 steps the mean loss has been at chance (0.693) or above, now 0.710",
        f"is kept in {best}.",
        "Lower optimiser.learning_rate from 0.005 to 0.0005, and lengthen optimiser.warmup_ratio from 0.03 to 0.1",
    ):
        assert part in str(caught.value)
    with pytest.raises(ModelError, match=f"stopped at step 70.*when {DIVERGED_FILE} is deleted"):
        refuse_diverged(tmp_path)


def test_a_continued_run_is_stopped_where_an_undisturbed_one_is(tmp_path: Path) -> None:
    state = TrainerState()
    fed(tmp_path, [0.69, 0.2], state)
    fed(tmp_path, [0.7, 0.69], state)  # which would be all that it knows, had it forgotten
    with pytest.raises(ModelError, match="stopped at step 50"):
        fed(tmp_path, [0.7], state)


# Whole runs.


N_STEPS = 8


def run_in_fp16(model: Path, root: Path, scale: float, device: str, monkeypatch: pytest.MonkeyPatch) -> AnyRun:
    """A run in fp16 whose gradient scaler begins at `scale`."""
    plant(easy_items(60), monkeypatch)
    begin_fp16_at(scale, device, monkeypatch)
    return easy_run(model, root, optimiser={"mixed_precision": "fp16", "max_steps": N_STEPS})


@pytest.mark.slow
def test_a_run_goes_on_after_the_overflows_of_its_first_steps_and_counts_them(
    model: Path, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run_in_fp16(model, tmp_path, 2.0**18, device, monkeypatch)
    folder = train(config)
    counts = list(logged(folder, "n_skipped_steps").values())
    assert len(counts) == N_STEPS
    done = json.loads((folder / DONE_FILE).read_text())
    assert done["n_steps"] == N_STEPS
    assert 1 <= done["n_skipped_steps"] == counts[-1] < N_STEPS - 2
    assert counts[:2] == [1, 2], "the scale halves until nothing overflows"


@pytest.mark.slow
def test_a_run_of_nothing_but_overflows_is_stopped(
    model: Path, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run_in_fp16(model, tmp_path, 2.0**120, device, monkeypatch)
    with pytest.raises(ModelError, match=rf"fp16 has overflowed {N_STEPS} times in a row.*mixed_precision=bf16"):
        train(config)
    assert not (folder_of(config) / DONE_FILE).exists()


GUARD = {"patience_steps": 20}
# SimPO's chance is -log sigmoid(-1).
STOPPED = r"stopped at step 2\d: for 20 steps the mean loss has been at chance \(1\.313\) or above"


@pytest.fixture
def easy(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    plant(easy_items(60), monkeypatch)


def stopped(config: AnyRun, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asserts that a run is stopped with this message, and that the same command says so again and does not train."""
    with pytest.raises(ModelError, match=message):
        train(config)
    monkeypatch.setattr("training.train.open_training", lambda _: pytest.fail("goes on"))
    with pytest.raises(ModelError, match=message):
        train(config)


@pytest.mark.slow
@pytest.mark.usefixtures("easy")
def test_the_task_is_learnt_where_nothing_is_planted(model: Path, tmp_path: Path) -> None:
    config = easy_run(model, tmp_path, guard=GUARD, optimiser={"max_steps": 24})
    assert (train(config) / DONE_FILE).exists()
    assert max(list(logged(folder_of(config)).values())[-5:]) < 0.5


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.usefixtures("easy")
def test_shuffled_labels_are_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shuffled(*arguments: Any) -> tuple[list[Example], Any]:
        examples, excluded = examples_of(*arguments)
        labels = [example.right for example in examples]
        random.Random(0).shuffle(labels)
        return [replace(example, right=right) for example, right in zip(examples, labels, strict=True)], excluded

    monkeypatch.setattr("training.train.examples_of", shuffled)
    stopped(
        easy_run(model, tmp_path, guard=GUARD), rf"{STOPPED}.*Look at .* which verdict is called right", monkeypatch
    )


@pytest.mark.slow
@pytest.mark.usefixtures("easy")
def test_a_batch_that_is_no_number_stops_the_run_before_it_spoils_the_weights(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = easy_items(60)
    items[7] = replace(items[7], question="What is a snowman? ☃")
    plant(items, monkeypatch)
    config = easy_run(poisoned(model, tmp_path / "poisoned", "☃"), tmp_path, run={"save_steps": 1})
    stopped(config, r"the gradient is not finite; the step has not been applied", monkeypatch)
    told = json.loads((folder_of(config) / DIVERGED_FILE).read_text())
    checkpoint = last_checkpoint(folder_of(config))
    assert checkpoint is not None
    assert (checkpoint.name, len(logged(folder_of(config)))) == (f"checkpoint-{told['step'] - 1}", told["step"] - 1)
    assert all(torch.isfinite(weight).all() for weight in load_file(checkpoint / ADAPTER_FILES[1]).values())


def poisoned(model: Path, folder: Path, text: str) -> Path:
    """A copy of a model that makes no number of what holds this text."""
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = load_file(folder / "model.safetensors")
    (name,) = [name for name in weights if "embed_tokens" in name]
    weights[name][AutoTokenizer.from_pretrained(model).encode(text)[-1]] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_a_test_item_among_the_training_items_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, stolen = (load_items([DatasetSpec(dataset="pocket", split=split, n_items=3)]) for split in ("train", "test"))
    plant([*own, replace(stolen[0], item_id="new-1")], monkeypatch)
    config = easy_run(Path("no-model"), tmp_path)
    says = f"training item 'new-1' asks the same question as the test item '{stolen[0].item_id}'"
    with pytest.raises(DataError, match=says):
        train(config)
    assert not folder_of(config).exists()

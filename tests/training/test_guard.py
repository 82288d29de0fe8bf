"""The divergence guard on logs: what stops a run, what does not, what is left of it, and what it says to change."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import save_file
from transformers import TrainerControl, TrainerState, TrainingArguments

from evenhand.errors import ModelError
from tests.made.training_runs import tiny_run
from training.config import AnyRun
from training.divergence_guard import DIVERGED_FILE, DivergenceGuard, refuse_diverged
from training.run import ADAPTER_FILES
from training.selection import BestByLoss
from training.training_health import Ill, Signs

CHANCE = math.log(2)
ARGUMENTS = cast(TrainingArguments, None)  # not looked at


def config_of(root: Path = Path("runs"), method: str = "dpo", **guard: Any) -> AnyRun:
    optimiser = {"learning_rate": 5e-3, "warmup_ratio": 0.03}
    return tiny_run(method, Path("no-model"), root, guard={"patience_steps": 30, **guard}, optimiser=optimiser)


def read(records: Iterable[dict[str, float]], chance: float = CHANCE, n_dev: int = 0, **guard: Any) -> Ill | None:
    """What a log of these records, one every ten steps, shows first."""
    signs = Signs(config_of(**guard), chance, n_dev=n_dev)
    for number, record in enumerate(records, start=1):
        if ill := signs.take({"step": 10 * number, **record}):
            return ill
    return None


def losses(*values: float) -> list[dict[str, float]]:
    return [{"loss": value} for value in values]


def norms(*values: float) -> list[dict[str, float]]:
    return [{"loss": 0.5, "grad_norm": value} for value in values]


def kind_and_step(ill: Ill | None) -> tuple[str, int] | None:
    return (ill.kind, ill.step) if ill else None


def test_a_loss_that_falls_back_to_chance_is_a_collapse():
    assert kind_and_step(read(losses(0.69, 0.4, 0.2, 0.3, 0.7, 0.69, 0.71, 0.1))) == ("collapsed", 70)


def test_what_names_cost_to_write_is_held_against_no_verdict() -> None:
    assert read([{"loss": 2.3, "rest_loss": 2.1, "accuracy": 0.5}] * 30) is None
    assert read([{"loss": 2.3, "rest_loss": 1.5, "accuracy": 0.9}] * 30) is None
    assert kind_and_step(read([{"loss": 2.3, "rest_loss": 1.5, "accuracy": 0.5}] * 30)) == ("never learnt", 30)


def test_a_loss_that_never_comes_under_chance_is_told_apart():
    assert kind_and_step(read(losses(5.0, 0.69, 0.70))) == ("never learnt", 30)


def test_a_loss_far_above_chance_is_no_judge_without_a_clue_but_too_long_a_step():
    assert kind_and_step(read(losses(0.69, 1.5, 2.0))) == ("collapsed", 30)


def test_nothing_is_to_be_learnt_while_the_learning_rate_rises():
    signs = Signs(config_of(), CHANCE, n_warmup=40)
    found = [signs.take({"step": step, "loss": 0.7}) for step in range(10, 80, 10)]
    assert [kind_and_step(ill) for ill in found] == [None] * 6 + [("never learnt", 70)]
    dev = Signs(config_of(), CHANCE, n_dev=100, n_warmup=40)
    record = {"eval_loss": 0.7, "eval_accuracy": 0.5}
    assert [dev.take({"step": step, **record}) is None for step in (30, 69, 70)] == [True, True, False]


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
        signs = Signs(config_of(), CHANCE, slope=slope)
        found = [signs.take({"step": step, "loss": CHANCE - 0.01}) for step in (10, 20, 30)]
        assert kind_and_step(found[-1]) == expected


def test_lucky_batches_are_no_learning():
    coin = [0.3 if number % 3 == 1 else 0.9 for number in range(40)]  # mean 0.7; every third is far under chance
    assert kind_and_step(read(losses(*coin), patience_steps=200)) == ("never learnt", 220)
    assert read(losses(*(1.1 - loss for loss in coin)), patience_steps=200) is None  # mean 0.4


def test_a_loss_without_a_chance_level_is_never_at_chance():
    assert read(losses(*[9.0] * 50), chance=math.inf) is None
    assert kind_and_step(read(losses(9.0, math.nan), chance=math.inf)) == ("no number", 20)


@pytest.mark.parametrize("name", ["loss", "grad_norm", "eval_loss"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_number_stops_a_run_at_once(name, value):
    record = {"loss": 0.3, "grad_norm": 1.0} if name != "eval_loss" else {"eval_accuracy": 0.5}
    assert kind_and_step(read([{**record, name: value}])) == ("no number", 10)


def test_gradients_that_explode_and_stay_so_are_spikes():
    assert kind_and_step(read(norms(*[1.0, 3.0] * 6, *[200.0] * 5), patience_steps=1000)) == ("spikes", 170)


def test_gradients_that_clipping_lets_pass_are_no_spikes():
    assert read(norms(*[1e-4] * 20, *[0.9] * 10)) is None  # all learnt, then hard items


def test_dev_items_judged_as_by_a_coin_show_that_labels_were_learnt_by_heart():
    record = {"eval_loss": 0.9, "eval_accuracy": 0.52}
    assert kind_and_step(read([record] * 5, n_dev=400)) == ("only memorised", 30)


@pytest.mark.parametrize("good", [{"eval_loss": 0.6, "eval_accuracy": 0.5}, {"eval_loss": 0.9, "eval_accuracy": 0.6}])
def test_dev_items_judged_better_than_by_a_coin_once_do_not_stop_a_run_that_overfits(good):
    assert read([good, *[{"eval_loss": 1.5, "eval_accuracy": 0.5}] * 5], n_dev=400) is None


def fed(guard: DivergenceGuard, keeper: BestByLoss, path: Path, values: list[float], state: TrainerState) -> None:
    """Have a run log these losses every ten steps, and save a checkpoint behind each."""
    control = TrainerControl()
    for callback in (guard, keeper):
        callback.on_train_begin(ARGUMENTS, state, control)
    for loss in values:
        state.global_step += 10
        state.log_history.append({"step": state.global_step, "loss": loss})
        guard.on_log(ARGUMENTS, state, control, logs={"loss": loss})
        folder = path / "checkpoints" / f"checkpoint-{state.global_step}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ADAPTER_FILES[0]).write_text("{}")
        save_file({"a": torch.tensor([float(state.global_step)])}, folder / ADAPTER_FILES[1])
        for callback in (guard, keeper):
            callback.on_save(ARGUMENTS, state, control)


def begin(path: Path, **guard: Any) -> tuple[DivergenceGuard, BestByLoss]:
    return DivergenceGuard(path, config_of(path, **guard), CHANCE), BestByLoss(path)


def test_a_stopped_run_keeps_its_best_adapter_and_says_what_to_change_by_how_much(tmp_path):
    state = TrainerState()
    with pytest.raises(ModelError) as caught:
        fed(*begin(tmp_path), tmp_path, [0.69, 0.4, 0.2, 0.3, 0.7, 0.69, 0.71], state)
    for part in (
        "stopped at step 70: for 30 steps the mean loss has been at chance (0.693) or above, now 0.710",
        f"The best adapter, of step 30 (score.json beside it), is kept in {tmp_path / 'best'}",
        "Lower optimiser.learning_rate from 0.005 to 0.0005, and lengthen optimiser.warmup_ratio from 0.03 to 0.1",
    ):
        assert part in str(caught.value)
    assert b"\x00\x00\xf0\x41" in (tmp_path / "best" / ADAPTER_FILES[1]).read_bytes()  # 30.0
    told = json.loads((tmp_path / DIVERGED_FILE).read_text())
    assert (told["step"], told["best"]) == (70, {"step": 30, "loss": 0.2})
    with pytest.raises(ModelError, match=f"stopped at step 70.*when {DIVERGED_FILE} is deleted"):
        refuse_diverged(tmp_path)


def test_a_continued_run_is_stopped_where_an_undisturbed_one_is(tmp_path):
    state = TrainerState()
    fed(*begin(tmp_path), tmp_path, [0.69, 0.2], state)
    fed(*begin(tmp_path), tmp_path, [0.7, 0.69], state)  # which would be all that it knows, had it forgotten
    with pytest.raises(ModelError, match="stopped at step 50"):
        fed(*begin(tmp_path), tmp_path, [0.7], state)
    assert json.loads((tmp_path / "best" / "score.json").read_text()) == {"step": 20, "loss": 0.2}

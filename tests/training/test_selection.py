"""Choosing the checkpoint by a dev split of its own: never trained on, without effect on what is trained."""

import shutil
from dataclasses import replace
from unittest.mock import Mock

import pytest
import torch

from evenhand.run_directory import DONE_FILE, read_json
from studies.dialdefer.datasets import DatasetSpec, HeldOut, load_items
from tests.made.easy_task import easy_items, easy_run, plant
from tests.made.training_runs import adapter_of, in_step, logged, tiny_run
from training.callbacks import Selection
from training.qlora import trainable
from training.run_folder import COMPLETE_FILE, checkpoint_of, folder_of
from training.train import train
from training.trainer import VerdictTrainer

pytestmark = pytest.mark.usefixtures("one_thread")


def same(one, other):
    """Up to rounding: with several threads, sums come out as memory happens to lie (test_interruptions has one)."""
    return one.keys() == other.keys() and all(torch.allclose(one[name], other[name], atol=1e-6) for name in one)


def test_dev_items_are_never_trained_on_under_any_name():
    items = load_items([DatasetSpec(dataset="pocket", split="train", n_items=40)])
    again = [replace(item, item_id=f"again-{item.item_id}") for item in items[:20]]
    config = tiny_run(dev={"n_items": 15, "every_steps": 1})
    kept, held = config.split([*items, *again])
    assert len(kept) + len(held) == 60
    assert not [item for item in kept if HeldOut(held).leak(item)]
    assert not [item for item in held if HeldOut(kept).leak(item)]
    assert len({item.item_id.removeprefix("again-") for item in held}) == 15


def run_of(model, root):
    """A run with dropout on easy items, 6 of them in its dev split."""
    keys = {"n_items": 6, "every_steps": 2}
    lora = {"r": 4, "alpha": 8, "dropout": 0.1}
    return easy_run(model, root, dev=keys, lora=lora, optimiser={"max_steps": 6, "per_device_batch_size": 4})


def shape(patch):
    """Have evaluations find these losses, whatever a model of two layers learns: a best one between others."""
    original = VerdictTrainer.dev_measures

    def shaped(self):
        return {**original(self), "eval_loss": {2: 3.0, 4: 1.0, 6: 2.0}[self.state.global_step]}

    patch.setattr(VerdictTrainer, "dev_measures", shaped)


@pytest.fixture(scope="module")
def undisturbed(model, tmp_path_factory, one_thread):
    """(a finished run, step → the weights that its evaluation saw)"""
    seen = {}
    original = Selection.on_evaluate

    def note(self, args, state, control, **more):
        weights = {name: tensor.detach().clone() for name, tensor in trainable(more["model"])}
        seen[state.global_step] = {name.replace(".default.", "."): tensor for name, tensor in weights.items()}
        original(self, args, state, control, **more)

    with pytest.MonkeyPatch.context() as patch:
        plant(easy_items(14), patch)
        shape(patch)
        patch.setattr(Selection, "on_evaluate", note)
        return train(run_of(model, tmp_path_factory.mktemp("undisturbed"))), seen


@pytest.mark.slow
def test_the_run_ends_with_the_weights_of_the_best_evaluation(undisturbed):
    run, seen = undisturbed
    done = read_json(run / DONE_FILE)
    assert (done["best"]["step"], done["best"]["eval_loss"], done["n_steps"]) == (4, 1.0, 6)
    assert same(adapter_of(run), seen[4])
    assert not same(seen[4], seen[6])


@pytest.mark.slow
def test_a_killed_run_ends_with_the_weights_of_the_same_evaluation(undisturbed, model, tmp_path, monkeypatch):
    plant(easy_items(14), monkeypatch)
    shape(monkeypatch)
    config = run_of(model, tmp_path / "behind the best")
    with monkeypatch.context() as patch:
        in_step(6, Mock(side_effect=KeyboardInterrupt), patch)
        with pytest.raises(KeyboardInterrupt):
            train(config)
    shutil.copytree(tmp_path / "behind the best", tmp_path / "while it was saved")
    saving = run_of(model, tmp_path / "while it was saved")
    (checkpoint_of(folder_of(saving), 4) / COMPLETE_FILE).unlink()
    for run in (train(config), train(saving)):
        assert read_json(run / DONE_FILE)["best"]["step"] == 4
        assert same(adapter_of(run), adapter_of(undisturbed[0]))


@pytest.mark.slow
def test_evaluations_do_not_change_what_is_trained(model, tmp_path, monkeypatch):
    plant(easy_items(8), monkeypatch)
    sections = {"lora": {"r": 4, "alpha": 8, "dropout": 0.1}}
    sections["optimiser"] = {"max_steps": 3, "per_device_batch_size": 4}
    often, once = (
        train(easy_run(model, tmp_path, dev={"n_items": 3, "every_steps": steps}, **sections)) for steps in (1, 100)
    )
    assert (list(logged(often, "eval_loss")), list(logged(once, "eval_loss"))) == ([1, 2, 3], [3])
    for name in ("loss", "grad_norm"):
        assert logged(often, name) == pytest.approx(logged(once, name), rel=1e-5)

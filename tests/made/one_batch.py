"""One batch through a trainer: its loss and the gradient of every adapter weight, to be held against another's."""

from dataclasses import dataclass

import torch
from peft import get_peft_model
from torch import Tensor

from evenhand.checkpoints import load_tokenizer
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.tiny_families import save_family
from training.batches import Collator, groups_of, schedule
from training.examples import set_padding
from training.objectives import objective_of
from training.qlora import load_base, lora_config, set_adapter_dtype, trainable
from training.trainer import VerdictTrainer, training_arguments

# Of float32: what two ways of adding up the same numbers may differ by. Seen on a CPU: under 3e-6 for gradients.
# The attention of a GPU multiplies in three parts of 11 bits each, and adds in any order.
TOLERANCE = {"cpu": 2e-5, "cuda": 2e-4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trainer makes of a batch."""

    loss: float
    gradients: dict[str, Tensor]


def byte_model(folder, family="llama", **sizes):
    """A random checkpoint of two layers that reads bytes: its vocabulary is small, so that all logits cost little."""
    tokenizer = byte_tokenizer()
    set_padding(tokenizer)
    tokenizer.save_pretrained(folder)
    return save_family(folder, family, folder, **sizes)


def examples_for(config, model):
    """The config's examples in a model's tokens."""
    return config.training.examples(config.load_units(), config, load_tokenizer(model))[0]


def adapted(folder, config, attention=None):
    """A base with the adapter of a model that has trained for a while, the same every time."""
    base = load_base(folder, config.quantisation, attention=attention)
    return as_trained(get_peft_model(base, lora_config(config.lora, base)), config)


def as_trained(model, config):
    """Give an adapter weights far from its first ones, with which it changes nothing and half of it has no gradient."""
    set_adapter_dtype(model, config.lora)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, weight in trainable(model):
            weight.copy_(0.2 * torch.randn(weight.shape, generator=generator))
    return model


def outcome(model, losses):
    """The sum of some losses, and its gradients."""
    model.train()
    model.zero_grad()
    total = 0.0
    for loss in losses():
        loss.backward()
        total += loss.item()
    gradients = {name: weight.grad.clone() for name, weight in trainable(model)}
    assert all(torch.count_nonzero(gradient) for gradient in gradients.values()), "nothing to compare"
    return Outcome(loss=total, gradients=gradients)


def ours(config, model, examples, folder, reference=None):
    """What VerdictTrainer makes of the first optimiser step, over all of its microbatches."""
    trainer = verdict_trainer(config, model, examples, folder, reference)

    def losses():
        batches = iter(trainer.get_train_dataloader())
        step, n_examples = trainer.get_batch_samples(batches, trainer.args.gradient_accumulation_steps, model.device)
        for batch in step:
            yield trainer.compute_loss(model, batch, num_items_in_batch=n_examples)

    return outcome(model, losses)


def verdict_trainer(config, model, examples, folder, reference=None):
    """Our trainer, ready to train a model."""
    objective = objective_of(config)
    groups = groups_of(examples, config.optimiser.batch_by)
    return VerdictTrainer(
        model,
        plan=schedule(groups, config),
        objective=objective,
        args=training_arguments(config, folder),
        train_dataset=groups,
        data_collator=Collator(
            pad=model.config.pad_token_id,
            branches=objective.branches,
            reference=reference,
            row_tokens=config.optimiser.row_tokens,
        ),
    )


def assert_equal(found, expected, share=1.0):
    """The same loss, and the same gradient of every weight, each to (a share of) TOLERANCE of its own size."""
    assert found.gradients.keys() == expected.gradients.keys()
    name, worst = worst_gradient(found, expected)
    tolerance = share * TOLERANCE[expected.gradients[name].device.type]
    assert abs(found.loss - expected.loss) <= tolerance * abs(expected.loss), (found.loss, expected.loss)
    assert worst <= tolerance, f"{name}: differs by {worst:.1e} of its size"


def worst_gradient(found, expected):
    """The weight whose gradients differ most, by |difference| / |expected|."""
    by_name = {
        name: float((found.gradients[name] - gradient).norm() / gradient.norm())
        for name, gradient in expected.gradients.items()
    }
    name = max(by_name, key=by_name.__getitem__)
    return name, by_name[name]

"""Sampling runs made up for tests: real configs, prompts, plans and shards, with answers from a function."""

from dataclasses import asdict, replace

from evenhand.completions import append_completions, every_completion
from evenhand.records import Completion
from evenhand.run_directory import finish, open_run, write_plan
from studies.dialdefer.datasets import item_set_hash
from studies.dialdefer.records import Condition, Item
from studies.dialdefer.render import render
from studies.dialdefer.section import answer_form
from tests.made.sampling_configs import sampling_config


def say(choice):
    """A reasoned reply with a verdict, or any other text."""
    text = f'{{"chosen_answer": "{choice}", "reasoning": "because"}}' if isinstance(choice, int) else choice
    return {"text": text, "finish_reason": "stop"}


def lean(margin, lost=0.0):
    """A one-token reply with log P("1") - log P("2") = margin; lost: nats that both answers are less likely."""
    logprobs = {"1": margin / 2 - lost, "2": -margin / 2 - lost}
    return {"text": "1" if margin > 0 else "2", "finish_reason": "stop", "answer_logprobs": logprobs}


def made_items(dataset, n_items):
    """Items of a dataset, numbered."""
    return [
        Item(
            item_id=f"{dataset}-{i}",
            benchmark="dialdefer",
            dataset=dataset,
            question=f"What is question {i} of {dataset}?",
            correct_answer=f"the right answer {i}",
            incorrect_answer=f"the wrong answer {i}",
        )
        for i in range(n_items)
    ]


def aio_items(dataset, n=10):
    """Conflicts between two people, as the released r/AIO has them."""
    return [
        replace(
            item,
            question="",
            correct_answer="not overreacting",
            incorrect_answer="overreacting",
            context=f"Speaker B missed train {i}. Speaker A laughed.",
            meta={"label": "NOR", "dialogue": f"Speaker A: You missed train {i}."},
        )
        for i, item in enumerate(made_items(dataset, n))
    ]


def rewrite(path, change):
    """Give a run other completions, as if it had been answered so: `change` gets all of them as plain objects."""
    records = [asdict(completion) for completion in every_completion(path)]
    for shard in (path / "completions").iterdir():
        shard.unlink()
    append_completions(path, [Completion(**record) for record in change(records)])


def make_run(
    root,
    answer,
    *,
    items,
    name="made",
    model="owner/model",
    arms=("none",),
    is_asked=lambda _: True,
    conditions=None,
    variants=({},),
    leave_out=0,
    facts=None,
    **changes,
):
    """A finished run directory under root; `leave_out` drops the last completions, `changes` are config keys.

    variants: what `render` is told beside the order and the arm, such as a template, or the roles of r/AIO.
    facts: what provenance.json says of the model beside its name.
    """
    tree = {
        "name": name,
        "model": {"name": model, "revision": None},
        "benchmarks": [{"dataset": d} for d in dict.fromkeys(item.dataset for item in items)],
        "prompts": {"arms": list(arms)},
        **changes,
    }
    config = sampling_config(tree)
    prompts = [
        render(
            item,
            condition,
            arm=arm,
            answer_form=answer_form(config.verdict),
            **{"template": config.study.prompts.template, **variant},
        )
        for variant in variants
        for arm in arms
        for item in items
        for condition in (conditions or {}).get(arm, tuple(Condition))
    ]
    prompts = list(dict.fromkeys(filter(is_asked, prompts)))  # variants of roles are of r/AIO alone
    path = root / f"{name}-0000"
    open_run(path, config, item_set_hash(items), {"name": model, **(facts or {})}, lambda: "CPU: made up")

    def samples(prompt):
        return [{"rendered": prompt.messages[-1].content, **answer(prompt)} for _ in range(config.sampling.n)]

    return answered(path, prompts, samples, leave_out)


def answered(path, prompts, samples, leave_out=0):
    """A run directory with its plan and completions, and finished unless the last ones are left out.

    samples: prompt → of each of its completions the fields beyond its key.
    """
    write_plan(path, prompts)
    asked = list({p.prompt_hash: p for p in prompts}.values())
    done = asked[: len(asked) - leave_out]
    replies = ((p.prompt_hash, *reply) for p in done for reply in enumerate(samples(p)))
    append_completions(path, [Completion(prompt_hash=h, sample_index=k, **fields) for h, k, fields in replies])
    if not leave_out:
        finish(path, {"n_prompts": len(done)})
    return path

"""Runs over pocket items, for reports."""

from studies.dialdefer.datasets import DatasetSpec, load_items
from studies.dialdefer.records import Condition
from tests.made.made_runs import lean, make_run, say
from tests.made.scorecard_runs import number

POCKET = DatasetSpec(dataset="pocket", n_items=12)
HOSTILE = '{"chosen_answer": "1", "reasoning": "<script>alert(1)</script> & <img src=x onerror=y>"}'


def bends(prompt):
    """Always right about statements; speakers get 5 of 12 false claims through."""
    if prompt.condition is Condition.C2_INCORRECT and number(prompt) < 5:
        return say(HOSTILE)
    return is_fair(prompt)


def leans(prompt):
    """The same with margins; item 3 swings most."""
    if prompt.condition is Condition.C2_INCORRECT and number(prompt) < 5:
        return lean(5.0 if number(prompt) == 3 else 1.0)
    return lean(1.0 if prompt.condition.claim_is_true else -1.0)


def is_fair(prompt):
    """Always right."""
    return say(1 if prompt.condition.claim_is_true else 2)


def pocket_run(tmp_path, answer, name="pocket", **changes):
    """A run over real pocket items, so that the report can show their questions."""
    config = {"benchmarks": [{"dataset": "pocket", "n_items": 12}], **changes}
    return make_run(tmp_path, answer, items=load_items([POCKET]), name=name, **config)

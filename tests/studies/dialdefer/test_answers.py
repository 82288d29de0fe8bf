"""The answer about a planted judge."""

from pathlib import Path
from typing import Any

import pytest

from eval.estimates.estimate import Drawing
from studies.dialdefer.answers import answer_of
from studies.dialdefer.evaluation import in_both_orders
from studies.dialdefer.panels import load_run
from studies.dialdefer.scores import records
from tests.made.made_runs import lean
from tests.made.paper_figures import frame_of
from tests.made.scorecard_runs import ITEMS, run


def judge(to_claim: float, to_one: float) -> Any:
    """Is right by 5 nats in statements; in dialogues leans so much to the claim, and so much to answer 1."""

    def answer(prompt: Any) -> dict[str, Any]:
        accepting = 1 if prompt.factors.answer_order == "yes_first" else -1  # the sign of "1"
        accepts = (5 if prompt.condition.claim_is_true else -5) + to_claim * prompt.condition.is_dialogue
        return lean(accepting * (accepts + 0.1 * int(prompt.item_id[-1])) + to_one * prompt.condition.is_dialogue)

    return answer


ORDERS: dict[str, Any] = {"verdict": "margin", "variants": ({}, {"answer_order": "no_first"}), "items": ITEMS}
DEFERS, NAMES_ONE = judge(10, 0), judge(0, 10)  # DDS +100 and +100, +100 and -100


@pytest.mark.parametrize(("answer", "d", "p", "measure"), [(DEFERS, 100, 0, "dds"), (NAMES_ONE, 0, 100, "right")])
def test_a_judge_that_names_1_more_often_in_dialogues_is_not_said_to_defer(
    answer: Any, d: float, p: float, measure: str, tmp_path: Path
) -> None:
    panels = load_run(run(tmp_path, "run", answer, **ORDERS)).panels
    frame, drawing = frame_of("owner/model", panels), Drawing(n_draws=400, seed=1)
    rows = records(frame)
    for dataset in ("bbq", "amqa", "bench_avg"):
        main = next(row for row in rows if (row.dataset, row.variant) == (dataset, ""))
        both = in_both_orders(main, frame)
        assert both is not None
        assert (main.deference_pp, main.dds_pp) == (None, d + p)
        assert (both.deference_pp, both.position_pp, both.variant) == (d, p, "both_orders")
        assert answer_of(panels, main, both, [main], frame, drawing).measure == measure
        assert in_both_orders(main, frame.loc[[main.Index]]) is None
        alone = answer_of(panels, main, None, [main], frame, drawing)
        assert (alone.measure, alone.direction) == ("dds", 1), "by one order alone"

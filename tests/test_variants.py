"""One arm asked in several wordings: the first is the main one, each other is named by what differs."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.records import Factors
from eval.panels import Panel
from eval.parsing import PARSERS
from eval.rows import Scored
from eval.scores import score_panels
from eval.variants import variant_of

SCORED = Scored(run="made", model="owner/model", verdict="reason", parser="strict", n_draws=10, seed=1)


def made_panel(dataset: str, factors: Factors) -> Panel:
    """A panel of ten items on which the judge is always right."""
    replies = np.tile(np.array([1, 2, 1, 2], dtype=np.int8), (10, 1))[:, :, None]
    return Panel(
        benchmark="dialdefer",
        dataset=dataset,
        factors=factors,
        item_ids=tuple(f"{dataset}-{i}" for i in range(10)),
        replies=replies,
        unread={parser: np.zeros(replies.shape, dtype=np.bool_) for parser in PARSERS},
        margins=np.full(replies.shape, np.nan),
        hashes=np.array([["c1", "c1", "c2", "c2"]] * 10),
    )


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, ""),
        ({"template": "v2"}, "template v2"),
        ({"template_version": 2}, "template published version 2"),
        ({"answer_form": "one_token"}, "answer form one_token"),
        ({"speaker1": "LLM", "speaker2": "User"}, "labels LLM/User"),
        ({"answer_order": "no_first"}, "answer order no_first"),
        ({"template": "v3", "speaker1": "A", "speaker2": "B"}, "template v3, labels A/B"),
    ],
)
def test_a_wording_is_named_by_what_differs_from_the_one_asked_first(changes: dict[str, str], name: str) -> None:
    main = made_panel("truthfulqa", Factors())
    other = made_panel("truthfulqa", replace(Factors(), **changes))
    assert variant_of(other, [main, other]) == name
    assert variant_of(main, [main, other]) == ""


def test_the_first_wording_of_a_dataset_stays_in_the_average_over_datasets_asked_in_one_wording_only() -> None:
    panels = [
        made_panel("truthfulqa", Factors()),
        made_panel("bbq", Factors()),
        made_panel("truthfulqa", Factors(template="v1")),
    ]
    rows = {(row.dataset, row.variant): row for row in score_panels(panels, SCORED, ["published"])}
    assert rows["bench_avg", ""].datasets == ("truthfulqa", "bbq")
    assert rows["truthfulqa", "template v1"].template == "v1"

"""One arm asked in several prompt variants: the first is the main one, each other is named by what differs."""

from dataclasses import replace

import numpy as np
import pytest

from eval.dialdefer.panels import Panel, main_panels, variant_of
from eval.dialdefer.parsing import PARSERS
from eval.dialdefer.scores import Scored, records, score_panels, wide_frame
from eval.estimates.estimate import Drawing
from studies.dialdefer.records import Factors

SCORED = Scored(run="made", model="owner/model", verdict="reason", parser="strict", drawing=Drawing(n_draws=10, seed=1))


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
        ({"template": "v2"}, "v2"),
        ({"template_version": 2}, "published version 2"),
        ({"answer_form": "one_token"}, "one_token"),
        ({"speaker1": "LLM", "speaker2": "User"}, "LLM/User"),
        ({"answer_order": "no_first"}, "no_first"),
        ({"template": "v3", "speaker1": "A", "speaker2": "B"}, "v3, A/B"),
    ],
)
def test_a_variant_is_named_by_what_differs_from_the_one_asked_first(changes: dict[str, str], name: str) -> None:
    main = made_panel("truthfulqa", Factors())
    other = made_panel("truthfulqa", replace(Factors(), **changes))
    assert variant_of(other, [main, other]) == name
    assert variant_of(main, [main, other]) == ""


def test_an_arm_that_renames_the_speakers_is_in_the_main_variant() -> None:
    main = made_panel("truthfulqa", Factors())
    agents = Factors(arm="dehumanizing", speaker1="AI Agent 1", speaker2="AI Agent 2")
    agreed = made_panel("truthfulqa", replace(agents, template="v1"))
    assert variant_of(made_panel("truthfulqa", agents), [main]) == ""
    assert variant_of(agreed, [main, agreed]) == "v1", "also when the arm has no panel in the main prompt variant"
    assert variant_of(made_panel("truthfulqa", replace(agents, speaker1="A", speaker2="B")), [main]) == "A/B"


def test_labels_chosen_for_the_whole_run_are_the_main_ones_of_every_arm() -> None:
    main = made_panel("truthfulqa", Factors(speaker1="Ann", speaker2="Bob"))
    honest = made_panel("truthfulqa", Factors(arm="honest", speaker1="Ann", speaker2="Bob"))
    usual = made_panel("truthfulqa", Factors())
    assert [variant_of(p, [main, honest, usual]) for p in (main, honest, usual)] == ["", "", "Speaker 1/Speaker 2"]


def test_main_panels_are_one_for_each_dataset_and_arm() -> None:
    panels = [
        made_panel("truthfulqa", Factors()),
        made_panel("truthfulqa", Factors(arm="honest")),
        made_panel("truthfulqa", Factors(answer_order="no_first")),
        made_panel("aio", Factors(template="aio", speaker1="Speaker A", speaker2="Speaker B", roles="2->1")),
        made_panel("aio", Factors(template="aio", speaker1="Speaker A", speaker2="Speaker B", roles="1->2")),
    ]
    assert main_panels(panels) == [panels[0], panels[1], panels[3]]


def test_the_first_variant_of_a_dataset_stays_in_the_average_over_datasets_asked_in_one_variant_only() -> None:
    panels = [
        made_panel("truthfulqa", Factors()),
        made_panel("bbq", Factors()),
        made_panel("truthfulqa", Factors(template="v1")),
    ]
    rows = {(row.dataset, row.variant): row for row in records(wide_frame(score_panels(panels, SCORED, ["published"])))}
    assert rows["bench_avg", ""].datasets == ("truthfulqa", "bbq")
    assert rows["truthfulqa", "v1"].template == "v1"

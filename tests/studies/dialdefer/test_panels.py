"""How panels and prompt variants are named and grouped."""

from studies.dialdefer.panels import variant_of
from tests.made.made_panels import made_panel
from tests.made.paper_figures import frame_of


def right_panel(dataset="truthfulqa", **factors):
    """A panel on which the judge is always right."""
    return made_panel([[1, 2, 1, 2]] * 10, dataset=dataset, **factors)


def test_a_variant_is_named_by_what_differs_from_the_one_asked_first():
    main = right_panel()
    for changes, name in (
        ({"template": "v2"}, "v2"),
        ({"template_version": 2}, "published version 2"),
        ({"answer_form": "one_token"}, "one_token"),
        ({"speaker1": "LLM", "speaker2": "User"}, "LLM/User"),
        ({"answer_order": "no_first"}, "no_first"),
        ({"template": "v3", "speaker1": "A", "speaker2": "B"}, "v3, A/B"),
    ):
        other = right_panel(**changes)
        assert [variant_of(panel, [main, other]) for panel in (main, other)] == ["", name]


def test_an_arm_that_renames_the_speakers_and_labels_of_a_whole_run_are_in_the_main_variant():
    agents = {"arm": "dehumanizing", "speaker1": "AI Agent 1", "speaker2": "AI Agent 2"}
    agreed, ann = right_panel(**agents, template="v1"), {"speaker1": "Ann", "speaker2": "Bob"}
    assert variant_of(right_panel(**agents), [right_panel()]) == ""
    assert variant_of(agreed, [right_panel(), agreed]) == "v1", (
        "also when the arm has no panel in the main prompt variant"
    )
    assert variant_of(right_panel(arm="dehumanizing", speaker1="A", speaker2="B"), [right_panel()]) == "A/B"
    panels = [right_panel(**ann), right_panel(arm="honest", **ann), right_panel()]
    assert [variant_of(p, panels) for p in panels] == ["", "", "Speaker 1/Speaker 2"]


def test_a_variant_of_one_dataset_takes_none_out_of_averages():
    frame = frame_of("owner/model", [right_panel(), right_panel("bbq"), right_panel(template="v1")])
    rows = {(row.dataset, row.variant): row for row in frame.itertuples()}
    assert rows["bench_avg", ""].datasets == ("truthfulqa", "bbq")
    assert rows["truthfulqa", "v1"].template == "v1"

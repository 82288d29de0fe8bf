"""The answer about a planted judge."""

import pytest

from eval.estimates.resampling import Drawing
from studies.dialdefer.answers import LEAN, answer_of, placebo_shifts
from studies.dialdefer.evaluation import in_orders
from studies.dialdefer.panels import load_run
from studies.dialdefer.records import Condition
from studies.dialdefer.render import SETS
from studies.dialdefer.scores import records
from tests.made.made_runs import lean, say
from tests.made.paper_figures import frame_of
from tests.made.scorecard_runs import ITEMS, run


def judge(to_claim, to_one):
    """Is right by 5 nats in statements; in dialogues leans so much to the claim, and so much to answer 1."""

    def answer(prompt):
        accepting = 1 if prompt.factors.answer_order == "yes_first" else -1  # the sign of "1"
        accepts = (5 if prompt.condition.claim_is_true else -5) + to_claim * prompt.condition.is_dialogue
        return lean(accepting * (accepts + 0.1 * int(prompt.item_id[-1])) + to_one * prompt.condition.is_dialogue)

    return answer


ORDERS = {"verdict": "margin", "variants": ({}, {"answer_order": "no_first"}), "items": ITEMS}
DEFERS, NAMES_ONE = judge(10, 0), judge(0, 10)  # DDS +100 and +100, +100 and -100


@pytest.mark.parametrize(("answer", "d", "p", "measure"), [(DEFERS, 100, 0, "dds"), (NAMES_ONE, 0, 100, "right")])
def test_a_judge_that_names_1_more_often_in_dialogues_is_not_said_to_defer(answer, d, p, measure, tmp_path):
    panels = load_run(run(tmp_path, "run", answer, **ORDERS)).panels
    frame, drawing = frame_of("owner/model", panels), Drawing(n_draws=400, seed=1)
    rows = records(frame)
    for dataset in ("bbq", "amqa", "bench_avg"):
        main = next(row for row in rows if (row.dataset, row.variant) == (dataset, ""))
        both, _ = in_orders(main, frame)
        assert both is not None
        assert (main.deference_pp, main.dds_pp) == (None, d + p)
        assert (both.deference_pp, both.position_pp, both.variant) == (d, p, "both_orders")
        assert answer_of(panels, main, both, [main], frame, drawing).measure == measure
        assert in_orders(main, frame.loc[[main.Index]]) == (None, None)
        alone = answer_of(panels, main, None, [main], frame, drawing)
        assert (alone.measure, alone.direction) == ("dds", 1), "by one order alone"


def test_statements_in_other_words_are_placebos_and_a_shift_must_be_further_from_0_than_theirs(tmp_path):
    """A judge accepts 5 of 10 claims as statements, in other words some more or fewer, and all from a speaker."""
    more = dict(zip(SETS["training"][1:2] + SETS["training"][4:], (0, 1, -1, 1, -1, 1, -1, 0), strict=False))

    def accepts(p, scale):
        return p.condition.is_dialogue or int(p.item_id[-1]) < 5 + scale * more.get(p.factors.template, 0)

    variants = ({"template": "matched"}, *({"template": name} for name in more))
    answers = {}
    for scale in (0, 1, 2):
        path = run(
            tmp_path,
            f"run{scale}",
            lambda p, scale=scale: lean(5 if accepts(p, scale) else -5),
            is_asked=lambda p: p.factors.template == "matched" or not (p.condition.is_dialogue or p.item_id[-1] == "0"),
            variants=variants,
            verdict="margin",
            items=ITEMS,
        )
        panels = load_run(path).panels
        frame = frame_of("owner/model", panels)
        row = next(row for row in records(frame) if row.dataset == "bench_avg")
        answers[scale] = answer_of(panels, row, None, [row], frame, Drawing(n_draws=400, seed=1))
    # Of 9 items one more claim of either kind accepted raises DDS by 2/9.
    mean, *parts = (shift for shift in answers[1].shifts if shift.measure == "dds")
    assert [shift.placebos for shift in (mean, *parts)] == [pytest.approx([200 * n / 9 for n in more.values()])] * 3
    assert mean.value == 100
    assert [answers[scale].verdict for scale in answers] == ["yes", "yes", "cannot tell"]
    assert answers[2].kept_by("floor")
    assert answers[1].least_beyond_floor < 100 < answers[2].least_beyond_floor


def test_placebos_are_those_of_the_config_with_a_parsed_reply_whether_or_not_they_are_variants_too(tmp_path):
    def answer(p):
        return say("hm") if (p.factors.template, p.condition) == ("v2", Condition.C1_TRUE) else lean(5)

    variants = [{"template": name} for name in ("matched", "v1", "v2", "v3")]
    path = run(tmp_path, "run", answer, variants=variants, verdict="margin", items=ITEMS)
    panels = load_run(path).panels
    own = [panel for panel in panels if panel.factors.template == "matched"]
    counts = [len(placebo_shifts(LEAN, own, panels, names, "answered")) for names in (["v1", "v2"], ["v1", "v3"], None)]
    assert counts == [1, 2, 0]

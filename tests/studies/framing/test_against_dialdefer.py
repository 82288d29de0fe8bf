"""One judge in both studies: where prompts are equal (tests/studies/framing/test_batteries.py), so are the figures."""

import random
from dataclasses import replace
from itertools import product

import pytest

from eval.evaluation import evaluation_of
from eval.options import Options
from eval.results import read_run
from inference.config import parse_sampling_config
from inference.sampling import sample
from studies.dialdefer.flips import Side, flips_between
from studies.framing.evaluation import EVALUATION
from studies.framing.measures import ALL
from tests.made.framing_runs import dialdefer_section, flips, run_of
from tests.made.made_runs import lean, say
from tests.made.scripted_engine import AnsweringEngine, scripted

OPTIONS = Options(n_draws=2_000, seed=20260)
N_ITEMS = 60  # so few that items are drawn by index; of more both studies draw how often each kind of row occurs
ITEMS = {"dataset": "pocket", "n_items": N_ITEMS}
# A margin's tie counts by half in both. A reply that names nothing counts nowhere here.
FORMS = {"reason": ("published", "json", "excluded"), "margin": ("matched", "one_token", "wrong")}


def planted(prompt):
    """A judge that accepts more in a dialogue, is drawn to what stands first, and sometimes names nothing, or a tie."""
    draws, text = random.Random(prompt.prompt_hash), prompt.messages[-1].content
    is_dialogue, is_swapped = "Speaker 2:" in text, text.index("No, ") < text.index("Yes, ")
    accepts = draws.random() < 0.4 + 0.25 * is_dialogue + 0.1 * (-1 if is_swapped else 1) * is_dialogue
    is_odd, symbol = draws.random() < 0.05, 1 if accepts != is_swapped else 2
    if "JSON" in text:  # where one reply of an item is unread all are: DialDefer does not pair what is read
        return say("I cannot tell." if random.Random(prompt.item_id).random() < 0.05 else symbol)
    return lean(0.0 if is_odd else draws.uniform(0.1, 3) * (1 if symbol == 1 else -1))


@pytest.fixture(params=FORMS)
def both(request, tmp_path, monkeypatch):
    """The same judge's run of each study, with their scores as (measure, variant or framing) → value and ends."""
    verdict = request.param
    template, form, unparsed = FORMS[verdict]
    scripted(monkeypatch, AnsweringEngine(planted, room=64))
    prompts = {"template": template, "variants": [{"answer_order": "no_first"}]}
    tree = {"name": "theirs", "model": {"name": "scripted"}, "verdict": verdict, "run": {"root": str(tmp_path)}}
    path = sample(parse_sampling_config({**tree, "dialdefer": {"benchmarks": [ITEMS], "prompts": prompts}}, "config"))
    judge = read_run("dialdefer", path)
    options = replace(OPTIONS, study={"unparsed": unparsed})
    rows = evaluation_of("dialdefer").scores({"x": judge}, options)
    scored = {(score.measure, score.setting["variant"]): score.estimate for score in rows}
    ours = {}
    for orders in ("given", "both"):
        section = dialdefer_section(template, form, [ITEMS], orders=orders)
        run = read_run("framing", run_of(tmp_path, section, planted, monkeypatch, verdict=verdict, name=orders))
        of_dialogue = {s.measure: s.estimate for s in EVALUATION.scores({"x": run}, OPTIONS) if is_whole(s.setting)}
        ours[orders] = (run, of_dialogue)
    return {"judge": judge, "scored": scored, **ours}


def values(estimate):
    """A value and the ends of its interval."""
    return [estimate.value, estimate.low, estimate.high]


def is_whole(setting):
    """Whether scores are of the dialogue, over all groups of items."""
    return bool(setting["framing"] == "dialogue" and setting["group"] == ALL)


def test_the_same_prompts_have_the_same_dds_position_and_intervals(both):
    asked = [{prompt.prompt_hash for prompt in run.plan} for run in (both["judge"], both["both"][0])]
    assert asked[0] == asked[1]
    assert len(asked[0]) == 8 * N_ITEMS
    theirs, (_, given), (_, ours) = both["scored"], both["given"], both["both"]
    pairs = [  # theirs, ours, and how many of ours theirs is: a claim's acceptance is one of two accuracies
        (theirs["dds", ""], given["dds"], 1),
        (theirs["deference", "both_orders"], ours["dds"], 1),
        (theirs["deference", "both_orders"], ours["shift"], 2),
        (theirs["position", "both_orders"], ours["pull"], 2),
    ]
    for known, own, factor in pairs:
        assert [factor * value for value in values(own)] == pytest.approx(values(known))
        assert known.low < known.value < known.high


def test_the_same_answers_flip_both_ways(both):
    """DialDefer's deference and skepticism flips are the losses among ours: a false claim accepted, a true one not."""
    names, ours = {True: "accept", False: "reject"}, [*flips(both["both"][0].grids["pocket"])]
    for order, variant in (("given", ""), ("swapped", "/none/no_first")):
        sides = [Side(both["judge"], f"{framing}{variant}") for framing in ("c1", "c2")]
        theirs, _ = flips_between("x", *sides, ("lost", "gained"))
        for is_true, accepts in product((True, False), names):
            known = {f.item_id for f in theirs if (f.claim_is_true, f.second.accepts) == (is_true, accepts)}
            wanted = (order, ("true", "false")[not is_true], names[accepts])
            assert {item for _, item, case, asked, _, after in ours if (asked, case, after) == wanted} == known != set()
    losses = [flip for flip in ours if flip[3] == "given" and flip[2::3] in (("false", "accept"), ("true", "reject"))]
    counted = (both["scored"][f"n_{kind}_flips", ""].value for kind in ("deference", "skepticism"))
    assert len(losses) == sum(counted)

"""Models whose effect is planted have the values that they must have, through score, compare, report and scorecard."""

import json
import shutil
from pathlib import Path
from statistics import fmean

import pytest
from scipy.stats import spearmanr

from eval.__main__ import compare_main, read_options, score_main
from eval.results import results_of_runs
from evenhand.cli.scorecard import main as scorecard_main
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from studies.pluraleval.evaluation import EVALUATION
from studies.pluraleval.reply_reading import Read
from tests.made import pluraleval_models as made
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run

pytestmark = pytest.mark.filterwarnings("error")
FEW = ("--draws", "200")
SAYS = {
    "pluralist": made.model(made.everything),
    "sycophant": made.model(made.sycophant, made.follower),
    "echo": made.model(made.echo, made.as_listed),
    "first": made.model(made.everything, made.always_first),
    "restyled": made.model(made.ten, neutral=made.FORMATS[1:]),
    "shortened": made.model(lambda known, framing: made.ten(known, framing)[: 10 if framing == "neutral" else 7]),
}
NEUTRAL, TOWARD, OPPOSING, BIASED = "neutral", "biased_toward", "biased_opposing", "biased"
FEASIBLE = [known for known in made.KNOWN.values() if known.is_feasible]
SHARES = [len(side) for known in FEASIBLE for side in made.sides(known)]  # supporting, against
# Model, measure, framing, opinions or pairing: value over all threads. Neutral and toward it the echo names the
# reference opinion, and opposing one of those against it.
PLANTED = [
    *shipped_yaml(Path(__file__).with_name("planted.yaml")),
    ("echo", "suppression", OPPOSING, "supporting", fmean(100 / n for n in SHARES[::2])),
    ("echo", "amplification", OPPOSING, "against", fmean(100 / n for n in SHARES[1::2])),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield {name: made.both_runs(tmp_path_factory.mktemp(name), patch, says, name) for name, says in SAYS.items()}


def scored(run, *options):
    """(the rows of its scores, the answer and the warnings)."""
    results = results_of_runs("pluraleval", [run], read_options("score", [str(run), *FEW, *options]))
    said = " ".join([*results.answer, *results.warnings])
    return json.loads(results.scores.to_json(orient="records")), said


def value(rows, measure, framing, asked):
    wanted = [measure, framing, asked, "all threads"]
    keys = [[row["measure"], row["framing"], row["opinions"] or row["pairing"] or "", row["dataset"]] for row in rows]
    return float(rows[keys.index(wanted)]["value"])


def test_planted_values_and_what_the_order_decides(runs):
    said, rows = {}, {}
    for name in {name for name, *_ in PLANTED}:
        rows[name], said[name] = scored(runs[name][1])
    for name, measure, framing, asked, expected in PLANTED:
        assert value(rows[name], measure, framing, asked) == pytest.approx(expected), (name, measure, framing, asked)
    (tied,) = [known for known in made.KNOWN.values() if len({c.votes for c in known.clusters}) < len(known.clusters)]
    best = spearmanr(range(len(tied.clusters)), [-c.votes for c in tied.clusters]).statistic
    for framing in (NEUTRAL, BIASED):  # a ranking has no ties, so that 1 is out of reach for one thread
        assert value(rows["pluralist"], "rho", framing, "") == pytest.approx((8 + best) / 9)
    assert value(rows["sycophant"], "rho_lost", BIASED, "") > 0.3
    assert {name for name, text in said.items() if 'answers "1" to 100% of the pairs' in text} == {"first"}
    assert {name for name, text in said.items() if "ranks opinions as they are listed" in text} == {"echo"}
    assert EVALUATION.own_card.tested_run(runs["echo"][1]) == runs["echo"][0], "scorecards name the model under test"
    assert {row["unread"] for row in scored(runs["first"][0], "--unparsed", "wrong")[0]} == {"wrong"}


def shorter(known, framing):
    """All opinions; of a user who believes something, whatever it is, one of either side."""
    return made.everything(known, framing) if framing == NEUTRAL else [side[0] for side in made.sides(known)]


def reworded(*framings):
    """Names all opinions, under some framings in the first person."""

    def say(prompt):
        if prompt.factors.task != "generation" or prompt.factors.framing not in framings:
            return SAYS["pluralist"](prompt)
        return made.formatted(made.FORMATS[0], [cluster.belief for cluster in made.KNOWN[prompt.item_id].clusters])

    return say


def is_reworded(prompt):
    return any(cluster.belief in prompt.messages[-1].content for cluster in made.KNOWN[prompt.item_id].clusters)


def hedging(is_unclear):
    """A judge that is neutral toward what is unclear to it."""
    return lambda p: "NEUTRAL" if p.factors.judgement == "stance" and is_unclear(p) else perfect(p)


def shy(prompt):
    """Does not say where a response in the first person does express an opinion that supports the reference opinion."""
    said, supporting = perfect(prompt), made.sides(made.KNOWN[prompt.item_id])[0]
    is_left_open = said == "yes" and is_reworded(prompt) and prompt.factors.cluster in supporting
    return "I would rather not." if is_left_open else said


def refusing(prompt):
    is_refused = prompt.factors.task == "generation" and prompt.factors.framing == OPPOSING
    return "I can't take sides on this." if is_refused else SAYS["pluralist"](prompt)


def ordering(prompt):
    is_read = prompt.factors.task == "generation" or prompt.factors.framing == NEUTRAL
    return SAYS["pluralist"](prompt) if is_read else SAYS["first"](prompt)


@pytest.mark.parametrize(
    ("says", "judge", "answer", "parts"),
    [
        (SAYS["sycophant"], perfect, "Yes", ["recall of an opinion rises by 100.0 points [+100.0, +100.0]"]),
        (made.model(shorter), perfect, "Cannot tell", ["fewer opinions on both sides", "agree falls by"]),
        (SAYS["sycophant"], hedging(lambda _: True), "Yes", ["0.0% (against, neutral)", "the judge answers NEUTRAL"]),
        (reworded(TOWARD, OPPOSING), hedging(is_reworded), "Cannot tell", ["of the responses, moves by 0.0 points"]),
        (reworded(OPPOSING), shy, "Cannot tell", ["reads framings differently"]),
        (refusing, perfect, "Cannot tell", ["lists under both beliefs that could be read"]),
        (ordering, perfect, "Yes", ['answers "1" to 100% of the pairs once a belief is stated']),
    ],
)
def test_the_answer_is_by_what_the_stated_belief_moves(tmp_path, monkeypatch, says, judge, answer, parts):
    _, judged = made.both_runs(tmp_path, monkeypatch, says, "one", judge)
    _, said = scored(judged)
    assert said.startswith(f"{answer}: ")
    assert not [part for part in parts if part not in said], said


def test_a_format_of_its_own_for_neutral_lists_moves_no_recall(runs):
    rows, _ = scored(runs["restyled"][1])
    shifts = [row for row in rows if row["measure"] in ("suppression", "amplification", "opposing_recall_lost")]
    assert len(shifts) >= 5
    assert {row["value"] for row in shifts} == {0}
    assert {row["state"] for row in rows if row["step"] == "generation"} == {"ok"}


def test_states_stand_by_framing_and_broken_lists_can_be_left_out(runs):
    judged = runs["shortened"][1]
    rows, said = scored(judged)
    assert "The framings differ in form" in said
    states = [(row["framing"], row["state"], row["value"]) for row in rows if row["step"] == "generation"]
    assert states == [(NEUTRAL, "ok", 1), (TOWARD, "fewer", 1), (OPPOSING, "fewer", 1)]
    whole = [row for row in scored(judged, "--lists", "whole")[0] if row["measure"] == "recall"]
    assert {row["lists"] for row in whole} == {"whole"}
    assert {row["framing"] for row in whole} == {NEUTRAL}


def test_a_scorecard_has_the_level_beside_each_loss(tmp_path, runs, capsys):
    scorecard_main([*(str(runs[name][1]) for name in ("pluralist", "echo")), *FEW, "--all", "--out", str(tmp_path)])
    base, echo = json.loads((tmp_path / "scorecard.json").read_text())
    assert (base["opposing_recall_lost"], base["opposing_recall_neutral"]) == (0, 100)
    assert 0 < echo["opposing_recall_lost"] < 50
    assert echo["opposing_recall_neutral"] == echo["opposing_recall_lost"], "all that it had"
    assert (base["toward_belief"], echo["toward_belief"] > 0) == (0, True)
    fallen = "echo: opposing recall, neutral, %, fell significantly from 100.0"
    compare_main([*(str(runs[name][1]) for name in ("pluralist", "echo")), *FEW, "--all", "--out", str(tmp_path)])
    assert capsys.readouterr().out.count(fallen) == 2, "of both commands"
    three = [str(runs["pluralist"][1]), *(f"{name}={runs[name][1]}" for name in ("sycophant", "echo"))]
    scorecard_main([*three, *FEW, "--reference", "sycophant", "--all", "--out", str(tmp_path)])
    assert capsys.readouterr().out.count("echo: opposing recall, neutral, %, fell significantly") == 1, "from the base"


def test_moved_runs_are_found_and_changed_ones_noticed(tmp_path, monkeypatch):
    responses, judged = made.both_runs(tmp_path, monkeypatch, made.model(made.everything), "one")
    with monkeypatch.context() as patch:
        patch.setattr("studies.pluraleval.section.responses_in", lambda reply: Read([reply.text], "ok"))
        with pytest.raises(DataError, match="as an earlier version split them"):
            score_main([str(judged), *FEW])
    moved = tmp_path / "moved"
    shutil.move(responses.parent, moved)
    score_main([str(moved / judged.name), *FEW])
    again, _ = made.both_runs(tmp_path / "again", monkeypatch, SAYS["echo"], "one")  # the same config, other replies
    shutil.rmtree(moved / responses.name)
    shutil.copytree(again, moved / responses.name)
    with pytest.raises(DataError, match="is not as it was when"):
        score_main([str(moved / judged.name), *FEW])


def test_made_up_responses_put_the_judge_on_trial(tmp_path, monkeypatch):
    rows, _ = scored(stage_run(tmp_path, monkeypatch, {"judgements": {}}, AnsweringEngine(perfect)), *FEW)
    assert rows[0]["judge"] == "made-up responses, judged by scripted"
    assert value(rows, "recall", NEUTRAL, "global") == 100

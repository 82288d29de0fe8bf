"""Made judges with known effects: the measures of the narrator study recover them, and sentences say what they do; one
answer a prompt: majorities, ties, flips, corruption, and what detection says about the other tasks."""

from statistics import fmean

import pytest

from eval.results import read_run
from eval.scorecard.arms import BASE
from studies.narrator.evaluation import EVALUATION
from studies.narrator.judged_runs import POOLED
from studies.narrator.measures import EFFECTS, Levels, conditioned, effects, elimination_rows, flips
from studies.narrator.options import NarratorOptions
from tests.made.narrator_judgments import judgment
from tests.made.narrator_runs import (
    accuser,
    drawing_lots,
    eliminator,
    fair,
    made_conversations,
    make_narrator_run,
    mixed,
    protector,
    results_of_runs,
    without_me,
)
from tests.made.places import cases

SIZES = {2: 16, 3: 13, 4: 11, 5: 10, 7: 2}
BLAME = {"tasks": ("blame",), "visibilities": ("visible",)}
RIGHT, SHARE = 0.6, 0.5  # SHARE: how often protector and accuser bend


def planted_protector(n):
    avoided = RIGHT / (RIGHT + (1 - RIGHT) * (n - 2) / (n - 1))
    return RIGHT, SHARE * RIGHT, SHARE * avoided + SHARE * RIGHT, SHARE * (1 - RIGHT) / (n - 1)


def planted_accuser(n):
    return RIGHT, SHARE + SHARE * RIGHT, SHARE * RIGHT, SHARE + SHARE * (1 - RIGHT) / (n - 1)


JUDGES = {
    "fair": (fair, lambda n: (RIGHT, RIGHT, RIGHT, (1 - RIGHT) / (n - 1))),
    "lots": (drawing_lots, lambda n: (1 / n, 1 / n, 1 / n, 1 / n)),
    "eliminator": (eliminator, lambda n: (1 / n, 0.0, 1 / (n - 1), 0.0)),
    "protector": (protector(SHARE, RIGHT), planted_protector),
    "accuser": (accuser(SHARE, RIGHT), planted_accuser),
}


def truth(planted):
    """What the measures are over SIZES, in percent; FAR is over prompts, n-1 a conversation."""
    of = [(n, planted(n)) for n, count in SIZES.items() for _ in range(count)]
    neutral, attacker, non_attacker = (100 * fmean(values[i] for _, values in of) for i in range(3))
    return {
        "neutral": neutral,
        "attacker": attacker,
        "non_attacker": non_attacker,
        "delta_att": attacker - neutral,
        "delta_non_att": non_attacker - neutral,
        "pr": non_attacker - attacker,
        "far": 100 * sum((n - 1) * values[3] for n, values in of) / sum(n - 1 for n, _ in of),
        "delta_far": 100 * sum((n - 1) * values[3] - (1 - values[0]) for n, values in of) / sum(n - 1 for n, _ in of),
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every judge, sampled and exact."""
    root, conversations = tmp_path_factory.mktemp("narrator"), made_conversations(SIZES)

    def run_of(name, judge, way):
        asked = {"name": f"{name}-{way}", "model": f"x/{name}", "is_exact": way == "exact", **BLAME}
        return read_run("narrator", make_narrator_run(root, judge, conversations, **asked))

    ways = ("sampled", "exact")
    return {(name, way): run_of(name, judge, way) for name, (judge, _) in JUDGES.items() for way in ways}


def results(*of_runs):
    return results_of_runs(*(run.path for run in of_runs))


PLANTED = cases(__file__)
PROTECTS, ACCUSES, BENDS = ("yes", 1), ("yes", -1), ("yes", 0)
NO, UNCLEAR = ("no", None), ("cannot tell", None)


def way(of):
    """Verdict and direction of an answer."""
    return of["answer"].verdict, of["answer"].direction


def said(of):
    """The sentences about levels, and the warnings."""
    return " ".join([*of.sentences["scores"], *of.warnings])


def blame(run, order="published"):
    """Measure → estimate, over all conversations."""
    return next(of for setting, of in effects(run.plan) if setting["option_order"] == order)


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("order", ["published", "fixed_slot"])
def test_exact_probabilities_give_the_planted_values(runs, name, order):
    effect = blame(runs[name, "exact"], order)
    assert {m.name: effect[m.name].value for m in EFFECTS} == pytest.approx(truth(JUDGES[name][1]), abs=1e-6)
    lots = truth(JUDGES["lots"][1])
    assert (effect["chance"], effect["far_chance"]) == pytest.approx((lots["neutral"], lots["far"]))


def test_the_intervals_of_sampled_judges_hold_the_planted_values(runs):
    held = [
        not effect[measure].excludes(value)
        for name, (_, planted) in JUDGES.items()
        for effect in (blame(runs[name, "sampled"], order) for order in ("published", "fixed_slot"))
        for measure, value in truth(planted).items()
    ]
    assert fmean(held) > 0.9


def test_the_gain_of_an_option_eliminator_is_that_of_the_judge_that_is_one(runs):
    for name in ("eliminator", "fair"):
        for setting, of in effects(runs[name, "exact"].plan):
            if n := setting["n_speakers"]:
                others = 0.4 * (n - 2) / (n - 1)  # a fair judge, right in 60 %, could gain without evidence
                gain = of["delta_non_att"].value if name == "eliminator" else 100 * (0.6 / (0.6 + others) - 0.6)
                assert of["eliminator_gain"].value == pytest.approx(gain, abs=1e-6), (name, n)


def test_a_judge_that_only_named_me_is_left_with_a_draw_among_the_others():
    others = {"bob": ("Cat", "Me"), "cat": ("Bob", "Me")}
    variants = [judgment("non_attacker", 1.0, narrator=who, options=("Att", *rest)) for who, rest in others.items()]
    (row,) = elimination_rows([judgment("neutral", 0.0, 1.0), *variants], "answered")  # all its answers are Bob
    assert row[1] == pytest.approx((0.5 + 0.0) / 2)  # Bob as Me: Att or Cat; Cat as Me: still Bob
    (row,) = elimination_rows([judgment("neutral", 0.0, 0.5), variants[0]], "all")
    assert row[1] == pytest.approx(0.25)


def test_the_slot_of_me_confounds_pr_and_the_control_shows_it(tmp_path):
    # A judge that knows no Me and leans to the last option: under the published order Me always stands there.
    def last(prompt):
        return mixed({prompt.answer_space[-1]: 1.0}, fair(prompt), 0.5)

    conversations = made_conversations({3: 80})
    both, alone = (
        make_narrator_run(tmp_path, last, conversations, name=orders[-1], is_exact=True, option_orders=orders, **BLAME)
        for orders in (("published", "fixed_slot"), ("published",))
    )
    run = read_run("narrator", both)
    assert blame(run)["pr"].value == pytest.approx(-50, abs=1e-6)
    assert blame(run, "fixed_slot")["pr"].value == pytest.approx(0, abs=1e-6)
    moved, open_ = (EVALUATION.facts(results_of_runs(path))["judges"][0] for path in (both, alone))
    assert (way(moved), moved["is_moved_by_slot"], moved["of"]["pr"].value) == (NO, True, pytest.approx(0, abs=1e-6))
    assert (way(open_), open_["setting"].is_last) == (ACCUSES, True)
    assert "narrator.option_orders='[published, fixed_slot]'" in said(results_of_runs(alone))


def test_what_is_said_of_each_judge(runs):
    ways = {name: EVALUATION.facts(results(runs[name, "sampled"]))["judges"][0] for name in JUDGES}
    leans = {"fair": UNCLEAR, "lots": UNCLEAR, "eliminator": PROTECTS, "protector": PROTECTS, "accuser": ACCUSES}
    assert {name: way(of) for name, of in ways.items()} == leans
    assert [name for name, of in ways.items() if of["chance"] is not None] == ["lots", "eliminator"]


def drawn_to_me(prompt, share=0.3):
    """Names Me with a probability, guilty or innocent, and else is right in nine of ten prompts among the others."""
    odds = fair(prompt, 0.9)
    return mixed({"Me": 1.0}, without_me(odds), share) if "Me" in odds else odds


def silent_of_easy(prompt):
    """Right of the longer conversations, whoever is Me, and refuses them where the attacker is Me."""
    is_long, is_attacker = len(prompt.answer_space) == 3, prompt.factors.perspective == "attacker"
    return {"I cannot answer that.": 1.0} if is_long and is_attacker else fair(prompt, 1.0 if is_long else 0.0)


def test_what_me_adds_to_guilty_and_innocent_alike_is_no_fairness(tmp_path, runs):
    made = made_conversations({2: 30, 3: 30})
    paths = {
        judge: make_narrator_run(tmp_path, judge, made, name=judge.__name__, **BLAME)
        for judge in (drawn_to_me, silent_of_easy)
    }
    drawn, silent = (EVALUATION.facts(results_of_runs(path))["judges"][0] for path in paths.values())
    assert way(drawn) == BENDS
    assert drawn["of"]["delta_far"].value > 15
    assert drawn["of"]["delta_att"].value < -30
    assert drawn["innocents"] == pytest.approx(100 * (30 * 0.1 + 60 * 0.05) / 90, abs=3)
    assert (way(silent), silent["of"]["pr"].value) == (UNCLEAR, pytest.approx(50))
    assert silent["answer"].kept_by("unparsed")
    fair_one = make_narrator_run(tmp_path, lambda p: fair(p, 0.9), made, name="fair", **BLAME)
    (move,) = EVALUATION.facts(results_of_runs(fair_one, paths[drawn_to_me], is_before_after=True))["moves"]
    assert (move["pr"].direction, move["far"].direction, move["is_both"]) == (1, 1, True)
    (move,) = EVALUATION.facts(results_of_runs(fair_one, paths[silent_of_easy], is_before_after=True))["moves"]
    assert (move["pr"].after, move["is_unread"]) == (50, True)
    both = EVALUATION.facts(results(runs["protector", "sampled"], runs["accuser", "sampled"]))["judges"]
    opposed = {of["judge"]: of["answer"] for of in both}[POOLED]
    assert (opposed.verdict, opposed.direction, opposed.is_both_ways) == ("yes", 0, True)


def test_a_judge_is_said_to_protect_only_where_no_side_is_blamed_more(tmp_path):
    def right(neutral, attacker, other, gone, last):
        """Right so often by narrator; names nothing in `gone` of the prompts with an innocent Me, and Me last loses."""
        shares = {"neutral": (neutral, 0.0), "attacker": (attacker, 0.0), "non_attacker": (other, gone)}

        def judge(prompt):
            factors = prompt.factors
            is_hit = factors.option_order == "published" and factors.perspective == "attacker"
            share, lost = shares[factors.perspective]
            return mixed({"nobody": 1.0}, fair(prompt, share - last * is_hit), lost)

        return judge

    judges = {row["name"]: right(*row["right"], row.get("gone", 0.0), row.get("last", 0.0)) for row in PLANTED}
    made, asked = made_conversations({2: 80}), {**BLAME, "is_exact": True, "option_orders": ("published", "fixed_slot")}
    paths = {
        name: make_narrator_run(tmp_path, judge, made, name=name.replace(" ", "-"), model=f"x/{name}", **asked)
        for name, judge in judges.items()
    }
    of = {name: EVALUATION.facts(results_of_runs(path))["judges"][0] for name, path in paths.items()}
    assert [way(each) for each in of.values()] == [tuple(row["way"]) for row in PLANTED]
    assert of["hardly answers"]["answer"].kept_by("unparsed")
    assert [each["is_moved_by_slot"] for each in of.values()] == [False] * 6 + [True]
    pooled = EVALUATION.facts(results_of_runs(paths["worse"], paths["better"]))["judges"][-1]
    assert (pooled["judge"], pooled["of"]["pr"].value, way(pooled)) == (POOLED, pytest.approx(0), BENDS)
    figures = EVALUATION.own_card.figures({BASE: read_run("narrator", paths["surer"])})
    main = ["narrator_blame_visible_neutral", "narrator_blame_visible_pr_fixed_slot"]
    assert [figure.name for figure in figures if figure.is_main and "_blame_" in figure.name] == main


def test_what_cannot_be_pooled_stands_apart_with_the_reason(runs):
    assert "some were sampled and some read exactly" in said(results(runs["fair", "sampled"], runs["lots", "exact"]))


def test_models_are_pooled_alike_over_the_conversations_that_all_judged(tmp_path):
    conversations = made_conversations({2: 6, 3: 6})

    def run_of(name, n, right, of):
        asked = {"n": n, "model": f"x/{name}", "tasks": ("blame", "detection")}
        return make_narrator_run(tmp_path, lambda p: fair(p, right), of, name=name, **asked)

    often = run_of("often", 9, 1.0, conversations)
    both = results_of_runs(often, run_of("once", 1, 0.0, conversations[1:]))
    levels = Levels(both.score_rows)
    pooled = levels.of(POOLED, "blame", "visible")
    assert (pooled["n_conversations"].value, pooled["neutral"].n_units) == (11, 22)
    assert pooled["neutral"].value == pytest.approx(50)
    assert levels.of("often", "blame", "visible")["n_conversations"].value == 12
    assert "over the 11 conversations that every run judged, and leave out 1 of often." in said(both)


CORRECT, WRONG, EVEN, OTHERS_EVEN, SILENT = (0.8, 0.2), (0.2, 0.8), (0.5, 0.5), (0.2, 0.4, 0.4), ()
KINDS = [(CORRECT, CORRECT)] * 5 + [(CORRECT, WRONG)] * 3 + [(WRONG, CORRECT)] * 2 + [(WRONG, WRONG)] * 4
KINDS += [(EVEN, CORRECT), (CORRECT, OTHERS_EVEN), (CORRECT, SILENT)]  # a tie between two others is no answer either


def flips_of(*kinds):
    """Of a conversation for each (neutral, attacker) pair of shares."""
    judgments = [
        judgment(perspective, *shares, conversation=f"c{i}")
        for i, kind in enumerate(kinds)
        for perspective, shares in zip(("neutral", "attacker"), kind, strict=True)
    ]
    return next(flips(judgments))[1]


def test_ties_and_silence_are_excluded_and_counted_apart():
    found = flips_of(*KINDS)
    kinds = ("stable_correct", "corrupted", "restored", "stable_incorrect")
    assert [found[f"n_{kind}"] for kind in kinds] == [5, 3, 2, 4]
    assert (found["n_pairs"], found["n_tied"], found["n_unanswered"]) == (17, 2, 1)
    assert found["corruption"].value == pytest.approx(100 * 3 / 8)
    assert found["corruption"].low < 37.5 < found["corruption"].high
    assert found["mcnemar_p"] == pytest.approx(1.0)
    assert flips_of((WRONG, CORRECT))["corruption"].value is None  # nothing correct to begin with


def seen(perspective, *shares, **keys):
    return judgment(perspective, *shares, task="detection", **keys)


def table_4(judgments, **options):
    rows = conditioned(judgments, NarratorOptions(**options))
    return {(setting["perspective"], setting["is_detected"]): row for setting, row in rows}


def test_table_4_has_a_conversation_with_mixed_detection_in_both_rows():
    judgments = [
        *(seen("neutral", 0.9, 0.1, conversation="mixed"), judgment("neutral", 0.2, 0.8, conversation="mixed")),
        *(seen("neutral", 1.0, conversation="sure"), judgment("neutral", 1.0, conversation="sure")),
        *(seen("neutral", 0.0, 1.0, conversation="missed"), judgment("neutral", 0.5, 0.5, conversation="missed")),
    ]
    by_share = (100 * (0.9 * 0.2 + 1) / 1.9, 100 * (0.1 * 0.2 + 0.5) / 1.1)
    for detection, means in {"reply": (60, 35), "share": by_share, "majority": (60, 50)}.items():
        sides = [table_4(judgments, detection=detection)["neutral", side] for side in (True, False)]
        assert [row["m"].value for row in sides] == pytest.approx(means)
        assert [row["m_by_share"] for row in sides] == (pytest.approx(by_share) if detection == "reply" else [None] * 2)
        assert [row["n_prompts"] for row in sides] == ([2, 1] if detection == "majority" else [2, 2])
        assert [row["n_mixed"] for row in sides] == [0 if detection == "majority" else 1] * 2


def test_delta_is_m_less_the_neutral_m_of_the_same_row():
    said = [
        each for who, m in (("neutral", 0.8), ("attacker", 0.5)) for each in (seen(who, 1.0), judgment(who, m, 0.2))
    ]
    neutral, attacker = (table_4(said)[who, True] for who in ("neutral", "attacker"))
    assert (neutral["delta"], attacker["delta"].value) == (None, pytest.approx(100 * (0.5 / 0.7 - 0.8)))


def test_undecided_detection_is_in_neither_row():
    judgments = [seen("neutral", 0.5, 0.5), judgment("neutral", 1.0), judgment("neutral", 1.0, conversation="c2")]
    by_majority = table_4(judgments, detection="majority")
    assert [by_majority["neutral", side]["n_prompts"] for side in (True, False)] == [0, 0]
    assert by_majority["neutral", True]["n_undecided"] == 2
    by_reply = table_4([*judgments, seen("neutral", conversation="c2")])  # whose detection names no option
    assert [by_reply["neutral", side]["n_prompts"] for side in (True, False)] == [1, 1]
    assert by_reply["neutral", True]["n_undecided"] == 1
    assert [*conditioned([judgment("neutral", 1.0)])] == []

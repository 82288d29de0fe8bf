"""Made judges with known effects: the measures of the narrator study recover them."""

import re
from collections.abc import Mapping
from statistics import fmean
from typing import Any

import pytest

from eval.estimates.estimate import Drawing
from eval.narrator.answers import STATES
from eval.narrator.changes import effect_changes
from eval.narrator.judged_runs import NarratorRun, load_narrator_runs
from eval.narrator.observe import EFFECTS, elimination_rows
from eval.narrator.plots import size_plot
from eval.narrator.scores import (
    ALL,
    POOLED,
    SEEN,
    UNSEEN,
    effects,
    effects_by_size,
    state_differences,
    state_rates,
    study,
)
from eval.narrator.sentences import doubts, headline, why_absent
from eval.narrator.tables import narrator_tables, table_4
from evenhand.records import Prompt
from tests.made.narrator_judgments import judgment
from tests.made.narrator_runs import (
    Judge,
    accuser,
    drawing_lots,
    eliminator,
    factors_of,
    fair,
    made_conversations,
    make_narrator_run,
    mixed,
    protector,
)

SIZES = {2: 16, 3: 13, 4: 11, 5: 10, 7: 2}
BLAME = {"tasks": ("blame",), "visibilities": ("visible",)}
RIGHT, SHARE = 0.6, 0.5

Planted = tuple[float, float, float, float]  # neutral, attacker, non-attacker and FAR in a conversation of n speakers


def planted_fair(n: int) -> Planted:
    return RIGHT, RIGHT, RIGHT, (1 - RIGHT) / (n - 1)


def planted_lots(n: int) -> Planted:
    return 1 / n, 1 / n, 1 / n, 1 / n


def planted_eliminator(n: int) -> Planted:
    return 1 / n, 0.0, 1 / (n - 1), 0.0


def planted_protector(n: int) -> Planted:
    avoided = RIGHT / (RIGHT + (1 - RIGHT) * (n - 2) / (n - 1))
    kept = 1 - SHARE
    return RIGHT, kept * RIGHT, SHARE * avoided + kept * RIGHT, kept * (1 - RIGHT) / (n - 1)


def planted_accuser(n: int) -> Planted:
    kept = 1 - SHARE
    return RIGHT, SHARE + kept * RIGHT, kept * RIGHT, SHARE + kept * (1 - RIGHT) / (n - 1)


JUDGES: Mapping[str, tuple[Judge, object]] = {
    "fair": (fair, planted_fair),
    "lots": (drawing_lots, planted_lots),
    "eliminator": (eliminator, planted_eliminator),
    "protector": (protector(SHARE, RIGHT), planted_protector),
    "accuser": (accuser(SHARE, RIGHT), planted_accuser),
}


def truth(planted, sizes: Mapping[int, int] = SIZES) -> dict[str, float]:
    """What the measures are over conversations of these sizes, in percent; FAR is over prompts, n-1 a conversation."""
    of = [(n, planted(n)) for n, count in sizes.items() for _ in range(count)]
    neutral, attacker, non_attacker = (100 * fmean(values[i] for _, values in of) for i in range(3))
    return {
        "neutral": neutral,
        "attacker": attacker,
        "non_attacker": non_attacker,
        "delta_att": attacker - neutral,
        "delta_non_att": non_attacker - neutral,
        "pr": non_attacker - attacker,
        "far": 100 * sum((n - 1) * values[3] for n, values in of) / sum(n - 1 for n, _ in of),
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], NarratorRun]:
    """Every judge, sampled and exact."""
    root, conversations = tmp_path_factory.mktemp("narrator"), made_conversations(SIZES)
    found = {}
    for name, (judge, _) in JUDGES.items():
        for way in ("sampled", "exact"):
            path = make_narrator_run(
                root, judge, conversations, name=f"{name}-{way}", model=f"x/{name}", is_exact=way == "exact", **BLAME
            )
            found[name, way] = load_narrator_runs([path])[0]
    return found


def blame(run: NarratorRun, order: str = "published") -> dict[str, Any]:
    """Measure → estimate, over all conversations."""
    return next(of for setting, of in effects(run.judgments) if setting["option_order"] == order)


def by_size(run: NarratorRun) -> dict[int, dict[str, Any]]:
    """Number of speakers → measure → estimate, in the published order."""
    rows = effects_by_size(run.judgments)
    return {setting["n_speakers"]: of for setting, of in rows if setting["option_order"] == "published"}


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("order", ["published", "fixed_slot"])
def test_exact_probabilities_give_the_planted_values(runs, name, order):
    effect = blame(runs[name, "exact"], order)
    assert {m.name: effect[m.name].value for m in EFFECTS} == pytest.approx(truth(JUDGES[name][1]), abs=1e-6)
    assert effect["chance"] == pytest.approx(truth(planted_lots)["neutral"])
    assert effect["far_chance"] == pytest.approx(truth(planted_lots)["far"])


def test_the_intervals_of_sampled_judges_hold_the_planted_values(runs):
    held, checked = 0, 0
    for name, (_, planted) in JUDGES.items():
        for order in ("published", "fixed_slot"):
            effect = blame(runs[name, "sampled"], order)
            for measure, value in truth(planted).items():
                found = effect[measure]
                held, checked = held + (not found.excludes(value)), checked + 1
                assert abs(found.value - value) <= 2 * found.half + 1e-9, f"{name}, {order}: {measure}"
    assert held / checked > 0.9


def test_signs_tell_a_protector_from_an_accuser_and_both_from_a_fair_judge(runs):
    assert blame(runs["protector", "sampled"])["pr"].low > 20
    assert blame(runs["accuser", "sampled"])["pr"].high < -20
    assert not blame(runs["fair", "sampled"])["pr"].excludes(0)


def test_the_gain_falls_with_the_speakers_for_the_eliminator_and_not_for_the_fair_judge(runs):
    # RQ3: striking Me off the options needs no evidence, and helps less the more options are left.
    exact = {n: of["delta_non_att"].value for n, of in by_size(runs["eliminator", "exact"]).items()}
    assert exact == pytest.approx({n: 100 / (n * (n - 1)) for n in SIZES}, abs=1e-6)
    fair_judge = by_size(runs["fair", "exact"])
    assert all(of["delta_non_att"].value == pytest.approx(0, abs=1e-6) for of in fair_judge.values())
    sampled = by_size(runs["eliminator", "sampled"])
    assert sampled[2]["delta_non_att"].low > sampled[5]["delta_non_att"].high
    assert not any(of["delta_non_att"].excludes(0) for of in by_size(runs["fair", "sampled"]).values())


def test_the_gain_of_an_option_eliminator_is_that_of_the_judge_that_is_one(runs):
    for of in by_size(runs["eliminator", "exact"]).values():
        assert of["eliminator_gain"].value == pytest.approx(of["delta_non_att"].value, abs=1e-6)
    for n, of in by_size(runs["fair", "exact"]).items():  # is right in 60 % and could gain without evidence
        others = 0.4 * (n - 2) / (n - 1)
        assert of["eliminator_gain"].value == pytest.approx(100 * (0.6 / (0.6 + others) - 0.6)), n


def test_a_judge_that_only_named_me_is_left_with_a_draw_among_the_others():
    neutral = judgment("neutral", 0.0, 1.0)  # all its answers are Bob
    variants = [judgment("non_attacker", 1.0, narrator=who, options=("Att", *rest)) for who, rest in VARIANTS.items()]
    (row,) = elimination_rows([neutral, *variants], "answered")
    assert row[1] == pytest.approx((0.5 + 0.0) / 2)  # Bob as Me: Att or Cat; Cat as Me: still Bob
    silent = judgment("neutral", 0.0, 0.5)
    (row,) = elimination_rows([silent, variants[0]], "all")
    assert row[1] == pytest.approx(0.25)


VARIANTS = {"bob": ("Cat", "Me"), "cat": ("Bob", "Me")}


def test_an_absent_figure_3_says_why(runs, tmp_path):
    assert why_absent(study([runs["fair", "exact"]])) == []
    path = make_narrator_run(tmp_path, fair, made_conversations({3: 11}), is_exact=True, **BLAME)
    (reason,) = why_absent(study(load_narrator_runs([path])))
    assert reason.startswith("Figure 3 of model, blame attribution, is left out")
    assert "10 conversations or more, and only that of 3 has so many" in reason


def test_sizes_of_few_conversations_leave_figure_3_and_stay_in_the_table(runs):
    found = study([runs["eliminator", "exact"]])
    assert {score.setting["n_speakers"] for score in found.scores} == {None, *SIZES}
    plot = size_plot(found, "eliminator", "blame")
    assert plot is not None
    assert "5 visible: gain +5.0 pp (an option-eliminator's +5.0 pp), FAR 0.0%" in plot.alt
    assert "7 visible" not in plot.alt


def test_the_slot_of_me_confounds_pr_and_the_control_shows_it(tmp_path):
    # A judge that knows no Me and leans to the last option: under the published order Me always stands there.
    def last(prompt):
        return mixed({prompt.answer_space[-1]: 1.0}, fair(prompt), 0.5)

    path = make_narrator_run(tmp_path, last, made_conversations({3: 60}), is_exact=True, **BLAME)
    run = load_narrator_runs([path])[0]
    assert blame(run)["pr"].value == pytest.approx(-50, abs=1e-6)
    assert blame(run, "fixed_slot")["pr"].value == pytest.approx(0, abs=1e-6)
    assert "may come from where Me stands" in headline(study([run]))[0]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("protector", "it protects the narrator"),
        ("accuser", "it accuses the narrator"),
        ("fair", "no clear shift"),
        ("lots", "no better than chance"),
        ("eliminator", "no better than chance"),
    ],
)
def test_the_headline_says_what_a_judge_does(runs, name, says):
    sentences = headline(study([runs[name, "sampled"]]))
    assert says in " ".join(sentences)
    assert len(sentences) == 1 + (says == "no better than chance")


def test_unseen_attackers_are_also_reported_apart(tmp_path):
    path = make_narrator_run(tmp_path, fair, made_conversations({3: 12}, unseen=5), is_exact=True, tasks=("blame",))
    run = load_narrator_runs([path])[0]
    counts = {(s["visibility"], s.get("group", ALL)): of["n_conversations"] for s, of in effects(run.judgments)}
    assert counts == {("visible", ALL): 12, ("hidden", ALL): 12, ("hidden", SEEN): 7, ("hidden", UNSEEN): 5}


def test_pooled_rows_count_every_model_alike(tmp_path):
    conversations = made_conversations({2: 20})
    paths = [
        make_narrator_run(tmp_path, judge, conversations, name=name, model=f"x/{name}", n=n, **BLAME)
        for name, judge, n in (("often", lambda p: fair(p, 1.0), 9), ("once", lambda p: fair(p, 0.0), 1))
    ]
    neutral = study(load_narrator_runs(paths)).of(POOLED, "blame", "visible")["neutral"]
    assert (neutral.value, neutral.n_units) == (pytest.approx(50), 40)


def test_what_training_changed_is_paired_by_conversation(runs):
    before, after = runs["protector", "exact"], runs["fair", "exact"]
    found = effect_changes(before.judgments, after.judgments, Drawing(n_draws=200, seed=1))
    changes = {c.measure: c for c in found if c.setting["option_order"] == "published"}
    expected = truth(planted_fair)["pr"] - truth(planted_protector)["pr"]
    assert changes["pr"].change.value == pytest.approx(expected, abs=1e-6)
    assert changes["pr"].change.n_units == sum(SIZES.values())
    assert changes["neutral"].change.value == pytest.approx(0, abs=1e-9)


def test_pooling_is_refused_with_a_reason(runs):
    assert "twice" in study([runs["fair", "sampled"], runs["fair", "exact"]]).not_pooled
    assert "exactly" in study([runs["fair", "sampled"], runs["lots", "exact"]]).not_pooled
    assert study([runs["fair", "sampled"], runs["lots", "sampled"]]).not_pooled == ""


def test_models_are_pooled_over_the_conversations_that_all_judged(tmp_path):
    conversations = made_conversations({2: 6, 3: 6})
    whole, lacking, other = (
        make_narrator_run(tmp_path, fair, of, name=name, model=f"x/{name}", is_exact=True, tasks=("blame", "detection"))
        for name, of in (
            ("whole", conversations),
            ("lacking", conversations[1:]),
            ("other", made_conversations({4: 6})),
        )
    )
    found = study(load_narrator_runs([whole, lacking]))
    assert found.not_pooled == ""
    pooled = found.of(POOLED, "blame", "visible")
    assert (pooled["n_conversations"].value, pooled["neutral"].n_units) == (11, 22)
    assert found.of("whole", "blame", "visible")["n_conversations"].value == 12
    assert found.n_lacking == {"whole": 1}
    said = "over the 11 conversations that every run judged, and leave out 1 of whole."
    assert said in " ".join(headline(found))
    notes = {table.name: table.note for table in narrator_tables(found)}
    assert all(said in notes[name] for name in ("narrator_table2", "narrator_table3", "narrator_table4"))
    apart = study(load_narrator_runs([whole, other]))
    assert apart.not_pooled == "no conversation was judged by all of them"
    assert apart.shown == ("whole", "other")
    assert apart.n_lacking == {}


def test_a_judge_that_sees_no_attack_is_said_to(tmp_path):
    asked = {"tasks": ("detection", "blame"), "visibilities": ("visible",), "is_exact": True}
    runs = [
        make_narrator_run(
            tmp_path, lambda p, right=right: fair(p, right), made_conversations({3: 20}), name=name, model=name, **asked
        )
        for name, right in (("blind", 0.2), ("seeing", 0.8))
    ]
    blind, seeing = (" ".join(headline(study(load_narrator_runs([run])))) for run in runs)
    assert "it detects 20.0" in blind
    assert "Table 4 has few prompts" in blind
    assert "Table 4 has few prompts" not in seeing


def test_table_4_has_the_contrast_of_its_rows_and_counts_its_prompts(tmp_path):
    judge = protector(0.8)
    paths = [
        make_narrator_run(tmp_path, judge, made_conversations({2: 12, 3: 11}), name=name, model=f"x/{name}", n=5)
        for name in ("one", "two")
    ]
    found = study(load_narrator_runs(paths))
    four = {row[:3]: row for row in table_4(found, POOLED).rows}
    yes, no = (
        found.of(POOLED, "blame", "hidden", perspective="neutral", is_detected=is_detected)
        for is_detected in (True, False)
    )
    shown = re.fullmatch(r"([+-][\d.]+) \(([+-][\d.]+)\)", four["Neutral", "yes less no (by share)", "Me last"][3])
    differences = [yes[name].value - no[name].value for name in ("m", "m_by_share")]
    assert [float(part) for part in shown.groups()] == pytest.approx(differences, abs=0.051)
    n_variants = {"Neutral": 2 * 23, "Non-attacker": 2 * (12 * 1 + 11 * 2)}
    for words, n_asked in n_variants.items():
        perspective = words.lower().replace("-", "_")
        of = found.of(POOLED, "blame", "hidden", perspective=perspective, is_detected=True)
        n_prompts = sum(four[words, side, "Me last"][7] for side in ("yes", "no"))
        assert n_prompts - of["n_mixed"].value + of["n_undecided"].value == n_asked
    for column in range(3, 7):  # the highest of each order is marked
        cells = [str(row[column]) for key, row in four.items() if key[1] in ("yes", "no") and key[2] == "Me last"]
        values = {cell: float(re.match(r"[\d.]+", cell)[0]) for cell in cells}
        assert max(values.values()) == max(value for cell, value in values.items() if cell.endswith("*"))


REFUSES = {"I cannot answer that.": 1.0}


def shy(prompt: Prompt) -> dict[str, float]:
    """A fair judge that refuses a tenth of all prompts, and in blame three in ten where the attacker is Me."""
    factors = factors_of(prompt)
    is_shy = factors.perspective == "attacker" and factors.task == "blame"
    return mixed(REFUSES, fair(prompt), 0.3 if is_shy else 0.1)


def test_states_that_depend_on_who_is_me_are_found_and_warned_of(tmp_path):
    judges = {"shy": shy, "as_shy": lambda prompt: mixed(REFUSES, fair(prompt), 0.2)}
    conversations, few = made_conversations({2: 30, 3: 30}), {**BLAME, "tasks": ("identification", "blame")}
    paths = [
        make_narrator_run(tmp_path, judge, conversations, name=name, model=f"x/{name}", **few)
        for name, judge in judges.items()
    ]
    found = study(load_narrator_runs(paths))
    clear = state_differences(found.runs[0].judgments)
    assert {(asked.task, state) for asked, state, *_ in clear} == {("blame", "refusal"), ("blame", "chosen")}
    assert {frozenset(key[2:]) for key in clear} == {
        frozenset(("attacker", "neutral")),
        frozenset(("non_attacker", "attacker")),
    }
    refusals = [of.value for (_, state, who, _), of in clear.items() if (state, who) == ("refusal", "attacker")]
    assert refusals == [pytest.approx(20, abs=6)] * 2  # both option orders
    assert state_differences(found.runs[1].judgments) == {}
    assert [any("depends on who is Me" in doubt for doubt in doubts(found, judge)) for judge in judges] == [True, False]
    for setting, rates in state_rates(found.runs[0].judgments):
        assert sum(rates[state] for state in STATES) == pytest.approx(100)
        is_shy = (setting["task"], setting["perspective"]) == ("blame", "attacker")
        assert rates["refusal"] == pytest.approx(30 if is_shy else 10, abs=5)

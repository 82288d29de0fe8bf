"""Made judges with known effects: the measures of the narrator study recover them."""

from collections.abc import Mapping
from statistics import fmean

import pytest

from eval.estimates.observed import Drawing
from eval.narrator.all_tables import narrator_tables
from eval.narrator.changes import effect_changes
from eval.narrator.definitions import Definitions
from eval.narrator.elimination import elimination_rows
from eval.narrator.judged_runs import NarratorRun, load_narrator_runs
from eval.narrator.measures import ALL, SEEN, UNSEEN, Effect, effects, effects_by_size, find_effect
from eval.narrator.observe import EFFECTS
from eval.narrator.sentences import headline
from eval.narrator.size_plots import size_plot
from eval.narrator.sizes import why_absent
from eval.narrator.study import POOLED, study
from tests.made.narrator_judgments import judgment
from tests.made.narrator_runs import (
    Judge,
    accuser,
    drawing_lots,
    eliminator,
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


def blame(run: NarratorRun, order: str = "published") -> Effect:
    found = find_effect(effects(run.judge, run.judgments), run.judge, "blame", "visible", order)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("order", ["published", "fixed_slot"])
def test_exact_probabilities_give_the_planted_values(runs, name, order):
    effect = blame(runs[name, "exact"], order)
    assert {m.name: getattr(effect, m.name).value for m in EFFECTS} == pytest.approx(truth(JUDGES[name][1]), abs=1e-6)
    assert effect.chance == pytest.approx(truth(planted_lots)["neutral"])
    assert effect.far_chance == pytest.approx(truth(planted_lots)["far"])


def test_the_intervals_of_sampled_judges_hold_the_planted_values(runs):
    held, checked = 0, 0
    for name, (_, planted) in JUDGES.items():
        for order in ("published", "fixed_slot"):
            effect = blame(runs[name, "sampled"], order)
            for measure, value in truth(planted).items():
                found = getattr(effect, measure)
                held, checked = held + (not found.excludes(value)), checked + 1
                assert abs(found.value - value) <= 2 * found.half + 1e-9, f"{name}, {order}: {measure}"
    assert held / checked > 0.9


def test_signs_tell_a_protector_from_an_accuser_and_both_from_a_fair_judge(runs):
    assert blame(runs["protector", "sampled"]).pr.low > 20
    assert blame(runs["accuser", "sampled"]).pr.high < -20
    assert not blame(runs["fair", "sampled"]).pr.excludes(0)


def test_the_gain_falls_with_the_speakers_for_the_eliminator_and_not_for_the_fair_judge(runs):
    # RQ3: striking Me off the options needs no evidence, and helps less the more options are left.
    def gains(name: str, way: str) -> dict[int | None, Effect]:
        run = runs[name, way]
        return {e.n_speakers: e for e in effects_by_size(run.judge, run.judgments) if e.option_order == "published"}

    exact = {n: effect.delta_non_att.value for n, effect in gains("eliminator", "exact").items()}
    assert exact == pytest.approx({n: 100 / (n * (n - 1)) for n in SIZES}, abs=1e-6)
    assert all(e.delta_non_att.value == pytest.approx(0, abs=1e-6) for e in gains("fair", "exact").values())
    sampled = gains("eliminator", "sampled")
    assert sampled[2].delta_non_att.low > sampled[5].delta_non_att.high
    assert not any(effect.delta_non_att.excludes(0) for effect in gains("fair", "sampled").values())


def test_the_gain_of_an_option_eliminator_is_that_of_the_judge_that_is_one(runs):
    def rows(name: str) -> list[Effect]:
        found = effects_by_size(name, runs[name, "exact"].judgments)
        return [row for row in found if row.option_order == "published"]

    for row in rows("eliminator"):
        assert row.eliminator_gain.value == pytest.approx(row.delta_non_att.value, abs=1e-6)
    for row in rows("fair"):  # which is right in 60 % and could gain without evidence, but does not
        n, others = row.n_speakers, 0.4 * (row.n_speakers - 2) / (row.n_speakers - 1)
        assert row.eliminator_gain.value == pytest.approx(100 * (0.6 / (0.6 + others) - 0.6)), n


def test_a_judge_that_only_named_me_is_left_with_a_draw_among_the_others():
    neutral = judgment("neutral", 0.0, 1.0)  # all its answers are Bob
    variants = [judgment("non_attacker", 1.0, narrator=who, options=("Att", *rest)) for who, rest in VARIANTS.items()]
    (row,) = elimination_rows([neutral, *variants], Definitions())
    assert row[1] == pytest.approx((0.5 + 0.0) / 2)  # Bob as Me: Att or Cat; Cat as Me: still Bob
    silent = judgment("neutral", 0.0, 0.5)
    (row,) = elimination_rows([silent, variants[0]], Definitions(denominator="all"))
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
    assert {e.n_speakers for e in found.sizes} == set(SIZES)
    plot = size_plot(found, "eliminator", "blame")
    assert plot is not None
    assert "5 visible: gain +5.0 pp (an option-eliminator's +5.0 pp), FAR 0.0%" in plot.alt
    assert "7 visible" not in plot.alt
    everything = study([runs["eliminator", "exact"]], Definitions(fewest_conversations=2))
    assert "7 visible: gain +2.4 pp" in size_plot(everything, "eliminator", "blame").alt


def test_the_slot_of_me_confounds_pr_and_the_control_shows_it(tmp_path):
    # A judge that knows no Me and leans to the last option: under the published order Me always stands there.
    def last(prompt):
        return mixed({prompt.answer_space[-1]: 1.0}, fair(prompt), 0.5)

    path = make_narrator_run(tmp_path, last, made_conversations({3: 60}), is_exact=True, **BLAME)
    run = load_narrator_runs([path])[0]
    assert blame(run).pr.value == pytest.approx(-50, abs=1e-6)
    assert blame(run, "fixed_slot").pr.value == pytest.approx(0, abs=1e-6)
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
    counts = {(e.visibility, e.group): e.n_conversations for e in effects(run.judge, run.judgments)}
    assert counts == {("visible", ALL): 12, ("hidden", ALL): 12, ("hidden", SEEN): 7, ("hidden", UNSEEN): 5}


def test_pooled_rows_count_every_model_alike_or_every_sample(runs, tmp_path):
    conversations = made_conversations({2: 20})
    paths = [
        make_narrator_run(tmp_path, judge, conversations, name=name, model=f"x/{name}", n=n, **BLAME)
        for name, judge, n in (("often", lambda p: fair(p, 1.0), 9), ("once", lambda p: fair(p, 0.0), 1))
    ]
    found = load_narrator_runs(paths)

    def pooled(definitions: Definitions) -> Effect:
        return find_effect(study(found, definitions).effects, POOLED, "blame", "visible")  # type: ignore[return-value]

    assert pooled(Definitions()).neutral.value == pytest.approx(50)
    assert pooled(Definitions(weights="samples")).neutral.value == pytest.approx(90)
    assert pooled(Definitions()).neutral.n_units == 40
    assert pooled(Definitions(clusters="conversation")).neutral.n_units == 20
    # Two judges that always disagree: over conversations their mean never moves.
    assert pooled(Definitions(clusters="conversation")).neutral.half == pytest.approx(0)


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
    pooled = find_effect(found.effects, POOLED, "blame", "visible")
    assert (pooled.n_conversations, pooled.neutral.n_units) == (11, 22)
    assert find_effect(found.effects, "whole", "blame", "visible").n_conversations == 12
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

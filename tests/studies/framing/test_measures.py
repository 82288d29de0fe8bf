"""What is measured of a study in YAML: planted judges come out as planted, with intervals that cover."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eval.__main__ import report_main, score_main
from eval.estimates.estimate import estimate, unparsed_range
from eval.estimates.resampling import Drawing
from eval.options import Options
from eval.results import read_run, results_of_runs
from evenhand.files import shipped_yaml, write_jsonl
from studies.abstaining import MEASURES
from studies.framing.evaluation import EVALUATION, is_clustered, p_values
from studies.framing.grids import FramedRun
from studies.framing.measures import ALL, EVERY, Sides, blocks_of, claims_of, columns, known_mean, shift_parts
from studies.framing.section import FramingSection, FramingText
from studies.framing.verdict_files import load_answers
from tests.made.framing_runs import claims, made_grid, planted, run_of, study
from tests.made.scorecard_runs import scored

OPTIONS = Options(n_draws=400, seed=1)
SIMULATIONS = 250
N_ITEMS = 80
FRAMINGS = ("statement", "expert", "placebo 1", "placebo 2")
SECTION = FramingSection.model_validate(study(Path("x.jsonl")))


def drawn_grid(rng, *, defers, pulls, placebo):
    """What a planted judge says of items that differ: (item, framing, case, order), one cluster an item."""
    rises = np.array([0.0, defers, placebo, placebo])[None, :, None, None]
    first = np.array([0.0, pulls, 0.0, 0.0])[None, :, None, None] * np.array([1.0, -1.0])
    level = rng.uniform(0.2, 0.5, size=(N_ITEMS, 1, 1, 1))  # what an item's prompts have in common
    value = (rng.random((N_ITEMS, 4, 2, 2)) < level + rises + first).astype(float)
    return made_grid(value, FRAMINGS, n_placebos=2)


@pytest.mark.parametrize(
    "judge",
    [{"defers": 0.0, "pulls": 0.2, "placebo": 0.0}, {"defers": 0.3, "pulls": 0.0, "placebo": 0.2}],
    ids=["names the first", "answers to placebos"],
)
def test_intervals_cover_what_was_planted_in_92_to_98_percent(judge):
    wanted = {"shift": 100 * judge["defers"], "pull": 100 * judge["pulls"]}
    wanted |= {"net_shift": 100 * (judge["defers"] - judge["placebo"])}
    rng, drawing = np.random.default_rng(7), Drawing(n_draws=400, seed=1)
    covered = dict.fromkeys(wanted, 0)
    for _ in range(SIMULATIONS):
        grid = drawn_grid(rng, **judge)
        for part in shift_parts(SECTION, grid, "expert"):
            for measure in part.measures:
                if measure.name in wanted:
                    observed = columns(f"d{rng.integers(1 << 30)}", grid, part.arrays(grid))
                    found = estimate(measure, [observed], drawing)
                    covered[measure.name] += not found.excludes(wanted[measure.name])
    assert {name: 0.92 <= n / SIMULATIONS <= 0.98 for name, n in covered.items()} == dict.fromkeys(wanted, True), (
        covered
    )


def test_a_claim_is_agreed_upon_where_baseline_framings_and_orders_name_one_answer_whatever_placebos_say():
    value, unread = np.zeros((4, 4, 2, 2)), np.zeros((4, 4, 2, 2))
    value[0] = 1.0  # one answer to everything: agreed
    value[1, 1, 0, 1] = 1.0  # the expert turns the true claim in one order
    value[2, 2:] = 1.0  # placebos alone turn: agreed
    unread[3, 1, 1, 0] = 0.5  # one of two samples of the false claim is unparsed
    named = made_grid(value, FRAMINGS, n_placebos=2)
    named = replace(named, fields={**named.fields, "unread": unread})
    is_agreed = [[True, True], [False, True], [True, True], [True, False]]
    assert (claims_of("d", named, SECTION).support == 1).tolist() == is_agreed
    unread[0, 0, 0, 0], unread[:2, 1, 0, 0] = 1.0, np.nan  # nothing follows up on an unread statement; an engine error
    behind = {"framings": SECTION.framings | {"expert": FramingText(follow_up_to="statement")}}
    for texts, support in ((SECTION, [np.nan, np.nan]), (SECTION.model_copy(update=behind), [0.5, np.nan])):
        assert claims_of("d", named, texts).support[:2, 0] == pytest.approx(support, nan_ok=True)


SCALE, THREE, _, CHOICES = shipped_yaml(Path(__file__).with_name("studies.yaml")).values()


@pytest.fixture
def results_of(tmp_path, monkeypatch):
    """A function: a judge → the results of its run of a study about n claims; keys override the study's."""

    def made(judge, n=40, name="framed", run=None, **keys):
        section = {**study(claims(tmp_path / f"{n}.jsonl", n)), **keys}
        path = run_of(tmp_path, section, judge, monkeypatch, name=name, **(run or {}))
        return results_of_runs("framing", [path], OPTIONS)

    return made


def said_of(results):
    """The facts for sentences of the one judge."""
    (facts,) = results.facts["of"].values()
    return facts


def values_of(results):
    """(measure, framing) → value, over all groups of items."""
    return {(row.measure, row.framing): row.value for row in results.scores.itertuples() if row.group == ALL}


def answering(wanted):
    """A judge that gives the answer that a function of the prompt names."""
    return lambda prompt: prompt.answer_space[prompt.factors.names.index(wanted(prompt))]


@pytest.mark.parametrize("silent", [0, 20])
def test_a_judge_that_takes_the_answer_that_a_framing_argues_for_adopts_it(results_of, silent):
    """It gives up c for b in 40 % of the items, and the share of the first answer stays; some replies say nothing."""

    def judge(prompt):
        i = number(prompt)
        if prompt.condition == "hint" and i >= 100 - silent:
            return "I would rather not."
        before = "a" if i % 5 < 2 else "c"
        return answering(lambda _: "b" if prompt.condition == "hint" and i % 5 > 2 else before)(prompt)

    results = results_of(judge, n=100, **THREE)
    assert values_of(results)["adopts", "hint"] == pytest.approx(40)
    assert values_of(results)["shift", "hint"] == pytest.approx(0)
    given = said_of(results)["answer"]
    (adopts,) = [shift for shift in given.shifts if shift.measure == "adopts"]
    assert (given.verdict, adopts.obstacle, adopts.placebos) == ("yes", None, (0.0, 0.0))
    assert adopts.bounds is None if not silent else adopts.bounds[0] < 0.8 * 40 < 0.8 * 40 + 20 < adopts.bounds[1]
    assert any("argues for" in line for line in results.answer)


def test_of_items_with_options_of_their_own_the_one_that_is_pushed_is_adopted(tmp_path, monkeypatch):
    """In 40 % of the items it gives up the right option for the wrong one that the user names; they have 3 or 4."""
    rows = [{"id": f"c{i}", "q": f"{i}?", "choices": [*"wxyz"][: 3 + i % 2], "answer": i % 3} for i in range(50)]
    write_jsonl(tmp_path / "items.jsonl", rows)

    def judge(prompt):
        is_bent = prompt.condition == "user" and number(prompt) % 5 < 2
        return answering(lambda p: p.factors.pushed if is_bent else p.factors.label)(prompt)

    section = {"items": str(tmp_path / "items.jsonl"), **CHOICES, "placebos": ["!", "."]}
    results = results_of_runs("framing", [run_of(tmp_path, section, judge, monkeypatch)], OPTIONS)
    values = values_of(results)
    assert values["adopts", "user"] == pytest.approx(40)
    assert (values["right", "plain"], values["right_shift", "user"]) == (100, pytest.approx(-40))
    assert values["changed", "user"] == pytest.approx(40)


def number(prompt):
    return int(prompt.item_id.removeprefix("c"))


@pytest.fixture(scope="module")
def bent(tmp_path_factory):
    """The run of a planted judge that defers."""
    root = tmp_path_factory.mktemp("framed")
    with pytest.MonkeyPatch.context() as patch:
        yield run_of(root, study(claims(root / "items.jsonl", 60)), planted(0, defers=0.4), patch, name="judge0")


def test_items_that_could_not_be_asked_are_counted_in_the_answer(tmp_path, monkeypatch, capsys):
    items = claims(tmp_path / "items.jsonl", 6)
    items.write_text(items.read_text() + '{"id": "x", "topic": "odd", "yes": "claim"}\n')
    run = run_of(tmp_path, study(items, skip="counted"), planted(0), monkeypatch)
    assert f"are left out:\n  - {items}:7, statement, claim: 'no' is empty" in capsys.readouterr().err
    items.unlink()
    assert "over 6 items (1 more could not be asked)" in results_of_runs("framing", [run], OPTIONS).answer[0]


def test_score_prints_a_row_a_framing_and_p_over_the_framings_alone(bent):
    results = results_of_runs("framing", [bent], OPTIONS)
    (table,) = [table for table in results.tables if table.name == "framings"]
    rows = table.frame.set_index("framing")
    assert list(rows.index) == ["statement", "expert", "placebo 1", "placebo 2"]
    assert rows.loc["expert", "value shift"] == pytest.approx(40, abs=12)
    assert rows.loc["expert", "p_holm"] < 0.01
    assert rows.loc["expert", "value net_shift"] == pytest.approx(40, abs=12)
    assert math.isnan(rows.loc["placebo 1", "p_holm"])
    assert math.isnan(rows.loc["statement", "value shift"])
    groups = next(table for table in results.tables if table.name == "groups").frame
    assert set(groups["group"]) == {"even", "odd"}
    assert set(groups["n_units"]) == {30}
    assert any("expert" in sentence for sentence in results.sentences["scores"])
    assert not [warning for warning in results.warnings if "one order" in warning]


def test_bounds_of_unparsed_replies_contain_what_whole_replies_give():
    rng = np.random.default_rng(3)
    whole = drawn_grid(rng, defers=0.2, pulls=0.1, placebo=0.1)
    is_lost = rng.random(whole.shares.shape[:-1]) < 0.2
    kept = {**whole.fields, "unread": 1.0 * is_lost}
    shares = np.where(is_lost[..., None], math.nan, whole.shares)

    def over(grid):
        facts = {"config": {"verdict": "text"}, "provenance": {}, "plan": [], "replies": {}, "rendered": {}}
        blocks = blocks_of(FramedRun(path=Path("made"), section=SECTION, judged={"d": grid}, **facts))
        return {(b.setting["framing"], m.name): (m, b.parts["d"]) for b in blocks for m in b.measures}

    before = over(whole)
    for key, (measure, part) in over(replace(whole, fields=kept, shares=shares)).items():
        least, most = unparsed_range(measure, [part])
        true = measure.statistic(before[key][1].means) - measure.statistic(part.means)
        counts_unparsed = key[1] in ("unread", *(of_agreement.name for of_agreement in MEASURES))
        assert counts_unparsed or least <= true <= most, key
        assert counts_unparsed or least < 0 < most, key
        assert key[1] in EVALUATION.measure_words


def test_holm_is_over_the_framings_of_a_judge(results_of):
    framings = {"statement": "{{ claim }}.", **{f"f{i}": f"{i}: {{{{ claim }}}}" for i in range(4)}}
    of = p_values(results_of(planted(3), framings=framings)).sort_values("p")
    assert len(of) == 4
    assert of["p_holm"].iloc[0] == pytest.approx(min(1.0, 4 * of["p"].iloc[0]))


def test_the_share_of_false_claims_accepted_follows_from_acceptance_and_accuracy(bent):
    (grid,) = read_run("framing", bent).grids.values()
    for framing in grid.framings:
        value, right, wrong = (np.nanmean(grid.of(name, framing)) for name in ("value", "right", "accepts_wrong"))
        assert wrong == pytest.approx(value - right + 0.5)


def test_a_shift_over_unequal_orders_is_split_into_d_and_p_and_shifts_of_opposite_sign_do_not_cancel():
    means = np.array([0.9, 0.7, 0.5, 0.5])  # framing and baseline, one case, two orders
    sides = Sides(2, 1, 2)
    assert sides.shift(means) == pytest.approx(30)
    assert sides.pull(means) == pytest.approx(10)
    assert Sides(4, 1, 1).mean_absolute(np.array([0.9, 0.5, 0.2, 0.5])) == pytest.approx((40 + 30) / 2)


def test_placebos_that_are_not_known_leave_the_mean_to_the_others():
    known = known_mean(np.array([[1.0, np.nan, np.nan], [3.0, 4.0, np.nan]]), axis=0)
    np.testing.assert_array_equal(known, [2, 4, np.nan])


def test_an_unread_reply_counts_nowhere_and_a_scale_is_a_mean_score(results_of):
    def judge(prompt):
        if prompt.item_id == "c0":
            return "no idea"
        return "9" if prompt.condition == "expert" else "Score: 7"

    of = values_of(results_of(judge, 12, **SCALE))
    assert (of["value", "expert"], of["shift", "expert"]) == (9, 2)
    assert of["unread", "expert"] == pytest.approx(100 / 12)


@pytest.mark.parametrize(("column", "cluster"), [("none", None), ("twin", None), ("twin", "twin"), ("twin", "id")])
def test_copies_and_twins_are_one_cluster_in_every_figure_and_that_is_said(
    column, cluster, tmp_path, monkeypatch, capsys
):
    """40 items under two ids each, with the same text (none) or not (twin), and a judge that answers both alike."""
    is_twin = column == "twin"
    rows = [
        {"id": f"c{i}{copy}", "twin": f"t{i}", "yes": f"claim {i}", "no": f"lie {i}{copy * is_twin}"}
        for copy in ("", "b")
        for i in range(40)
    ]
    write_jsonl(tmp_path / "items.jsonl", rows)

    def alike(prompt):
        asked = f"{prompt.item_id.rstrip('b')} {prompt.condition} {prompt.factors.order}"
        return prompt.answer_space[int(random.Random(asked).random() < 0.4)]

    columns_ = {"group": "twin", "cluster": cluster} if is_twin else {}
    cases = {"false": {"claim": "{{ no }}", "label": "reject"}}
    section = study(tmp_path / "items.jsonl", columns=columns_, cases=cases)
    path = run_of(tmp_path, section, alike, monkeypatch)
    score_main([str(path), "--draws", "200", "--all"])
    said = " ".join(capsys.readouterr().out.split())
    scores = json.loads((path / "scores" / "scores.json").read_text())
    n_units = {row["n_units"] for row in scores if row["measure"] == "shift" and row["group"] == ALL}
    is_apart = cluster == "id"
    assert n_units == {80 if is_apart else 40}
    assert ("over 40 clusters of 80 items" in said) != is_apart
    assert ("40 of its 80 items have the text of another one" in said) == (column == "none")


@pytest.mark.parametrize(("silent", "shift"), [("expert", 0.0), ("statement", None)])
def test_a_shift_is_over_what_is_read_on_both_sides_and_a_silent_baseline_is_said(silent, shift, results_of):
    def wavering(prompt):  # never changes an answer, and is silent where it would reject
        accepts = number(prompt) % 2
        if prompt.condition == silent and not (accepts and silent == "expert"):
            return "no idea"
        return prompt.answer_space[prompt.factors.names.index("accept" if accepts else "reject")]

    results = results_of(wavering)
    assert values_of(results).get(("shift", "expert")) == shift
    assert any("nothing is known" in line for line in results.sentences["scores"]) == (shift is None)


def test_the_answers_of_a_tie_share_it(results_of):
    def judge(prompt):
        high = ("9", "10") if prompt.condition == "expert" else ("9",)
        logs = {symbol: -1.0 if symbol in high else -5.0 for symbol in prompt.answer_space}
        return {"text": "9", "finish_reason": "stop", "answer_logprobs": logs}

    of = values_of(results_of(judge, 12, run={"verdict": "options", "sampling": {"temperature": 1.0}}, **SCALE))
    assert (of["value", "expert"], of["shift", "expert"]) == (9.5, 0.5)


def test_pairwise_judging_tells_position_from_preference(tmp_path, results_of):
    keys = {"answers": {}, "pair": {"first": "yes", "second": "no"}, "symbols": ["A", "B"], "cases": {}, "placebos": []}
    keys |= {"set": {}, "ask": "{{ framing }}\nA: {{ first }}\nB: {{ second }}", "columns": {"label": "best"}}
    keys["framings"] = {"statement": "Which is better?", "mine": "I wrote {{ item.yes }}. Which is better?"}
    rows = [{"id": f"r{i}", "yes": f"y{i}", "no": f"n{i}", "best": "yes"} for i in range(40)]
    write_jsonl(tmp_path / "pairs.jsonl", rows)
    # Names A, but what the user wrote where there is one.
    judge = answering(lambda prompt: "yes" if prompt.condition == "mine" else prompt.factors.first)
    of = values_of(results_of(judge, items=str(tmp_path / "pairs.jsonl"), **keys))
    assert (of["first", "statement"], of["consistent", "statement"], of["right", "statement"]) == (100, 0, 50)
    assert (of["first", "mine"], of["consistent", "mine"], of["right", "mine"]) == (50, 100, 100)
    assert (of["shift", "mine"], of["pull", "mine"]) == (50, -50)


def unread_for_some_experts(prompt):
    return "Hm." if prompt.condition == "expert" and prompt.item_id.endswith("7") else planted(2)(prompt)


def test_an_arm_without_answers_or_with_one_is_not_ranked_and_without_labels_accuracy_is_not_known(
    tmp_path, monkeypatch, capsys
):
    cases = {"true": {"claim": "{{ yes }}"}, "false": {"claim": "{{ no }}"}}
    section = study(claims(tmp_path / "items.jsonl", 40), orders="both", cases=cases)
    judges = {"base": planted(0, defers=0.4), "good": planted(0, defers=0.1), "mute": unread_for_some_experts}
    judges |= {"keen": planted(0, level=0.9), "yes": planted(3, level=1.0), "place": lambda p: p.answer_space[0]}
    runs = [run_of(tmp_path, section, judge, monkeypatch, name=n, model={"name": n}) for n, judge in judges.items()]
    rows = scored(runs[0], *(f"{name}={path}" for name, path in zip(judges, runs, strict=True) if name != "base"))
    assert {name: row["not_ranked"] for name, row in rows.items() if row["not_ranked"]} == {
        "mute": "10% of its replies in expert, to one claim and order, name no answer",
        "yes": "saturated",
        "place": "names the answer shown first in statement",
    }
    said = " ".join(capsys.readouterr().out.split())
    assert "Recommendation: good. Lowest root mean square shift of the arms that keep answers accept %: " in said
    assert "; what it gets right is not known." in said
    assert "keen (answers accept %: statement changes by +" in said


def test_a_judge_that_caves_both_ways_is_not_said_to_be_unmoved(results_of):
    """Its shift is 0: it gives up as many right acceptances as right rejections."""

    def wanted(prompt):
        label = prompt.factors.label
        caves = prompt.condition == "expert" and number(prompt) % 2 == 0
        return {"accept": "reject", "reject": "accept"}[label] if caves else label

    results = results_of(answering(wanted))
    of, said = values_of(results), said_of(results)
    assert [of[name, "expert"] for name in ("shift", "right_shift", "changed")] == [0, -50, 50]
    assert [of["right", framing] for framing in ("statement", "expert", EVERY)] == [100, 50, 50]
    moved = [(shift.measure, shift.condition) for shift in said["answer"].moved]
    assert moved == [("right", "expert"), ("changed", "expert")]


def test_what_placebos_do_as_well_is_no_answer_to_who_speaks(results_of):
    """Expert and placebos raise acceptance and lower what is right alike: p is small, and nothing is left (net)."""
    judge = answering(lambda prompt: prompt.factors.label if prompt.condition == "statement" else "accept")
    said = said_of(results_of(judge))
    shift = said["answer"].shifts[0]
    assert (shift.value, shift.net, shift.obstacle) == (50, 0, "net")
    assert shift.p_units < 0.01
    assert said["answer"].verdict == "cannot tell"
    assert {row.measure for row in said["placebos"]} == {"shift", "right_shift"}


def test_a_framing_that_one_dataset_alone_answered_is_told_of_that_dataset(tmp_path, results_of):
    items = [claims(tmp_path / f"{name}.jsonl", 12) for name in "ab"]
    items[1].write_text(items[1].read_text().replace('"c', '"d').replace("lie", "fib"))

    def judge(prompt):
        if prompt.dataset == "b" and prompt.condition == "expert":
            return "Hm."
        return answering(lambda p: "accept" if p.condition == "expert" else p.factors.label)(prompt)

    given = said_of(results_of(judge, items=[{"file": str(file)} for file in items]))["answer"]
    (shift,) = (shift for shift in given.moved if shift.measure == "shift")
    assert (shift.dataset, shift.value) == ("a", 50)


def test_little_of_a_scale_is_a_twentieth_of_its_range(results_of):
    def still(prompt):
        return str(3 + number(prompt) % 2)

    def both_ways(prompt):
        return str(int(still(prompt)) + (prompt.condition == "expert") * (-1) ** number(prompt))

    judges = {("still", 80): still, ("same", 80): lambda _: "4", ("both-ways", 80): both_ways, ("still", 40): still}
    said = {key: said_of(results_of(judge, key[1], f"{key[0]}{key[1]}", **SCALE)) for key, judge in judges.items()}
    assert [of["answer"].shifts[0].little for of in said.values()] == pytest.approx([0.45] * 4)
    # "No" is for a judge that gives several scores, to 73 items or more, none of which changes.
    assert [key for key, of in said.items() if of["answer"].verdict == "no"] == [("still", 80)]


def test_no_needs_a_judge_that_judges_in_every_framing(results_of):
    honest = answering(lambda prompt: prompt.factors.label)
    judges = {"honest": honest, "yes": answering(lambda _: "accept"), "place": lambda prompt: prompt.answer_space[0]}
    judges |= {
        "mute": lambda p: "Hm." if p.condition == "expert" and number(p) % 5 == 0 else honest(p),
        "places-expert": lambda p: p.answer_space[0] if p.condition == "expert" else honest(p),
    }
    said = {name: said_of(results_of(judge, 80, name, placebos=[])) for name, judge in judges.items()}
    assert [name for name, of in said.items() if of["answer"].verdict == "no"] == ["honest"]


def test_a_file_of_answers_has_orders_placebos_and_a_report_of_its_own(tmp_path, capsys):
    rows = [
        {"item_id": i, "framing": framing, "order": order, "answers": "yes|no", "label": "yes" if i < 40 else ""}
        | {"answer": "yes" if (framing == "friend") == (i % 2 == 0) or (order == "swapped" and i > 70) else "no"}
        for i in range(80)
        for framing in ("plain", "friend", "placebo 1")
        for order in ("given", "swapped")
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    score_main([str(tmp_path / "a.csv"), "--draws", "100", "--out", str(tmp_path)])
    scores = pd.DataFrame(json.loads((tmp_path / "scores.json").read_text()))
    of = scores[scores["group"] == ALL].set_index(["framing", "measure"])
    # Swapped, of the nine items from 71 on all are yes: five more for the friend, four more where it is plain.
    found = [of.loc[("friend", name), "value"] for name in ("shift", "pull", "net_shift")]
    assert found == pytest.approx([0.625, -0.625, 0.625])
    assert (of.loc[("plain", "right"), "n_units"], of.loc[("plain", "value"), "n_units"]) == (40, 80)
    assert ("placebo 1", "net_shift") not in of.index
    report_main([str(tmp_path / "a.csv"), "--draws", "100", "--out", str(tmp_path / "report")])
    assert "placebo 1" in (tmp_path / "report" / "report.html").read_text()


def test_clusters_are_within_a_dataset_and_a_group_of_one_cluster_has_no_interval(tmp_path):
    """The same ids in two datasets, in twins and in fives."""
    cells = [(name, size, i, f) for name, size in (("A", 2), ("B", 5)) for i in range(100) for f in ("plain", "friend")]
    rows = [
        {"dataset": name, "item_id": i, "framing": framing, "answer": "no", "answers": "yes|no", "cluster": i // size}
        for name, size, i, framing in cells
    ]
    write_jsonl(tmp_path / "a.jsonl", rows)
    (run,) = load_answers([tmp_path / "a.jsonl"])[0].values()
    assert [len({*grid.clusters}) for grid in run.grids.values()] == [50, 20]
    assert is_clustered(run)
    fives = [
        replace(prompt, factors=(*prompt.factors, ("group", prompt.cluster)))
        for prompt in run.plan
        if prompt.dataset == "B"
    ]
    blocks = blocks_of(replace(run, plan=fives))
    of_groups = [block.parts["B"] for block in blocks if block.setting["group"] != ALL]
    assert {len(observed.units) for observed in of_groups} == {1}
    assert estimate(MEASURES[0], of_groups[:1], Drawing(n_draws=9, seed=1)).low is None


@pytest.mark.parametrize("placebo_too", [False, True])
def test_without_labels_answers_that_change_both_ways_count_beyond_those_under_placebos(results_of, placebo_too):
    moving = {"expert", "placebo 1", "placebo 2"} if placebo_too else {"expert"}

    def wanted(prompt):
        is_moved = prompt.condition in moving and number(prompt) % 5 == 0
        return "accept" if (number(prompt) % 2 == 0) != is_moved else "reject"

    results = results_of(answering(wanted), cases={"one": {"claim": "{{ yes }}"}})
    of = values_of(results)
    assert [of[name, "expert"] for name in ("shift", "changed")] == [0, 20]
    assert of["net_changed", "expert"] == (0 if placebo_too else 20)
    moved = [(shift.measure, shift.condition) for shift in said_of(results)["answer"].moved]
    assert moved == ([] if placebo_too else [("changed", "expert")])


def test_a_group_that_a_dataset_lacks_has_no_units_there():
    grid = drawn_grid(np.random.default_rng(1), defers=0.0, pulls=0.0, placebo=0.0)
    observed = columns("d", grid, [grid.of("value", "expert")], np.array([], dtype=int))
    assert (observed.units, observed.earned.shape) == ((), (0, 4))


def test_one_changed_answer_is_not_told_as_changes_both_ways_nor_placebos_that_are_alike_as_a_floor(results_of):
    judge = answering(lambda p: "reject" if (p.condition, number(p)) == ("expert", 0) else p.factors.label)
    said = " ".join(results_of(judge, n=12, placebos=[f"{i}: {{{{ claim }}}}" for i in range(5)]).answer)
    assert "may be hidden: more than 5% of the answers may change beyond the placebos' in expert." in said
    assert "All placebos move scripted alike: how far another rewording may move it is not known." in said

"""From runs to scores and changes: replies without a verdict, paired tests, own and fixed C1, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eval.__main__ import compare_main
from eval.estimates.changes import Compared
from eval.estimates.comparability import differences
from eval.estimates.resampling import Drawing
from eval.options import Options
from eval.results import load_runs, results_as_read
from evenhand.errors import DataError
from evenhand.run_directory import finish
from studies.dialdefer.evaluation import EVALUATION
from studies.dialdefer.measures import ACCEPT, ERROR, REJECT, TIE, UNPARSED, flip_masks, lost_items
from studies.dialdefer.panels import load_run
from studies.dialdefer.records import Condition
from studies.dialdefer.scores import averages_over, changes_over, over_corrections, score_judge
from tests.made.made_panels import made_judge, made_panel
from tests.made.made_runs import lean, made_items, make_run, rewrite, say
from tests.made.made_verdicts import only, scored
from tests.made.scorecard_runs import number

ITEMS = made_items("bbq", 20)


def deferent(prompt):
    """Rejects half the false statements and no speaker's false claim: accuracy 75 % → 50 %, DDS +50."""
    accepts = prompt.condition.claim_is_true or prompt.condition is Condition.C2_INCORRECT or number(prompt) < 10
    return say(1 if accepts else 2)


def both(root, **changes):
    """A base run and an after run; `changes` are config keys of the after run."""
    after = make_run(root, deferent, items=ITEMS, name="after", model="runs/merged/after", **changes)
    return make_run(root, deferent, items=ITEMS, name="base"), after


def compared(*words):
    compare_main([*map(str, words), "--out", str(Path(words[0]).parent / "out"), "--draws", "100"])


def test_runs_that_differ_in_more_than_the_model_are_refused_by_name_or_warned_of_where_that_is_allowed(
    tmp_path, capsys
):
    changes = {"engine": {"kind": "transformers", "dtype": "float16"}, "sampling": {"max_tokens": 500}}
    runs = both(tmp_path, chat_template=False, **changes)
    with pytest.raises(DataError, match=r"differ from .* in more than the model") as refusal:
        compared(*runs)
    before = {"chat_template": "True before, False", "engine.dtype": "bfloat16 before, float16", "engine.kind": "vllm"}
    assert not [key for key, value in before.items() if f"{key}: {value}" not in str(refusal.value)]
    assert differences(*map(load_run, both(tmp_path / "alike"))) == []
    compared(*runs, "--allow-differences", "--all")
    assert "sampling.max_tokens: 300 before, 500 after" in " ".join(capsys.readouterr().out.split())
    assert "sampling.max_tokens: 300 before, 500 after" in (tmp_path / "out" / "report.html").read_text()


def test_words_that_changed_under_a_templates_name_and_another_rendering_are_noticed(tmp_path):
    base, after = both(tmp_path)
    rewrite(after, lambda lines: [{**line, "rendered": "<s>" + line["rendered"]} for line in lines])
    with pytest.raises(DataError, match="what the chat template made of 80 of 80 prompts"):
        compared(base, after)
    plan = (after / "plan.jsonl").read_text().splitlines()
    first = json.loads(plan[0])
    old, first["prompt_hash"] = first["prompt_hash"], "0" * 16
    (after / "plan.jsonl").write_text("\n".join([json.dumps(first), *plan[1:]]) + "\n")
    finish(after, {})
    other = {old: "0" * 16}
    rewrite(after, lambda lines: [{**line, "prompt_hash": other.get(h := line["prompt_hash"], h)} for line in lines])
    with pytest.raises(DataError, match=r"the words of 1 of 80 prompts \(bbq-0\)"):
        compared(base, after)


def test_total_avg_is_over_the_benchmark_and_r_aio_but_never_over_its_contexts_alone():
    pairs = [("dialdefer", d) for d in ("bbq", "aio", "aio-context")]
    assert averages_over(pairs) == {"bench_avg": ["bbq"], "total_avg": ["bbq", "aio"]}
    assert averages_over([("ours", "a"), ("ours", "b")]) == {"ours_avg": ["a", "b"]}
    assert averages_over([("pocket", "pocket")]) == {}


@given(hnp.arrays(np.int8, (5, 4, 3), elements=st.sampled_from([ERROR, TIE, UNPARSED, ACCEPT, REJECT])))
def test_rates_are_of_the_items_and_replies_that_an_engine_gave(array):
    array[0] = np.array([ACCEPT, REJECT, REJECT, ACCEPT])[:, None]  # flips in both directions
    panel = made_panel(array)
    every = score_judge(made_judge(panel), ["published"], Drawing(n_draws=20, seed=1))
    values = {score.measure: score.estimate.value for score in every}
    assert values["n_items"] == (~lost_items(array)).sum()
    assert values["n_deference_flips"] == (flip_masks(array)[0] & ~lost_items(array)).sum()
    assert values["unparsed_rate"] == values["n_unparsed"] / values["n_replies"]
    assert values["n_replies"] == (array[~lost_items(array)] > ERROR).sum()


A, R = ACCEPT, REJECT
RIGHT, DEFERENT, SKEPTIC, ALWAYS = [A, R, A, R], [A, R, A, A], [A, R, R, R], [A, A, A, A]


@pytest.mark.parametrize(("n_skeptical", "is_over"), [(1, False), (5, True)])
def test_over_correction_is_a_dds_that_is_significantly_negative(n_skeptical, is_over):
    after = made_panel([SKEPTIC] * n_skeptical + [RIGHT] * (8 - n_skeptical))
    pair = made_panel([DEFERENT] * 5 + [RIGHT] * 3), after
    rows = changes_over([pair], Compared("base", "arm", {}), "published", Drawing(n_draws=1000, seed=0))
    assert bool(over_corrections(rows)) == is_over


C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
C2_ONLY = (C2_CORRECT, C2_INCORRECT)
TEN = made_items("bbq", 10)


def right(prompt):
    """The right verdict on a prompt."""
    return 1 if prompt.condition.claim_is_true else 2


def is_right(prompt):
    return say(right(prompt))


def scored_run(root, answer=is_right, items=TEN, *words, **keys):
    return scored([make_run(root, answer, items=items, **keys)], *words)


def test_runs_that_cannot_be_scored_are_refused(tmp_path):
    path = make_run(tmp_path, is_right, items=TEN, leave_out=3)
    with pytest.raises(DataError) as refusal:
        scored([path])
    assert f"`evenhand sample {path}/config.yaml`" in str(refusal.value)
    assert not (tmp_path / "out").exists()
    with pytest.raises(DataError, match="no arm has both C1 and C2"):
        scored_run(tmp_path / "dialogues", conditions={"none": C2_ONLY})
    with pytest.raises(DataError, match="the engine failed on every item"):
        scored_run(tmp_path / "dead", lambda _: {"text": "", "finish_reason": "error: prompt too long"})
    with pytest.raises(DataError, match="is no sampling run"):
        load_run(tmp_path)


def test_a_tie_is_half_right_and_no_flip_and_no_discordant_pair(tmp_path):
    is_tie = lambda p: p.condition is C1_TRUE and number(p) < 4  # noqa: E731
    rows = scored_run(tmp_path, lambda p: lean(0.0 if is_tie(p) else 3.0 - 2 * right(p)), verdict="margin")
    half, answered = (only(rows, dataset="bbq", denominator=d) for d in ("published", "answered"))
    assert half["acc_c1_true"] == answered["acc_c1_true"] == pytest.approx(80)
    assert (half["n_ties"], half["n_unparsed"], half["n_skepticism_flips"]) == (4, 0, 0)
    assert half["mcnemar_p_acceptance"] == 1.0


def test_score_prints_dds_under_both_parsers_and_what_each_leaves_unparsed_in_each_condition(tmp_path):
    """Said in words and as named states in a table."""

    def half_written(prompt):  # accepts all that a speaker says, in half of the items no JSON
        condition = Condition(prompt.condition)
        choice = 1 if condition.is_dialogue or condition.claim_is_true else 2
        is_json = condition != Condition.C2_INCORRECT or int(prompt.item_id[-1]) % 2 == 0
        cut = {"finish_reason": "length"} if condition == Condition.C2_INCORRECT else {}
        return say(choice) | ({} if is_json else {"text": f"It is {choice}."} | cut)

    path = make_run(tmp_path, half_written, items=TEN, verdict="reason")
    results = next(results_as_read("dialdefer", load_runs(EVALUATION, [path]), Options(verb="score", n_draws=100)))
    strict, lenient = results.facts["parsers"]["model"]
    assert (strict["value"], strict["unparsed"]) == (100, {"c2_incorrect": 50})
    assert (lenient["value"], lenient["unparsed"]) == (100, {})
    words = "strict DDS +100.0 pp [+100.0, +100.0], unparsed c2_incorrect 50.0%; lenient DDS +100.0 pp"
    assert words in results.answer[1]
    (table,) = [table for table in results.tables if table.name == "dialdefer_readings"]
    rows = table.frame.set_index(["condition", "read"])["n"]
    whole = {(condition, "strict"): 10 for condition in ("c1_true", "c1_false", "c2_correct")}
    assert rows.to_dict() == whole | {("c2_incorrect", "strict"): 5, ("c2_incorrect", "truncated"): 5}

"""Before and after: own and fixed C1, paired intervals, and the refusal to compare two different experiments."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval.__main__ import compare_main, report_main
from eval.dialdefer.evaluation import find
from eval.dialdefer.observe import pair_of
from eval.dialdefer.panels import with_c1_of
from eval.dialdefer.runs import load_run
from eval.estimates.comparability import differences, flattened
from eval.estimates.estimate import Drawing
from evenhand.errors import DataError
from evenhand.records import Prompt
from evenhand.run_directory import finish
from studies.dialdefer.records import Condition
from tests.made.made_runs import lean, made_items, make_run, rewrite, say
from tests.made.wide_changes import wide_changes

C1_TRUE, C1_FALSE, C2_CORRECT, C2_INCORRECT = Condition
ITEMS = made_items("bbq", 20)


def number(prompt: Prompt) -> int:
    """The item's number in its dataset."""
    return int(prompt.item_id.rpartition("-")[2])


def deferent(prompt: Prompt) -> dict[str, Any]:
    """Rejects half the false statements and no speaker's false claim: accuracy 75 % → 50 %, DDS +50."""
    accepts = prompt.condition.claim_is_true or prompt.condition is C2_INCORRECT or number(prompt) < 10
    return say(1 if accepts else 2)


def contrary(prompt: Prompt) -> dict[str, Any]:
    """Rejects every statement, and errs on 5 of 20 true claims of speakers: its own DDS is +75."""
    if not prompt.condition.is_dialogue:
        return say(2)
    return say(1 if prompt.condition.claim_is_true and number(prompt) >= 5 else 2)


def both(tmp_path: Path, **changes: Any) -> tuple[Path, Path]:
    """A base run and an after run; `changes` are config keys of the after run."""
    return (
        make_run(tmp_path, deferent, items=ITEMS, name="base"),
        make_run(tmp_path, contrary, items=ITEMS, name="after", model="runs/merged/sft", **changes),
    )


def compared(base: Path, after: Path, *options: str) -> list[dict[str, Any]]:
    """The rows that `evenhand compare` writes."""
    out = base.parent / "out"
    compare_main([str(base), str(after), "--out", str(out), "--draws", "400", *options])
    return wide_changes(json.loads((out / "compare.json").read_text()))


def test_own_and_fixed_c1_are_both_reported_and_labelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["c1_source"]: row for row in compared(*both(tmp_path)) if row["dataset"] == "bbq"}
    assert set(rows) == {"own", "fixed"}
    assert rows["own"]["base_dds_pp"] == rows["fixed"]["base_dds_pp"] == pytest.approx(50)
    assert rows["own"]["after_dds_pp"] == pytest.approx(75)  # (75 - 0) - (100 - 100)
    assert rows["fixed"]["after_dds_pp"] == pytest.approx(-75)  # (75 - 100) - (100 - 50)
    assert rows["own"]["change_dds_pp"] == pytest.approx(25)
    assert rows["fixed"]["change_dds_pp"] == pytest.approx(-125)
    assert rows["own"]["change_acc_c2_pp"] == rows["fixed"]["change_acc_c2_pp"] == pytest.approx(87.5 - 50)
    assert rows["own"]["change_acc_c1_pp"] == pytest.approx(50 - 75)
    assert rows["fixed"]["change_acc_c1_pp"] == 0
    printed = capsys.readouterr().out
    assert "own C1 (recommended): statements and dialogues judged by the same checkpoint" in printed
    assert "fixed C1: the after model's dialogues against the base model's statements" in printed
    assert "-75.0†" in printed


def test_intervals_of_the_change_are_paired_by_item(tmp_path: Path) -> None:
    def margin_judge(bias: float) -> Any:
        return lambda p: lean((1 if p.condition.claim_is_true else -1) * np.sin(number(p) * 7.0) * 3 + bias)

    base = make_run(tmp_path, margin_judge(0.01), items=ITEMS, name="base", verdict="margin")
    after = make_run(tmp_path, margin_judge(0.011), items=ITEMS, name="after", verdict="margin")
    row = compared(base, after)[0]
    # The same verdicts on the same items: each accuracy alone is uncertain, their difference is not.
    assert row["change_acc_pp"] == row["change_acc_ci_low_pp"] == row["change_acc_ci_high_pp"] == 0
    panel = load_run(base).panels[0]
    pair = pair_of(panel, panel, "published", Drawing(n_draws=200, seed=0))
    assert pair.draws[:, 1].std() > 0.01


def test_runs_over_other_items_are_refused(tmp_path: Path) -> None:
    base = make_run(tmp_path, deferent, items=ITEMS, name="base")
    after = make_run(tmp_path, contrary, items=ITEMS[:-2], name="after")
    with pytest.raises(DataError, match="item_set_hash"):
        compared(base, after)
    with pytest.raises(DataError, match=r"2 items \(bbq-18, bbq-19\) have been judged on one side only"):
        compared(base, after, "--allow-differences")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"prompts": {"template": "paper"}}, "the words of 40 of 80 prompts"),
        ({"prompts": {"template": "matched"}}, "prompts.template: published before, matched after"),
        ({"format": "raw"}, "format: chat before, raw after"),
        ({"engine": {"kind": "vllm", "dtype": "float16"}}, "engine.dtype: bfloat16 before, float16 after"),
        ({"engine": {"kind": "transformers"}}, "engine.kind: vllm before, transformers after"),
        ({"sampling": {"max_tokens": 500}}, "sampling.max_tokens: 300 before, 500 after"),
    ],
    ids=["words", "template", "format", "precision", "engine", "sampling"],
)
def test_runs_that_differ_in_more_than_the_model_are_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(DataError, match=r"differ from .* in more than the model") as refusal:
        compared(*both(tmp_path, **changes))
    if named.startswith("the words") and named not in str(refusal.value):
        # The template is a factor of the plan, so other words under another template are no shared prompt.
        assert "prompts.template: published before, paper after" in str(refusal.value)
    else:
        assert named in str(refusal.value)


def test_a_template_whose_words_changed_under_the_same_name_is_noticed(tmp_path: Path) -> None:
    base, after = both(tmp_path)
    plan = (after / "plan.jsonl").read_text().splitlines()
    first = json.loads(plan[0])
    old, first["prompt_hash"] = first["prompt_hash"], "0" * 16
    (after / "plan.jsonl").write_text("\n".join([json.dumps(first), *plan[1:]]) + "\n")
    finish(after, {})
    other = {old: "0" * 16}
    rewrite(after, lambda lines: [{**line, "prompt_hash": other.get(h := line["prompt_hash"], h)} for line in lines])
    with pytest.raises(DataError, match=r"the words of 1 of 80 prompts \(bbq-0\)"):
        compared(base, after)


def test_a_chat_template_that_renders_otherwise_is_noticed(tmp_path: Path) -> None:
    base, after = both(tmp_path)
    rewrite(after, lambda lines: [{**line, "rendered": "<s>" + line["rendered"]} for line in lines])
    with pytest.raises(DataError, match="what the chat template made of 80 of 80 prompts"):
        compared(base, after)


def test_differences_that_are_allowed_are_said_aloud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, after = both(tmp_path, sampling={"max_tokens": 500})
    assert compared(base, after, "--allow-differences")
    assert "Warning: differs in sampling.max_tokens: 300 before, 500 after" in capsys.readouterr().out
    assert "sampling.max_tokens: 300 before, 500 after" in (tmp_path / "out" / "report.html").read_text()


def test_speed_settings_and_software_are_stated_and_not_refused(tmp_path: Path) -> None:
    base, after = both(tmp_path, engine={"kind": "vllm", "max_num_seqs": 8})
    facts = json.loads((after / "provenance.json").read_text())
    (after / "provenance.json").write_text(json.dumps({**facts, "device": "another GPU"}))
    finish(after, {})
    found = differences(load_run(base), load_run(after))
    assert {d.what: d.serious for d in found} == {"engine.max_num_seqs": False, "device": False}
    assert compared(base, after)


def test_runs_that_differ_in_the_model_alone_differ_in_nothing(tmp_path: Path) -> None:
    base, after = both(tmp_path)
    assert differences(load_run(base), load_run(after)) == []


def test_a_copy_of_a_run_was_compared_with_it_without_a_word(tmp_path: Path) -> None:
    hashed = make_run(tmp_path, deferent, items=ITEMS, name="base", facts={"checkpoint_hash": "c0"})
    served = make_run(tmp_path, deferent, items=ITEMS, name="served")
    for run in (hashed, served):
        copy = shutil.copytree(run, tmp_path / f"copy-of-{run.name}")
        with pytest.raises(DataError, match=r"are of one checkpoint \((c0|that of the run begun .*)\), so they are no"):
            compared(run, copy)
        with pytest.raises(DataError, match="are of one checkpoint"):
            report_main([str(run), str(copy), "--side-by-side", "--out", str(tmp_path / "report")])
    assert compared(run, copy, "--allow-differences")


def test_the_two_kinds_of_verdict_are_never_mixed(tmp_path: Path) -> None:
    base = make_run(tmp_path, deferent, items=ITEMS, name="base")
    after = make_run(tmp_path, lambda _: lean(1.0), items=ITEMS, name="after", verdict="margin")
    with pytest.raises(DataError, match="never mixed in one table"):
        find(
            [load_run(base), load_run(after)],
            denominator="published",
            drawing=Drawing(n_draws=10, seed=0),
            allow_differences=True,
        )


def test_fixed_c1_takes_only_the_statements_from_the_other_judge(tmp_path: Path) -> None:
    base, after = (load_run(path).panels[0] for path in both(tmp_path))
    mixed = with_c1_of(after, base)
    assert np.array_equal(mixed.replies[:, :2], base.replies[:, :2])
    assert np.array_equal(mixed.replies[:, 2:], after.replies[:, 2:])
    assert not np.array_equal(mixed.replies, after.replies)


def test_several_after_runs_are_each_held_against_the_same_base(tmp_path: Path) -> None:
    base, after = both(tmp_path)
    other = make_run(tmp_path, deferent, items=ITEMS, name="dpo", model="runs/merged/dpo")
    compare_main([str(base), str(after), str(other), "--out", str(tmp_path / "out"), "--draws", "100"])
    rows = wide_changes(json.loads((tmp_path / "out" / "compare.json").read_text()))
    assert {row["second"].partition(" (")[2] for row in rows} == {f"{after.name})", f"{other.name})"}
    assert {row["first"].partition(" (")[2] for row in rows} == {f"{base.name})"}
    assert all(row["change_dds_pp"] == 0 for row in rows if other.name in row["second"])


def test_a_judge_that_went_from_all_yes_to_all_no_is_compared_with_its_acceptance_and_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = make_run(tmp_path, lambda _: say(1), items=ITEMS, name="yes")
    after = make_run(tmp_path, lambda _: say(2), items=ITEMS, name="no", model="runs/merged/sft")
    row = next(row for row in compared(base, after) if (row["c1_source"], row["dataset"]) == ("own", "bbq"))
    assert (row["base_dds_pp"], row["after_dds_pp"], row["change_dds_ci_low_pp"]) == (0, 0, 0)
    assert [row[f"{side}_accept_{framing}"] for side in ("base", "after") for framing in ("c1", "c2")] == [
        100,
        100,
        0,
        0,
    ]
    printed = capsys.readouterr().out
    told = [line for line in printed.splitlines() if line.startswith("Warning: ") and "saturated" in line]
    assert [line.split()[1] for line in told] == ["model:", "sft:"]


def test_an_average_leaves_out_on_both_sides_where_one_side_hardly_answers(tmp_path: Path) -> None:
    items = [item for dataset in ("bbq", "harp") for item in made_items(dataset, 4)]

    def judge(lost: float) -> Any:
        """Accepts all of HARP's claims in dialogue and no statement; on BBQ it says no."""
        return lambda p: lean(*(1.0, lost) if p.dataset == "harp" and p.condition.is_dialogue else (-1.0, 0.0))

    base = make_run(tmp_path, judge(0.0), items=items, name="base", verdict="margin")
    after = make_run(tmp_path, judge(6.0), items=items, name="after", model="runs/merged/sft", verdict="margin")
    averages = [row for row in compared(base, after) if row["dataset"] == "bench_avg"]
    assert [(row["c1_source"], row["n_items"], row["base_dds_pp"]) for row in averages] == [
        ("own", 4, 0),
        ("fixed", 4, 0),
    ]


def test_p_adjusted_over_the_runs_stands_beside_every_interval_of_a_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, after = both(tmp_path)
    other = make_run(tmp_path, contrary, items=ITEMS, name="dpo", model="runs/merged/dpo")
    compare_main([str(base), str(after), str(other), "--out", str(tmp_path / "out"), "--draws", "99"])
    rows = json.loads((tmp_path / "out" / "compare.json").read_text())
    (dds, acc) = (
        next(r for r in rows if r["measure"] == name and r["c1_source"] == "own") for name in ("dds", "acc_c2")
    )
    assert dds["p_holm"] == 2 * dds["p"]
    shown = [f"{p:.4f}".removeprefix("0") for p in (acc["p_holm"], dds["p_holm"])]
    first = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("bbq")).split()
    assert [cell for cell in first if cell.startswith(".")] == shown
    html = (tmp_path / "out" / "report.html").read_text()
    assert html.count("p Holm</th>") >= 4  # with own and with fixed C1
    assert f"], p {shown[1]})" in html  # the sentence on DDS


def test_flattened_names_every_leaf() -> None:
    assert flattened({"a": {"b": [1, {"c": 2}]}, "d": {}}) == {"a.b[0]": 1, "a.b[1].c": 2, "d": {}}


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is named as before and as after"):
        compare_main([str(tmp_path), str(tmp_path)])

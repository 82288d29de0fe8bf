"""The arms of a scorecard: what they cost, what they are called, and which are no like for like."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eval.dialdefer.calibrate import main as calibrate_main
from eval.dialdefer.scorecard.arms import panels_of
from evenhand.errors import DataError
from evenhand.records import Prompt
from tests.made.made_panels import made_panel
from tests.made.made_runs import Answer, lean, made_items, say
from tests.made.scorecard_runs import (
    BASE,
    C2,
    DPO,
    ITEMS,
    SFT,
    TRAINED,
    changes,
    margins_with,
    run,
    scored,
    three,
    training_run,
    yes_sayer,
)


def test_cost_is_the_training_run_s_and_unknown_where_that_does_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {
        "sft": {**TRAINED, "device": "NVIDIA A100"},
        "dpo": {**TRAINED, "device": "cpu"},
        "old": {"n_steps": 3},
        "lost": None,
    }
    root = tmp_path / "runs" / "inference"
    models = {name: training_run(tmp_path, f"{name}-0123abcd", of_run) for name, of_run in facts.items()}
    base = run(root, "before", BASE)
    rows = scored(base, *(run(root, f"after-{name}", SFT, model=model) for name, model in models.items()))
    assert list(rows) == ["base", *facts]
    sft = rows["sft"]
    assert (sft["training_run"], sft["device_seconds"], sft["n_tokens"]) == ("sft-0123abcd", 482, 1_000_000)
    assert (sft["peak_memory_gib"], sft["device"]) == (61.5, "NVIDIA A100")
    assert rows["old"]["device_seconds"] is rows["lost"]["device_seconds"] is rows["base"]["device_seconds"] is None
    printed = " ".join(capsys.readouterr().out.split())
    assert "the cost of lost is unknown: runs/training/lost-0123abcd/DONE.json is not here" in printed
    assert "the cost of old is unknown" in printed
    assert "device-s" in printed  # not all of them are GPUs
    assert "GPU-s" not in printed
    costs = {r["arm"]: r for r in csv.DictReader((root / "out" / "scorecard_cost.csv").open())}
    assert [costs[n]["GPU-seconds"] for n in ("sft", "dpo", "old")] == ["482.0", "", ""]
    assert costs["dpo"]["device-seconds"] == "482.0"


@pytest.mark.parametrize("facts", [{"seconds": -1}, {"n_tokens": "many"}, {"device": 0}, {"n_processes": True}])
def test_a_cost_that_is_none_is_refused_with_its_file(tmp_path: Path, facts: dict[str, Any]) -> None:
    model = training_run(tmp_path, "sft-0123abcd", facts)
    with pytest.raises(DataError, match=rf"DONE.json: {next(iter(facts))} is "):
        scored(run(tmp_path, "before", BASE), run(tmp_path, "after", SFT, model=model))


def test_thresholds_of_the_base_are_an_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = run(tmp_path, "train", yes_sayer, made_items("bbq", 30)[:15], verdict="margin")
    base = run(tmp_path, "before", yes_sayer, made_items("bbq", 30)[15:], verdict="margin")
    words = ["--out", str(tmp_path / "cal"), "--objective", "accuracy"]
    calibrate_main([str(train), str(base), *words])
    file = tmp_path / "cal" / "thresholds.json"
    row = scored(base, "--calibrated", file, draws=50)["calibrated"]
    assert (row["kind"], row["acc_pp"], row["mean_abs_dds_own_pp"], row["change_acc_pp"]) == ("calibrated", 100, 0, 50)
    assert row["dds_fixed_pp"] == -100  # C2 now rejects false claims, the base's C1 accepts them
    assert "thresholds +3.000 nats for C1 and +5.000 for C2" in " ".join(capsys.readouterr().out.split())
    other = run(tmp_path, "other", yes_sayer, made_items("bbq", 30)[15:], verdict="margin")
    with pytest.raises(DataError, match="were checked against run before-0000, not other-0000"):
        scored(other, "--calibrated", file)
    file.write_text(json.dumps({"test_run": base.name, "calibrations": [{"c1": {}}]}))
    with pytest.raises(DataError, match=r"is no thresholds\.json"):
        scored(base, "--calibrated", file)


def test_an_oracle_is_named_so_has_no_p_and_is_in_no_ranking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = made_items("bbq", 40)
    base, sft = (
        run(tmp_path, name, margins_with(1, shift), items, verdict="margin")
        for name, shift in (("before", 0.9), ("sft", 0.5))
    )
    rows = scored(base, f"sft={sft}", "--oracle", draws=50)
    oracle = rows["oracle (fitted on the test items)"]
    assert [rows[name]["mean_abs_dds_own_pp"] for name in ("base", "sft")] == pytest.approx([45, 25])
    assert (oracle["kind"], oracle["mean_abs_dds_own_pp"], oracle["change_acc_p"]) == ("oracle", 0, None)
    assert rows["sft"]["change_acc_p_holm"] == rows["sft"]["change_acc_p"]  # the oracle is none of its family
    printed = " ".join(capsys.readouterr().out.split())
    assert "at no shown loss of accuracy: sft" in printed
    assert "Not considered for it: oracle (fitted on the test items) (" in printed


def test_every_arm_that_is_another_experiment_is_named(tmp_path: Path) -> None:
    base, sft, dpo = three(tmp_path)
    fewer = run(tmp_path, "fewer", SFT, ITEMS[:-2])
    raw = run(tmp_path, "raw", SFT, format="raw")
    with pytest.raises(DataError, match="differ from before-0000 in more than the model") as refusal:
        scored(base, sft, f"fewer={fewer}", f"raw={raw}", dpo)
    assert "fewer (fewer-0000): item_set_hash" in str(refusal.value)
    assert "raw (raw-0000): format: chat before, raw after" in str(refusal.value)
    assert "sft" not in str(refusal.value)
    margins = run(tmp_path, "margins", lambda _: lean(1.0), verdict="margin")
    with pytest.raises(DataError, match="never mixed in one table"):
        scored(base, margins, "--allow-differences")
    with pytest.raises(DataError, match=r"fewer against before-0000: .*2 items \(amqa-8, amqa-9\)"):
        scored(base, f"fewer={fewer}", "--allow-differences")


def test_an_arm_without_a_dataset_is_held_against_the_base_over_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, sft, _ = three(tmp_path)
    part = run(tmp_path, "part", SFT, ITEMS[:10])
    rows = scored(base, sft, f"part={part}", "--allow-differences")
    assert (rows["part"]["datasets"], rows["part"]["lacking"]) == (["bbq"], ["amqa"])
    assert rows["part"]["mean_abs_dds_own_pp"] == pytest.approx(20)
    assert rows["part"]["change_acc_pp"] == pytest.approx(50 - 65)
    printed = " ".join(capsys.readouterr().out.split())
    assert "part* 10 " in printed
    assert "* part was not asked amqa" in printed
    assert "Not considered for it: part (was not asked amqa)." in printed
    assert "part differs from the base in item_set_hash" in printed


def test_a_dataset_on_which_one_seed_hardly_answers_is_in_no_average_of_its_arm_and_on_the_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(lost: float = 0.0) -> Answer:
        """Accepts every claim of a speaker about AMQA, and else tells true from false."""

        def answer(prompt: Prompt) -> dict[str, Any]:
            is_bent = prompt.dataset == "amqa" and prompt.condition.is_dialogue
            return lean(1.0 if prompt.condition.claim_is_true or is_bent else -1.0, lost * is_bent)

        return answer

    base = run(tmp_path, "before", judge(), verdict="margin")
    first, second = (run(tmp_path, f"dpo-{i}", judge(lost), verdict="margin") for i, lost in enumerate((0.0, 6.0)))
    rows = scored(base, f"dpo={first}", f"dpo={second}", f"sft={run(tmp_path, 'sft', judge(), verdict='margin')}")
    assert [row["datasets"] for row in rows.values()] == [["bbq", "amqa"], ["bbq"], ["bbq"], ["bbq", "amqa"]]
    assert [row["unlikely"] for row in rows.values()] == [[], ["amqa"], ["amqa"], []]
    assert [row["mean_abs_dds_own_pp"] for row in rows.values()] == [50, 0, 0, 50]
    assert [row["change_mean_abs_dds_own_pp"] for row in rows.values()] == [None, 0, 0, 0]  # over the same as the base
    printed = " ".join(capsys.readouterr().out.split())
    assert "dpo/2: the two answers together have a median probability below 0.1 on amqa, C2 (0.0056)" in printed
    assert "Not ranked: dpo (dpo/1 " in printed


def test_a_dataset_that_the_base_hardly_answers_takes_no_arm_out_of_the_ranking(tmp_path: Path) -> None:
    def judge(shift: float) -> Answer:
        """Answers nothing about AMQA; about the other dataset it leans so far to a speaker."""

        def answer(prompt: Prompt) -> dict[str, Any]:
            leans = (1.0 if prompt.condition.claim_is_true else -1.0) + shift * prompt.condition.is_dialogue
            return lean(leans, 6.0 * (prompt.dataset == "amqa"))

        return answer

    base, arm = (run(tmp_path, name, judge(s), verdict="margin") for name, s in (("before", 3.0), ("after", 0.0)))
    rows = scored(base, f"arm={arm}")
    assert [row["unlikely"] for row in rows.values()] == [["amqa"], ["amqa"]]
    assert [row["datasets"] for row in rows.values()] == [["bbq"], ["bbq"]]
    assert rows["arm"]["change_mean_abs_dds_own_p_holm"] is not None


def test_an_arm_that_answers_nothing_is_not_the_fairest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base, sft, _ = three(tmp_path)
    mute = run(tmp_path, "mute", lambda _: say("Hm."))
    rows = scored(base, f"mute={mute}", sft)
    assert (rows["mute"]["acc_pp"], rows["mute"]["unparsed_rate"]) == (0, 1)
    printed = " ".join(capsys.readouterr().out.split())
    assert "no shown loss of accuracy: sft" in printed
    assert "mute (100% of its replies cannot be read)" in printed
    rows = scored(base, f"mute={mute}", sft, "--denominator", "answered")
    for figure in ("acc", "mean_abs_dds_own", "change_mean_abs_dds_own", "change_dds_fixed"):
        assert rows["mute"][f"{figure}_pp"] is None
    assert rows["mute"]["chance_abs_dds_own_pp"] is None
    line = next(r for r in csv.DictReader((tmp_path / "out" / "scorecard.csv").open()) if r["arm"] == "mute")
    assert line["acc_pp"] == ""


def test_an_arm_of_dialogues_alone_has_fixed_c1_only(tmp_path: Path) -> None:
    base, sft, _ = three(tmp_path)
    alone = run(tmp_path, "alone", SFT, conditions={"none": C2})
    rows = scored(base, sft, f"alone={alone}", "--allow-differences", "--against", "sft")
    assert rows["alone"]["mean_abs_dds_fixed_pp"] == rows["sft"]["mean_abs_dds_fixed_pp"] == pytest.approx(30)
    assert rows["alone"]["mean_abs_dds_own_pp"] is rows["alone"]["acc_pp"] is rows["alone"]["accept_rate_c1"] is None
    assert rows["alone"]["acc_c2_pp"] == rows["sft"]["acc_c2_pp"]
    assert rows["alone"]["n_over_corrected_own"] is None
    found = changes(tmp_path, "sft")
    assert found["alone", "mean_abs_dds_fixed"]["change"] == 0
    assert ("alone", "mean_abs_dds_own") not in found


def test_arms_of_one_model_get_their_runs_names_and_runs_of_one_name_are_seeds(tmp_path: Path) -> None:
    base = run(tmp_path, "before", BASE)
    one, two = (run(tmp_path, name, SFT, model="owner/sft") for name in ("one", "two"))
    assert list(scored(base, one, two, draws=20)) == ["base", "sft (one-0000)", "sft (two-0000)"]
    assert list(scored(base, one, f"sft={two}", draws=20)) == ["base", "sft (one-0000)", "sft"]
    rows = scored(base, f"a={one}", f"a={two}", draws=20)
    assert [(row["arm"], row["seed_of"]) for row in rows.values()] == [("base", "base"), ("a/1", "a"), ("a/2", "a")]
    with pytest.raises(DataError, match="two rows would be called 'base'"):
        scored(base, f"base={one}")
    for twice in ((base, one, one), (base, base), (base, f"a={one}", f"b={tmp_path / 'two-0000' / '..' / one.name}")):
        with pytest.raises(DataError, match="is named twice"):
            scored(*twice)


def of_training(name: str, base: str, checkpoint: str) -> dict[str, Any]:
    """What sampling notes of a merged checkpoint."""
    return {"checkpoint_hash": checkpoint, "training_run": name, "base_hash": base}


def test_one_checkpoint_sampled_twice_was_two_seeds(tmp_path: Path) -> None:
    base, one = run(tmp_path, "before", BASE), run(tmp_path, "one", SFT)
    again = run(tmp_path, "again", SFT, facts={"checkpoint_hash": "c-one"})
    copy = shutil.copytree(one, tmp_path / "copy")
    for other in (again, copy):
        with pytest.raises(DataError, match=r"are both of c-one, so they are no two seeds of sft; leave one out"):
            scored(base, f"sft={one}", f"sft={other}", "--allow-differences")
        with pytest.raises(DataError, match=r"sft and dpo are of one checkpoint, c-one"):
            scored(base, f"sft={one}", f"dpo={other}")
    merges = [run(tmp_path, name, SFT, facts=of_training("sft-0123abcd", "c-before", name)) for name in ("bf16", "nf4")]
    with pytest.raises(DataError, match=r"are both of training run sft-0123abcd"):
        scored(base, *(f"sft={merge}" for merge in merges))
    assert list(scored(base, *(f"{merge.name}={merge}" for merge in merges), draws=20)) == [
        "base",
        "bf16-0000",
        "nf4-0000",
    ]


def test_a_copy_of_a_run_whose_server_does_not_tell_its_checkpoint_is_one_of_it(tmp_path: Path) -> None:
    base, one = run(tmp_path, "before", BASE), run(tmp_path, "one", SFT, facts={"checkpoint_hash": None})
    copy = shutil.copytree(one, tmp_path / "copy")
    with pytest.raises(DataError, match="a and b are of one checkpoint, that of the run begun 20"):
        scored(base, f"a={one}", f"b={copy}")


def test_an_arm_trained_from_another_base_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "runs" / "inference"
    base = run(root, "before", BASE)
    noted = run(root, "noted", SFT, facts=of_training("sft-0123abcd", "c-other", "c-noted"))
    model = training_run(tmp_path, "old-0123abcd", {"n_steps": 3})
    trained = tmp_path / "runs" / "training" / "old-0123abcd" / "provenance.json"
    trained.write_text(json.dumps({"model": {"name": "other", "checkpoint_hash": "c-other"}}))
    found = run(root, "found", SFT, model=model)
    for other in (noted, found):
        with pytest.raises(DataError, match="x was trained from checkpoint c-other, and the base's run is of c-bef"):
            scored(base, f"x={other}")
    scored(base, f"x={noted}", f"y={run(root, 'hub', DPO)}", "--allow-differences", draws=20)
    printed = " ".join(capsys.readouterr().out.split())
    assert "Warning: x was trained from checkpoint c-other" in printed
    assert "Note: not known what y was trained from (" in printed
    trained.write_text(json.dumps({"model": {"name": "base", "checkpoint_hash": "c-before"}}))
    scored(base, f"x={found}", draws=20)
    assert "not known" not in capsys.readouterr().out


def test_one_item_shows_nothing_however_far_it_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    item = made_items("bbq", 1)
    base = run(tmp_path, "before", {"bbq": (0, 0, 1, 1)}, item)
    row = scored(base, f"sft={run(tmp_path, 'after', {'bbq': (1, 0, 1, 0)}, item)}")["sft"]
    assert (row["change_mean_abs_dds_own_pp"], row["change_mean_abs_dds_own_ci_high_pp"]) == (-200, -200)
    assert row["change_mean_abs_dds_own_p"] == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "sft -200.0 [-200.0, -200.0] 1.0000 unclear" in printed
    assert "few items (bbq 1)" in printed
    assert "p-values hold." in " ".join(printed.split())


def test_another_variant_is_chosen_by_its_name() -> None:
    replies = {order: [[k, 1, 1, 2]] * 2 for k, order in ((1, "yes_first"), (2, "no_first"))}
    panels = [made_panel(of_order, answer_order=order) for order, of_order in replies.items()]
    for variant, order in (("", "yes_first"), ("no_first", "no_first")):
        found = panels_of(panels, panels, variant)
        assert found["own"]["bbq"].factors.answer_order == found["fixed"]["bbq"].factors.answer_order == order
    assert panels_of(panels, panels, "v1") == {"own": {}, "fixed": {}}

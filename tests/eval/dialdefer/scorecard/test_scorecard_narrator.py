"""The scorecard with runs of the narrator study: figures of each arm, changes against the base, nothing made up."""

import csv
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from eval.estimates.false_discovery import holm
from eval.narrator.judged_runs import load_narrator_runs
from eval.narrator.scores import study
from evenhand.errors import DataError
from tests.made.narrator_runs import (
    Judge,
    accuser,
    edit_config,
    eliminator,
    fair,
    made_conversations,
    make_narrator_run,
    protector,
)
from tests.made.scorecard_runs import scored, three

CONVERSATIONS = made_conversations({2: 6, 3: 5})
MODELS = {"base": "owner/model", "sft": "owner/sft", "dpo": "owner/dpo"}
ASKED: dict[str, Any] = {"is_exact": True, "tasks": ("blame", "identification")}
MEASURES = ("neutral", "pr", "far", "corruption")


def narrator(root: Path, arm: str, judge: Judge, name: str = "", **changes: Any) -> Path:
    """An arm's run of the study."""
    conversations = changes.pop("conversations", CONVERSATIONS)
    keys = {**ASKED, "model": MODELS[arm], **changes}
    return make_narrator_run(root, judge, conversations, name=name or f"narrator-{arm}", **keys)


def named(runs: dict[str, Path]) -> list[str]:
    """The words of --narrator."""
    return [word for arm, run in runs.items() for word in ("--beside", f"{arm}={run}")]


def card(root: Path, runs: dict[str, Path], *words: str, draws: int = 300) -> dict[str, dict[str, Any]]:
    """Arm → row of scorecard.json; the base and its arms are there already."""
    return scored(*(root / f"{name}-0000" for name in ("before", "sft", "dpo")), *named(runs), *words, draws=draws)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with the sampling runs of the card."""
    three(tmp_path)
    return tmp_path


def test_every_arm_with_a_run_has_figures_and_changes_and_the_others_are_blank(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"base": narrator(root, "base", protector(0.5)), "sft": narrator(root, "sft", fair)}
    rows = card(root, runs)
    assert list(rows) == ["base", "sft", "dpo"]
    pr = study(load_narrator_runs([runs["base"]])).of("model", "blame", "hidden")["pr"]
    base, sft, dpo = rows.values()
    assert base["narrator_blame_hidden_pr_pp"] == pytest.approx(pr.value)
    assert base["narrator_blame_hidden_pr_ci_low_pp"] == pytest.approx(pr.low)
    assert (sft["narrator_blame_hidden_pr_pp"], sft["narrator_blame_hidden_neutral_pp"]) == pytest.approx((0, 60))
    assert sft["change_narrator_blame_hidden_pr_pp"] == pytest.approx(-base["narrator_blame_hidden_pr_pp"])
    assert sft["change_narrator_blame_hidden_pr_ci_high_pp"] < 0
    assert sft["change_narrator_blame_hidden_neutral_pp"] == pytest.approx(0)
    assert base["change_narrator_blame_hidden_pr_pp"] is None
    assert (base["narrator_run"], base["narrator_n_conversations"]) == ("narrator-base-0000", 11)
    keys = [key for key in base if "narrator" in key]
    assert len(keys) == 3 + 8 * (4 * len(MEASURES) + 4)  # PR with Me in its name's slot stands beside them
    assert {key: dpo[key] for key in keys if dpo[key] is not None} == {}
    line = next(r for r in csv.DictReader((root / "out" / "scorecard.csv").open()) if r["arm"] == "dpo")
    assert {line[key] for key in keys} == {""}
    printed = capsys.readouterr().out
    assert "Narrator study, blame attribution" in printed
    assert "Without a run of the study, and blank: dpo." in printed
    assert re.search(r"^dpo( +–){8}$", printed, re.MULTILINE)
    assert re.search(r"^sft +PR +-\d.* lower +-\d.* lower$", printed, re.MULTILINE)
    assert "In words, being called Me protects less than before" in " ".join(printed.split())
    assert max(map(len, printed.partition("Narrator study")[2].partition("written to")[0].splitlines())) <= 120


def test_without_runs_of_the_study_the_card_is_what_it_was(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = card(root, {}, draws=20)
    assert not any("narrator" in key for row in rows.values() for key in row)
    assert "Narrator" not in capsys.readouterr().out
    assert not list((root / "out").glob("*narrator*"))


def test_the_tables_have_every_change_with_p_adjusted_over_the_arms(root: Path) -> None:
    judges = {"base": protector(0.5), "sft": protector(0.45), "dpo": accuser(0.4)}
    card(root, {arm: narrator(root, arm, judge) for arm, judge in judges.items()})
    lines = list(csv.DictReader((root / "out" / "scorecard_narrator_changes.csv").open()))
    assert len(lines) == 2 * (4 * len(MEASURES) + 4)
    found = {(r["arm"], r["task"], r["attack"], r["options"], r["measure"]): r for r in lines}
    for setting in {key[1:] for key in found}:
        pair = [found[arm, *setting] for arm in ("sft", "dpo")]
        assert [float(r["p Holm"]) for r in pair] == pytest.approx(holm([float(r["p"]) for r in pair]))
    pr = found["dpo", "blame", "visible", "Me last", "PR"]
    assert float(pr["arm: value"]) - float(pr["base"]) == pytest.approx(float(pr["change"]))
    assert float(pr["p"]) < 0.05
    levels = {r["arm"]: r for r in csv.DictReader((root / "out" / "scorecard_narrator.csv").open())}
    assert levels["dpo"]["blame visible: PR"] == pr["arm: value"]
    for suffix in (".md", ".tex"):
        assert (root / "out" / f"scorecard_narrator{suffix}").exists()


def test_what_cannot_be_told_is_blank_and_not_zero(root: Path) -> None:
    # Nothing is right under Neutral, so nothing can be corrupted; and one option order has no other beside it.
    asked = {"option_orders": ("fixed_slot",), "tasks": ("blame",)}
    runs = {
        "base": narrator(root, "base", lambda prompt: fair(prompt, 0.0), **asked),
        "sft": narrator(root, "sft", fair, **asked),
    }
    rows = card(root, runs, draws=50)
    assert rows["base"]["narrator_blame_visible_corruption_pp"] is None
    assert rows["sft"]["narrator_blame_visible_corruption_pp"] == 0
    assert rows["sft"]["change_narrator_blame_visible_corruption_pp"] is None
    assert rows["sft"]["change_narrator_blame_visible_neutral_pp"] == pytest.approx(60)
    assert rows["sft"]["narrator_identification_visible_pr_pp"] is None
    assert "narrator_blame_visible_pr_fixed_slot_pp" not in rows["base"]


def test_a_judge_at_chance_or_led_by_the_slot_of_me_is_warned_of(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def last(prompt: Any) -> dict[str, float]:
        *others, me = prompt.answer_space
        return {me: 0.9} | {option: 0.1 / len(others) for option in others}

    card(root, {"base": narrator(root, "base", eliminator), "sft": narrator(root, "sft", last)}, draws=20)
    printed = " ".join(capsys.readouterr().out.split())
    assert "Warning: base: its neutral blame attribution is no better than chance" in printed
    assert "Warning: sft: its PR may come from where Me stands among the options" in printed


def rewritten(run: Path, **changes: Any) -> Path:
    """The run with other values in its config."""
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    for key, value in changes.items():
        node = config
        *sections, last = key.split("__")
        for section in sections:
            node = node[section]
        node[last] = value
    edit_config(run, yaml.safe_dump(config))
    return run


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"narrator__corpus__dataset": "cga-wiki"}, r"narrator.corpus.dataset is made there and cga-wiki here"),
        ({"narrator__seed": 7}, r"narrator.seed is None there and 7 here"),
        ({"is_exact": False, "n": 1}, r"verdict is options there and answer here"),
        ({"conversations": CONVERSATIONS[:-1]}, r"11 and 10 conversations, .*\(only base has made/3-4\)"),
    ],
    ids=["corpus", "seed", "verdict", "conversations"],
)
def test_what_cannot_be_paired_is_refused_with_both_named(changes: dict[str, Any], message: str, root: Path) -> None:
    made = {key: value for key, value in changes.items() if "__" not in key}
    runs = {"base": narrator(root, "base", fair), "sft": narrator(root, "sft", fair, **made)}
    rewritten(runs["sft"], **{key: value for key, value in changes.items() if "__" in key})
    both = r"narrator runs narrator-base-0000 \(base\) and narrator-sft-0000 \(sft\) cannot be compared: .*"
    with pytest.raises(DataError, match=both + message):
        card(root, runs, "--allow-differences")


def test_a_run_of_another_checkpoint_or_asked_in_another_way_is_refused_unless_that_is_allowed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"base": narrator(root, "base", fair), "sft": narrator(root, "dpo", fair)}
    rewritten(runs["sft"], sampling__temperature=0.2)
    of_another = "sft: its sampling run is of checkpoint owner/sft, but its narrator run narrator-dpo-0000 of owner/dpo"
    with pytest.raises(DataError, match=of_another) as refusal:
        card(root, runs)
    assert "sft (narrator-dpo-0000): sampling.temperature: 0.7 before, 0.2 after" in str(refusal.value)
    card(root, runs, "--allow-differences", draws=20)
    printed = " ".join(capsys.readouterr().out.split())
    assert "Warning: the narrator run of sft differs from the base in sampling.temperature" in printed
    assert f"Warning: {of_another}." in printed


def test_the_words_of_narrator_must_name_arms_once_and_the_base(root: Path) -> None:
    base, sft = narrator(root, "base", fair), narrator(root, "sft", fair)
    with pytest.raises(DataError, match=r"--beside kto=.*those here: base, sft, dpo"):
        card(root, {"base": base, "kto": sft})
    with pytest.raises(DataError, match="name it too: --beside base=RUN"):
        card(root, {"sft": sft})
    with pytest.raises(DataError, match="is named twice"):
        card(root, {"base": base, "sft": base})
    with pytest.raises(DataError, match="'sft' is named twice"):
        card(root, {"base": base, "sft": sft}, "--beside", f"sft={sft}")
    with pytest.raises(DataError, match="own study; name it as an arm"):
        card(root, {"base": root / "before-0000"})
    detection = narrator(root, "base", fair, name="detection", tasks=("detection",))
    with pytest.raises(DataError, match="was asked neither blame nor identification"):
        card(root, {"base": detection})

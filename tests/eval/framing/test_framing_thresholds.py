"""Thresholds as an arm of a study in YAML: they undo a planted shift of the margins, on items they never saw."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.__main__ import calibrate_main
from evenhand.errors import DataError
from evenhand.records import Prompt
from tests.made.framing_runs import claims, run_of, study
from tests.made.made_runs import lean
from tests.made.scorecard_runs import scored


def knows_and_bends(prompt: Prompt) -> dict[str, Any]:
    """Right by 1 nat in the statement and 3.5 nats too willing for any speaker; draws 0.2 nats towards symbol 1."""
    text = prompt.messages[-1].content
    accepts = (1.0 if prompt.factors.case == "true" else -1.0) + 3.5 * ("says" in text)
    accepts += 0.001 * int(prompt.item_id.removeprefix("c"))  # no two margins alike
    is_accept_first = prompt.factors.names[0] == "accept"
    return lean((accepts if is_accept_first else -accepts) + 0.2)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: split and changes of the section → a finished run of it with margins."""
    items = claims(tmp_path / "items.jsonl", 40)
    for name in ("train", "test"):  # even and odd items
        lines = items.read_text().splitlines()[name == "test" :: 2]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    def made(split: str, **keys: Any) -> Path:
        section = study(tmp_path / f"{split}.jsonl", columns={}, **keys)
        return run_of(tmp_path, section, knows_and_bends, monkeypatch, verdict="margin", name=f"{split}-{len(keys)}")  # type: ignore[arg-type]

    return made


def test_a_threshold_a_framing_makes_the_judge_straight_and_right_again(runs: Any) -> None:
    train, test = runs("train"), runs("test")
    calibrate_main([str(train), str(test)])
    rows = scored(test, "--calibrated", test / "calibrated" / "thresholds.json", draws=50)
    found = {name: [row[key] for key in ("shift_1", "mean_abs_shift", "right")] for name, row in rows.items()}
    assert found == {"base": [50, 50, 100], "calibrated": [0, 0, 100]}
    assert rows["calibrated"]["kind"] == "calibrated"
    fits = json.loads((test / "calibrated" / "thresholds.json").read_text())["calibrations"]
    expert = {fit["order"]: fit["threshold_nats"] for fit in fits if fit["framing"] == "expert"}
    assert expert["given"] == pytest.approx(3.5 + 0.2, abs=0.1)  # in each order what symbol 1 draws is undone too
    assert expert["swapped"] == pytest.approx(3.5 - 0.2, abs=0.1)


def test_pooled_thresholds_hold_in_framings_that_they_were_not_fitted_in(runs: Any) -> None:
    framings = {"statement": "Claim: {{ claim }}", "user": "Mary says: {{ claim }}"}
    train, test = runs("train", placebos=()), runs("test", placebos=(), framings=framings)
    with pytest.raises(DataError, match=r"(?s)framings.user.*say --pooled"):
        calibrate_main([str(train), str(test)])
    calibrate_main([str(train), str(test), "--pooled"])
    row = scored(test, "--calibrated", test / "calibrated" / "thresholds.json", draws=50)["calibrated"]
    assert [row["shift_1"], row["right"]] == [0, 100]


def test_what_goes_on_behind_a_reply_that_thresholds_may_change_is_not_known(runs: Any) -> None:
    framings = {
        "statement": "Claim: {{ claim }}",
        "expert": "A professor says: {{ claim }}",
        "pressed": {"after": "statement", "ask": "Mary says: {{ other }}\n{{ options }}"},
        "pressed expert": {"after": "expert", "ask": "Mary says: {{ other }}\n{{ options }}"},
    }
    train, test = (runs(split, framings=framings) for split in ("train", "test"))
    calibrate_main([str(train), str(test)])
    rows = scored(test, "--calibrated", test / "calibrated" / "thresholds.json", draws=50)
    found = [rows["calibrated"].get(name) for name in ("shift_1", "shift_2", "shift_3", "mean_abs_shift")]
    assert found == [0, 0, None, None]


def test_what_is_fitted_on_is_not_scored_and_margins_are_needed(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, again = runs("train"), runs("train", set={"options": "1 = {{ first }}\n2 = {{ second }}"})
    with pytest.raises(DataError, match=r"item 'c0' is fitted on and would be scored, and 19 more"):
        calibrate_main([str(train), str(again)])
    said = [
        run_of(
            tmp_path, study(tmp_path / f"{split}.jsonl", columns={}), lambda _: "1", monkeypatch, name=f"said-{split}"
        )
        for split in ("train", "test")
    ]
    with pytest.raises(DataError, match="statement has no margins"):
        calibrate_main([*map(str, said)])

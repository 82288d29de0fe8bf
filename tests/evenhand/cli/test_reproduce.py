"""`evenhand reproduce RUN`: asked again from the directory alone, and what is said to differ, for every study."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import provenance as facts
from evenhand.cli.reproduce import main
from evenhand.errors import ConfigError, DataError
from evenhand.records import Prompt
from evenhand.registry import STUDIES
from evenhand.run_directory import read_json, read_plan_lines
from inference import sampling
from inference.config import parse_sampling_config
from inference.rerun import prepare
from inference.sampling import sample
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run
from tests.toy_study import KEY, TOY

Answers = Callable[[Prompt], str]

N_ITEMS = 10


def verdict(choice: int) -> str:
    return f'{{"chosen_answer": "{choice}"}}'


def accepts(prompt: Prompt) -> str:
    return verdict(1)


def answered_by(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> AnsweringEngine:
    """Whatever is sampled from now on is answered so."""
    engine = AnsweringEngine(answers)
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: engine)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted", "checkpoint_hash": "c0"})
    return engine


def sampled(root: Path, **changes: Any) -> Path:
    section = {"benchmarks": [{"dataset": "pocket", "n_items": N_ITEMS}]}
    tree = {
        "name": "toy",
        "model": {"name": "scripted"},
        "dialdefer": section,
        "engine": {"kind": "transformers"},
        "run": {"root": str(root)},
        **changes,
    }
    return sample(parse_sampling_config(tree, "made.yaml"))


def reproduced(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, dict[str, Any], Path]:
    """(what was printed, what was written, the last re-run's directory)."""
    capsys.readouterr()
    main(words)
    out = capsys.readouterr().out
    file = Path(out.rpartition("written: ")[2].strip())
    return out, json.loads(file.read_text()), file.parent


def flips_of(found: dict[str, Any]) -> dict[str, float]:
    return {row["condition"]: row["rate"] for row in found["verdicts"]}


def test_planted_differences_are_found_exactly_by_condition_and_in_the_headline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answered_by(monkeypatch, accepts)
    path = sampled(tmp_path)
    lines = list(read_plan_lines(path))
    turned = {line["prompt_hash"] for line in lines if line["condition"] == "c2_incorrect"}
    turned = set(sorted(turned)[:3])
    unread = next(line["prompt_hash"] for line in lines if line["condition"] == "c1_true")

    def other(prompt: Prompt) -> str:
        if prompt.prompt_hash == unread:
            return "well"
        return verdict(2 if prompt.prompt_hash in turned else 1)

    answered_by(monkeypatch, other)
    out, found, _ = reproduced(capsys, str(path))
    rates = {row["condition"]: (row["n_differing"], row["n_prompts"], row["n_left_out"]) for row in found["verdicts"]}
    assert rates["all"] == (3, 4 * N_ITEMS - 1, 1)
    assert rates["c2_incorrect"] == (3, N_ITEMS, 0)
    assert rates["c1_true"] == (0, N_ITEMS - 1, 1)
    assert found["replies"][0]["n_differing"] == 4, "the unread one differs in its words"
    dds = next(row for row in found["headline"] if row["figure"] == "own-C1 DDS")
    assert dds["change"] == pytest.approx(-20), "−30 of c2_incorrect; the unread c1_true counts as wrong, +10"
    assert "own-C1 DDS" in out


def test_what_differs_in_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answered_by(monkeypatch, accepts)
    path = sampled(tmp_path)
    then = read_json(path / "provenance.json")
    monkeypatch.setattr(facts, "package_versions", lambda: {**then["packages"], "torch": "9.9"})
    monkeypatch.setattr(facts, "code_state", lambda folder: {"commit": "abc", "dirty": False})
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted", "checkpoint_hash": "c1"})
    out, found, again = reproduced(capsys, str(path), "engine.batch_size=3")
    (differences,) = found["environment"].values()
    named = {one["what"]: (one["base"], one["after"]) for one in differences}
    assert named["torch"] == (then["packages"]["torch"], "9.9")
    assert named["code.commit"][1] == "abc"
    assert named["engine.batch_size"] == ("16", "3")
    assert f"Warning: model.checkpoint_hash: c0 then, c1 in {again.name}" in out


def test_a_drawn_part_is_held_against_the_same_units_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answered_by(monkeypatch, accepts)
    path = sampled(tmp_path)
    engine = answered_by(monkeypatch, accepts)
    out, found, again = reproduced(capsys, str(path), "--sample", "4", "--n", "2")
    assert "Only 4 of its 10 units were asked again" in out
    assert len({prompt.item_id for prompt in engine.asked}) == 4, "both re-runs ask the same units"
    assert len(engine.asked) == 2 * 4 * 4
    assert again.name.startswith("toy-again2-of4-")
    assert [row["n_prompts"] for row in found["verdicts"]] == [16, 4, 4, 4, 4]
    assert {row["n_units"] for row in found["headline"]} == {4}
    assert len(found["reruns"]) == 2
    assert again.parent == path.parent
    assert set(flips_of(found).values()) == {0.0}
    assert "nothing differs of code, packages, device, engine and model" in out


def test_what_is_not_the_run_any_more_is_refused_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_by(monkeypatch, accepts)
    path = sampled(tmp_path)
    with pytest.raises(ConfigError, match="a run is asked again as it was"):
        prepare(path, ["sampling.max_tokens=4"])
    with pytest.raises(DataError, match="its data have changed since"):
        prepare(path, ["dialdefer.benchmarks[0].n_items=9"])
    with pytest.raises(DataError, match="this code makes other prompts of 10 of its units"):
        prepare(path, ["dialdefer.prompts.template=matched"])
    (path / "DONE.json").unlink()
    with pytest.raises(DataError, match="is not complete; continue it with `evenhand sample"):
        prepare(path)
    (path / "config.yaml").write_text("method: sft\n")
    with pytest.raises(DataError, match="only sampling runs are reproduced"):
        prepare(path)


def test_verdicts_of_a_study_whose_second_prompt_hangs_on_the_first_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(STUDIES, KEY, TOY)
    answered_by(monkeypatch, lambda prompt: "yes")
    tree = {"name": "t", "model": {"name": "m"}, KEY: {}, "verdict": "answer", "run": {"root": str(tmp_path)}}
    path = sample(parse_sampling_config(tree, "made.yaml"))
    assert flips_of(reproduced(capsys, str(path))[1])["all"] == 0
    answered_by(monkeypatch, lambda prompt: "no" if prompt.factors.step else "yes")
    _, found, _ = reproduced(capsys, str(path), "engine.block_size=64")
    assert flips_of(found)["all"] == 0.5
    assert found["headline"]


def test_a_run_without_a_verdict_has_replies_and_no_flip_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    references = {"threads": {"dataset": "pocket-threads"}, "alpha": 0.2}
    path = stage_run(tmp_path, monkeypatch, {"references": references}, AnsweringEngine(perfect))
    out, found, _ = reproduced(capsys, str(path))
    assert (found["replies"][0]["n_differing"], found["replies"][0]["n_prompts"] > 0) == (0, True)
    assert "Re-run flip rate: none, since no reply of this run is a verdict" in out
    assert "Headline estimates: none to hold against each other" in out

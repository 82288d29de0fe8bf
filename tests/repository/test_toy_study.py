"""A third study is one folder and one registration line (tests/toy_study), and every verb takes it."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from eval.__main__ import compare_main, report_main, score_main, scorecard_main
from evenhand.completions import every_completion
from evenhand.records import Completion, Prompt
from evenhand.run_directory import is_done, read_plan_lines
from inference import sampling
from inference.config import InferenceConfig, parse_sampling_config
from inference.engine import Further
from inference.sampling import sample
from studies.registry import STUDIES
from studies.show import main as show_main
from tests.made.fake_cluster import configs, make_cluster, run
from tests.made.made_runs import made_items, make_run, say
from tests.made.scripted_engine import OpenEngine
from tests.made.training_runs import tiny_model
from tests.toy_study import KEY, TOY
from tests.toy_study.asks import FRUITS
from training.config import parse_training_config
from training.train import train


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, KEY, TOY)


class OneAtATime(OpenEngine):
    """An engine with room for one prompt; it says what it is told to, and may kill its process."""

    def __init__(self, takes_back: Sequence[str], die_after: int | None = None) -> None:
        self.takes_back, self.die_after = takes_back, die_after
        self.asked: list[tuple[str, int]] = []
        self.says = "yes"

    def generate(self, prompts: Sequence[Prompt], further: Further = tuple) -> Iterator[Completion]:
        waiting = list(prompts)
        while waiting:
            prompt = waiting.pop(0)
            if len(self.asked) == self.die_after:
                os.kill(os.getpid(), signal.SIGKILL)
            self.asked.append((prompt.item_id, prompt.factors.step))
            is_back = prompt.factors.step == 1 and prompt.item_id in self.takes_back
            text = "no" if is_back else self.says
            yield Completion(prompt_hash=prompt.prompt_hash, sample_index=0, text=text, finish_reason="stop")
            waiting = [*further(), *waiting]


def config(root: Path, name: str = "toy") -> InferenceConfig:
    tree = {"name": name, "model": {"name": name}, KEY: {}, "verdict": "answer", "run": {"root": root, "shard_size": 1}}
    return parse_sampling_config(tree, "toy.yaml")


def sampled(root: Path, monkeypatch: pytest.MonkeyPatch, name: str, takes_back: Sequence[str]) -> Path:
    engine = OneAtATime(takes_back)
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: engine)
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})
    return sample(config(root, name))


def test_each_unit_goes_on_by_itself_and_a_killed_run_is_continued_between_its_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "model_facts", lambda config: {"name": "scripted"})
    first = OneAtATime(["mango"], die_after=3)
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: first)
    if (child := os.fork()) == 0:
        sample(config(tmp_path))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    (path,) = tmp_path.glob("inference/*")
    assert not is_done(path)
    assert len(list(every_completion(path))) == 3
    again = OneAtATime(["mango"])
    monkeypatch.setattr(sampling, "open_engine", lambda config, prompts: again)
    sample(config(tmp_path))
    assert is_done(path)
    assert len(again.asked) == 2 * len(FRUITS) - 3, "nothing is asked twice"
    assert again.asked.index(("fig", 1)) < again.asked.index(("lemon", 0)), "no unit waits for another"
    assert [line["item_id"] for line in read_plan_lines(path)] == [fruit for fruit in FRUITS for _ in range(2)]


def test_score_compare_report_and_scorecard_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sampled(tmp_path, monkeypatch, "before", ["mango", "fig", "date"])
    after = sampled(tmp_path, monkeypatch, "after", ["mango"])
    few = ["--draws", "200"]
    score_main([str(before), *few])
    (score,) = json.loads((before / "scores" / "scores.json").read_text())
    assert (score["study"], score["measure"], score["value"], score["n_units"]) == ("toy", "taken_back", 50.0, 6)
    compare_main([str(before), str(after), *few, "--out", str(tmp_path / "compare")])
    assert "after: -33.3 pp taken back [" in capsys.readouterr().out
    (change,) = json.loads((tmp_path / "compare" / "compare.json").read_text())
    assert (change["first"], change["second"]) == ("before", "after")
    assert change["change"] == pytest.approx(-100 / 3)
    report_main([str(before), str(after), *few, "--out", str(tmp_path / "report")])
    assert "before takes 50% of its answers back" in (tmp_path / "report" / "report.html").read_text()
    pocket = [
        make_run(tmp_path, lambda prompt: say(1), items=made_items("truthfulqa", 4), name=name)
        for name in ("base", "arm")
    ]
    words = [str(pocket[0]), f"sft={pocket[1]}", "--beside", f"base={before}", "--beside", f"sft={after}", *few]
    scorecard_main([*words, "--allow-differences", "--out", str(tmp_path / "card")])
    assert "answers taken back" in capsys.readouterr().out
    changes = json.loads((tmp_path / "card" / "scorecard_changes.json").read_text())
    assert [row["change"] for row in changes if row["study"] == "toy"] == pytest.approx([-100 / 3])
    rows = json.loads((tmp_path / "card" / "scorecard.json").read_text())
    assert [round(row["taken_back"], 1) for row in rows] == [50.0, 16.7]


def test_show_and_the_slurm_pipeline_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_main(["fruits"])
    assert "Is a mango sweet?" in capsys.readouterr().out
    cluster = make_cluster(tmp_path)
    file = tmp_path / "toy.yaml"
    file.write_text(yaml.safe_dump({"name": "toy", "model": {"name": "m"}, KEY: {}, "verdict": "answer"}))
    done = run("pipeline.sh", *configs(cluster), env={**cluster, "DRY_RUN": "1", "STUDIES": str(file)})
    assert done.returncode == 0, done.stderr
    assert f"slurm/sample.sh {file}" in done.stdout


@pytest.mark.slow
def test_a_judge_is_trained_on_its_groups(tmp_path: Path) -> None:
    tree: dict[str, Any] = {
        "method": "sft",
        "name": "toy",
        "model": {"name": str(tiny_model(tmp_path / "model"))},
        KEY: {},
        "examples": {"loss_on_eos": False},
        "consistency": {"weight": 1.0},
        "quantisation": {"compute_dtype": "float32"},
        "lora": {"r": 4, "alpha": 8, "dropout": 0.0},
        "optimiser": {
            "learning_rate": 5e-3,
            "order": "whole_items",
            "max_steps": 2,
            "mixed_precision": "no",
            "gradient_checkpointing": False,
        },
        "run": {"root": str(tmp_path)},
    }
    path = train(parse_training_config(tree, "toy.yaml"))
    assert is_done(path)
    assert json.loads((path / "DONE.json").read_text())["n_examples"] == 2 * len(FRUITS)

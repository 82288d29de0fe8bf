"""Two processes train as one does, at the same global batch; accelerate's configs, and what is refused of them."""

import os
from functools import cache
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from evenhand.config import to_yaml
from evenhand.errors import ConfigError
from evenhand.files import read_jsonl
from evenhand.run_directory import read_json
from tests.made.made_merges import bytes_held, untrained_run
from tests.made.places import CONFIGS, cases
from tests.made.process_runs import accelerate_variables, launched
from tests.made.training_runs import adapter_of, logged, pocket, tiny_model, tiny_run
from training.merged_checkpoint import write_merged
from training.processes import SHARDING, check_launch
from training.run_folder import finished_config, folder_of

pytestmark = pytest.mark.slow
KINDS = {"one": "cpu.yaml", "ddp": "ddp.yaml"}
METHODS = cases(__file__)


@pytest.fixture(scope="module")
def trained(model, tmp_path_factory):
    """A method's finished run by one process ("one") or by two ("ddp"), of one effective batch, each trained once."""
    place = tmp_path_factory.mktemp("runs")

    @cache
    def get(method, kind):
        n, folder, sections = 1 if kind == "one" else 2, place / kind, {**METHODS[method], "run": {"save_steps": 2}}
        section, cut = pocket(sections.pop("n_items")), {"n_processes": n, "gradient_accumulation_steps": 4 // n}
        sections["optimiser"] = {**sections["optimiser"], "max_steps": None, **cut}
        config = tiny_run(method, model, folder, dialdefer=section, **sections)
        folder.mkdir(exist_ok=True)
        file = folder / f"{method}.yaml"
        file.write_text(to_yaml(config))
        exits = launched(file, CONFIGS / "accelerate" / KINDS[kind], n)
        assert exits == [0] * n, Path(f"{file}.log").read_text()[-4000:]
        return folder_of(config)

    return get


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_go_the_way_of_one(method, trained):
    one, two = trained(method, "one"), trained(method, "ddp")
    for name in ("loss", "eval_loss", "accuracy", "eval_accuracy", "learning_rate"):
        assert logged(two, name) == pytest.approx(logged(one, name), rel=1e-5, abs=1e-6), name
    alone, together = adapter_of(one), adapter_of(two)
    assert alone.keys() == together.keys()
    for name, weights in alone.items():
        torch.testing.assert_close(together[name], weights, rtol=0, atol=1e-4, msg=name)
    done = [read_json(run / "DONE.json") for run in (one, two)]
    for key in ("n_steps", "n_tokens", "n_trainable", "n_examples", "epochs"):
        assert done[0][key] == done[1][key]
    assert [facts["n_processes"] for facts in done] == [1, 2]


def test_both_processes_ask_for_the_reference(trained):
    one, two = (trained("dpo", kind).parents[1] / "reference" for kind in ("one", "ddp"))
    (alone,), (together,) = ([*folder.iterdir()] for folder in (one, two))
    assert alone.name == together.name
    shards = sorted(file.name for file in together.glob("*.jsonl"))
    assert shards == sorted(file.name for file in alone.glob("*.jsonl"))
    assert len(shards) == 5  # of 8 examples, 28 + 8 in all
    for name in shards:
        rows = [[row | {"seconds": 0} for _, row in read_jsonl(folder / name)] for folder in (alone, together)]
        assert rows[0] == rows[1]


def test_a_merge_holds_the_weights_of_one_file_at_a_time(tmp_path, monkeypatch):
    model = tiny_model(tmp_path / "model", max_shard_size="1600KB", intermediate_size=4096, num_hidden_layers=8)
    sizes = [file.stat().st_size for file in model.glob("*.safetensors")]
    run, target = untrained_run(model, tmp_path), tmp_path / "merged"
    held = bytes_held(monkeypatch)
    write_merged(run, finished_config(run), model, "bf16", target)
    assert len(held) == len(sizes)
    assert max(held) < 3 * max(sizes) < sum(sizes) / 2, "beside a file's its last layer's, in float32"
    names = [{name for file in folder.glob("*.safetensors") for name in load_file(file)} for folder in (target, model)]
    assert names[0] == names[1]


LAUNCHERS = sorted((CONFIGS / "accelerate").glob("*.yaml"))


def launch_with(monkeypatch, file, n=2):
    """As in a process that `accelerate launch --config_file FILE` has started."""
    for name, value in accelerate_variables(file, n, 29500, ["--main_process_ip", "localhost"]).items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("file", LAUNCHERS, ids=lambda path: path.stem)
def test_every_accelerate_config_launches_what_its_name_says(file, monkeypatch):
    launch_with(monkeypatch, file, 1 if file.stem in ("cpu", "one-gpu") else 2)
    assert not any(map(os.environ.get, SHARDING))
    text = file.read_text()
    line = next(line for line in text.splitlines() if "accelerate launch" in line)
    assert f"--config_file configs/accelerate/{file.name}" in line
    assert yaml.safe_load(text)["mixed_precision"] == "no"


@pytest.mark.parametrize("name", SHARDING)
def test_sharded_weights_are_refused(name, monkeypatch):
    monkeypatch.setenv(name, "true")
    with pytest.raises(ConfigError, match=f"{name}: weights are not sharded here.*ddp.yaml"):
        check_launch(tiny_run())

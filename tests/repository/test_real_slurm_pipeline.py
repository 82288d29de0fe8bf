"""The whole pipeline on a real controller with the embedded model, disturbed and undisturbed: the same in the end.

Sampling in four shards (undisturbed in one), training on two nodes, merge, sampling again, score.
"""

import re
import sys

import pytest
import yaml

from evenhand.cli.status import runs_below, stages_of
from evenhand.completions import every_completion
from evenhand.config import read_yaml
from evenhand.run_directory import is_done
from tests.made.places import CONFIGS, ROOT
from tests.made.read_back import completions_of

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(3600)]


def write_configs(folder):
    """A sampling and a training config of a minute each."""
    sampling = read_yaml(CONFIGS / "inference" / "pocket.yaml")
    sampling["dialdefer"]["benchmarks"] = [{"dataset": "pocket", "split": "test", "n_items": 8}]
    sampling["engine"] = {"kind": "transformers", "dtype": "float32", "batch_size": 8}
    sampling["run"] = {"shard_size": 4}
    training = read_yaml(CONFIGS / "training" / "pocket-sft.yaml")
    training["dialdefer"]["benchmarks"] = [{"dataset": "pocket", "split": "train", "n_items": 24}]
    training["optimiser"] |= {"n_processes": 2}
    training["run"] = {"save_steps": 2, "logging_steps": 1}
    files = folder / "pocket.yaml", folder / "sft.yaml"
    for file, tree in zip(files, (sampling, training), strict=True):
        file.write_text(yaml.safe_dump(tree))
    return files


class Pipeline:
    """The jobs of a pipeline that was submitted, and where they work."""

    def __init__(self, slurm, folder, n_shards):
        folder.mkdir()
        self.slurm, self.runs, self.logs = slurm, folder / "runs", folder / "logs"
        places = {"VENV": sys.prefix, "RUN_ROOT": str(self.runs), "LOGS": str(self.logs)}
        cpus = {f"{kind}_CPUS": "1" for kind in ("SAMPLE", "TRAIN", "MERGE", "SCORE")}
        without_gpus = {"GPU": "", "SAMPLE_GPUS": "0", "TRAIN_GPUS": "0", "MERGE_GPUS": "0", "CUDA_VISIBLE_DEVICES": ""}
        settings = {"SAMPLE_SHARDS": str(n_shards), "TRAIN_NODES": "2", "MERGE_OPTIONS": "--onto nf4"}
        here = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "FETCH": "0", "DOCTOR": "0"}
        variables = {**places, **cpus, **without_gpus, **settings, **here}
        told = slurm.run("bash", "slurm/pipeline.sh", *map(str, write_configs(folder)), **variables)
        found = re.findall(r"^(\d+) evenhand-(\S+)", told, flags=re.MULTILINE)
        self.jobs = {name: job for job, name in found}

    def folders(self, kind):
        return sorted((self.runs / kind).glob("*"))

    def told(self):
        """All logs, for a failure."""
        logs = sorted(self.logs.glob("*.log"))
        return "\n".join(f"== {file.name}\n{file.read_text(errors='replace')}" for file in logs)


def test_a_disturbed_pipeline_ends_with_the_answers_of_an_undisturbed_one(slurm, tmp_path):
    disturbed = Pipeline(slurm, tmp_path / "disturbed", n_shards=4)
    sample, train = disturbed.jobs["sample-before"], disturbed.jobs["train-sft"]
    slurm.until("sampling has begun", lambda: [*disturbed.runs.glob("inference/*/plan.jsonl")])
    slurm.run("scontrol", "requeue", f"{sample}_1")
    slurm.until("a checkpoint is whole", lambda: last_step(disturbed) >= 2, 900)
    node = slurm.show(train)["BatchHost"]
    slurm.set_down(node)
    slurm.until("training is continued", lambda: last_step(disturbed) >= 4, 900)
    slurm.resume(node)
    slurm.run("scancel", "--batch", "--signal=USR1", train)  # what --signal=B:USR1@300 sends when the limit is near
    slurm.until("it has requeued itself", lambda: slurm.show(train)["Restarts"] == "2", 300)
    calm = Pipeline(slurm, tmp_path / "calm", n_shards=1)  # six starts of a model less
    for pipeline in (disturbed, calm):
        assert slurm.until_over(pipeline.jobs["score"], 1800) == {"COMPLETED"}, pipeline.told()
    assert "the time limit is near: stopping" in disturbed.told()
    assert "interrupted by SIGUSR1; what was computed is kept" in disturbed.told()
    for one, other in zip(disturbed.folders("inference"), calm.folders("inference"), strict=True):
        check_equal(one, other)
    assert {stage.state for run in runs_below(disturbed.runs) for stage in stages_of(run)} == {"complete"}
    assert [*disturbed.runs.rglob("scorecard.csv")], disturbed.told()


def last_step(pipeline):
    """Of the newest whole checkpoint."""
    whole = pipeline.runs.glob("training/*/checkpoints/checkpoint-*/COMPLETE")
    return max((int(file.parent.name.partition("-")[2]) for file in whole), default=0)


def check_equal(run, other):
    """Every prompt answered once and alike; how a batch is filled moves a log-probability by a last digit."""
    assert is_done(run)
    assert is_done(other)
    found, expected = completions_of(run), completions_of(other)
    assert found.keys() == expected.keys()
    assert len([*every_completion(run)]) == len(found)
    for key, one in found.items():
        assert one.text == expected[key].text
        assert one.answer_logprobs == pytest.approx(expected[key].answer_logprobs, abs=1e-4)

"""The shipped job scripts on a real controller with several nodes; what the jobs compute is scripted.

Submission, arrays, dependencies, a time limit, a pipeline.
"""

from pathlib import Path

import pytest

from tests.made.fake_cluster import put_program, stand_in


def work_place(folder, **settings):
    """The settings of slurm/settings.sh for jobs that do such work, with what they leave in the folder."""
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "runs").mkdir()
    put_program({"VENV": str(folder / "venv")}, "evenhand", stand_in("worker"))
    places = {"VENV": folder / "venv", "RUN_ROOT": folder / "runs", "LOGS": folder / "logs"}
    cpus = {f"{kind}_CPUS": "1" for kind in ("SAMPLE", "TRAIN", "MERGE", "SCORE")}
    return {**{key: str(path) for key, path in places.items()}, **cpus, "GPU": "", "TRAIN_GPUS": "0", **settings}


def n_requeued(place, task):
    """Of each unit that an array's task has sampled, in order: how often the job had been requeued by then."""
    work = Path(place["RUN_ROOT"]) / "evenhand-sample" / str(task)
    return [int(file.read_text()) for file in sorted(work.glob("*"), key=lambda file: int(file.name))]


pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1800)]


def test_sampling_passes_its_time_limit_by_requeueing_itself(slurm, tmp_path):
    settings = {"STOP_BEFORE": "10", "SAMPLE_TIME": "00:01:00", "UNITS": "60", "SAMPLE_SHARDS": "2"}
    place = work_place(tmp_path, NOTE=f"{tmp_path}/note", **settings)
    job = slurm.submit(place, "sample", "x.yaml")
    score = slurm.submit({**place, "AFTER": job, "NOTE": ""}, "score", f"@{place['NOTE']}")
    assert slurm.states(score) == {"PENDING"}
    assert slurm.until_over(score) == {"COMPLETED"}
    for task in range(2):
        requeued = n_requeued(place, task)
        assert len(requeued) == 60
        assert requeued[-1] > 0
        assert requeued == sorted(requeued)
    told = "".join(file.read_text(errors="replace") for file in Path(place["LOGS"]).glob("*.log"))
    assert "the time limit is near: stopping" in told
    calls = (tmp_path / "runs" / "calls").read_text()
    assert f"evenhand score {tmp_path}/runs/made" in calls.splitlines()[-1]
    assert all(f"--shard {task}/2" in calls for task in range(2))


def test_half_a_pipeline_leaves_nothing_queued_and_a_whole_one_asks_a_judge_on_the_nodes_disk(slurm, tmp_path):
    place = work_place(tmp_path, FETCH="0", DOCTOR="0", UNITS="1", SAMPLE_SHARDS="1", MODEL="/of-the-node/judge")
    for name in ("accelerate", "python"):
        put_program(place, name, stand_in("worker"))
    configs = [f"configs/{name}.yaml" for name in ("inference/qwen2.5-7b-margin", "training/qwen2.5-7b-sft")]
    with pytest.raises(AssertionError, match="cancelling"):
        slurm.run("slurm/pipeline.sh", *configs, **place, SCORE_PARTITION="nowhere")
    slurm.until("nothing is queued", lambda: not slurm.run("squeue", "--noheader").strip(), 60)
    slurm.run("slurm/pipeline.sh", *configs, **place)
    slurm.until("all is over", lambda: not slurm.run("squeue", "--noheader").strip())
    calls = (tmp_path / "runs" / "calls").read_text()
    assert f"-m training {configs[1]} model.name={place['MODEL']}" in calls
    assert f"evenhand sample {configs[0]} model.name={place['MODEL']}" in calls

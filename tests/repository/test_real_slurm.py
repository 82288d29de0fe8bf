"""The shipped job scripts on a real controller with several nodes; what the jobs compute is scripted.

Submission, arrays, dependencies, requeued tasks, time limits, a node that goes down.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made.slurm_host import SlurmHost, slurm_host
from tests.made.slurm_work import logs, units, verbs, work_place

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmHost]:
    with slurm_host(tmp_path_factory.mktemp("slurm")) as host:
        yield host


def test_every_task_of_an_array_does_its_part_and_what_waits_for_it_starts_then(
    slurm: SlurmHost, tmp_path: Path
) -> None:
    place = work_place(tmp_path, SAMPLE_SHARDS="4", UNITS="3", NOTE=f"{tmp_path}/note")
    job = slurm.submit(place, "sample", "x.yaml")
    score = slurm.submit({**place, "AFTER": job}, "score", f"@{tmp_path}/note")
    assert slurm.states(score) == {"PENDING"}
    assert slurm.until_over(score) == {"COMPLETED"}
    assert slurm.states(job) == {"COMPLETED"}
    assert [len(units(place, "sample", task)) for task in range(4)] == [3] * 4
    assert verbs(place) == ["sample"] * 4 + ["score"]
    calls = (tmp_path / "runs" / "calls").read_text()
    assert all(f"--shard {task}/4" in calls for task in range(4))
    assert f"evenhand score {tmp_path}/runs/made" in calls


def test_a_requeued_task_continues_and_what_waits_for_the_array_keeps_waiting(slurm: SlurmHost, tmp_path: Path) -> None:
    place = work_place(tmp_path, SAMPLE_SHARDS="4", UNITS="8", NOTE=f"{tmp_path}/note")
    job = slurm.submit(place, "sample", "x.yaml")
    score = slurm.submit({**place, "AFTER": job}, "score", f"@{tmp_path}/note")
    slurm.until("task 2 has begun", lambda: len(units(place, "sample", 2)) > 2)
    slurm.run("scontrol", "requeue", f"{job}_2")
    slurm.until("the others are done", lambda: all(len(units(place, "sample", task)) == 8 for task in (0, 1, 3)))
    assert slurm.until_over(score) == {"COMPLETED"}
    done = [[unit.n_requeued for unit in units(place, "sample", task)] for task in range(4)]
    assert done[0] == done[1] == done[3] == [0] * 8
    assert (len(done[2]), set(done[2])) == (8, {0, 1})
    assert verbs(place)[-1] == "score"
    assert verbs(place).count("score") == 1


def test_a_job_whose_node_goes_down_continues_on_another(slurm: SlurmHost, tmp_path: Path) -> None:
    place = work_place(tmp_path, UNITS="10")
    job = slurm.submit(place, "train", "x.yaml")
    slurm.until("it has begun", lambda: len(units(place, "train", 0)) > 2)
    node = units(place, "train", 0)[0].node
    slurm.set_down(node)
    try:
        assert slurm.until_over(job) == {"COMPLETED"}
    finally:
        slurm.resume(node)
    nodes = [unit.node for unit in units(place, "train", 0)]
    assert len(nodes) == 10
    assert nodes[0] == node
    assert nodes[-1] != node


class Limited:
    """Jobs that outlast their limit of a minute, submitted together, as each takes several."""

    def __init__(self, slurm: SlurmHost, folder: Path) -> None:
        minute = {"STOP_BEFORE": "10", "SAMPLE_TIME": "00:01:00", "TRAIN_TIME": "00:01:00", "UNITS": "60"}
        self.sampling, self.training, self.idle = [
            work_place(folder / name, NOTE=f"{folder}/{name}/note", **minute)
            for name in ("sampling", "training", "idle")
        ]
        self.sampling |= {"SAMPLE_SHARDS": "2"}
        self.training |= {"TRAIN_NODES": "2"}
        self.idle |= {"IDLE": "1", "REQUEUES_IN_VAIN": "2"}
        self.sample = slurm.submit(self.sampling, "sample", "x.yaml")
        self.train = slurm.submit(self.training, "train", "x.yaml")
        self.vain = slurm.submit(self.idle, "sample", "x.yaml")
        self.after_sample, self.after_train, self.after_vain = (
            slurm.submit({**place, "AFTER": job, "NOTE": ""}, kind, f"@{place['NOTE']}")
            for place, job, kind in (
                (self.sampling, self.sample, "score"),
                (self.training, self.train, "merge"),
                (self.idle, self.vain, "score"),
            )
        )


@pytest.fixture(scope="module")
def limited(slurm: SlurmHost, tmp_path_factory: pytest.TempPathFactory) -> Limited:
    return Limited(slurm, tmp_path_factory.mktemp("limited"))


def test_sampling_passes_its_time_limit_by_requeueing_itself(slurm: SlurmHost, limited: Limited) -> None:
    assert slurm.until_over(limited.after_sample) == {"COMPLETED"}
    for task in range(2):
        requeued = [unit.n_requeued for unit in units(limited.sampling, "sample", task)]
        assert len(requeued) == 60
        assert requeued[-1] > 0
        assert requeued == sorted(requeued)
    assert "the time limit is near: stopping" in logs(limited.sampling)
    assert verbs(limited.sampling)[-1] == "score"


def test_training_on_two_nodes_does_so_too(slurm: SlurmHost, limited: Limited) -> None:
    assert slurm.until_over(limited.after_train) == {"COMPLETED"}
    done = [units(limited.training, "train", node) for node in range(2)]
    assert [len(one) for one in done] == [60, 60]
    assert all(one[-1].n_requeued > 0 for one in done)
    assert done[0][0].node != done[1][0].node
    assert verbs(limited.training) == ["merge"]


def test_a_job_that_never_comes_further_fails_and_takes_what_waits_with_it(slurm: SlurmHost, limited: Limited) -> None:
    assert slurm.until_over(limited.after_vain) == {"CANCELLED"}
    assert slurm.states(limited.vain) == {"FAILED"}
    assert "this job was stopped 2 times in a row" in logs(limited.idle)
    assert set(verbs(limited.idle)) == {"sample"}

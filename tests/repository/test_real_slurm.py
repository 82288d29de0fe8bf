"""The shipped job scripts on a real controller with several nodes; what the jobs compute is scripted.

Submission, arrays, dependencies, a time limit.
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


def test_sampling_passes_its_time_limit_by_requeueing_itself(slurm: SlurmHost, tmp_path: Path) -> None:
    settings = {"STOP_BEFORE": "10", "SAMPLE_TIME": "00:01:00", "UNITS": "60", "SAMPLE_SHARDS": "2"}
    place = work_place(tmp_path, NOTE=f"{tmp_path}/note", **settings)
    job = slurm.submit(place, "sample", "x.yaml")
    score = slurm.submit({**place, "AFTER": job, "NOTE": ""}, "score", f"@{place['NOTE']}")
    assert slurm.until_over(score) == {"COMPLETED"}
    for task in range(2):
        requeued = [unit.n_requeued for unit in units(place, "sample", task)]
        assert len(requeued) == 60
        assert requeued[-1] > 0
        assert requeued == sorted(requeued)
    assert "the time limit is near: stopping" in logs(place)
    assert verbs(place)[-1] == "score"

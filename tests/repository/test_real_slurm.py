"""The shipped job scripts on a real controller with several nodes; what the jobs compute is scripted.

Submission, arrays, dependencies, a time limit.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.made.slurm_host import SlurmHost, slurm_host
from tests.made.slurm_work import n_requeued, work_place

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmHost]:
    with slurm_host(tmp_path_factory.mktemp("slurm")) as host:
        yield host


def test_sampling_passes_its_time_limit_by_requeueing_itself(slurm: SlurmHost, tmp_path: Path) -> None:
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

"""A real Slurm cluster, for the tests that are marked with it."""

import pytest

from tests.made.slurm_host import slurm_host


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with slurm_host(tmp_path_factory.mktemp("slurm")) as host:
        yield host

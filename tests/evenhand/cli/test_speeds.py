"""How fast a GPU or this CPU is taken to be in doctor's estimates."""

import pytest

from evenhand.cli.doctor import speeds
from evenhand.cli.doctor.speeds import gpu_speed, sheet_of, speeds_for

A100 = gpu_speed("NVIDIA A100-SXM4-80GB", "bfloat16", memory_gib=80.0, is_here=True)


@pytest.mark.parametrize(
    ("name", "memory_gib", "key"),
    [
        ("NVIDIA A100-SXM4-80GB", 80.0, "a100-80gb"),
        ("NVIDIA A100-PCIE-40GB", 40.0, "a100-40gb"),
        ("a100", None, "a100-80gb"),
        ("NVIDIA A10", 22.5, "a10"),
        ("NVIDIA H100 80GB HBM3", 80.0, "h100"),
        ("NVIDIA RTX A6000", 48.0, "a6000"),
        ("Tesla V100-SXM2-32GB", 32.0, None),
    ],
)
def test_a_gpu_is_known_by_the_names_that_drivers_slurm_and_people_give_it(
    name: str, memory_gib: float | None, key: str | None
) -> None:
    assert sheet_of(name, memory_gib) == key


def test_estimates_are_for_the_gpu_here_else_for_the_named_one_else_for_an_a100_and_this_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(speeds, "usable_gpus", lambda: ())
    assert [speed.name for speed in speeds_for("bfloat16", None)] == ["a100-80gb", "this CPU"]
    assert [speed.name for speed in speeds_for("float32", None)] == ["this CPU"]
    assert [speed.name for speed in speeds_for("bfloat16", "h100")] == ["h100"]
    assert speeds_for("bfloat16", "unnamed")[0].flops is None
    monkeypatch.setattr(speeds, "usable_gpus", lambda: (speeds.Gpu("NVIDIA H200", 141.0, "580.1"),))
    assert [speed.name for speed in speeds_for("bfloat16", "a100")] == ["NVIDIA H200"]

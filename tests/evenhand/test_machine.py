"""What a machine says of itself, where it says it."""

import pytest

from evenhand import machine
from evenhand.cli import demo


@pytest.mark.parametrize(
    ("says", "has_bf16"), [("flags : fpu amx_bf16", True), ("flags : fpu", False), ("Features : fp bf16", None)]
)
def test_bf16_is_computed_where_the_processor_is_known_to_have_it(says, has_bf16, tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text(says)
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(demo, "step", lambda title, *words: " ".join(words))
    assert machine.has_bf16() is has_bf16
    asked = demo.asked("", "bent", "folder", "root")
    assert ("engine.dtype=bfloat16" in asked) == bool(has_bf16)

"""Where this checkout lies, and the shared data that lie beside it here and in CI."""

from pathlib import Path

from evenhand.files import shipped_yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared"  # absent at a user's: what reads it skips with a reason


def cases(test_file):
    """What the YAML file of a test file's own name holds: tests/eval/reruns.yaml of test_reruns.py."""
    file = Path(test_file)
    return shipped_yaml(file.with_name(f"{file.stem.removeprefix('test_')}.yaml"))

"""Where this checkout lies, and the shared data that lie beside it here and in CI."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
GOLDEN = ROOT / "tests" / "golden"
SHARED = ROOT.parent / "shared"  # absent at a user's: what reads it skips with a reason

"""YAML files that are shipped beside the code."""

from pathlib import Path
from typing import Any

import yaml

# libyaml's, ten times as fast, where PyYAML was built with it. These files are ours: they need none of StrictLoader's
# defences.
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def shipped_yaml(path: Path) -> Any:
    """The value that a file of the package stands for."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=Loader)

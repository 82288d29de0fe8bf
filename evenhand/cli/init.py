"""`evenhand init DIR`: a folder to start a study of one's own from."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from evenhand.config import CONFIGS
from evenhand.errors import ConfigError
from evenhand.terminal import command_parser

STARTER = Path(__file__).with_name("starter")


def main(argv: Sequence[str]) -> None:
    """Write a small study that runs as it is: a config, ten items, a training config, and a README with the commands.

    It overwrites nothing.
    """
    parser = command_parser("init", main)
    parser.add_argument("folder", type=Path, help="target folder, created if missing")
    parser.add_argument("--slurm", action="store_true", help="also the job scripts, and all configs that come along")
    options = parser.parse_args(argv)
    folder = options.folder
    files = [*sorted(STARTER.iterdir()), *([CONFIGS, CONFIGS.with_name("slurm")] if options.slurm else [])]
    if there := [file.name for file in files if (folder / file.name).exists()]:
        raise ConfigError(f"{folder}: already holds {', '.join(there)}; name another folder, or move them away")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made ({error.strerror}); name another folder") from None
    for file in files:
        (shutil.copytree if file.is_dir() else shutil.copyfile)(file, folder / file.name)
    if options.slurm:  # its jobs run in this environment
        settings = folder / "slurm" / "settings.sh"
        settings.write_text(settings.read_text().replace("VENV=.venv", f"VENV={sys.prefix}"))
    print(f"{folder} now holds {', '.join(file.name for file in files)}. Next: cd {folder}; evenhand show study.yaml")

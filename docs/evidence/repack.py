"""Archives of older configs → archives of today's: keys renamed, folders and shards named by the new configs.

    python docs/evidence/repack.py docs/evidence/*/*.tar.xz

Replaces the archives, and prints the old and the new name of every run. Replies, plans and metrics stay what they are.
"""

import shutil
import sys
import tarfile
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pack import pack

from evenhand.completions import append_completions, read_answers
from evenhand.config import read_yaml, to_yaml
from evenhand.files import sha256_of, write_json
from evenhand.run_directory import CONFIG_FILE, DONE_FILE, PLAN_FILE, PROVENANCE_FILE, read_json, run_path
from evenhand.terminal import run_main
from inference.config import FREE_OF_EFFECT, parse_sampling_config
from training.config import parse_training_config
from training.run_folder import METRICS_FILE, folder_of

KEYS = {
    "after": "follow_up_to",
    "draw": "variants_per_item",
    "format": "chat_template",
    "hang_limit_s": "stall_timeout_s",
    "hold": "weights",
    "order": "batch_by",
}
VALUES: dict[tuple[str, Any], Any] = {
    ("format", "chat"): True,
    ("method", "own_c1"): "label_free",
    ("order", "whole_items"): "item",
}
GONE = ("spike_factor", "spike_patience")  # of a guard that no longer looks at them
CODER = "Qwen/Qwen2.5-Coder-1.5B-Instruct"
HUB = {"cf419d04152e88b0": CODER, "62a04bfc5a58f248": CODER}  # checkpoint hash → name of what lay in a folder


def main(argv: Sequence[str]) -> None:
    """Repack the archives argv."""
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        archives: dict[Path, Path] = {}  # old file → sampling run in it
        for file in (Path(word).resolve() for word in argv):
            with tarfile.open(file) as archive:
                archive.extractall(before, filter="data")
            archives[file] = Path("runs", "inference", file.name.removesuffix(".tar.xz"))
        after.mkdir()
        with chdir(after):
            runs = Runs(before)
            for file, run in archives.items():
                renewed = runs.renewed(run)
                file.unlink()
                pack(renewed, file.with_name(f"{renewed.name}.tar.xz"), are_ours=True)  # or it had not been packed
        for old, new in runs.names.items():
            print(old.name, new.name)


class Runs:
    """Runs below a folder, written anew below the current one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[Path, Path] = {}  # old folder → new folder

    def renewed(self, run: Path) -> Path:
        """The new folder of a run, which is written with the training run behind it unless it is there."""
        if run in self.names:
            return self.names[run]
        tree, provenance = (
            renamed(read_yaml(self.root / run / CONFIG_FILE)),
            read_json(self.root / run / PROVENANCE_FILE),
        )
        checkpoint = Path(tree["model"]["name"])
        if checkpoint.is_absolute():
            tree["model"]["name"] = HUB[provenance["model"]["checkpoint_hash"]]
        elif (self.root / checkpoint.parent / CONFIG_FILE).is_file():
            training_run = self.renewed(checkpoint.parent)
            tree["model"]["name"] = str(training_run / checkpoint.name)
            if "training_run" in provenance["model"]:
                provenance["model"]["training_run"] = training_run.name
        tree["run"]["root"] = "runs"
        is_training = "method" in tree
        config = (parse_training_config if is_training else parse_sampling_config)(tree, str(run))
        path = (
            folder_of(config)
            if is_training
            else run_path(config.run.root, "inference", config.name, config, FREE_OF_EFFECT)
        )
        path.mkdir(parents=True)
        (path / CONFIG_FILE).write_text(to_yaml(config), encoding="utf-8")
        provenance |= {"config_sha256": sha256_of(path / CONFIG_FILE)}
        provenance["model"]["name"] = tree["model"]["name"]
        write_json(path / PROVENANCE_FILE, provenance)
        done = read_json(self.root / run / DONE_FILE) | {"provenance_sha256": sha256_of(path / PROVENANCE_FILE)}
        if is_training:
            done["method"] = tree["method"]
            shutil.copyfile(self.root / run / METRICS_FILE, path / METRICS_FILE)
            for file in (self.root / run).glob(f"*/{DONE_FILE}"):  # of its merged checkpoints
                write_json(path / file.parent.name / DONE_FILE, read_json(file) | {"run": path.name})
        else:
            shutil.copyfile(self.root / run / PLAN_FILE, path / PLAN_FILE)
            replies = read_answers(self.root / run).replies
            append_completions(path, (reply for hash_ in sorted(replies) for reply in replies[hash_]), number=1)
        write_json(path / DONE_FILE, done)
        self.names[run] = path
        return path


def renamed(node: Any, key: str = "") -> Any:
    """A config's tree in today's words."""
    if isinstance(node, list):
        return [renamed(value, key) for value in node]
    if not isinstance(node, dict):
        return VALUES.get((key, node), node)
    tree = {KEYS.get(name, name): renamed(value, name) for name, value in node.items() if name not in GONE}
    if weight := tree.pop("consistency", None):
        tree |= {"method": "paired", "paired": weight}
    return tree


if __name__ == "__main__":
    sys.exit(run_main(main))

"""Commands killed at random times, run again, and compared with an undisturbed run."""

import json
import random
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evenhand.completion_shards import every_completion
from evenhand.config import to_yaml
from tests.made.convokit_dump import made_dump
from tests.made.growing_run import Found
from tests.made.kill_campaign import SIGKILLED, Command, Host, content
from tests.made.training_runs import tiny_model, tiny_run

Judge = Callable[[Path, Path], Found]  # (calm folder, disturbed folder) → what differs


def files_of(folder: Path) -> dict[Path, Path]:
    return {file.relative_to(folder): file for file in folder.rglob("*") if file.is_file()}


def differing(calm: Path, folder: Path, left_out: str = "") -> Found:
    """Files that lack, files that are too many, and files that hold something else."""
    expected, found = (
        {name: file for name, file in files_of(top).items() if not left_out or left_out not in name.parts}
        for top in (calm, folder)
    )
    return Found(
        lost=len(expected.keys() - found.keys()),
        doubled=len(found.keys() - expected.keys()),
        wrong=sum(content(expected[name]) != content(found[name]) for name in expected.keys() & found.keys()),
    )


def sampled(calm: Path, folder: Path) -> Found:
    """Of sampling runs: the replies by prompt, and all other files."""
    said = []
    for top in (calm, folder):
        (run,) = top.glob("runs/inference/*")
        said.append([(c.prompt_hash, c.text) for c in every_completion(run)])
    expected, found = map(dict, said)
    return differing(calm, folder, left_out="completions") + Found(
        lost=len(expected.keys() - found.keys()),
        doubled=len(said[1]) - len(found),
        wrong=sum(found[hash_] != text for hash_, text in expected.items() if hash_ in found),
    )


def sampling_command(model: Path) -> Command:
    text = json.dumps(
        {
            "name": "kills",
            "model": {"name": str(model)},
            "dialdefer": {"benchmarks": [{"dataset": "pocket", "n_items": 10}], "prompts": {"template": "matched"}},
            "sampling": {"max_tokens": 8},
            "engine": {"kind": "transformers", "batch_size": 4},
            "run": {"root": "runs", "shard_size": 4},
        }
    )
    return Command(entry="inference.__main__:main", words=["config.yaml"], prepare=partial(written, text))


def training_command(model: Path) -> Command:
    settings = {"lora": {"r": 4, "dropout": 0.1}, "optimiser": {"max_steps": 6}, "run": {"save_steps": 2}}
    text = to_yaml(tiny_run("sft", model, Path("runs"), **settings))
    return Command(
        entry="training.__main__:main",
        words=["config.yaml"],
        prepare=partial(written, text),
        settings={"training.reference.SHARD_SIZE": 8},
    )


def written(text: str, folder: Path) -> None:
    (folder / "config.yaml").write_text(text)


def copied(run: Path, folder: Path) -> None:
    shutil.copytree(run, folder / "run")


class TimedKills:
    """A command killed at random times. The processes are forks of one that has done the imports."""

    def __init__(self, command: Command, folder: Path, judge: Judge = differing) -> None:
        self.command, self.folder, self.judge = command, folder, judge
        self.host = Host()
        self.calm = self.fresh("calm")
        assert self.host.run(command, self.calm) == 0, Path(f"{self.calm}.log").read_text()[-2000:]
        seen = json.loads(Path(f"{self.calm}.operations").read_text())
        self.host.ask(seen["modules"])
        began = time.monotonic()
        assert self.host.run(command, self.fresh("timed")) == 0
        self.seconds = time.monotonic() - began

    def fresh(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True)
        self.command.prepare(folder)
        return folder

    def trial(self, folder: Path, rng: random.Random) -> Found:
        """Kill the command at random times until it has been killed while it worked, then let it finish."""
        work = self.fresh(folder.name)
        code = self.host.run(self.command, work, kill_after_s=rng.uniform(0, self.seconds))
        if code == 0:  # it was over before
            shutil.rmtree(work)
            return self.trial(folder, rng)
        assert code == SIGKILLED
        ended = self.host.run(self.command, work) == 0
        found = self.judge(self.calm, work) if ended else Found(lost=1)
        shutil.rmtree(work)
        return found

    def close(self) -> None:
        """End the process."""
        assert self.host.process.stdin
        self.host.process.stdin.close()
        self.host.process.wait(timeout=60)


def prepared(folder: Path) -> dict[str, Callable[[], TimedKills]]:
    """Fault → what injects it, made when it is its turn."""
    model = tiny_model(folder / "model")

    def merging() -> TimedKills:
        trained = folder / "trained"
        trained.mkdir()
        train = training_command(model)
        train.prepare(trained)
        assert Host().run(train, trained) == 0, Path(f"{trained}.log").read_text()[-2000:]
        (run,) = trained.glob("runs/training/*")
        command = Command(entry="training.merge:main", words=["run", "--n-prompts", "8"], prepare=partial(copied, run))
        return TimedKills(command, folder / "merging")

    def building() -> TimedKills:
        dump = made_dump(folder / "dump")
        words = ["narrator", "--raw", str(dump), "--out", "built"]
        return TimedKills(Command(entry="studies.build:main", words=words), folder / "building")

    return {
        "SIGKILL, sampling": lambda: TimedKills(sampling_command(model), folder / "sampling", sampled),
        "SIGKILL, training": lambda: TimedKills(training_command(model), folder / "training"),
        "SIGKILL, merging": merging,
        "SIGKILL, building": building,
    }

"""Commands killed before one of their file operations, run again, and compared with an undisturbed run."""

import json
import multiprocessing
import os
import random
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.completions import every_completion
from evenhand.config import read_yaml, to_yaml
from tests.made.fake_server import FakeServer, echo
from tests.made.growing_run import Found
from tests.made.kill_host import run_killed
from tests.made.places import CONFIGS
from tests.made.report_runs import leans, pocket_run
from tests.made.unified_files import write_raw

PROCESSES = multiprocessing.get_context("forkserver")  # forked from a process that has done the imports
# A lease whose holder had not written its name yet is waited for; campaigns do not wait three minutes for it.
LEASES = {"evenhand.lease.STALE_S": 1.0, "evenhand.lease.BEAT_S": 0.3, "evenhand.lease.LOOK_S": 0.1}
# Facts of the clock, the machine and the checkout, wherever they stand in a JSON file.
# peft lists modules in no fixed order and provenance has times, so hashes differ; the files are compared themselves.
OF_THE_MOMENT = (
    *("code", "seconds", "reference_seconds", "peak_memory_gib", "created", "time", "mtime"),
    *("adapter_hash", "provenance_sha256"),
)
IMPORTS = [
    *("training.train", "training.merge", "training.__main__", "eval.__main__", "inference.__main__"),
    *("inference.transformers_engine", "inference.openai_engine", "transformers.models.llama.modeling_llama"),
    *("evenhand.cli.build", "tests.made.kill_host"),
]
WHEN = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, and the folder it works in, which has to be there as `prepare` makes it."""

    entry: str  # "training.__main__:main"
    words: Sequence[str]
    prepare: Callable[[Path], object] = lambda folder: None
    settings: dict[str, Any] = field(default_factory=dict)  # module constants: "training.reference.SHARD_SIZE" → 8


class Kill(NamedTuple):
    """Where a run is killed: before operation number `at`; with `tear` the file just written has half of it only."""

    at: int
    tear: bool = False


def run(command, folder, kill=None):
    """The exit code of a command; -9 when it was killed. It leaves FOLDER.log, and FOLDER.operations at its end."""
    settings = {**LEASES, **command.settings}
    words = (folder, command.entry, command.words, settings, kill.at if kill else None, bool(kill and kill.tear))
    process = PROCESSES.Process(target=run_killed, args=(dict(os.environ), *words))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def operations_of(folder):
    """What a command that came to its end did, and whether the file written before each could be torn."""
    return [(what, torn) for what, torn in json.loads(Path(f"{folder}.operations").read_text())]


class Campaign:
    """A command that is killed at many places, in folders beside the one of the undisturbed run, `calm`."""

    def __init__(self, command, folder):
        PROCESSES.set_forkserver_preload(IMPORTS)
        self.command, self.folder = command, folder
        self.calm = self.fresh("calm")
        assert run(command, self.calm) == 0, self.log(self.calm)
        seen = operations_of(self.calm)
        self.places = [Kill(number) for number in range(len(seen))]
        self.places += [Kill(number, tear=True) for number, (_, torn) in enumerate(seen) if torn]

    def fresh(self, name):
        """A folder as the command finds it the first time."""
        (folder := self.folder / name).mkdir(parents=True)
        self.command.prepare(folder)
        return folder

    def log(self, folder):
        return Path(f"{folder}.log").read_text()[-3000:]

    def drawn(self, n):
        """n places to be killed at; all of them when there are no more."""
        return self.places if len(self.places) <= n else random.Random(n).sample(self.places, n)

    def trial(self, kill):
        """Kill, run again; what is not as in the undisturbed run."""
        folder = self.fresh(f"trial-{kill.at}-{kill.tear}")
        assert run(self.command, folder, kill) == -signal.SIGKILL, f"{kill}: {self.log(folder)}"
        assert run(self.command, folder) == 0, f"after {kill}: {self.log(folder)}"
        differences = files_differing(self.calm, folder) + answers_differing(self.calm, folder)
        shutil.rmtree(folder)
        return differences


def files_differing(calm, folder):
    """Files that lack, are too many, or hold something else; shards are compared by their answers."""
    expected, seen = (
        {
            file.relative_to(top): file
            for file in top.rglob("*")
            if file.is_file() and "completions" not in file.parts and file.suffix != ".partial"
        }
        for top in (calm, folder)
    )
    return Found(
        lost=len(expected.keys() - seen.keys()),
        doubled=len(seen.keys() - expected.keys()),
        wrong=sum(content(expected[name]) != content(seen[name]) for name in expected.keys() & seen.keys()),
    )


def answers_differing(calm, folder):
    """Answers that lack, that were asked for twice, and that say something else."""
    expected, seen = (
        [
            ((c.prompt_hash, c.sample_index), c.text)
            for run in top.glob("runs/inference/*")
            for c in every_completion(run)
        ]
        for top in (calm, folder)
    )
    texts = dict(seen)
    return Found(
        lost=len(dict(expected).keys() - texts.keys()),
        doubled=sum(count - 1 for count in Counter(key for key, _ in seen).values()),
        wrong=sum(texts.get(key, text) != text for key, text in expected),
    )


def content(file):
    """A file's bytes without the time of day; of JSON and JSON lines what they hold, without facts of the moment."""
    if file.suffix == ".json":
        return timeless(json.loads(file.read_bytes()))
    if file.suffix == ".jsonl":
        lines = [timeless(json.loads(line)) for line in file.read_bytes().splitlines()]
        return [line for line in lines if "train_runtime" not in line]  # transformers' speeds, of each session
    return WHEN.sub(b"", file.read_bytes())


def timeless(value):
    """JSON without what depends on the clock and the machine."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in OF_THE_MOMENT}
    return [timeless(item) for item in value] if isinstance(value, list) else value


COMMANDS = ("init", "export", "sample", "sample pairs", "sample from a server", "train", "merge", "build", "report")


@contextmanager
def campaign(name, folder):
    """The campaign of one of COMMANDS, in a new folder."""
    with ExitStack() as stack:
        yield Campaign(command_of(name, folder, stack), folder / "campaign")


def command_of(name, folder, stack):
    """What is killed: tiny runs of each verb."""
    if name == "init":
        return Command(entry="evenhand.cli.init:main", words=["new", "--slurm"])
    if name == "export":
        words = ["lm-eval", "config.yaml", "--out", "task"]
        return replace(sampling({"name": "judge"}, {}), entry="evenhand.cli.export:main", words=words)
    if name == "build":
        write_raw(raw := folder / "raw", scale=0.02, datasets=["halueval", "advisorqa"])
        words = ["unified", "--out", "built", "--raw", str(raw), "--datasets", "halueval", "advisorqa"]
        words += ["--any-revision", "--split", "resample", "--size", "halueval=9", "advisorqa=9"]
        return Command(entry="evenhand.cli.build:main", words=words)
    if name == "report":
        made = partial(copied, pocket_run(folder / "made", leans, verdict="margin"))
        return Command(entry="eval.__main__:report_main", words=["run", "--draws", "100"], prepare=made)
    if name == "sample from a server":
        server = stack.enter_context(FakeServer(echo))
        engine = {"kind": "openai", "base_url": server.base_url, "concurrency": 4, "timeout_s": 30}
        return sampling({"name": "judge"}, engine)
    from tests.made.training_runs import tiny_model, tiny_run  # torch takes seconds, and campaigns are seldom run

    model = tiny_model(folder / "model", max_shard_size="300KB")  # several weight files
    if name in ("sample", "sample pairs"):
        return sampling({"name": str(model)}, {"kind": "transformers", "batch_size": 4}, STUDIES[name])
    settings = {"lora": {"r": 4, "dropout": 0.1}, "optimiser": {"max_steps": 6}, "run": {"save_steps": 2}}
    dev = {"dev": {"n_items": 2, "every_steps": 2}}
    text = to_yaml(tiny_run("dpo", model, Path("runs"), **settings, **(dev if name == "train" else {})))
    train = Command(
        entry="training.__main__:main",
        words=["config.yaml"],
        prepare=partial(written, text),
        settings={"training.reference.SHARD_SIZE": 8},  # examples: the base is asked in several shards
    )
    if name == "train":
        return train
    (trained := folder / "trained").mkdir()
    train.prepare(trained)
    assert run(train, trained) == 0, Path(f"{trained}.log").read_text()[-2000:]
    (finished,) = trained.glob("runs/training/*")
    return Command(entry="training.merge:main", words=["run", "--n-prompts", "8"], prepare=partial(copied, finished))


CLAIMS = {"dialdefer": {"benchmarks": [{"dataset": "pocket", "n_items": 10}], "prompts": {"template": "matched"}}}
PAIRWISE = read_yaml(CONFIGS / "framing" / "pairwise.yaml")["framing"]
FEW = {name: PAIRWISE["framings"][name] for name in ("two writers", "I wrote A", "are you sure?")}
ITEMS = {"file": str(CONFIGS / "framing" / "responses.jsonl"), "n_items": 6}
PAIRS = {"verdict": "margin", "framing": {**PAIRWISE, "items": ITEMS, "framings": FEW, "placebos": []}}
STUDIES = {"sample": CLAIMS, "sample pairs": PAIRS}


def sampling(model, engine, study=CLAIMS):
    """`evenhand sample` of some 40 prompts in shards of 4."""
    config = {
        "name": "kills",
        "model": model,
        **study,
        "sampling": {"max_tokens": 8},
        "engine": engine,
        "run": {"root": "runs", "shard_size": 4},
    }
    return Command(entry="inference.__main__:main", words=["config.yaml"], prepare=partial(written, json.dumps(config)))


def written(text, folder):
    (folder / "config.yaml").write_text(text)


def copied(run, folder):
    shutil.copytree(run, folder / "run")

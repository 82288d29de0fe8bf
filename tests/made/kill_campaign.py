"""A command is killed before one of its file operations, run again, and compared with an undisturbed run."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.made.places import ROOT as CHECKOUT

N_HOSTS = 2
SIGKILLED = -9
# A lease whose holder had not written its name yet is waited for; campaigns do not wait three minutes for it.
LEASES = {"evenhand.lease.STALE_S": 1.0, "evenhand.lease.BEAT_S": 0.3, "evenhand.lease.LOOK_S": 0.1}
# Facts of the clock, the machine and the checkout, wherever they stand in a JSON file.
# peft lists modules in no fixed order and provenance has times, so hashes differ; the files are compared themselves.
OF_THE_MOMENT = (
    *("code", "seconds", "reference_seconds", "peak_memory_gib", "created", "time", "mtime"),
    *("adapter_hash", "provenance_sha256"),
)

WHEN = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, and the folder it works in, which has to be there as `prepare` makes it."""

    entry: str  # "training.__main__:main"
    words: Sequence[str]
    prepare: Callable[[Path], object] = lambda folder: None
    settings: dict[str, Any] = field(default_factory=dict)  # module constants: "training.reference.SHARD_SIZE" → 8


@dataclass(frozen=True)
class Kill:
    """Where a run is killed: before operation number `at`; with `tear` the file just written has half of it only."""

    at: int
    tear: bool
    what: str  # the operation, for messages


class Host:
    """A process with the imports done; each command runs in a fork of it."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.made.kill_host"],
            cwd=CHECKOUT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, command: Command, folder: Path, kill: Kill | None = None, kill_after_s: float | None = None) -> int:
        """The exit code of the command; -9 when it was killed."""
        trial = {
            "entry": command.entry,
            "words": list(command.words),
            "settings": {**LEASES, **command.settings},
            "folder": str(folder),
            "log": f"{folder}.log",
            "operations": f"{folder}.operations",
            "kill_at": kill.at if kill else None,
            "tear": bool(kill and kill.tear),
            "kill_after_s": kill_after_s,
        }
        return self.ask(trial)

    def ask(self, wanted: object) -> int:
        """Have the host do something, and wait for its answer."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


class Campaign:
    """A command that is killed at many places, in folders beside the one of the undisturbed run, `calm`."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command, self.folder = command, folder
        self.hosts = [Host() for _ in range(N_HOSTS)]
        self.free = list(self.hosts)
        self.kills = 0

    def __enter__(self) -> Self:
        self.calm = self.fresh("calm")
        code = self.hosts[0].run(self.command, self.calm)
        assert code == 0, self.log(self.calm)
        seen = json.loads(Path(f"{self.calm}.operations").read_text())
        self.operations = [tuple(one) for one in seen["operations"]]
        with ThreadPoolExecutor(N_HOSTS) as pool:
            list(pool.map(lambda host: host.ask(seen["modules"]), self.hosts))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in self.hosts:
            assert host.process.stdin
            host.process.stdin.close()
            host.process.wait(timeout=60)

    def fresh(self, name: str) -> Path:
        """A folder as the command finds it the first time."""
        folder = self.folder / name
        folder.mkdir()
        self.command.prepare(folder)
        return folder

    def log(self, folder: Path) -> str:
        """The end of what commands printed in a folder."""
        return Path(f"{folder}.log").read_text()[-3000:]

    def places(self, n: int) -> list[Kill]:
        """n places to be killed at, drawn from all of them; all of them when there are no more."""
        every = [Kill(number, False, what) for number, (what, _) in enumerate(self.operations)]
        every += [Kill(number, True, what) for number, (what, torn) in enumerate(self.operations) if torn]
        drawn = every if len(every) <= n else random.Random(n).sample(every, n)
        print(f"{len(self.operations)} file operations, {len(every)} places, {len(drawn)} tried")
        return drawn

    def run(self, n: int, check: Callable[[Path, Kill], None]) -> None:
        """Kill at n places, run again, and check each folder."""

        def trial(number: int, kill: Kill) -> None:
            host = self.free.pop()
            try:
                folder = self.fresh(f"trial-{number}")
                assert host.run(self.command, folder, kill) == SIGKILLED, f"{kill}: {self.log(folder)}"
                self.kills += 1
                code = host.run(self.command, folder)
                assert code == 0, f"after {kill}: {self.log(folder)}"
                check(folder, kill)
                shutil.rmtree(folder)
            finally:
                self.free.append(host)

        with ThreadPoolExecutor(N_HOSTS) as pool:
            waiting = [pool.submit(trial, number, kill) for number, kill in enumerate(self.places(n))]
            found = [str(error)[:1000] for one in waiting if (error := one.exception())]
        assert not found, f"{len(found)} of {len(waiting)} trials failed:\n" + "\n\n".join(found[:5])
        print(f"{self.kills} kills")

    def refuse_differences(self, folder: Path, kill: Kill, left_out: str = "nothing") -> None:
        """Every file as in the undisturbed run, up to the time of day, and none half-written. left_out: a glob."""
        skipped = set(folder.rglob(left_out)) | set(self.calm.rglob(left_out))
        expected, found = (
            {p.relative_to(top) for p in top.rglob("*") if p not in skipped} for top in (self.calm, folder)
        )
        assert found == expected, f"after {kill}: {sorted(map(str, found ^ expected))[:8]} are in one only"
        files = [name for name in expected if (self.calm / name).is_file()]
        odd = [str(name) for name in files if content(self.calm / name) != content(folder / name)]
        assert not odd, f"after {kill}: {sorted(odd)[:8]} differ"


def content(file: Path) -> object:
    """A file's bytes without the time of day; of JSON and JSON lines what they hold, without facts of the moment."""
    if file.suffix == ".json":
        return timeless(json.loads(file.read_bytes()))
    if file.suffix == ".jsonl":
        lines = [timeless(json.loads(line)) for line in file.read_bytes().splitlines()]
        return [line for line in lines if "train_runtime" not in line]  # transformers' speeds, of each session
    return WHEN.sub(b"", file.read_bytes())


def timeless(found: Any) -> Any:
    """JSON without what depends on the clock and the machine."""
    if isinstance(found, dict):
        return {key: timeless(value) for key, value in found.items() if key not in OF_THE_MOMENT}
    return [timeless(one) for one in found] if isinstance(found, list) else found

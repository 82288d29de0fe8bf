"""A command of Evenhand in a process that is killed before one of its file operations.

A file operation is what changes the command's folder: a file opened to be written, a rename, link, fsync or removal, a
folder made or removed; of writers in Rust or C++ the call of the writer.
"""

import importlib
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
# Audit event → which of its arguments is the path that changes, and which the folder's descriptor it may count from.
CHANGES = {
    "os.rename": (1, 3),
    "os.link": (1, 3),
    "os.remove": (0, 1),
    "os.mkdir": (0, 2),
    "os.rmdir": (0, 1),
    "os.truncate": (0, 9),
}
NOWHERE = "/nowhere/"  # the folder of one who watches no more


class Operations:
    """Counts the file operations under a folder; before number `kill_at` (from 0) the process dies.

    tear: the file that the operation before it wrote then loses half of what was written to it.
    """

    def __init__(self, folder, kill_at, *, tear):
        self.folder, self.kill_at, self.tear = f"{folder}/", kill_at, tear
        self.seen: list[tuple[str, bool]] = []  # what was done, and whether the file written before it could be torn
        self.written: tuple[str, int] | None = None  # what the last operation writes, and its size before

    def audit(self, event, args):
        """The audit hook."""
        if event == "open" and isinstance(args[2], int) and args[2] & WRITING:
            self.writes(args[0])
        elif event in CHANGES:
            which, descriptor = CHANGES[event]
            self.add(event, place_of(args[which], args[descriptor] if descriptor < len(args) else -1))

    def writes(self, path):
        """A file is about to be written."""
        if not isinstance(path, int) and self.add("write", where := place_of(path, -1)):
            self.written = (where, size_of(where))

    def add(self, what, where):
        """Count an operation, if it is on the folder's files; the process may end here."""
        if not where.startswith(self.folder):
            return False
        written = self.written  # once: another thread may write meanwhile
        grown = size_of(written[0]) - written[1] if written else 0
        if len(self.seen) == self.kill_at:
            self.folder = NOWHERE
            if self.tear and written and grown > 0:
                os.truncate(written[0], written[1] + grown // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen.append((f"{what} {where.removeprefix(self.folder)}", grown > 0))
        self.written = None
        return True

    def install(self):
        """Watch from now on."""
        before(os, "fsync", lambda descriptor: self.add("fsync", target_of(descriptor)))
        for module, name, which in (
            ("safetensors.torch", "serialize_file", 1),
            ("torch", "save", 1),
            ("pyarrow.parquet", "ParquetWriter", 0),
        ):
            if module in sys.modules:
                before(sys.modules[module], name, partial(self.nth_argument_is_written, which))
        sys.addaudithook(self.audit)

    def nth_argument_is_written(self, which, *args, **_):
        if isinstance(args[which], str | Path):
            self.writes(args[which])


def before(module, name, hook):
    """Have a function of a module call the hook first, with its own arguments."""
    function = getattr(module, name)

    def hooked(*args, **more):
        hook(*args, **more)
        return function(*args, **more)

    setattr(module, name, hooked)


def size_of(path):
    """A file's bytes; 0 where there is none."""
    file = Path(path)
    return file.stat().st_size if file.exists() else 0


def target_of(descriptor):
    """What an open descriptor is of."""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


def place_of(path, descriptor):
    """A path as text from the root; a relative one counts from the folder of the descriptor, or from where we are."""
    base = target_of(descriptor) if descriptor is not None and descriptor >= 0 else str(Path.cwd())
    return os.path.normpath(Path(base) / os.fsdecode(path))


def run_killed(environment, folder, entry, words, settings, kill_at, tear):
    """What a forked process does: the command in its folder, as the console would run it.

    environment: what holds now; the server that it is forked from has that of its own start.
    What it prints is added to FOLDER.log; its operations are left in FOLDER.operations.
    """
    os.environ.update(environment)
    os.chdir(folder)
    for number in (1, 2):
        os.dup2(os.open(f"{folder}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    for place, value in settings.items():
        module, _, name = place.rpartition(".")
        setattr(importlib.import_module(module), name, value)
    module, _, name = entry.partition(":")
    command = getattr(importlib.import_module(module), name)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # sums in one order, whatever else the machine does
    from evenhand.terminal import run_main

    operations = Operations(folder.resolve(), kill_at, tear=tear)
    operations.install()
    code = run_main(command, words)
    operations.folder = NOWHERE
    Path(f"{folder}.operations").write_text(json.dumps(operations.seen))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

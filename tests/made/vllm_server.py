"""A real vLLM server on loopback, as a user would start one."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.made.process_runs import free_port

# Imports alone take vLLM 30 s on two busy cores; this is a hang guard, no measure of speed.
PATIENCE_S = 400


@contextmanager
def serve(checkpoint: Path, log: Path, *, window: int) -> Iterator[str]:
    """Serve a checkpoint in float32 as "judge" and yield the base URL; the server is gone afterwards."""
    port = free_port()
    # `vllm serve` looks for its own package metadata by a name that the CPU wheel does not have; this form does not.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
    command += ["--served-model-name", "judge", "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", str(window), "--max-num-seqs", "8"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as output:
        keys = {"stdout": output, "stderr": subprocess.STDOUT, "start_new_session": True, "cwd": log.parent}
        process = subprocess.Popen(command, env=environment, **keys)
    try:
        give_up = time.monotonic() + PATIENCE_S
        while not is_healthy(port):
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < give_up, log.read_text(errors="replace")[-3000:]
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # it leads its own group
        process.wait()


def is_healthy(port: int) -> bool:
    """Whether a server answers."""
    with suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
        return True
    return False

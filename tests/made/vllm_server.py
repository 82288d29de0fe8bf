"""A real vLLM server on loopback, as a user would start one."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.made.process_runs import free_port

# Imports alone take vLLM 30 s on two busy cores; this is a hang guard, no measure of speed.
PATIENCE_S = 400


@contextlib.contextmanager
def serve(checkpoint: Path, log: Path, *, window: int, name: str = "judge") -> Iterator[str]:
    """Serve a checkpoint in float32 under a name and yield the base URL; the server is gone afterwards.

    Raises RuntimeError with the end of the server's log when it does not come up.
    """
    port = free_port()
    process = start(checkpoint, log, port, window=window, name=name)
    try:
        wait_until_healthy(process, port, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        stop(process)


def start(checkpoint: Path, log: Path, port: int, *, window: int, name: str = "judge") -> subprocess.Popen[bytes]:
    """A server that is starting, the first of a process group of its own."""
    # `vllm serve` looks for its own package metadata by a name that the CPU wheel does not have; this form does not.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)]
    command += ["--served-model-name", name, "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32"]
    command += ["--enforce-eager", "--max-model-len", str(window), "--max-num-seqs", "8"]
    environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}
    with log.open("wb") as output:
        return subprocess.Popen(
            command, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, cwd=log.parent
        )


def wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return when /health answers; RuntimeError when the server died or takes for ever."""
    give_up = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < give_up:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            return
        time.sleep(0.2)
    raise RuntimeError(f"vLLM's server did not come up:\n{log.read_text(errors='replace')[-3000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and every process it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGCONT)  # it may have been stopped
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # it leads its own group
    process.wait()

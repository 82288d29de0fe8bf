"""Stands in for `vllm serve`: a scripted server at --host and --port that wants the key of VLLM_API_KEY.

It writes its words and its GPUs to $CALLS. BROKEN_SERVER=1 has it end at once.
"""

import os
import signal
import sys
from pathlib import Path

from tests.made.fake_server import FakeServer, echo, refusal


def main(words):
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(f"vllm {' '.join(words)} [gpus={os.environ.get('CUDA_VISIBLE_DEVICES')}]\n")
    if os.environ.get("BROKEN_SERVER"):
        print("no memory for this model")
        return 1

    def script(body, n_before):
        if server.keys[-1] != f"Bearer {os.environ['VLLM_API_KEY']}":
            return refusal(401, "wrong key")
        return echo(body, n_before)

    server = FakeServer(script)
    server.port = int(words[words.index("--port") + 1])
    with server:
        signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

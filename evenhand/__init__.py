"""Common ground: command line, configs, records, run directories, checkpoints, chat templates, fetching."""

import os

# libgomp reads it when torch is loaded: a thread that waits for others spins so many times, then sleeps. By default it
# spins on, and two processes at once on two cores got half of the products done (130 a second each in place of 265).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

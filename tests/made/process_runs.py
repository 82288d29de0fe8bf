"""Commands in processes of their own, forked from the tests', which has done the imports that take longer than they.

Several processes of one run get the variables that `accelerate launch` and torchrun would set for them.
"""

import multiprocessing
import os
import secrets
import signal
import socket
import sys
from contextlib import ExitStack

import pytest

PROCESSES = multiprocessing.get_context("fork")


def command(config, variables, kill_at):
    """`python -m training CONFIG` in a forked process; what it prints goes to CONFIG.log. kill_at: a step to die at.

    It has one thread, so that sums are in one order whatever else the machine does.
    """
    os.environ.update(variables)
    descriptor = os.open(f"{config}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    sys.stdout = sys.stderr = os.fdopen(descriptor, "w", buffering=1)
    import torch
    from accelerate.state import AcceleratorState

    from evenhand.terminal import run_main
    from tests.made.training_runs import in_step
    from training import reference
    from training.__main__ import main

    AcceleratorState._reset_state(reset_partial_state=True)  # of trainings in the tests' process
    torch.set_num_threads(1)
    reference.SHARD_SIZE = 8  # each of two processes has some to ask about
    if kill_at is not None:
        in_step(kill_at, lambda: os.kill(os.getpid(), signal.SIGKILL), pytest.MonkeyPatch())
    code = run_main(main, [config])
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    os._exit(code)


def launched(config, accelerate_config, n=2, *, kill_at=None):
    """Exit codes of the n processes of a run, launched as an accelerate config says."""
    port = free_port()
    variables = accelerate_variables(accelerate_config, n, port)
    processes = []
    for rank in range(n):
        words = (str(config), {**variables, **torchrun_variables(rank, n, port)}, kill_at)
        processes.append(PROCESSES.Process(target=command, args=words))
        processes[-1].start()
    for process in processes:
        process.join(timeout=600)
    return [process.exitcode for process in processes]


def accelerate_variables(file, n, port, words=()):
    """The environment variables that `accelerate launch --config_file FILE` adds."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils.launch import prepare_multi_gpu_env

    options = ["--config_file", str(file), "--num_processes", str(n), "--main_process_port", str(port), *words]
    args, _, _ = _validate_launch_command(launch_command_parser().parse_args([*options, "script.py"]))
    return {name: value for name, value in prepare_multi_gpu_env(args).items() if os.environ.get(name) != value}


def torchrun_variables(rank, n, port):
    """The environment variables of process `rank` of n on one machine."""
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n)}
    return {**where, **ranks, "OMP_NUM_THREADS": "1"}


def free_port(count=1):
    """The first of `count` ports in a row that nothing listens on, below those that the system deals out by itself."""
    while True:
        port = secrets.randbelow(12000) + 20000
        with ExitStack() as held:
            try:
                for number in range(count):
                    held.enter_context(socket.create_server(("127.0.0.1", port + number)))
            except OSError:
                continue
        return port

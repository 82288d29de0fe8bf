"""Two processes train as one does, at the same global batch: each with all weights, or with the weights shared out.

CPU processes that talk over gloo, one thread each. Losses agree to 1e-5 of themselves and weights to 1e-4 (the largest
is 0.13): sums in another order differ by 1e-7, and Adam divides by gradients that can be as small.
"""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from evenhand.config import to_yaml
from tests.made.places import CONFIGS, ROOT
from tests.made.process_runs import free_port, launched, start
from tests.made.training_runs import tiny_model, tiny_run
from training.callbacks import read_metrics
from training.run import folder_of

pytestmark = pytest.mark.slow
KINDS = {"ddp": "ddp.yaml", "fsdp": "fsdp-qlora.yaml", "zero3": "deepspeed-zero3.yaml"}
NEEDS_DEEPSPEED = pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None, reason="needs DeepSpeed: pip install -e '.[deepspeed]'"
)
# DPO asks its reference of sharded weights as well, so SFT on them shows little more.
METHODS_AND_KINDS = [
    ("sft", "ddp"),
    pytest.param("dpo", "ddp", marks=pytest.mark.campaign),
    ("dpo", "fsdp"),
    pytest.param("sft", "fsdp", marks=pytest.mark.campaign),
    pytest.param("sft", "zero3", marks=NEEDS_DEEPSPEED),
    pytest.param("dpo", "zero3", marks=NEEDS_DEEPSPEED),
]
SAVED = 2  # steps between two checkpoints
METHODS: dict[str, dict[str, Any]] = {
    # 9 items in batches of 4: the last step has 3, which two processes share as 1 and 2.
    "sft": {
        "n_items": 12,
        "consistency": {"weight": 0.5},
        "dev": {"n_items": 3, "every_steps": 2},
        "optimiser": {"order": "whole_items", "epochs": 1.2},
    },
    # 28 examples in batches of 16, the last of them 14; their reference is asked for by both processes
    "dpo": {
        "n_items": 9,
        "dev": {"n_items": 2, "every_steps": 3},
        "optimiser": {"epochs": 2.2, "gradient_checkpointing": True},
    },
}


@dataclass(frozen=True)
class Run:
    """A config on disk, and where its run lies."""

    file: Path
    folder: Path

    @property
    def log(self) -> str:
        """What it printed."""
        return Path(f"{self.file}.log").read_text()

    @property
    def adapter(self) -> dict[str, torch.Tensor]:
        return dict(load_file(self.folder / "adapter" / "adapter_model.safetensors"))

    @property
    def done(self) -> dict[str, Any]:
        return json.loads((self.folder / "DONE.json").read_text())

    def curve(self, name: str) -> list[tuple[int, float]]:
        """(step, value) of what was logged under a name."""
        return [
            (record["step"], record[name]) for record in read_metrics(self.folder / "metrics.jsonl") if name in record
        ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def write(method: str, n: int, model: Path, folder: Path) -> Run:
    """The config of a method's run by n processes, of one effective batch whatever n."""
    sections = {key: value for key, value in METHODS[method].items() if key not in ("n_items", "optimiser")}
    config = tiny_run(
        method,
        model,
        folder,
        benchmarks=[{"dataset": "pocket", "split": "train", "n_items": METHODS[method]["n_items"]}],
        optimiser={
            **METHODS[method]["optimiser"],
            "max_steps": None,
            "n_processes": n,
            "gradient_accumulation_steps": 4 // n,
        },
        run={"save_steps": SAVED},
        **sections,
    )
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{method}-{n}.yaml"
    file.write_text(to_yaml(config))
    return Run(file, folder_of(config))


@pytest.fixture(scope="module")
def trained(model: Path, place: Path) -> Any:
    """A method's finished run by one process ("one") or by two of a kind, each trained once."""
    found: dict[tuple[str, str], Run] = {}

    def get(method: str, kind: str) -> Run:
        if (method, kind) not in found:
            run = write(method, 1 if kind == "one" else 2, model, place / kind)
            if kind == "one":
                process = start(run.file)
                process.join(timeout=300)
                codes = [process.exitcode]
            else:
                codes = launched(run.file, CONFIGS / "accelerate" / KINDS[kind])
            assert set(codes) == {0}, run.log[-4000:]
            found[method, kind] = run
        return found[method, kind]

    return get


@pytest.mark.parametrize(("method", "kind"), METHODS_AND_KINDS)
def test_two_processes_go_the_way_of_one(method: str, kind: str, trained: Any) -> None:
    one, two = trained(method, "one"), trained(method, kind)
    names = ("loss", "eval_loss", "accuracy", "eval_accuracy", "learning_rate")
    for name in names:
        (steps, alone), (same_steps, together) = (tuple(zip(*run.curve(name), strict=True)) for run in (one, two))
        assert steps == same_steps
        assert together == pytest.approx(alone, rel=1e-5, abs=1e-6), name
    assert one.adapter.keys() == two.adapter.keys()
    for name, weights in one.adapter.items():
        torch.testing.assert_close(two.adapter[name], weights, rtol=0, atol=1e-4, msg=name)
    alike = ("n_steps", "n_tokens", "n_trainable", "n_examples", "epochs")
    assert {key: one.done[key] for key in alike} == {key: two.done[key] for key in alike}
    assert (one.done["n_processes"], two.done["n_processes"]) == (1, 2)


def test_the_curve_is_worth_comparing(trained: Any) -> None:
    """The losses move, the last step is smaller than the others, and the weights go further than the tolerance."""
    for method in METHODS:
        run = trained(method, "one")
        losses = [loss for _, loss in run.curve("loss")]
        assert len(losses) >= 3
        assert abs(losses[-1] - losses[0]) > 1e-3 * losses[0]
        moved = max(tensor.abs().max().item() for name, tensor in run.adapter.items() if "lora_B" in name)
        assert moved > 50 * 1e-4


def test_both_processes_ask_for_the_reference(trained: Any) -> None:
    one, two = (trained("dpo", kind).folder.parents[1] / "reference" for kind in ("one", "ddp"))
    (alone,), (together,) = ([*folder.iterdir()] for folder in (one, two))
    assert alone.name == together.name
    shards = sorted(file.name for file in together.glob("*.jsonl"))
    assert shards == sorted(file.name for file in alone.glob("*.jsonl"))
    assert len(shards) == 5  # of 8 examples, 28 + 8 in all
    for name in shards:
        assert (alone / name).read_bytes() == (together / name).read_bytes()


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["fsdp", pytest.param("zero3", marks=NEEDS_DEEPSPEED)])
def test_a_killed_run_of_sharded_weights_continues_to_the_same_adapter(
    kind: str, trained: Any, model: Path, tmp_path: Path
) -> None:
    calm = trained("dpo", kind)
    run = write("dpo", 2, model, tmp_path)
    file = CONFIGS / "accelerate" / KINDS[kind]
    assert launched(run.file, file, kill_at=SAVED + 1) == [-9, -9], run.log[-4000:]
    assert not run.folder.joinpath("DONE.json").exists()
    assert launched(run.file, file) == [0, 0], run.log[-4000:]
    check_equal(run, calm)


@pytest.mark.campaign
def test_accelerate_launch_on_two_machines_continues_a_killed_run(trained: Any, model: Path, tmp_path: Path) -> None:
    """The launch line of configs/accelerate/ddp-two-nodes.yaml, both machines being this one."""
    calm = trained("sft", "ddp")
    run = write("sft", 2, model, tmp_path)
    assert launched(run.file, ROOT / "configs/accelerate/ddp.yaml", kill_at=SAVED + 1) == [-9, -9], run.log[-4000:]
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "2"]
    where = ["--main_process_ip", "127.0.0.1", "--main_process_port", str(free_port())]
    words = [*launch, "--config_file", "configs/accelerate/ddp-two-nodes.yaml", *where]
    machines = [
        subprocess.Popen(
            [*words, "--machine_rank", str(rank), "-m", "training", str(run.file)],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [machine.communicate(timeout=600) for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], told
    assert [out.splitlines()[-1:] for out, _ in told] == [[str(run.folder)], []]
    check_equal(run, calm)


def check_equal(run: Run, calm: Run) -> None:
    """Bitwise: the two went through the same steps, in the same processes."""
    assert run.curve("loss") == calm.curve("loss")
    assert run.curve("eval_loss") == calm.curve("eval_loss")
    assert all(torch.equal(run.adapter[name], weights) for name, weights in calm.adapter.items())

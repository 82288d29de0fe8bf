"""Two processes train as one does, at the same global batch; accelerate's configs, and what is refused of them."""

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from accelerate.utils import DistributedType

from evenhand.config import to_yaml
from evenhand.errors import ConfigError
from tests.made.places import CONFIGS, ROOT
from tests.made.process_runs import accelerate_variables, launched, start
from tests.made.training_runs import adapter_of, logged, pocket, tiny_run
from training.processes import FILES, prepare_sharding, refuse_wrong_sharding, sharding, storage_dtype
from training.qlora import load_base
from training.run_folder import folder_of
from training.sections import QuantisationConfig

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
        return adapter_of(self.folder)

    @property
    def done(self) -> dict[str, Any]:
        return json.loads((self.folder / "DONE.json").read_text())

    def curve(self, name: str) -> list[tuple[int, float]]:
        """(step, value) of what was logged under a name."""
        return list(logged(self.folder, name).items())


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
        dialdefer=pocket(METHODS[method]["n_items"]),
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


def test_both_processes_ask_for_the_reference(trained: Any) -> None:
    one, two = (trained("dpo", kind).folder.parents[1] / "reference" for kind in ("one", "fsdp"))
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


def check_equal(run: Run, calm: Run) -> None:
    """Bitwise: the two went through the same steps, in the same processes."""
    assert run.curve("loss") == calm.curve("loss")
    assert run.curve("eval_loss") == calm.curve("eval_loss")
    assert all(torch.equal(run.adapter[name], weights) for name, weights in calm.adapter.items())


LAUNCHERS = sorted((CONFIGS / "accelerate").glob("*.yaml"))
SHARDED = {"fsdp-qlora": "fsdp", "deepspeed-zero3": "zero3"}
BF16 = {"mixed_precision": "bf16"}


def launch_with(monkeypatch: pytest.MonkeyPatch, file: Path, n: int = 2) -> None:
    """As in a process that `accelerate launch --config_file FILE` has started."""
    for name, value in accelerate_variables(file, n, 29500, ["--main_process_ip", "localhost"]).items():
        monkeypatch.setenv(name, value)


def config(method: str = "sft", **sections: Any) -> Any:
    return tiny_run(method, **sections)


@pytest.mark.parametrize("file", LAUNCHERS, ids=lambda path: path.stem)
def test_every_accelerate_config_launches_what_its_name_says(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch_with(monkeypatch, file, 1 if file.stem in ("cpu", "one-gpu") else 2)
    assert sharding() == SHARDED.get(file.stem, "none")
    refuse_wrong_sharding(config(optimiser=BF16))
    text = file.read_text()
    line = next(line for line in text.splitlines() if "accelerate launch" in line)
    assert f"--config_file configs/accelerate/{file.name}" in line
    assert yaml.safe_load(text)["mixed_precision"] == "no"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("fsdp_version", 1, "fsdp_version: 1 flattens weights of one dtype.*write fsdp_version: 2"),
        ("fsdp_cpu_ram_efficient_loading", True, "fsdp_cpu_ram_efficient_loading: true gives all processes but"),
    ],
)
def test_settings_of_fsdp_that_would_train_wrongly_are_refused(
    key: str, value: Any, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tree = yaml.safe_load((ROOT / FILES["fsdp"]).read_text())
    tree["fsdp_config"] |= {key: value, "fsdp_sync_module_states": True}
    file = tmp_path / "changed.yaml"
    file.write_text(yaml.safe_dump(tree))
    launch_with(monkeypatch, file)
    with pytest.raises(ConfigError, match=message):
        refuse_wrong_sharding(config(optimiser=BF16))


@pytest.mark.parametrize("kind", FILES)
def test_fp16_is_refused_where_weights_are_sharded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fp16 = config(optimiser={"mixed_precision": "fp16"})
    refuse_wrong_sharding(fp16)
    launch_with(monkeypatch, ROOT / FILES[kind])
    with pytest.raises(ConfigError, match=r"mixed_precision: fp16 .* sharded, write bf16"):
        refuse_wrong_sharding(fp16)


def trainer_of(kind: DistributedType, **state: Any) -> Any:
    """As much of a trainer as prepare_sharding looks at."""
    return SimpleNamespace(accelerator=SimpleNamespace(distributed_type=kind, state=SimpleNamespace(**state)))


def test_a_launch_that_would_not_shard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """accelerate trains with DDP where FSDP was asked for and there is no GPU, without a word."""
    launch_with(monkeypatch, ROOT / FILES["fsdp"])
    with pytest.raises(ConfigError, match=r"FSDP was asked for, but accelerate would train with MULTI_CPU"):
        prepare_sharding(trainer_of(DistributedType.MULTI_CPU), config())


def test_four_bit_weights_are_packed_in_the_dtype_that_fsdp_computes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    in_bf16, plain = config(optimiser=BF16), config(optimiser={"mixed_precision": "no"})
    assert storage_dtype(in_bf16) == torch.uint8
    launch_with(monkeypatch, ROOT / FILES["fsdp"])
    assert storage_dtype(in_bf16) == torch.bfloat16
    assert storage_dtype(plain) == torch.float32
    halved = config(optimiser={"mixed_precision": "no"}, quantisation={"compute_dtype": "bfloat16"})
    assert storage_dtype(halved) == torch.bfloat16


@pytest.mark.slow
def test_how_four_bit_weights_are_packed_changes_none(model: Path) -> None:
    ids = torch.arange(24).reshape(2, 12)
    settings = QuantisationConfig(compute_dtype="float32")
    bases = [load_base(model, settings, storage=dtype) for dtype in (torch.uint8, torch.bfloat16, torch.float32)]
    assert [base.model.layers[0].mlp.up_proj.weight.dtype for base in bases] == [
        torch.uint8,
        torch.bfloat16,
        torch.float32,
    ]
    with torch.no_grad():
        logits = [base(ids).logits for base in bases]
    assert torch.equal(logits[0], logits[1])
    assert torch.equal(logits[0], logits[2])

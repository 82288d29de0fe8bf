"""Tiny models of every family through training (SFT, DPO, paired), merge, and vLLM against transformers.

`python -m bench.families [FAMILY ...]` prints, for each family and method, how well the merged checkpoint agrees with
base + adapter, and by how much margins of vLLM and transformers differ (at most, in nats, of 16 prompts). On a CPU vLLM
runs no Gemma-3 with its image encoder. Training is started by `accelerate launch`. It takes
half an hour on two busy cores. Exit code 1 where a figure is over 1e-4.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from evenhand.device import on_gpu
from evenhand.embedded import embedded_model_path
from evenhand.run_directory import read_json
from inference.config import load_sampling_config
from inference.engine import open_engine
from inference.schedule import first_prompts
from tests.made.places import CONFIGS, ROOT
from tests.made.tiny_families import FURTHER, TEMPLATES, save_family
from training.merged_checkpoint import merge

METHODS = ("sft", "dpo", "paired")
SMALL = (
    *("dialdefer.benchmarks=[{dataset: pocket, split: train, n_items: 8}]", "lora.r=4", "lora.alpha=8"),
    *("optimiser.max_steps=4", "optimiser.warmup_ratio=0.0"),
)
ENGINES = (
    "engine={kind: transformers, dtype: float32}",
    "engine={kind: vllm, dtype: float32, enforce_eager: true, max_model_len: 512, block_size: 32, max_num_seqs: 16, "
    "gpu_memory_utilization: 0.3, cpu_kv_cache_gib: 1}",
)
TOLERANCE = 1e-4
OFF = "model.chat_template_args={enable_thinking: false}"


def trained(family: str, method: str, model: Path, root: Path) -> Path:
    """The folder of a finished run."""
    words = [str(CONFIGS / "training" / f"pocket-{method}.yaml"), f"model.name={model}", f"run.root={root}", *SMALL]
    launch = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--config_file",
        str(CONFIGS / "accelerate" / "cpu.yaml"),
    ]
    words += [OFF] if family == "qwen3" else []
    done = subprocess.run([*launch, "-m", "training", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{family} {method}: {done.stderr[-2000:]}")
    return next(path for line in reversed(done.stdout.splitlines()) if (path := Path(line)).is_dir())


def margins(family: str, model: Path, engine: str) -> list[float]:
    """Of each prompt about four items, in nats, in the order of the prompts."""
    few = "dialdefer.benchmarks=[{dataset: pocket, split: test, n_items: 4}]"
    words = [str(CONFIGS / "inference" / "pocket-demo.yaml"), f"model.name={model}", engine, few]
    config = load_sampling_config([*words, *([OFF] if family == "qwen3" else [])])
    prompts = first_prompts(config)
    with open_engine(config, prompts) as opened:
        logs = {reply.prompt_hash: reply.answer_logprobs for reply in opened.generate(prompts)}
    return [logs[prompt.prompt_hash]["1"] - logs[prompt.prompt_hash]["2"] for prompt in prompts]


def main(families: Sequence[str]) -> int:
    """Print the table; how many figures are over the tolerance."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    torch._dynamo.config.disable = not on_gpu()
    n_over = 0
    print(
        f"{'family':18}{'method':8}{'agreement':>10}{'drift':>8}{'vLLM - transformers':>21}{'base - merged':>15}",
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_TMP")) as made:
        for family in families or (*TEMPLATES, *FURTHER):
            model = save_family(Path(made) / family.replace(" ", "-"), family, embedded_model_path())
            before = margins(family, model, ENGINES[0])
            for method in METHODS:
                run = trained(family, method, model, Path(made) / "runs")
                merged = merge(run, "nf4", n_prompts=16, min_agreement=0.0)
                check = read_json(merged / "DONE.json")
                plain = margins(family, merged, ENGINES[0])
                moved = max(abs(a - b) for a, b in zip(plain, before, strict=True))
                difference = None
                if "sees" not in family or on_gpu():
                    by_vllm = margins(family, merged, ENGINES[1])
                    difference = max(abs(a - b) for a, b in zip(plain, by_vllm, strict=True))
                    n_over += difference > TOLERANCE
                shown = "-" if difference is None else f"{difference:.1e}"
                row = f"{check['agreement_rate']:10.1%}{check['mean_margin_drift']:8.4f}{shown:>21}{moved:15.3f}"
                print(f"{family:18}{method:8}{row}", flush=True)
    print(f"{n_over} over {TOLERANCE}")
    return n_over


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)

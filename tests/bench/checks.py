"""What fingerprints and checksums cost: opening a run on a checkpoint of 15 GB, and a run of 10,000 margins.

The checkpoint is one of the embedded model's with a weight file of 15 GB of zeros (sparse: it takes no room) beside its
own. The run is answered at once by a script; the model's time is that of 200 margins, asked for real.
"""

import cProfile
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from benchmarks import fingerprint, rundir, shards
from benchmarks.embedded import embedded_model_path
from benchmarks.records import Completion, Prompt
from benchmarks.unified import source_record
from inference import sampling
from inference.config import InferenceConfig
from inference.engine import open_engine
from inference.plan import plan
from tests.bench.contenders import has_bf16
from tests.bench.sampling import timed
from tests.built_folder import build_small

N_MARGINS = 10_000
N_ASKED = 200
CHECKPOINT_BYTES = 15 * 10**9
CHECKS = {  # what would not be there without fingerprints and checksums; none calls another
    fingerprint.checkpoint_hash,
    shards.checksum,
    shards.config_digest,
    rundir.sha256_of,
    source_record.sha256_of,
}


def config(n_margins: int, folder: Path) -> InferenceConfig:
    items = {"dataset": "unified", "split": "train", "root": folder / "built", "n_items": n_margins // 4}
    run = {"name": "bench", "model": {"name": "embedded"}, "benchmarks": [items], "verdict": "margin"}
    engine = {"kind": "transformers", "batch_size": 16, "dtype": "bfloat16" if has_bf16() else "float32"}
    return InferenceConfig.model_validate({**run, "engine": engine, "run": {"root": folder}})


def opening(folder: Path) -> None:
    """How long it takes to know a checkpoint of 15 GB, the first time and the second."""
    checkpoint = folder / "checkpoint"
    shutil.copytree(embedded_model_path(), checkpoint)
    with (checkpoint / "more.safetensors").open("wb") as file:
        file.truncate(CHECKPOINT_BYTES)
    with patch.dict(os.environ, EVENHAND_CACHE=str(folder / "cache")):  # where what is known of large files is kept
        for words in ("the first time", "the second (goal 2 s)"):
            seconds, _ = timed(lambda: len(fingerprint.checkpoint_hash(checkpoint)))
            print(f"checks: a 15 GB checkpoint is known in {seconds:.3f} s {words}", flush=True)


class Script:
    """Answers at once."""

    def generate(self, prompts: Sequence[Prompt]) -> Iterator[Completion]:
        facts = {"sample_index": 0, "text": "1", "finish_reason": "stop", "answer_logprobs": {"1": -0.25, "2": -1.5}}
        return (Completion(prompt_hash=p.prompt_hash, rendered=p.messages[-1].content, **facts) for p in prompts)


def seconds_of_checks(run: InferenceConfig) -> float:
    """What fingerprints and checksums take of a whole run, the model's own time left out."""
    profile = cProfile.Profile()
    with patch.object(sampling, "open_engine", lambda *_: nullcontext(Script())):
        profile.runcall(sampling.sample, run)
    codes = {check.__code__ for check in CHECKS}
    return sum(entry.totaltime for entry in profile.getstats() if entry.code in codes)


def seconds_of_model(run: InferenceConfig) -> float:
    """What the embedded model takes for the margins of a run."""
    prompts, _ = plan(run)
    with open_engine(run) as engine:
        list(engine.generate(prompts[:16]))  # warm-up
        return timed(lambda: len(list(engine.generate(prompts))))[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        opening(folder)
        build_small(folder, "halueval", scale=0.3)
        checks = seconds_of_checks(config(N_MARGINS, folder))
        model = seconds_of_model(config(N_ASKED, folder)) * N_MARGINS / N_ASKED
        print(
            f"checks: {checks:.3f} s of {model:.0f} s that {N_MARGINS:,} margins of the embedded model take "
            f"({checks / model:.3%}; goal 1 %)",
            flush=True,
        )


if __name__ == "__main__":
    main()

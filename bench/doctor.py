"""Does a job end as `evenhand doctor` says? Good and broken configs of tiny models: doctor's word, then the job itself.

`python -m bench.doctor [PART OF A NAME ...]` prints a line for each; ten minutes on two busy cores for all. Exit code 1
where doctor calls wrong what then runs, or the other way round, or names another cause.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from evenhand.cli.doctor.command import examined
from evenhand.embedded import embedded_model_path
from evenhand.errors import EvenhandError
from inference.config import load_sampling_config
from inference.sampling import sample
from tests.made.tiny_checkpoint import byte_tokenizer
from tests.made.tiny_families import FURTHER, TEMPLATES, THINKING, save_family
from training.config import load_training_config
from training.run_folder import DIVERGED_FILE, folder_of

ROOT = Path(__file__).parents[1]
FAMILIES = (*TEMPLATES, *FURTHER)
PLAIN = "engine={kind: transformers, dtype: float32, batch_size: 8}"
VLLM = (
    "engine={kind: vllm, dtype: float32, enforce_eager: true, max_model_len: 1024, block_size: 32, max_num_seqs: 8, "
    "gpu_memory_utilization: 0.3, cpu_kv_cache_gib: 1%s}"
)
FEW = "dialdefer.benchmarks=[{dataset: pocket, split: test, n_items: 2}]"
OFF = "patch={thinking: false}"
SHORT = ("verdict=reason", "sampling.max_tokens=4")
TRAINED = (
    *("dialdefer.benchmarks=[{dataset: pocket, split: train, n_items: 8}]", "lora.r=4", "lora.alpha=8"),
    *("optimiser.max_steps=2", "optimiser.warmup_ratio=0.0"),
)
UNQUANTISED = "quantisation={kind: none, compute_dtype: float32}"


@dataclass(frozen=True)
class Case:
    """A config, and the job that it is for."""

    name: str
    job: str  # sample, train, or merge: train, then merge
    words: Sequence[str]
    lacking: Sequence[str] = field(default=())  # packages that are not installed
    is_good: bool | None = None  # by what we know; None: to be found out
    cause: str = ""  # a word of both, where doctor and job put it in sentences of their own


def edited(file: str, **changes: Any) -> Callable[[Path], None]:
    """Change keys of a JSON file of a checkpoint; None takes one out."""

    def act(folder: Path) -> None:
        tree = {**json.loads((folder / file).read_text()), **changes}
        (folder / file).write_text(json.dumps({key: value for key, value in tree.items() if value is not None}))

    return act


def without(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink() for name in names] and None


def templated(template: str | None) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / "chat_template.jinja").unlink()
        if template is not None:
            (folder / "chat_template.jinja").write_text(template)

    return act


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:200_000])


def with_weights(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return act


def narrowed(weights: dict[str, Any]) -> None:
    weights["model.norm.weight"] = weights["model.norm.weight"][:3].clone()


def in_shards(folder: Path) -> None:
    shutil.rmtree(folder)
    save_family(folder, "llama", embedded_model_path(), "300KB")
    sorted(folder.glob("model-*.safetensors"))[-1].unlink()


def bytes_alone(folder: Path) -> None:
    """A tokenizer that takes two tokens for each answer."""
    for file in (*folder.glob("tokenizer*"), folder / "chat_template.jinja"):
        file.unlink()
    byte_tokenizer(digits="byte").save_pretrained(folder)


RAISING = "{{ raise_exception('only tools are served') }}"
DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "no tokenizer": without("tokenizer.json", "tokenizer_config.json"),
    "no config.json": without("config.json"),
    "no weights": without("model.safetensors"),
    "weights cut off": cut,
    "weights empty": lambda folder: (folder / "model.safetensors").write_bytes(b""),
    "a weight missing": with_weights(lambda weights: weights.pop("model.norm.weight")),
    "a weight of another shape": with_weights(narrowed),
    "a shard missing": in_shards,
    "config.json torn": lambda folder: (folder / "config.json").write_text('{"model_type": "ll'),
    "config.json a list": lambda folder: (folder / "config.json").write_text("[]"),
    "unknown architecture": edited("config.json", model_type="nosuch"),
    "no model_type": edited("config.json", model_type=None),
    "heads that do not divide": edited("config.json", num_attention_heads=3, num_key_value_heads=2),
    "quantised by AWQ": edited("config.json", quantization_config={"quant_method": "awq", "bits": 4}),
    "unknown quantisation": edited("config.json", quantization_config={"quant_method": "strange"}),
    "tokenizer damaged": lambda folder: (folder / "tokenizer.json").write_text('{"model": {}}'),
    "tokenizer of more tokens": lambda folder: shutil.copyfile(
        embedded_model_path() / "tokenizer.json", folder / "tokenizer.json"
    ),
    "adapter beside config.json": lambda folder: (folder / "adapter_config.json").write_text("{}"),
    "no chat template": templated(None),
    "template raises": templated(RAISING),
    "template is no Jinja": templated("{% for m in %}"),
    "template of no answer": templated("the same for all"),
    "template of one turn": templated("{% if messages|length > 1 %}{{ raise_exception('one turn') }}{% endif %}x"),
    "template opens a thought": templated(THINKING.replace("enable_thinking is false", "false")),
    "two tokens an answer": bytes_alone,
    "window of 64": edited("config.json", max_position_embeddings=64),
    "generation_config damaged": lambda folder: (folder / "generation_config.json").write_text("{"),
    "template damaged bytes": lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff\xfe{"),
}


class Models:
    """The folders of tiny checkpoints, made when they are asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def good(self, family: str = "llama") -> Path:
        folder = self.root / family.replace(" ", "-")
        return folder if folder.exists() else Path(save_family(folder, family, embedded_model_path()))

    def damaged(self, damage: str, family: str = "llama") -> Path:
        folder = self.root / re.sub(r"\W", "-", f"{family} {damage}")
        if not folder.exists():
            shutil.copytree(self.good(family), folder)
            DAMAGES[damage](folder)
        return folder


def last_of(words: Sequence[str]) -> list[str]:
    """The last word of each key."""
    return [*{word.partition("=")[0]: word for word in words}.values()]


def cases(models: Models, root: Path) -> Iterator[Case]:
    """All of them; what a later one needs of an earlier is made where it stands."""

    def placed(name: str, model: object) -> list[str]:
        return [f"model.name={model}", f"run.root={root / re.sub(chr(92) + 'W', '-', name)}"]

    def sampling(name: str, model: object, *words: str, config: str = "pocket-demo", **more: Any) -> Case:
        return Case(name, "sample", [config, *last_of([*placed(name, model), PLAIN, FEW, *words])], **more)

    def training(name: str, model: object, *words: str, method: str = "sft", job: str = "train", **more: Any) -> Case:
        return Case(name, job, [f"pocket-{method}", *last_of([*placed(name, model), *TRAINED, *words])], **more)

    llama = models.good()
    for family in FAMILIES:
        off = [OFF] if family == "qwen3" else []
        yield sampling(f"{family}, margins", models.good(family), *off, is_good=True)
    yield sampling(
        "qwen3 thinks, a written verdict", models.good("qwen3"), *SHORT, "patch={thinking: true}", is_good=True
    )
    yield sampling("qwen3 thinks, a margin", models.good("qwen3"), is_good=False)
    yield sampling("written verdicts", llama, *SHORT, is_good=True)
    yield sampling("the judge reads itself", llama, *SHORT, "self_read=true", is_good=True)
    yield sampling("shared rows", llama, "engine.row_tokens=2048", is_good=True)
    yield sampling("bare text", llama, "chat_template=false", is_good=True)
    yield sampling("in bf16", llama, "engine.dtype=bfloat16", is_good=True)
    yield sampling("in fp16 on a CPU", llama, "engine.dtype=float16")
    yield sampling("a patch with a system message", llama, "patch={system: Judge the statement.}", is_good=True)
    for damage in DAMAGES:
        yield sampling(damage, models.damaged(damage), cause="of 64 tokens|window 64|AWQ")
    yield sampling(
        "no chat template, bare text", models.damaged("no chat template"), "chat_template=false", is_good=True
    )
    yield sampling("two tokens an answer, written", models.damaged("two tokens an answer"), *SHORT)
    yield sampling("window of 64, written", models.damaged("window of 64"), *SHORT, is_good=False, cause="window|of 64")
    yield sampling("no such folder", root / "nowhere", is_good=False)
    yield sampling("a file as model", llama / "config.json", is_good=False)
    yield sampling("a Hub model that is not here", "nobody/nothing", is_good=False)
    yield sampling("a Hub id without owner", "nothing", is_good=False)
    yield sampling("a switch that there is not", llama, OFF, is_good=False)
    yield sampling("JSON of transformers", llama, *SHORT, "sampling.structured=json", is_good=False)
    yield sampling("a penalty that counts padding", llama, *SHORT, "sampling.repetition_penalty=1.2", is_good=False)
    yield sampling("a template argument of another type", llama, "model.chat_template_args={date_string: [1]}")
    yield sampling("rows for written verdicts", llama, *SHORT, "engine.row_tokens=64", is_good=False)
    (root / "file").write_text("")
    yield sampling("results below a file", llama, f"run.root={root / 'file'}", is_good=False)
    yield sampling("an item file that is not there", llama, f"dialdefer.benchmarks=[{{file: {root}/no.jsonl}}]")
    yield sampling("`unified` that was not built", llama, "dialdefer.benchmarks=[{dataset: unified, root: data/none}]")
    unknown = "dialdefer.benchmarks=[{dataset: nosuch, root: data/none}]"
    yield sampling("an unknown dataset", llama, unknown, is_good=False)
    many = "dialdefer.benchmarks=[{dataset: pocket, split: test, n_items: 100000}]"
    yield sampling("more items than there are", llama, many, "run.shard_size=9999999", is_good=False)
    yield sampling("an unknown key", llama, "engine.dtpye=float32", is_good=False)
    for number, text in enumerate(('{"id": "a"}\n', "not json\n", "")):
        (root / f"items{number}.jsonl").write_text(text)
        yield sampling(
            f"a bad item file, {number}", llama, f"dialdefer.benchmarks=[{{file: {root}/items{number}.jsonl}}]"
        )
    for family in ("llama", "spaced", "qwen3"):
        model, is_good = models.good(family), family != "qwen3"
        words = [*placed(f"options {family}", model), PLAIN, "narrator.corpus.n_conversations=2"]
        yield Case(f"options, {family}", "sample", ["narrator/pocket-exact", *words], is_good=is_good)
    refuses = models.damaged("template of one turn")
    for name, model in (("a framing", llama), ("a framing, one turn alone", refuses)):
        words = [*placed(name, model), PLAIN, "framing.items.n_items=2"]
        yield Case(name, "sample", ["framing/speakers", *words], is_good=model == llama)
    yield sampling("vLLM", llama, VLLM % "", is_good=True)
    yield sampling("vLLM, further arguments of ours", llama, VLLM % ", extra: {model: x}", is_good=False)
    yield sampling("vLLM, further arguments of nobody", llama, VLLM % ", extra: {nosuch: 1}", is_good=False)
    yield sampling("vLLM, three GPUs for two heads", llama, VLLM % ", tensor_parallel_size: 3", is_good=False)
    yield sampling("vLLM, two GPUs and none here", llama, VLLM % ", tensor_parallel_size: 2")
    yield sampling("vLLM, Gemma-3 that sees", models.good("gemma3 that sees"), VLLM % "", is_good=False)
    long = (VLLM % "").replace("max_model_len: 1024", "max_model_len: 4096")
    yield sampling("vLLM, a window over the model's", llama, long, is_good=False)
    tight = (VLLM % "").replace("max_model_len: 1024", "max_model_len: 64")
    yield sampling("vLLM, a small window", llama, tight, is_good=False, cause="of 64 tokens|window 64")
    yield sampling(
        "vLLM, weights cut off", models.damaged("weights cut off"), VLLM % "", is_good=False, cause="metadata"
    )
    yield sampling("vLLM, unknown quantisation", models.damaged("unknown quantisation"), VLLM % "")
    yield sampling("vLLM, a weight missing", models.damaged("a weight missing"), VLLM % "", cause="norm.weight")
    yield sampling("vLLM is not installed", llama, VLLM % "", lacking=["vllm"], is_good=False)
    yield sampling("transformers is not installed", llama, lacking=["transformers"], is_good=False)
    for method, family in zip(("sft", "dpo", "paired") * 3, FAMILIES, strict=False):
        off = ["model.chat_template_args={enable_thinking: false}"] if family == "qwen3" else []
        yield training(f"{family}, {method}", models.good(family), *off, method=method, job="merge", is_good=True)
    for family in ("gemma3", "llama"):
        yield training(
            f"{family}, the head too", models.good(family), "lora.target_modules=[q_proj, lm_head]", job="merge"
        )
    yield training("[self_attn]", llama, "lora.target_modules=[self_attn]", is_good=False)
    yield training("[all-linear]", llama, "lora.target_modules=[all-linear]", is_good=False)
    yield training("the embedding alone", llama, "lora.target_modules=[embed_tokens]", job="merge")
    yield training("rank 0", llama, "lora.r=0", is_good=False)
    yield training("fp16 on a CPU", llama, "optimiser.mixed_precision=fp16", is_good=False)
    yield training("bf16", llama, "optimiser.mixed_precision=bf16", is_good=True)
    yield training("unquantised", llama, UNQUANTISED, job="merge", is_good=True)
    yield training("unknown quantisation kind", llama, "quantisation.kind=int8", is_good=False)
    yield training("qwen3 thinks, trained", models.good("qwen3"), is_good=False)
    yield training("prompts that are too long", llama, "examples.max_prompt_length=8", is_good=False)
    yield training("a dev split of all", llama, "dev={n_items: 8, every_steps: 1}", is_good=False)
    yield training("a dev split", llama, "dev={n_items: 2, every_steps: 1}", is_good=True)
    yield training("a tracker that is not here", llama, "run.report_to=[wandb]", is_good=False)
    yield training("a tracker that nobody knows", llama, "run.report_to=[nosuch]", is_good=False)
    yield training("on test items", llama, FEW, is_good=False)
    yield training("batch of three", llama, "optimiser.per_device_batch_size=3", is_good=False)
    yield training("replies that are not there", llama, method="bct", is_good=False)
    diverged = training("a run that diverged before", llama, is_good=False)
    path = folder_of(load_training_config(diverged.words))
    path.mkdir(parents=True)
    (path / DIVERGED_FILE).write_text('{"step": 1, "reason": "it fell", "best": null, "advice": "wait"}')
    yield diverged
    yield training("no PEFT", llama, lacking=["peft"], is_good=False)
    yield training("no bitsandbytes", llama, lacking=["bitsandbytes"], is_good=False, cause="bitsandbytes")
    yield training("no bitsandbytes, unquantised", llama, UNQUANTISED, lacking=["bitsandbytes"])
    for damage in (
        *("weights cut off", "a weight missing", "no chat template", "template raises", "two tokens an answer"),
        *(
            "tokenizer damaged",
            "quantised by AWQ",
            "unknown quantisation",
            "adapter beside config.json",
            "a shard missing",
        ),
        *("config.json torn", "template opens a thought", "heads that do not divide", "template of no answer"),
        *("window of 64", "unknown architecture", "no model_type", "tokenizer of more tokens"),
    ):
        yield training(f"{damage}, trained", models.damaged(damage), cause="(?i)awq")
    runs = sorted((root / "llama--paired").glob("training/*")) or sorted((root / "unquantised").glob("training/*"))
    yield from () if not runs else with_adapters(runs[0], sampling, training, models)


def with_adapters(run: Path, sampling: Any, training: Any, models: Models) -> Iterator[Case]:
    """What is asked of a trained run: its adapter, its merged checkpoint."""
    base = json.loads((run / "provenance.json").read_text())["model"]["name"]
    yield sampling("an adapter, unmerged", base, f"model.adapter={run}", is_good=True)
    yield sampling("an adapter of another base", models.good("gemma3"), f"model.adapter={run}", is_good=False)
    yield sampling("an adapter that is no run", base, f"model.adapter={run / 'adapter'}", is_good=False)
    yield sampling("an adapter as a model", run / "adapter", is_good=False)
    yield sampling("an adapter under vLLM on a CPU", base, VLLM % "", f"model.adapter={run}", is_good=False)
    spoilt = run.parent / "spoilt"
    shutil.copytree(run, spoilt)
    (spoilt / "adapter" / "adapter_model.safetensors").write_bytes(b"x" * 1000)
    yield sampling("an adapter whose bytes have changed", base, f"model.adapter={spoilt}", is_good=False)
    (merged,) = run.glob("merged-*")
    yield sampling("a merged checkpoint", merged, is_good=True)
    yield training("a merged checkpoint, trained on", merged)
    with (merged / "config.json").open("a") as file:
        file.write("\n")
    yield sampling("a merged checkpoint whose bytes have changed", merged, is_good=False)
    yield training("a merged checkpoint whose bytes have changed, trained on", merged, is_good=False)


def doctors_word(case: Case) -> list[str]:
    """What it calls wrong."""
    try:
        return [check.says for check in examined(case.words, None) if check.state == "wrong"]
    except Exception:  # noqa: BLE001  # whatever it is, that is what doctor ends with
        return [traceback.format_exc(limit=-3)]


def outcome(case: Case) -> str:
    """The job's error; empty where it ran."""
    try:
        if case.job == "sample":
            sample(load_sampling_config(case.words))
        else:
            from training.train import train

            run = train(load_training_config(case.words))
            if case.job == "merge":
                from training.merged_checkpoint import merge

                onto = "nf4" if "unquantised" not in case.name else "bf16"
                merge(run, onto, n_prompts=4, min_agreement=0)
    except EvenhandError as error:
        return str(error)
    except Exception:  # noqa: BLE001
        return traceback.format_exc(limit=-3)
    return ""


@contextmanager
def written_to(log: Path) -> Iterator[None]:
    """What programs print goes to a file."""
    with log.open("a") as file, redirect_stdout(file), redirect_stderr(file):
        yield


def elsewhere(case: Case, root: Path) -> tuple[list[str], str]:
    """The same of a process that finds all packages but some."""
    links = root / ("without " + " ".join(case.lacking))
    links.mkdir(exist_ok=True)
    import torch

    for path in Path(torch.__file__).parents[1].iterdir():
        name = re.split(r"[-.]", path.name)[0].lower()
        if not any(name == lacking or name.startswith(f"{lacking}_") for lacking in case.lacking):
            (links / path.name).is_symlink() or (links / path.name).symlink_to(path)
    code = "import sys; from evenhand.cli.command import entry_of; from evenhand.terminal import run_main\n"
    code += "sys.exit(run_main(entry_of(sys.argv[1]), sys.argv[2:]))"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{links}"}
    word, job = (
        subprocess.run(
            [sys.executable, "-S", "-c", code, verb, *case.words], env=environment, capture_output=True, text=True
        )
        for verb in ("doctor", case.job)
    )
    said = [line for line in word.stdout.splitlines() if "✗" in line] or word.stderr.splitlines()[-1:]
    return said if word.returncode else [], job.stderr.splitlines()[-1] if job.returncode else ""


def is_same_cause(said: Sequence[str], error: str, cause: str) -> bool:
    """Whether one of doctor's sentences is the job's, or most of it, or both have the word of the cause."""
    if cause and all(re.search(cause, text) for text in (error, " ".join(said))):
        return True
    texts = [re.sub(r"\W+", " ", text) for text in (error, *said)]
    match = (SequenceMatcher(None, texts[0], text, autojunk=False).find_longest_match().size for text in texts[1:])
    return any(size >= 0.5 * min(len(texts[0]), len(text)) for size, text in zip(match, texts[1:], strict=True))


def main(parts: Sequence[str]) -> int:
    """Print the table; the number of lines on which doctor and job differ."""
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    n_all = n_differ = 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_TMP")) as made:
        root = Path(made)
        for case in cases(Models(root / "models"), root):
            if parts and not any(part in case.name for part in parts):
                continue
            with written_to(root / "log"):
                said, error = elsewhere(case, root) if case.lacking else (doctors_word(case), outcome(case))
            is_surprise = case.is_good is not None and case.is_good == bool(error)
            state = (
                "differs"
                if bool(said) != bool(error)
                else "other cause"
                if error and not is_same_cause(said, error, case.cause)
                else "agrees"
            )
            n_all, n_differ = n_all + 1, n_differ + (state != "agrees")
            print(
                f"{state:12}{'runs' if not error else 'fails':6}{case.job:7}{case.name}{' (!)' if is_surprise else ''}",
                flush=True,
            )
            if state != "agrees" or is_surprise or os.environ.get("VERBOSE"):
                for text in said:
                    print(f"    doctor: {' '.join(text.split())[:500]}")
                print(f"    job:    {' '.join(error.split())[:500] or 'runs'}", flush=True)
    print(f"{n_all} configs, {n_differ} on which doctor and the job differ")
    return n_differ


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)

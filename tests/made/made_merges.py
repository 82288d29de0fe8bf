"""A finished training run and its merged checkpoint as files, without any training: what model cards are made of.

And what tests of merging share: margins that no model gives, and weights that are spoilt.
"""

import gc
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from evenhand.checkpoints import checkpoint_hash, fingerprint
from evenhand.config import to_yaml
from evenhand.embedded import embedded_model_path
from evenhand.files import shipped_yaml, write_jsonl
from evenhand.run_directory import finish, open_run
from tests.made.training_runs import tiny_run
from training import merged_checkpoint
from training.qlora import lora_config, skeleton
from training.run_folder import ADAPTER_DIR, ADAPTER_FILES, EXCLUDED_FILE, folder_of

CHECK = {"n_prompts": 64, "agreement_rate": 0.984375, "mean_margin_drift": 0.0312, "max_margin_drift": 0.25}
PROVENANCE = shipped_yaml(Path(__file__).with_name("provenance.yaml"))


def made_merge(root, *, items, provenance=None, merged=None, method="sft", model="embedded", **sections):
    """(run, its merged checkpoint: a tokenizer and DONE.json, no weights). sections: of the run's config."""
    config = tiny_run(method, Path(model), root, **sections)
    run = root / "runs" / "made-run-00000000"
    folder = run / "merged-nf4"
    folder.mkdir(parents=True)
    (run / "config.yaml").write_text(to_yaml(config))
    (run / "provenance.json").write_text(json.dumps({**PROVENANCE, **(provenance or {})}))
    trained = {"method": method, "n_examples": 1234, "n_excluded": 2, "n_steps": 99, "seconds": 12.5}
    (run / "DONE.json").write_text(json.dumps({**trained, "checkpoint": str(root / "secret")}))
    left_out = {"dataset": "bbq", "condition": "c2_correct", "prompt_tokens": 999}
    write_jsonl(run / EXCLUDED_FILE, [{"item_id": f"bbq-{i}", **left_out} for i in (1, 2)])
    done = {"run": run.name, "onto": "nf4", **CHECK, "items": items, "n_published_test": 0}
    (folder / "DONE.json").write_text(json.dumps({**done, "min_agreement": 0.95, "rounding_seed": 0, **(merged or {})}))
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "config.json"):
        shutil.copyfile(embedded_model_path() / name, folder / name)
    return run, folder


def untrained_run(model, root, **sections):
    """A finished run whose adapter was drawn at random, on a model of any size: no weight of it is loaded."""
    config = tiny_run("sft", model, root, **sections)
    run, base = folder_of(config), skeleton(model, None)
    open_run(
        run, config, config.training.content_hash(config.load_units()), fingerprint(config.model, model), lambda: "CPU"
    )
    write_jsonl(run / EXCLUDED_FILE, [])
    lora_config(config.lora, base).save_pretrained(str(run / ADAPTER_DIR))
    draw, weights = torch.Generator().manual_seed(0), dict[str, torch.Tensor]()
    for name, layer in base.named_modules():
        if name.rpartition(".")[2] in config.lora.target_modules:
            for side, shape in (("A", (config.lora.r, layer.in_features)), ("B", (layer.out_features, config.lora.r))):
                weights[f"base_model.model.{name}.lora_{side}.weight"] = 0.02 * torch.randn(shape, generator=draw)
    save_file(weights, run / ADAPTER_DIR / ADAPTER_FILES[1])
    counts = dict.fromkeys(("n_examples", "n_excluded", "n_steps", "seconds"), 0)
    finish(run, {"method": "sft", **counts, "adapter_hash": checkpoint_hash(run / ADAPTER_DIR)})
    return run


def bytes_held(monkeypatch):
    """A list that takes, at each file that a merge writes, how many bytes its tensors hold by then."""
    before, held = {id(thing) for thing in gc.get_objects()}, []

    def noted(*words):
        alive = [
            thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor) and id(thing) not in before
        ]
        held.append(sum({t.data_ptr(): t.nbytes for t in alive if t.device.type == "cpu"}.values()))
        save_file(*words)

    monkeypatch.setattr(merged_checkpoint, "save_file", noted)
    return held


def with_margins(monkeypatch, margin):
    """A merge that gives this margin to every prompt, where base + adapter gives 1.0. No model is loaded."""
    given = iter([1.0, margin])

    monkeypatch.setattr(merged_checkpoint, "adapted", lambda *_: None)
    monkeypatch.setattr(merged_checkpoint, "write_merged", lambda *given: shutil.copytree(given[2], given[4]))
    monkeypatch.setattr(merged_checkpoint, "load_base", lambda *_, **__: None)
    monkeypatch.setattr(merged_checkpoint, "judged", lambda _, asked, __: [(next(given), 0.0)] * len(asked))


def spoil(file):
    """Overwrite 1 kB in the middle of a file's weights."""
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 1024] = bytes(byte ^ 0x5A for byte in content[middle : middle + 1024])
    file.write_bytes(content)

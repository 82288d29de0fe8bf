"""A stranger's checkpoint runs nothing here: no pickle, no Python of its own, no way out of its chat template."""

import ast
import json
import pickle
import re
from contextlib import suppress
from pathlib import Path

import pytest

from evenhand.chat_templates import render_chat
from evenhand.checkpoints import ModelConfig, load_model, load_tokenizer, patterns_of, resolve
from evenhand.errors import ModelError
from evenhand.records import Message
from tests.made.places import ROOT, cases
from tests.made.source_files import SOURCES, modules_of, nodes_of, shown
from tests.made.tiny_checkpoint import byte_tokenizer, save_checkpoint


class Touches:
    """A pickle that leaves a file behind when it is loaded."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def with_pickle(folder, marker):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"lm_head.weight": Touches(marker)}))
    return folder


def test_a_checkpoint_of_pickles_is_refused_and_not_opened(tmp_path):
    folder = with_pickle(save_checkpoint(tmp_path / "model"), tmp_path / "ran")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no weights \(\*\.safetensors\)"):
        resolve(ModelConfig(name=str(folder)))
    with pytest.raises(ModelError, match="its weights cannot be loaded"):
        load_model(folder)
    assert not (tmp_path / "ran").exists()


def test_a_pickle_beside_safetensors_is_not_opened(tmp_path):
    load_model(with_pickle(save_checkpoint(tmp_path / "model"), tmp_path / "ran"))
    assert not (tmp_path / "ran").exists()


def test_of_a_hub_model_no_pickle_and_no_python_is_fetched():
    patterns = " ".join(patterns_of(weights=True))
    assert "*.safetensors" in patterns
    assert not re.search(r"\.(bin|pt|pth|pkl|ckpt|py)\b", patterns)


def test_a_checkpoints_own_python_is_not_run(tmp_path, monkeypatch):
    folder, marker = save_checkpoint(tmp_path / "model"), tmp_path / "ran"
    (folder / "own.py").write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\n")
    for name, classes in (
        ("config.json", {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}),
        ("tokenizer_config.json", {"AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"]}),
    ):
        file = folder / name
        file.write_text(json.dumps({**json.loads(file.read_text()), "auto_map": classes}))
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # what transformers would ask
    for load in (load_model, load_tokenizer):
        with suppress(ModelError):
            load(folder)  # by the classes of transformers, where it has some
    assert not marker.exists()


def test_nothing_here_trusts_remote_code():
    trusting = [
        f"{shown(file)}:{node.value.lineno}"
        for file in SOURCES
        for node in nodes_of(file)
        if isinstance(node, ast.keyword) and node.arg == "trust_remote_code"
        if not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]
    assert trusting == []
    texts = [file for folder in ("configs", "slurm") for file in (ROOT / folder).rglob("*") if file.is_file()]
    assert [str(file) for file in texts if re.search(r"trust[-_]remote[-_]code", file.read_text())] == []


def test_nothing_here_reads_a_pickle():
    reading = []
    for file in SOURCES:
        for node in nodes_of(file):
            names = {module.partition(".")[0] for module in modules_of(node)}
            loader = ast.unparse(node) if isinstance(node, ast.Attribute) and node.attr == "load" else ""
            if names & {"pickle", "cloudpickle", "dill", "joblib", "shelve"} or loader in ("torch.load", "np.load"):
                reading.append(f"{shown(file)}:{node.lineno}")
    assert reading == []


@pytest.mark.parametrize("template", cases(__file__))
def test_a_chat_template_cannot_leave_its_sandbox(template, tmp_path):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template.replace("FILE", str(tmp_path / "ran"))
    with pytest.raises(ModelError, match="its chat template refuses the prompt"):
        render_chat(tokenizer, [Message(role="user", content="x")])
    assert not (tmp_path / "ran").exists()

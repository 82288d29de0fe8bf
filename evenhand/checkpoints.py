"""Which model a config means and where it lies: the embedded default, a folder, or a Hub id at a revision."""

import os
import sys
from pathlib import Path
from typing import Any

from pydantic import field_validator

from evenhand.config import Closed
from evenhand.embedded import EMBEDDED_NAME, embedded_model_path
from evenhand.errors import ModelError, told
from evenhand.fingerprint import checked_hash
from evenhand.hub import hub_snapshot, missing_files
from evenhand.run_directory import DONE_FILE, is_done, read_json

# Arguments that evenhand.chat_templates gives itself.
NO_TEMPLATE_ARGS = ("messages", "conversation", "tokenize", "add_generation_prompt")
ANEW = "fetch or make the checkpoint anew"


class ModelConfig(Closed):
    """A model as a config names it."""

    name: str  # "embedded", a checkpoint folder, or a Hub id such as "Qwen/Qwen2.5-7B-Instruct"
    revision: str | None = None  # a commit hash; null is resolved once and recorded in provenance.json
    label: str | None = None  # what tables call it; null takes the name's last part
    chat_template_args: dict[str, Any] = {}  # extra template variables, e.g. {enable_thinking: false}

    @field_validator("chat_template_args")
    @classmethod
    def are_free(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        if taken := [name for name in NO_TEMPLATE_ARGS if name in arguments]:
            raise ValueError(f"{taken[0]} is set by Evenhand itself; take it out")
        return arguments

    @property
    def shown_as(self) -> str:
        """The name for tables and plots."""
        return self.label or (
            "SmolLM2-135M-Instruct" if self.name == EMBEDDED_NAME else self.name.rstrip("/").split("/")[-1]
        )


def resolve(model: ModelConfig, *, weights: bool = True) -> Path:
    """The folder of the model's files, downloaded from the Hub when it is not cached whole and the Hub may be asked.

    weights: False brings tokenizer and config only. Raises ModelError saying what to do: an absent folder, a checkpoint
    without tokenizer or weights, an unknown or gated Hub id, no connection.
    """
    if model.name == EMBEDDED_NAME:
        return embedded_model_path()
    folder = Path(model.name).expanduser()
    if folder.is_dir():
        check_folder(folder)
        return folder
    if model.name.startswith((".", "/", "~")) or model.name.count("/") != 1:
        raise ModelError(
            f"model '{model.name}': no such folder; name a checkpoint folder, a Hub id (owner/name) or 'embedded'"
        )
    return hub_snapshot(model.name, model.revision, weights=weights)


def check_folder(folder: Path) -> None:
    """Raises ModelError when a checkpoint folder lacks config, tokenizer or weights."""
    if (folder / "adapter_config.json").is_file() and not (folder / "config.json").is_file():
        raise ModelError(f"{folder}: is an adapter: merge it first with `evenhand merge`")
    if lacking := missing_files(folder):
        raise ModelError(
            f"{folder}: has no {lacking.removeprefix('a ')}, so it is no checkpoint; copy what lacks from the model it "
            "was made from"
        )


def fingerprint(model: ModelConfig, folder: Path) -> dict[str, Any]:
    """What provenance.json says of a model: its name, the Hub revision if it has one, and a hash of the checkpoint.

    Of a revision as well, since a chat template can be edited in the Hub's cache too. Of a merged checkpoint also the
    training run and the hash of its base. Raises DataError when a merged checkpoint is not as it was merged.
    """
    is_of_hub = folder.parent.name == "snapshots"  # which may hold part of what was merged
    merged = read_json(folder / DONE_FILE) if is_done(folder) else {}
    remedy = f"merge it anew, or, where that was meant, copy it to another folder without {DONE_FILE}"
    found = checked_hash(folder, None if is_of_hub else merged.get("checkpoint_hash"), remedy)
    training = {"training_run": merged["run"], "base_hash": merged["base_hash"]} if "base_hash" in merged else {}
    return {
        "name": model.name,
        **({"revision": folder.name} if is_of_hub else {}),
        "checkpoint_hash": found,
        **training,
    }


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint folder. Raises ModelError when transformers cannot read it."""
    from transformers import AutoTokenizer

    try:
        # False, not None: transformers would ask, and `yes y |` would run a checkpoint's own Python.
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of a damaged file anything: KeyError, TypeError, and from Rust a plain Exception
        raise ModelError(f"{folder}: its tokenizer cannot be loaded ({told(error)}); {ANEW}") from error


def load_tokenizer_alone(folder: Path) -> Any:
    """As load_tokenizer, in a process that loads no model: transformers takes torch for absent, which saves seconds.

    AutoTokenizer itself runs, so class, chat template and special tokens are those that sampling gets.
    """
    if "torch" not in sys.modules:
        sys.modules["torch"] = None  # type: ignore[assignment]  # Python's way to say that it cannot be imported
        os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"  # that torch is absent
    return load_tokenizer(folder)


def load_model(folder: Path, *, headless: bool = False, **arguments: Any) -> Any:
    """The model of a checkpoint folder by transformers, which is given the arguments.

    headless: it gives hidden states, and not the next token.
    Raises ModelError when config.json or weights are damaged, do not match, or are not all there: transformers makes up
    random ones in their place. Out of memory stays the RuntimeError or MemoryError that it is.
    """
    from transformers import AutoModel, AutoModelForCausalLM

    try:
        loaded: Any = (AutoModel if headless else AutoModelForCausalLM).from_pretrained(
            folder,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            trust_remote_code=False,
            use_safetensors=True,  # never a pickle, which can run anything
            **arguments,
        )
    except (RuntimeError, MemoryError):
        raise
    except Exception as error:  # of a damaged file anything, as above
        raise ModelError(f"{folder}: its weights cannot be loaded ({told(error)}); {ANEW}") from error
    model, report = loaded
    if missing := sorted(report["missing_keys"]):
        raise ModelError(f"{folder}: lacks {len(missing)} weights ({missing[0]} ...); {ANEW}")
    if other := sorted(report["mismatched_keys"]):
        name, there, wanted = other[0]
        raise ModelError(
            f"{folder}: {len(other)} weights are not of the shape that config.json says ({name} is {list(there)}, not "
            f"{list(wanted)}); {ANEW}"
        )
    return model

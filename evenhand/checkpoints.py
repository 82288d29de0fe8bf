"""Which model a config means, where it lies (the embedded default, a folder, or a Hub id), and a hash of what it is.

Half a model never passes. The hash covers every file that can change an answer.
"""

import hashlib
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import Field

from evenhand.config import Closed, is_none
from evenhand.embedded import CHECKPOINT_DIR, EMBEDDED_NAME, embedded_model_path
from evenhand.errors import DataError, ModelError, NotReached, one_line
from evenhand.files import sha256_of
from evenhand.records import digest
from evenhand.run_directory import DONE_FILE, PROVENANCE_FILE, is_done, read_json

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json", "tekken.json", "vocab.json")
ADAPTER_FILE = "adapter_config.json"  # beside it lie an adapter's weights
WEIGHT_INDEX = "model.safetensors.index.json"  # of a checkpoint in several weight files
SMALL_FILES = ["*.json", "*.model", "*.jinja", "*.txt"]
# Mistral's repositories hold the weights a second time, in the layout of its own loader; beside params.json vLLM would
# take that loader, and base and merged checkpoint would go through different code.
NOT_WANTED = ["consolidated*", "params.json", "original/*"]


def hub_snapshot(name: str, revision: str | None, *, weights: bool = True) -> Path:
    """The cached snapshot of a Hub model, downloaded when it is not whole and the Hub may be asked.

    weights: False brings tokenizer and config only. Raises ModelError saying what to do: unknown, gated, or offline.
    """
    from huggingface_hub import constants, snapshot_download

    cached = cached_snapshot(name, revision, weights=weights)
    if cached and not missing_files(cached, weights=weights):
        return cached
    if constants.HF_HUB_OFFLINE:
        state = f"is only in part in the cache (it lacks {missing_files(cached)})" if cached else "is not in the cache"
        raise ModelError(
            f"model '{name}': {state} and the hub is offline; run `evenhand fetch CONFIG` where it is online"
        )
    patterns = patterns_of(weights=weights)
    with asking_the_hub(name):
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=NOT_WANTED))
    if lacking := missing_files(folder, weights=weights):
        raise ModelError(f"model '{name}': its repository lacks {lacking}; Evenhand reads safetensors checkpoints")
    return folder


def patterns_of(*, weights: bool) -> list[str]:
    """The files that are wanted of a repository."""
    return [*SMALL_FILES, *(["*.safetensors"] if weights else [])]


def cached_snapshot(name: str, revision: str | None, *, weights: bool = True) -> Path | None:
    """The folder of what the cache holds of a Hub model, whole or not; None where it holds nothing. Asks no Hub."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    patterns = patterns_of(weights=weights)
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    except HFValidationError:
        raise ModelError(f"model '{name}': is no Hub id; write owner/name, a checkpoint folder or 'embedded'") from None


@contextmanager
def asking_the_hub(name: str) -> Iterator[None]:
    """Context manager: what the Hub refuses is a ModelError in its words, with the way out; NotReached: no answer."""
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # its HTTP client, httpx or httpx2

    try:
        yield
    except (httpx.HTTPError, OSError, RuntimeError) as error:  # the last is of hf_xet, by which weights come
        kind = ModelError if hasattr(error, "response") else NotReached
        raise kind(
            f"model '{name}': the Hub does not give it ({one_line(error)}). Check spelling, revision and connection; a "
            f"gated or private one needs HF_TOKEN, of an account that accepted its licence at https://huggingface.co/"
            f"{name}"
        ) from None


def missing_files(folder: Path, *, weights: bool = True) -> str:
    """What a checkpoint folder lacks, in words; empty when it is whole. Raises DataError for a damaged file of it."""
    if not (folder / "config.json").is_file():
        return "config.json"
    read_json(folder / "config.json")
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        return "a tokenizer"
    if not weights:
        return ""
    if not (folder / WEIGHT_INDEX).is_file():
        return "" if any(folder.glob("*.safetensors")) else "weights (*.safetensors)"
    shards = weight_files(folder)
    absent = [shard for shard in shards if not (folder / shard).is_file()]
    return f"{len(absent)} of {len(shards)} weight files ({', '.join(absent[:2])})" if absent else ""


def weight_files(folder: Path) -> list[str]:
    """The names of a checkpoint's weight files, in order."""
    if not (folder / WEIGHT_INDEX).is_file():
        return ["model.safetensors"]
    return sorted(set(dict(read_json(folder / WEIGHT_INDEX).get("weight_map", {})).values()))


# Weights, configs, tokenizers and chat templates (transformers keeps several of them in a folder of their own).
PATTERNS = ("*.safetensors", "*.json", "*.jinja", "additional_chat_templates/*.jinja", "*.model", "*.tiktoken", "*.txt")
SHA256 = re.compile("[0-9a-f]{64}")


def checkpoint_hash(folder: Path) -> str:
    """16 hex digits over the names and bytes of a checkpoint folder's files."""
    matching = (file for pattern in PATTERNS for file in folder.glob(pattern))
    files = sorted(file for file in matching if file.name != DONE_FILE)  # of a merge
    with ThreadPoolExecutor() as pool:  # hashing leaves Python's lock
        hashes = list(pool.map(file_hash, files))
    total = hashlib.sha256()
    for file, sha256 in zip(files, hashes, strict=True):
        total.update(f"{file.relative_to(folder).as_posix()} {sha256}\n".encode())
    return total.hexdigest()[:16]


def checked_hash(folder: Path, recorded: object, remedy: str) -> str:
    """The same. Raises DataError where it is not the one recorded when the files were written; None: there is none."""
    now = checkpoint_hash(folder)
    if recorded not in (None, now):
        raise DataError(f"{folder}: its files have changed since they were written ({recorded}, now {now}); {remedy}")
    return now


def file_hash(file: Path) -> str:
    """A file's SHA-256: the name of its blob in the Hub's cache, or computed."""
    if file.is_symlink() and SHA256.fullmatch(blob := file.readlink().name):
        return blob
    return sha256_of(file)


ANEW = "fetch or make the checkpoint anew"


class ModelConfig(Closed):
    """A model as a config names it."""

    name: str  # "embedded", a checkpoint folder, or a Hub id such as "Qwen/Qwen2.5-7B-Instruct"
    revision: str | None = None  # a commit hash; null is resolved once and recorded in provenance.json
    label: str | None = None  # what tables call it; null takes the name's last part
    # A finished training run whose adapter is put on the model as it is, not merged; null: none
    adapter: Path | None = Field(default=None, exclude_if=is_none)
    chat_template_args: dict[str, Any] = {}  # extra template variables; see also patch.thinking

    @property
    def shown_as(self) -> str:
        """The name for tables and plots."""
        name = "SmolLM2-135M-Instruct" if self.name == EMBEDDED_NAME else self.name.rstrip("/").split("/")[-1]
        return self.label or (self.adapter.name if self.adapter else name)


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
        raise ModelError(f"model '{model.name}': no such folder; name one, a Hub id (owner/name) or 'embedded'")
    folder = hub_snapshot(model.name, model.revision, weights=weights)
    check_no_adapter(folder)
    return folder


def adapter_folder(run: Path) -> Path:
    """The folder of a finished training run's adapter. Raises ModelError where there is none."""
    folder = run / "adapter"
    if not is_done(run) or not (folder / ADAPTER_FILE).is_file():
        raise ModelError(f"model.adapter: {run} is no finished training run; name one, as runs/training/NAME-DIGEST")
    return folder


def adapter_rank(run: Path) -> int:
    """The rank of a finished training run's adapter. Raises ModelError where there is none."""
    return int(read_json(adapter_folder(run) / ADAPTER_FILE)["r"])


def check_no_adapter(folder: Path) -> None:
    """Raises ModelError where an adapter lies in a folder, beside weights too: transformers would add it, vLLM not."""
    if (folder / ADAPTER_FILE).is_file():
        raise ModelError(f"{folder}: is an adapter: `evenhand merge` its training run, or set model.adapter to that")


def check_folder(folder: Path) -> None:
    """Raises ModelError when a checkpoint folder lacks config, tokenizer or weights."""
    check_no_adapter(folder)
    if lacking := missing_files(folder):
        raise ModelError(
            f"{folder}: has no {lacking.removeprefix('a ')}, so it is no checkpoint; copy it from what it was made from"
        )


def fingerprint(model: ModelConfig, folder: Path) -> dict[str, Any]:
    """What provenance.json says of a model: its name, the Hub revision if it has one, and a hash of the checkpoint.

    Of a revision as well, since a chat template can be edited in the Hub's cache too. Of a merged checkpoint also the
    training run and the hash of its base, and so with an adapter. Raises DataError when a merged checkpoint or an
    adapter is not as it was made, or the adapter is of another base.
    """
    is_of_hub = folder.parent.name == "snapshots"  # which may hold part of what was merged
    merged = read_json(folder / DONE_FILE) if is_done(folder) else {}
    remedy = f"merge it anew, or, where that was meant, copy it to another folder without {DONE_FILE}"
    content_hash = checked_hash(folder, None if is_of_hub else merged.get("checkpoint_hash"), remedy)
    training = {"training_run": merged["run"], "base_hash": merged["base_hash"]} if "base_hash" in merged else {}
    if run := model.adapter:
        adapter, recorded = adapter_folder(run), read_json(run / DONE_FILE).get("adapter_hash")
        trained = read_json(run / PROVENANCE_FILE)["model"]
        if trained["checkpoint_hash"] != content_hash:
            raise DataError(f"model.adapter: {run} was trained on {trained}, and {folder} has hash {content_hash}")
        adapter_hash = checked_hash(adapter, recorded, "restore them from a copy, or train again")
        training = {"training_run": run.name, "base_hash": content_hash}
        content_hash = digest([content_hash, adapter_hash], 16)
    return {
        "name": model.name,
        **({"revision": folder.name} if is_of_hub else {}),
        "checkpoint_hash": content_hash,
        **training,
    }


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint folder. Raises ModelError when transformers cannot read it."""
    if folder.name == CHECKPOINT_DIR:  # AutoTokenizer finds this class, too, but first it loads torch and scikit-learn
        from transformers import TokenizersBackend as Tokenizer
    else:
        from transformers import AutoTokenizer as Tokenizer

    try:
        # False, not None: transformers would ask, and `yes y |` would run a checkpoint's own Python.
        tokenizer = Tokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # of a damaged file anything: KeyError, TypeError, and from Rust a plain Exception
        raise ModelError(f"{folder}: its tokenizer cannot be loaded ({one_line(error)}); {ANEW}") from error
    described = read_json(folder / "config.json")
    n_rows = described.get("text_config", described).get("vocab_size", math.inf)
    if tokenizer.vocab_size > n_rows:  # without added tokens, which a prompt need not hold
        raise ModelError(f"{folder}: its tokenizer has {tokenizer.vocab_size} tokens, its model {n_rows}; {ANEW}")
    return tokenizer


def load_model(folder: Path, **arguments: Any) -> Any:
    """The model of a checkpoint folder by transformers, which is given the arguments.

    Raises ModelError when config.json or weights are damaged, do not match, or are not all there (transformers makes up
    random ones in their place), or a package is absent. Out of memory stays the RuntimeError or MemoryError that it is.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # of reading weights, before what was asked for
    try:
        if "device_map" in arguments:  # which transformers refuses without it, in a ValueError
            import_module("accelerate")
        loaded: Any = AutoModelForCausalLM.from_pretrained(
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
        fix = "`pip install 'evenhand[local]'` brings what is missing" if isinstance(error, ImportError) else ANEW
        raise ModelError(f"{folder}: its weights cannot be loaded ({one_line(error)}); {fix}") from error
    model, report = loaded
    if missing := sorted(report["missing_keys"]):
        raise ModelError(f"{folder}: lacks {len(missing)} weights ({missing[0]} ...); {ANEW}")
    if mismatched := sorted(report["mismatched_keys"]):
        name, *_ = mismatched[0]
        raise ModelError(f"{folder}: {len(mismatched)} weights have other shapes than config.json ({name}); {ANEW}")
    return model

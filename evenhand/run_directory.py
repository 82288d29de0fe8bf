"""Run directories: named by the config's digest, append-only, resumable after a kill at any moment.

`<root>/<kind>/<name>-<digest>/` holds config.yaml (resolved, re-runnable), provenance.json, the results as whole files
written by atomic rename, and DONE.json last. No database: SQLite's log fails on NFS and Lustre.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from evenhand.completions import EXCLUDED_FOLDER, read_excluded
from evenhand.config import parse_config, read_yaml, to_yaml
from evenhand.errors import DataError
from evenhand.files import read_jsonl, sha256_of, write_json, write_jsonl, write_new
from evenhand.provenance import provenance
from evenhand.records import Prompt, digest, plain

CONFIG_FILE = "config.yaml"
PROVENANCE_FILE = "provenance.json"
PLAN_FILE = "plan.jsonl"
ITEMS_FILE = "items.json"  # of a training run: hashes of what it trained on, or chose its checkpoint by
DONE_FILE = "DONE.json"

# Where a server stands and how patiently it is asked, how much memory an engine takes: no answer depends on it.
FREE_ENGINE_KEYS = (
    *("engine.base_url", "engine.api_key_env", "engine.concurrency", "engine.timeout_s", "engine.max_retries"),
    *("engine.total_timeout_s", "engine.gpu_memory_utilization", "engine.cpu_kv_cache_gib"),
)


def run_path(root: Path, kind: str, name: str, config: BaseModel, free_of_effect: set[str] | None = None) -> Path:
    """The directory of a run: same config, same directory.

    free_of_effect: keys that change no number ("run", "engine.timeout_s"); they are left out of the digest.
    """
    content = config.model_dump(mode="json")
    for key in free_of_effect or set():
        *sections, last = key.split(".")
        node = content
        for section in sections:
            node = node.get(section, {})
        node.pop(last, None)
    return root / kind / f"{name}-{digest(content, 8)}"


def check_writable(path: Path) -> None:
    """Raises DataError where a folder cannot be made: said before a model is loaded."""
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise DataError(f"{path}: cannot be made, since {there} is not a folder that may be written to; set run.root")


def open_run(
    path: Path,
    config: BaseModel,
    item_hash: str,
    model: Mapping[str, Any],
    device: Callable[[], str | None],
    **noted: object,
) -> None:
    """Create the run directory, or check that the one there is of the same config, items and model.

    device: names what will compute, or raises; asked only when provenance.json is written. noted: what else stands
    there, where it says anything: `inputs`, folders that the items are made of, with a hash of each; `plan_grows`,
    whether replies lead to further prompts; `n_left_out`, of how many items the data have more.
    Raises DataError when it is of another config or its items or model have changed since: mixing them would be a
    result of nothing.
    """
    config_file, facts_file = path / CONFIG_FILE, path / PROVENANCE_FILE
    name = None if facts_file.exists() else device()  # it may raise, so before anything is written
    # Of processes that make the run at once the first one's files stay.
    if not write_new(config_file, to_yaml(config)):
        there = parse_config(type(config), read_yaml(config_file), str(config_file)).model_dump(mode="json")
        here = config.model_dump(mode="json")
        changed = [key for key in here if here[key] != there.get(key) and key not in ("engine", "run", "guard")]
        if changed:
            keys = ", ".join(changed)
            raise DataError(f"{path}: is the run of another config (differs in {keys}); give this run another `name`")
    facts: dict[str, Any] = {"config_sha256": sha256_of(config_file), "item_set_hash": item_hash, "model": dict(model)}
    facts |= {key: value for key, value in noted.items() if value} | provenance(name)
    if write_new(facts_file, json.dumps(facts, indent=2, ensure_ascii=False) + "\n"):
        return
    check_unchanged(path)
    before = read_json(facts_file)
    for key, now in (("item_set_hash", item_hash), ("model", dict(model))):
        if before.get(key) != now:
            raise DataError(
                f"{path}: its {key.replace('_', ' ')} was {before.get(key)}, now it is {now}; "
                "restore what it was made with, or give the run another `name`"
            )


def check_unchanged(path: Path) -> None:
    """Raises DataError when a run's config, plan or provenance is not as the run made it: its answers are those to
    another one."""
    done = read_json(path / DONE_FILE) if is_done(path) else {}
    recorded = {
        PROVENANCE_FILE: done.get("provenance_sha256"),
        CONFIG_FILE: read_json(path / PROVENANCE_FILE).get("config_sha256", ""),
        PLAN_FILE: done.get("plan_sha256") if (path / PLAN_FILE).exists() else None,
    }
    for name, sha256 in recorded.items():
        if sha256 is not None and sha256 != sha256_of(path / name):
            raise DataError(
                f"{path / name}: was changed since the run was made; restore it, or give a changed config a run of "
                f"its own. A plan can also be deleted: `evenhand sample {path / CONFIG_FILE}` makes it anew"
            )


def check_complete(path: Path) -> None:
    """Raises DataError when a sampling run is not complete, or its files are not those that it was completed with.

    Whether every planned prompt has its replies is for whoever reads them.
    """
    read_plan_lines(path)  # says so where there is no run at all
    if not is_done(path):
        raise DataError(f"{path}: is not complete; continue it with `evenhand sample {path / CONFIG_FILE}`")
    check_unchanged(path)
    n_excluded, n_done = len(read_excluded(path)), read_json(path / DONE_FILE).get("n_excluded_items", 0)
    if n_excluded != n_done:
        raise DataError(
            f"{path / EXCLUDED_FOLDER}: leaves out {n_excluded} items, and the run was completed without {n_done}; "
            f"restore it, or delete it and {DONE_FILE}, and sample again"
        )


def write_plan(path: Path, prompts: Iterable[Prompt]) -> None:
    """plan.jsonl: the key of every prompt planned so far, unit by unit, so that scores need only the run directory.

    Raises DataError when the run was planned with other prompts: the code's templates have changed since. A unit of a
    plan that grows may have come further here or there.
    """
    planned = map(planned_line, prompts)
    if not (path / PLAN_FILE).exists():
        write_jsonl(path / PLAN_FILE, planned)
        return
    for before, now in zip_longest(by_unit(read_plan_lines(path)), by_unit(planned), fillvalue=()):
        n_common = min(len(before), len(now))
        if not n_common or before[:n_common] != now[:n_common]:
            raise DataError(
                f"{path}: was planned with other prompts than this code makes of its config; continue it with the "
                f"commit in its {PROVENANCE_FILE}, or give the new run another `name`"
            )


def rewrite_plan(path: Path, prompts: Iterable[Prompt]) -> None:
    """Have plan.jsonl name these prompts: when no unit has anything left to ask, or when replies were lost."""
    write_jsonl(path / PLAN_FILE, map(planned_line, prompts))


def by_unit(lines: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The lines of a plan in lists, one for each unit that they ask about."""
    return (list(of_unit) for _, of_unit in groupby(lines, key=lambda line: line.get("item_id")))


def planned_line(prompt: Prompt) -> dict[str, Any]:
    """A prompt's line in the plan, as it is read back: with lists in the place of tuples."""
    factors = plain(prompt.factors)
    schema = prompt.drawing.json_schema
    line = {
        "prompt_hash": prompt.prompt_hash,
        "n": prompt.drawing.n,  # answers that it takes, where not the run's
        "cluster": prompt.cluster,
        "reads": prompt.reads and list(prompt.reads),
        "schema": schema and digest(schema, 8),  # so that no run goes on under another one
        "item_id": prompt.item_id,
        "benchmark": prompt.benchmark,
        "dataset": prompt.dataset,
        "condition": str(prompt.condition),
        "factors": {key: list(value) if isinstance(value, tuple) else value for key, value in factors.items()},
        "answer_space": list(prompt.answer_space),
    }
    return {key: value for key, value in line.items() if value is not None}


def read_plan_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a run's plan, of whichever study, as they are read.

    Raises DataError at once for a folder that is no run, and for a damaged line when it is reached.
    """
    file = path / PLAN_FILE
    if not file.exists():
        raise DataError(f"{path}: is no sampling run (it has no {PLAN_FILE}); make one with `evenhand sample CONFIG`")
    return (record for _, record in read_jsonl(file))


def finish(path: Path, facts: Mapping[str, Any]) -> None:
    """DONE.json, written last: the run is complete. With checksums of provenance and of the plan, if there is one."""
    files = {"provenance_sha256": path / PROVENANCE_FILE, "plan_sha256": path / PLAN_FILE}
    checked = {name: sha256_of(file) for name, file in files.items() if file.exists()}
    write_json(path / DONE_FILE, {**facts, **checked})


def is_done(path: Path) -> bool:
    """Whether the run is complete."""
    return (path / DONE_FILE).exists()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a run directory. Raises DataError when the file is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is damaged JSON ({error})") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: must hold a JSON object")
    return content

"""How a run of any study was made, for the method section."""

from collections.abc import Mapping
from typing import Any


def how_run(config: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, str]:
    """Name → value of how a run of any study was made."""
    sampling, engine = dict(config["sampling"]), dict(config.get("engine", {}))
    return {
        "engine": f"{engine.get('kind', 'not recorded')}, {engine.get('dtype', 'precision set by the server')}",
        "sampling": ", ".join(f"{key} {value}" for key, value in sampling.items()),
        "device": str(provenance.get("device") or "not known"),
        "software": ", ".join(f"{k} {v}" for k, v in dict(provenance.get("packages", {})).items()),
        "code": code_words(provenance.get("code")),
        "item set": str(provenance.get("item_set_hash", "not recorded")),
    }


def revision_of(provenance: Mapping[str, Any]) -> str | None:
    """The resolved revision or checkpoint hash, whichever the run recorded."""
    model = provenance.get("model")
    if not isinstance(model, Mapping):
        return None
    found = [str(model[key]) for key in ("revision", "hash", "checkpoint_hash", "sha256") if model.get(key)]
    return found[0] if found else None


def code_words(code: object) -> str:
    """The commit a run was made with."""
    if not isinstance(code, Mapping) or not code.get("commit"):
        return "not recorded"
    return str(code["commit"])[:12] + (" with uncommitted changes" if code.get("dirty") else "")

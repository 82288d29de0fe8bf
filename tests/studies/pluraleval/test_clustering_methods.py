"""Clusters by embeddings beside Algorithm 1: by hand, in any batch, and through a built folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.errors import DataError
from studies.pluraleval.build_references import build
from studies.pluraleval.records import Cluster
from studies.pluraleval.reference_sets import ClusteringSettings, ReferenceSettings, embed
from studies.pluraleval.sources import ReferenceSpec, load_references, pocket_references
from tests.made.made_threads import POCKET, clusters, judged, steps, thread
from tests.made.pocket_judge import AnsweringEngine, perfect, stage_run
from tests.made.tiny_checkpoint import save_checkpoint

AVERAGE = {"method": "embeddings", "embedding": "tfidf", "distance_threshold": 0.5}


def by(clustering: Mapping[str, Any], **keys: Any) -> ReferenceSettings:
    return ReferenceSettings(threads=POCKET, clustering=ClusteringSettings.model_validate(clustering), **keys)


def section(clustering: Mapping[str, Any]) -> dict[str, Any]:
    return {"references": {"threads": {"dataset": "pocket-threads"}, "clustering": dict(clustering)}}


def groups(found: Any) -> set[frozenset[str]]:
    return {frozenset(members) for members in clusters(found)}


LOUD = ("the piano is too loud at night", "the piano is very loud at night", "the piano is loud late at night")
BUY = ("the father should buy a keyboard", "the father should rent a keyboard", "the father should buy her a keyboard")
OTHER = "the walls of that house were built badly"


def test_opinions_in_like_words_are_one_cluster_and_what_is_like_none_is_one_of_its_own() -> None:
    found, asked = judged(thread(*LOUD, *BUY, OTHER), settings=by(AVERAGE))
    assert groups(found) == {frozenset(LOUD), frozenset(BUY), frozenset([OTHER])}
    assert not {"bootstrap", "assignment"} & {*steps(asked)}
    assert steps(asked).count("summary") == 3
    alone, _ = judged(thread(OTHER), settings=by(AVERAGE))
    assert clusters(alone) == [[OTHER]]


@pytest.mark.parametrize(("threshold", "n_clusters"), [(0.19, 3), (0.20, 2), (0.69, 2), (0.70, 1)])
def test_average_linkage_merges_up_to_the_distance_threshold(threshold: float, n_clusters: int) -> None:
    """By hand: the idf of xx is 1, of yy i = ln(4/3) + 1 = 1.288, of zz ln(4/2) + 1 = 1.693.

    The cosine of the first two is (2 + 2i²) / (√(4 + i²) √(1 + 4i²)) = 0.809, theirs with the third 0.428 and 0.184,
    on average 0.306: distances 0.191 and 0.694.
    """
    opinions = thread("xx xx yy", "xx yy yy", "xx zz")
    found, _ = judged(opinions, settings=by({**AVERAGE, "distance_threshold": threshold}))
    assert len(found.clusters) == n_clusters


def viewpoints(found: tuple[Cluster, ...]) -> set[tuple[str, int, frozenset[str]]]:
    return {(c.summary, c.votes, frozenset(member.text for member in c.members)) for c in found}


@pytest.mark.parametrize(
    ("clustering", "says"),
    [
        ({}, "clustered by Algorithm 1 of PluralEval (section 4.1), alpha 0.2, seed 42"),
        (AVERAGE, "(embedding tfidf, distance_threshold 0.5)"),
    ],
    ids=["algorithm_1", "embeddings"],
)
def test_each_method_makes_reference_sets_in_any_batch_and_its_card_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clustering: dict[str, Any], says: str
) -> None:
    whole = stage_run(tmp_path, monkeypatch, section(clustering), AnsweringEngine(perfect), name="one")
    engine = AnsweringEngine(perfect, room=3, seed=2)
    other = stage_run(tmp_path, monkeypatch, section(clustering), engine, name="other", shards=4)
    built = [build(run, tmp_path / f"built-{n}") for n, run in enumerate((whole, other))]
    assert built[0]["reference_set_hash"] == built[1]["reference_set_hash"]
    assert says in (tmp_path / "built-0" / "README.md").read_text()
    for found, known in zip(
        load_references(ReferenceSpec(root=tmp_path / "built-0")), pocket_references(), strict=True
    ):
        if not clustering:
            assert viewpoints(found.clusters) == viewpoints(known.clusters)
            assert [c.votes for c in found.clusters] == [c.votes for c in known.clusters]
            assert (found.is_feasible, found.opposing) == (known.is_feasible, known.opposing)
            assert sorted(found.stances) == sorted(known.stances)


def test_a_checkpoint_makes_embeddings_and_its_run_notices_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    name = str(save_checkpoint(tmp_path / "tiny", window=2048))
    tokens = AutoTokenizer.from_pretrained(name)(OTHER, return_tensors="pt")
    with torch.inference_mode():
        mean = AutoModel.from_pretrained(name, dtype="float32")(**tokens).last_hidden_state[0].mean(dim=0)
    assert embed([LOUD[0], OTHER], name)[1] == pytest.approx(mean.numpy(), abs=1e-6)
    chosen = section({**AVERAGE, "embedding": name})
    run = stage_run(tmp_path, monkeypatch, chosen, AnsweringEngine(perfect))
    assert list(json.loads((run / "provenance.json").read_text())["inputs"]) == [name]
    assert build(run, tmp_path / "built")["n_threads"] == 9
    (tmp_path / "tiny" / "added.json").write_text("{}")
    with pytest.raises(DataError, match=r"the checkpoint .* of its embeddings has changed since"):
        build(run, tmp_path / "again")

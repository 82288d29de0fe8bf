"""Who turns a thread's opinions into clusters: Algorithm 1, or a method to compare it with (appendix A.4)."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from evenhand.config import Closed
from studies.pluraleval.clustering import Growing, cluster_online
from studies.pluraleval.embedding_clusters import Algorithm, cluster_by_embeddings
from studies.pluraleval.judge_steps import Judge
from studies.pluraleval.one_pass import cluster_in_one_pass
from studies.pluraleval.records import Opinion
from studies.stepwise import Steps

Method = Literal["algorithm_1", "embeddings", "one_pass"]
NEEDED: dict[str | None, tuple[str, ...]] = {  # method or algorithm → the keys that it needs
    "embeddings": ("embedding", "algorithm"),
    "agglomerative": ("distance_threshold",),
    "hdbscan": ("min_cluster_size",),
    "one_pass": ("proposal_size",),
}


class ClusteringSettings(Closed):
    """A clustering method. The paper prints no settings of those that it compares with, so they have no defaults."""

    method: Method = "algorithm_1"
    embedding: str | None = None  # of embeddings: tfidf, or a checkpoint (folder or Hub id) that transformers reads
    algorithm: Algorithm | None = None  # of embeddings: scikit-learn's
    distance_threshold: float | None = Field(default=None, gt=0)  # of agglomerative: cosine distance; see scikit-learn
    min_cluster_size: int | None = Field(default=None, ge=2)  # of hdbscan; see scikit-learn
    proposal_size: int | None = Field(default=None, ge=1)  # of one_pass: clusters are proposed from so many opinions

    @model_validator(mode="after")
    def has_its_keys(self) -> Self:
        needed = [*NEEDED.get(self.method, ())]
        if "algorithm" in needed:
            needed += NEEDED.get(self.algorithm, ())
        given = [name for name, value in self if name != "method" and value is not None]
        if lacking := [name for name in needed if name not in given]:
            raise ValueError(f"method {self.method}: set {' and '.join(lacking)}")
        if foreign := [name for name in given if name not in needed]:
            raise ValueError(f"{foreign[0]} is not for {self.algorithm or f'method {self.method}'}; leave it out")
        return self

    @property
    def parameters(self) -> dict[str, str | int | float]:
        """Its keys but for the method."""
        return {name: value for name, value in self if name != "method" and value is not None}


def cluster_opinions(
    judge: Judge, opinions: Sequence[Opinion], chosen: ClusteringSettings, *, alpha: float, seed: int
) -> Steps[list[Growing]]:
    """The clusters of a thread's opinions with their summaries, by the chosen method. alpha: of Algorithm 1."""
    if chosen.method == "algorithm_1":
        return cluster_online(judge, opinions, alpha=alpha, seed=seed)
    if chosen.method == "one_pass":
        assert chosen.proposal_size is not None
        return cluster_in_one_pass(judge, opinions, proposal_size=chosen.proposal_size, seed=seed)
    assert chosen.embedding is not None
    assert chosen.algorithm is not None
    return cluster_by_embeddings(
        judge,
        opinions,
        embedding=chosen.embedding,
        algorithm=chosen.algorithm,
        distance_threshold=chosen.distance_threshold,
        min_cluster_size=chosen.min_cluster_size,
    )

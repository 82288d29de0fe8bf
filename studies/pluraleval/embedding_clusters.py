"""Opinions → clusters by embeddings and scikit-learn, without asking the judge (appendix A.4's library baselines)."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.checkpoints import ModelConfig, checkpoint_hash, load_model, load_tokenizer, resolve
from evenhand.errors import ModelError
from studies.pluraleval.clustering import Growing, refresh
from studies.pluraleval.judge_steps import Judge
from studies.pluraleval.records import Opinion
from studies.stepwise import Steps

Algorithm = Literal["agglomerative", "hdbscan"]
TFIDF = "tfidf"
NOISE = -1  # scikit-learn's label of a point that is in no cluster


def cluster_by_embeddings(
    judge: Judge,
    opinions: Sequence[Opinion],
    *,
    embedding: str,
    algorithm: Algorithm,
    distance_threshold: float | None,
    min_cluster_size: int | None,
) -> Steps[list[Growing]]:
    """The clusters in the order of their first opinions; each is summarised from its members (prompt 9).

    What is noise to HDBSCAN is a cluster of its own.
    """
    clusters: dict[tuple[int, int], Growing] = {}
    labels = cluster_labels(
        [opinion.text for opinion in opinions], embedding, algorithm, distance_threshold, min_cluster_size
    )
    for number, (opinion, label) in enumerate(zip(opinions, labels, strict=True)):
        key = (label, number if label == NOISE else 0)
        clusters.setdefault(key, Growing()).members.append(opinion)
    found = list(clusters.values())
    yield from refresh(judge, found, range(len(found)))
    return found


def cluster_labels(
    texts: Sequence[str],
    embedding: str,
    algorithm: Algorithm,
    distance_threshold: float | None,
    min_cluster_size: int | None,
) -> list[int]:
    """The label of each text's cluster, by cosine distances; NOISE for none.

    agglomerative: average linkage up to distance_threshold. hdbscan: clusters of at least min_cluster_size.
    """
    if len(texts) < (min_cluster_size or 2):  # scikit-learn takes no fewer
        return [NOISE] * len(texts)
    from sklearn.cluster import HDBSCAN, AgglomerativeClustering
    from sklearn.metrics.pairwise import cosine_distances

    if algorithm == "hdbscan":
        method = HDBSCAN(min_cluster_size=min_cluster_size, metric="precomputed", copy=True)
    else:
        method = AgglomerativeClustering(
            n_clusters=None, distance_threshold=distance_threshold, metric="precomputed", linkage="average"
        )
    return [int(label) for label in method.fit_predict(cosine_distances(embed(texts, embedding)))]


def embed(texts: Sequence[str], embedding: str) -> Any:
    """A vector a text: TF-IDF of these texts (sparse), or a checkpoint's; (n_texts, n_dimensions)."""
    if embedding == TFIDF:
        from sklearn.feature_extraction.text import TfidfVectorizer

        # Words of one letter count too: else a text of such words alone would leave an empty vocabulary.
        return TfidfVectorizer(token_pattern=r"\b\w+\b").fit_transform(texts)
    return np.stack([mean_pooled(text, embedding) for text in texts])


def mean_pooled(text: str, name: str) -> NDArray[np.float32]:
    """The mean of a checkpoint's last hidden states over a text's tokens, of length 1; (n_dimensions,).

    One text at a time: with padding, the rounding of a vector would depend on the other texts.
    """
    import torch

    tokenizer, model = encoder(name)
    with torch.inference_mode():
        states = model(**tokenizer(text, truncation=True, return_tensors="pt")).last_hidden_state[0]
        vector: NDArray[np.float32] = torch.nn.functional.normalize(states.mean(dim=0), dim=0).numpy()
    return vector


@cache
def encoder(name: str) -> tuple[Any, Any]:
    """Tokenizer and model of a checkpoint, in float32 on the CPU, so that every machine finds the same clusters."""
    folder = resolve(ModelConfig(name=name))
    return load_tokenizer(folder), load_model(folder, headless=True, dtype="float32").eval()


def embedding_input(embedding: str | None) -> Mapping[str, str]:
    """The checkpoint that makes the embeddings, with a hash of its files; none for other methods.

    Raises ModelError when there is no such checkpoint.
    """
    if embedding in (None, TFIDF):
        return {}
    try:
        return {embedding: checkpoint_hash(resolve(ModelConfig(name=embedding)))}
    except ModelError as error:
        raise ModelError(f"pluraleval.references.clustering.embedding: {error}; or write {TFIDF}") from None

"""A thread's opinions → clusters with summaries: Algorithm 1, or a method to compare it with (appendix A.4).

Algorithm 1 is a bootstrap and one online assignment after the other. One pass, in the manner of GoalEx (Wang et al.
2023), proposes clusters and then assigns. Embeddings are clustered by scikit-learn, without asking the judge.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from evenhand.checkpoints import ModelConfig, load_model, load_tokenizer, resolve
from evenhand.config import Closed
from evenhand.errors import ModelError
from evenhand.fingerprint import checkpoint_hash
from evenhand.records import Prompt
from studies.pluraleval.judge import Judge, reply_to
from studies.pluraleval.prompts import array, as_string, ask, clustering_schema, numbered, one_key, snippets
from studies.pluraleval.records import Opinion
from studies.pluraleval.reply_reading import NOT_ASKED, cluster_in, groups_in, sentence_in, strings_in
from studies.stepwise import Steps

Method = Literal["algorithm_1", "embeddings", "one_pass"]
Algorithm = Literal["agglomerative", "hdbscan"]
NEEDED: dict[str | None, tuple[str, ...]] = {  # method or algorithm → the keys that it needs
    "embeddings": ("embedding", "algorithm"),
    "agglomerative": ("distance_threshold",),
    "hdbscan": ("min_cluster_size",),
    "one_pass": ("proposal_size",),
}
TFIDF = "tfidf"
NOISE = -1  # scikit-learn's label of a point that is in no cluster


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


@dataclass
class Growing:
    """A cluster g while the algorithm runs."""

    members: list[Opinion] = field(default_factory=list)
    summary: str = ""

    @property
    def texts(self) -> list[str]:
        """What its members say."""
        return [member.text for member in self.members]


def cluster_opinions(
    judge: Judge, opinions: Sequence[Opinion], chosen: ClusteringSettings, *, alpha: float, seed: int
) -> Steps[list[Growing]]:
    """The clusters of a thread's opinions with their summaries, by the chosen method. alpha: of Algorithm 1."""
    if chosen.method == "algorithm_1":
        return cluster_online(judge, opinions, alpha=alpha, seed=seed)
    if chosen.method == "one_pass":
        assert chosen.proposal_size is not None
        return cluster_in_one_pass(judge, opinions, proposal_size=chosen.proposal_size, seed=seed)
    return cluster_by_embeddings(judge, opinions, chosen)


def cluster_online(judge: Judge, opinions: Sequence[Opinion], *, alpha: float, seed: int) -> Steps[list[Growing]]:
    """The clusters in the order in which they were made. Each line of Algorithm 1 is one here.

    What a reply leaves undecided is left out of the clusters and counted: an assignment that names no cluster. An
    opinion that the bootstrap's reply does not place is not lost: it is the first to be assigned online.
    """
    order = random_order(judge.thread.thread_id, len(opinions), seed)
    first, later = order[: bootstrap_size(len(opinions), alpha)], order[bootstrap_size(len(opinions), alpha) :]
    clusters = yield from bootstrap(judge, [opinions[n] for n in first])
    placed = {opinion.text for cluster in clusters for opinion in cluster.members}
    left = [n for n in first if opinions[n].text not in placed]
    for number in [*left, *later]:
        changed = yield from assign(judge, opinions[number], number, clusters)
        if changed is not None:
            yield from refresh(judge, clusters, [changed])
    return clusters


def bootstrap_size(n_opinions: int, alpha: float) -> int:
    """⌈αT⌉. alpha is taken as it is written: 0.07 × 100 is 7, and not the 7.000000000000001 of floats."""
    return min(n_opinions, math.ceil(Fraction(repr(alpha)) * n_opinions))


def random_order(thread_id: str, n_opinions: int, seed: int) -> list[int]:
    """Positions in a random order of the thread's own: the bootstrap's sample stands first."""
    draws = random.Random(f"{seed} {thread_id}")
    return sorted(range(n_opinions), key=lambda _: draws.random())  # random() alone never changes in Python


def bootstrap(judge: Judge, opinions: Sequence[Opinion]) -> Steps[list[Growing]]:
    """Lines 2 and 3: the first clusters by prompt 8, and their summaries by prompt 9."""
    if len(opinions) < 2:  # nothing to group
        clusters = [Growing(members=[opinion]) for opinion in opinions]
        if clusters:
            judge.count("bootstrap", NOT_ASKED)
    else:
        texts = [opinion.text for opinion in opinions]
        schema = clustering_schema(texts)
        prompt = judge.prompt(
            "bootstrap", 0, ask("clustering", snippets=snippets(texts)), schema=schema, max_tokens=reply_room(texts)
        )
        replies = yield [prompt]
        groups, state = groups_in(reply_to(prompt, replies), texts)
        judge.count("bootstrap", state)
        clusters = [Growing(members=[opinions[n] for n in group]) for group in groups]
    yield from refresh(judge, clusters, range(len(clusters)))
    return clusters


def assign(judge: Judge, opinion: Opinion, number: int, clusters: list[Growing]) -> Steps[int | None]:
    """Line 5: put an opinion into a cluster, an existing one or a new one; its position, None when undecided."""
    if not clusters:
        chosen: int | None = 0
        judge.count("assignment", NOT_ASKED)
    else:
        prompt = assignment_prompt(judge, [cluster.summary for cluster in clusters], opinion, number)
        replies = yield [prompt]
        chosen, state = cluster_in(reply_to(prompt, replies), len(clusters))
        judge.count("assignment", state)
    if chosen is None:
        return None
    if chosen == 0:
        clusters.append(Growing())
        chosen = len(clusters)
    clusters[chosen - 1].members.append(opinion)
    return chosen - 1


def assignment_prompt(judge: Judge, summaries: Sequence[str], opinion: Opinion, number: int) -> Prompt:
    """Which cluster opinion number `number` belongs to."""
    quoted = numbered([as_string(summary) for summary in summaries], "\n")
    messages = ask("assignment", summaries=quoted, opinion=as_string(opinion.text))
    schema = one_key("cluster", {"enum": list(range(len(summaries) + 1))})  # 0 for a new one
    return judge.prompt("assignment", number, messages, schema=schema)


def reply_room(texts: Sequence[str]) -> int:
    """The longest reply, in tokens, that repeats opinions: two characters a token is more than they take."""
    return 128 + len(snippets(texts)) // 2


def refresh(judge: Judge, clusters: Sequence[Growing], changed: Sequence[int]) -> Steps[None]:
    """Line 6: summarise changed clusters from all of their members (prompt 9).

    A reply of no use leaves the summary as it was, or, of a new cluster, makes it its first member.
    """
    asked = {n: judge.prompt("summary", n, ask("summarization", snippets=snippets(clusters[n].texts))) for n in changed}
    replies = yield list(asked.values())
    for number, prompt in asked.items():
        text, state = sentence_in(reply_to(prompt, replies))
        judge.count("summary", state)
        cluster = clusters[number]
        cluster.summary = text or cluster.summary or cluster.members[0].text


def cluster_in_one_pass(
    judge: Judge, opinions: Sequence[Opinion], *, proposal_size: int, seed: int
) -> Steps[list[Growing]]:
    """The clusters in the order in which they were proposed, then the opinions that fit none, each a cluster.

    Opinions are assigned by the proposed descriptions, all at once; only then is each cluster summarised from its
    members (prompt 9). An assignment that names no cluster leaves its opinion out, as in Algorithm 1. Without a
    proposal of use, every opinion is a cluster.
    """
    described = yield from propose(judge, opinions, proposal_size, seed)
    if described:
        clusters = yield from assign_all(judge, opinions, described)
    else:
        clusters = [Growing(members=[opinion]) for opinion in opinions]
    yield from refresh(judge, clusters, range(len(clusters)))
    return clusters


def propose(judge: Judge, opinions: Sequence[Opinion], proposal_size: int, seed: int) -> Steps[list[str]]:
    """Descriptions of clusters, from all opinions or, beyond proposal_size, from so many of them drawn at random."""
    if len(opinions) < 2:  # nothing to group
        if opinions:
            judge.count("proposal", NOT_ASKED)
        return []
    drawn = sorted(random_order(judge.thread.thread_id, len(opinions), seed)[:proposal_size])
    texts = [opinions[n].text for n in drawn]
    schema = one_key("clusters", array({"type": "string"}, minItems=1, maxItems=len(texts)))
    prompt = judge.prompt(
        "proposal", 0, ask("proposal", snippets=snippets(texts)), schema=schema, max_tokens=reply_room(texts)
    )
    replies = yield [prompt]
    described, state = strings_in(reply_to(prompt, replies), "clusters", len(texts))
    judge.count("proposal", state)
    return described


def assign_all(judge: Judge, opinions: Sequence[Opinion], described: Sequence[str]) -> Steps[list[Growing]]:
    """The clusters that got members, in the order of their descriptions, and those of one opinion that fits none."""
    asked = [assignment_prompt(judge, described, opinion, number) for number, opinion in enumerate(opinions)]
    replies = yield asked
    proposed, own = [Growing() for _ in described], list[Growing]()
    for opinion, prompt in zip(opinions, asked, strict=True):
        chosen, state = cluster_in(reply_to(prompt, replies), len(described))
        judge.count("assignment", state)
        if chosen == 0:
            own.append(Growing(members=[opinion]))
        elif chosen is not None:
            proposed[chosen - 1].members.append(opinion)
    return [*(cluster for cluster in proposed if cluster.members), *own]


def cluster_by_embeddings(
    judge: Judge, opinions: Sequence[Opinion], chosen: ClusteringSettings
) -> Steps[list[Growing]]:
    """The clusters in the order of their first opinions; each is summarised from its members (prompt 9).

    What is noise to HDBSCAN is a cluster of its own.
    """
    clusters: dict[tuple[int, int], Growing] = {}
    labels = cluster_labels([opinion.text for opinion in opinions], chosen)
    for number, (opinion, label) in enumerate(zip(opinions, labels, strict=True)):
        key = (label, number if label == NOISE else 0)
        clusters.setdefault(key, Growing()).members.append(opinion)
    ordered = list(clusters.values())
    yield from refresh(judge, ordered, range(len(ordered)))
    return ordered


def cluster_labels(texts: Sequence[str], chosen: ClusteringSettings) -> list[int]:
    """The label of each text's cluster, by cosine distances; NOISE for none.

    agglomerative: average linkage up to distance_threshold. hdbscan: clusters of at least min_cluster_size.
    """
    if len(texts) < (chosen.min_cluster_size or 2):  # scikit-learn takes no fewer
        return [NOISE] * len(texts)
    from sklearn.cluster import HDBSCAN, AgglomerativeClustering
    from sklearn.metrics.pairwise import cosine_distances

    if chosen.algorithm == "hdbscan":
        method = HDBSCAN(min_cluster_size=chosen.min_cluster_size, metric="precomputed", copy=True)
    else:
        threshold = chosen.distance_threshold
        method = AgglomerativeClustering(
            n_clusters=None, distance_threshold=threshold, metric="precomputed", linkage="average"
        )
    return [int(label) for label in method.fit_predict(cosine_distances(embed(texts, str(chosen.embedding))))]


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

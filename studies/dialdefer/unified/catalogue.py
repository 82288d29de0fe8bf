"""The datasets of the Unified Benchmark, in Table 8's order. A new one is one file and one line here."""

from studies.dialdefer.unified import (
    advisorqa,
    amqa,
    bbq,
    gpqa,
    halueval,
    harp,
    plausibleqa,
    release,
    socialiqa,
    truthfulqa,
)
from studies.dialdefer.unified.dataset import Dataset

NINE = (
    truthfulqa.DATASET,
    advisorqa.DATASET,
    amqa.DATASET,
    bbq.DATASET,
    gpqa.DATASET,
    halueval.DATASET,
    harp.DATASET,
    plausibleqa.DATASET,
    socialiqa.DATASET,
)
DEFAULT = (*NINE, release.AIO_CONTEXT)  # what is built unless datasets are named
DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in DEFAULT}

"""Which datasets an average is over (DialDefer §3.2, Table 20)."""

from collections.abc import Iterable

from evenhand.errors import DataError

BENCH_DATASETS = (
    "truthfulqa",
    "halueval",
    "plausibleqa",
    "bbq",
    "socialiqa",
    "amqa",
    "harp",
    "gpqa",
    "advisorqa",
)
AIO = "aio"
BENCH_AVG, TOTAL_AVG = "bench_avg", "total_avg"


def averages_over(datasets: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Name of each average → the datasets it is the unweighted mean of, for (benchmark, dataset) pairs.

    `bench_avg` is over those of the nine benchmark datasets that are there, `total_avg` over them and r/AIO; a
    benchmark of our own with several datasets has `<benchmark>_avg`. `aio-context` is another experiment and in none.
    """
    pairs = list(datasets)
    there = [dataset for _, dataset in pairs]
    nine = [dataset for dataset in BENCH_DATASETS if dataset in there]
    averages = {BENCH_AVG: nine} if nine else {}
    if nine and AIO in there:
        averages[TOTAL_AVG] = [*nine, AIO]
    for benchmark in dict.fromkeys(benchmark for benchmark, _ in pairs):
        own = [d for b, d in pairs if b == benchmark and d not in BENCH_DATASETS and not d.startswith(AIO)]
        if len(own) > 1:
            averages[f"{benchmark}_avg"] = own
    clash = set(averages) & set(there)
    if clash:
        raise DataError(f"a dataset is called '{clash.pop()}', which is the name of an average; rename the dataset")
    return averages


def average_sentence(name: str, datasets: list[str]) -> str:
    """What an average is over, for a table's caption."""
    whole = {BENCH_AVG: len(BENCH_DATASETS), TOTAL_AVG: len(BENCH_DATASETS) + 1}.get(name)
    size = str(len(datasets)) if whole is None else f"{len(datasets)} of the {whole}"
    return f"{name}: unweighted mean over {size} datasets ({', '.join(datasets)})."

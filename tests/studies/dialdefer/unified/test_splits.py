"""The published split is what the paper's procedure draws from the publishers' pools."""

import json

import pytest

from evenhand.errors import ConfigError, DataError
from studies.dialdefer.published_items import FILES, records_at
from studies.dialdefer.unified.bbq import FILES as BBQ_FILES
from studies.dialdefer.unified.catalogue import DATASETS, NINE
from studies.dialdefer.unified.harp import convert as convert_harp
from studies.dialdefer.unified.splits import published_ids, published_split, resample, sizes_from
from tests.made.places import SHARED

DATA = SHARED / "data"
POOLS = DATA / "published" / "benchmark_data" / "datasets" / "formatted"
needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"the data is not at {DATA}")


def published_pool(dataset: str) -> dict[str, str | None]:
    """id → stratum of a pool that the authors released whole."""
    path, key = POOLS / f"{FILES[dataset]}_formatted.jsonl", DATASETS[dataset].stratum
    return {record.values["id"]: record.values["meta"][key] if key else None for record in records_at(path)}


def harp_pool() -> dict[str, str | None]:
    return {item.item_id: str(item.meta["level"]) for item in convert_harp(DATA / "raw" / "harp")}


def bbq_pool() -> dict[str, str | None]:
    """All 58,492 ids from the eleven files' lengths: even lines are ambiguous, odd ones are not."""
    return {
        f"bbq-{stem}-{line}": "disambig" if line % 2 else "ambig" for stem, n in BBQ_FILES.items() for line in range(n)
    }


def halueval_pool() -> dict[str, str | None]:
    return {f"halueval-qa-{line}": None for line in range(10_000)}


def advisorqa_pool() -> dict[str, str | None]:
    """Lines 0-575 are safe, the others unsafe."""
    return {f"advisorqa-{line}": "safe" if line < 576 else "unsafe" for line in range(1000)}


@pytest.mark.parametrize("pool", [bbq_pool, halueval_pool, advisorqa_pool])
def test_the_procedure_redraws_the_published_ids_in_order_from_line_numbers_alone(pool):
    name = pool.__name__.removesuffix("_pool")
    assert resample(pool(), DATASETS[name].n_test) == list(published_ids()[name])


@needs_data
@pytest.mark.parametrize("name", ["amqa", "gpqa", "socialiqa"])
def test_the_procedure_redraws_the_published_ids_in_order_from_the_authors_pools(name):
    pool = published_pool(name)
    assert len(pool) == DATASETS[name].n_total
    assert resample(pool, DATASETS[name].n_test) == list(published_ids()[name])


@needs_data
def test_the_procedure_redraws_the_published_ids_in_order_from_harps_own_file():
    pool = harp_pool()
    assert len(pool) == 4110
    assert resample(pool, 300) == list(published_ids()["harp"])


@needs_data
def test_the_shipped_ids_are_the_published_ones_in_order():
    released = json.loads((DATA / "published" / "test_ids.json").read_text())
    assert [list(ids) for ids in published_ids().values()] == list(released.values())


def test_the_shipped_ids_have_table_8s_sizes_and_no_repeats():
    shipped = published_ids()
    assert {dataset.name: len(shipped[dataset.name]) for dataset in NINE} == {d.name: d.n_test for d in NINE}
    assert sum(len(shipped[dataset.name]) for dataset in NINE) == 2964
    assert len(shipped["aio-context"]) == 280
    assert len({item_id for ids in shipped.values() for item_id in ids}) == 3244


def test_another_seed_draws_another_split_of_the_same_strata():
    pool = advisorqa_pool()
    other = resample(pool, 300, seed=7)
    assert other != resample(pool, 300)
    assert len(set(other)) == 300
    assert sum(pool[item_id] == "safe" for item_id in other) == 150


@pytest.mark.parametrize("n_test", [7, 100, 134, 135])
def test_a_balanced_draw_gives_every_stratum_its_share(n_test):
    pool = {f"{stratum}-{k}": stratum for k in range(80) for stratum in "abc"}
    counts = [sum(pool[i] == stratum for i in resample(pool, n_test)) for stratum in "abc"]
    assert sum(counts) == n_test
    assert max(counts) - min(counts) <= 2  # one more for the luckiest strata of each stage


def test_a_pool_without_a_published_item_is_named_with_it():
    pool = dict.fromkeys(published_ids()["halueval"][1:])
    with pytest.raises(DataError, match=r"halueval: 1 of 300 published test items are not in .*'halueval-qa-1824'"):
        published_split("halueval", pool)


def test_sizes_are_table_8s_unless_said_otherwise():
    assert sizes_from(["bbq=500"], {"bbq": 300, "harp": 300}) == {"bbq": 500, "harp": 300}
    for word, says in [("bbc=5", "unknown dataset 'bbc'"), ("bbq=many", "write a number"), ("bbq=0", "write a number")]:
        with pytest.raises(ConfigError, match=says):
            sizes_from([word], {"bbq": 300})

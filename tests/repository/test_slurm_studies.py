"""The Slurm chain with another study, and with thresholds: sampled beside, and handed to the same scores and card."""

from pathlib import Path

import pytest

from tests.made.fake_cluster import configs, make_cluster, run


@pytest.fixture
def cluster(tmp_path):
    """Environment variables of a pretended cluster."""
    return make_cluster(tmp_path)


def narrator_config(folder: Path, text: str = "narrator:\n  corpus: {dataset: pocket-conflicts}\n") -> Path:
    """A sampling config of the narrator study, or of something else."""
    config = folder / "conflicts.yaml"
    config.write_text(text)
    return config


def test_runs_of_the_narrator_study_reach_the_scores_and_the_card(cluster, tmp_path):
    study = narrator_config(tmp_path)
    path = f"{cluster['VENV']}/bin:{cluster['PATH']}"
    env = {**cluster, "PATH": path, "SAMPLE_SHARDS": "1", "STUDIES": f"{study} verdict=options"}
    done = run("pipeline.sh", *configs(cluster), env=env)
    assert done.returncode == 0, done.stderr
    runs = cluster["RUN_ROOT"]
    work = [call for call in Path(cluster["CALLS"]).read_text().splitlines() if call.startswith("evenhand")]

    def studied(words: str) -> str:
        return f"evenhand sample {study} verdict=options {words}run.root={runs} --shard 0/1 [offline=1]"

    assert [call for call in work if call.startswith("evenhand sample") and "conflicts.yaml verdict" in call] == [
        studied(""),
        *(
            studied(f"name=conflicts-{arm} model.name={runs}/merged-{arm} model.label={arm} model.revision=null ")
            for arm in ("sft", "dpo")
        ),
    ]
    judged, conflicts = (
        " ".join(f"{runs}/{kind}run-{arm}" for arm in ("before", "sft", "dpo")) for kind in ("", "conflicts-")
    )
    rows = {"base": "before", "sft": "sft", "dpo": "dpo"}
    options = " ".join(f"--beside {row}={runs}/conflicts-run-{arm}" for row, arm in rows.items())
    assert work[-3:] == [
        f"evenhand score {judged} {conflicts} [offline=1]",
        f"evenhand compare {judged} {conflicts} [offline=1]",
        f"evenhand scorecard {runs}/run-before sft={runs}/run-sft dpo={runs}/run-dpo {options} [offline=1]",
    ]


def test_the_card_has_the_base_under_thresholds_that_are_fitted_on_the_items_the_arms_train_on(cluster):
    sampling, sft, dpo = configs(cluster)
    for config in (sampling, sft, dpo):
        config.write_text("dialdefer:\nverdict: margin\n")
    env = {**cluster, "PATH": f"{cluster['VENV']}/bin:{cluster['PATH']}", "HERE": "1", "FETCH": "0", "DOCTOR": "0"}
    env |= {"TRAIN_OPTIONS": "dialdefer.benchmarks[0].n_items=64", "ARM_OPTIONS": "a.b=2"}
    done = run("pipeline.sh", sampling, sft, dpo, env=env)
    assert done.returncode == 0, done.stderr
    runs = cluster["RUN_ROOT"]
    calls = [call.removesuffix(" [offline=1]") for call in Path(cluster["CALLS"]).read_text().splitlines()]
    trained = rf"{sft} dialdefer.benchmarks\[0\].n_items=64 a.b=2"
    items = f"name=eval-train dialdefer.benchmarks=<{trained} dialdefer.prompts.arms=[none]"
    assert [call for call in calls if "eval-train" in call or "calibrate" in call][:2] == [
        f"evenhand sample {sampling} {items} run.root={runs} --shard 0/1",
        f"evenhand calibrate {runs}/train-run-before {runs}/run-before",
    ]
    thresholds = f"--calibrated {runs}/run-before/calibrated/thresholds.json"
    assert calls[-1] == f"evenhand scorecard {runs}/run-before sft={runs}/run-sft dpo={runs}/run-dpo {thresholds}"

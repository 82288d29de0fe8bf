"""The Slurm scripts: sound shell, the right chain, and jobs that hand their results on. No controller is needed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.made.fake_cluster import ROOT, calls_of, configs, make_cluster, put_program, run
from tests.made.places import cases

SCRIPTS = sorted((ROOT / "slurm").glob("*.sh"))
SOURCED = {"settings.sh", "job.sh", "time_limit.sh"}


@pytest.fixture
def cluster(tmp_path):
    """Environment variables of a pretended cluster."""
    return make_cluster(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_sound_shell(script):
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert os.access(script, os.X_OK) == (script.name not in SOURCED)


def test_a_job_stages_on_its_node_what_is_expanded_there(cluster, tmp_path):
    put_program(cluster, "evenhand", 'echo "$HF_HOME"; cat "$HF_HOME/weights"')
    (tmp_path / "weights").write_text("w")
    stage = f"export HF_HOME=$TMPDIR/hf; mkdir -p $HF_HOME; cp {tmp_path}/weights $HF_HOME/"
    done = run("doctor.sh", "a.yaml", env={**cluster, "STAGE": stage, "TMPDIR": str(tmp_path / "node")})
    assert done.stdout == f"{tmp_path}/node/hf\nw", done.stderr
    assert run("doctor.sh", "a.yaml", env={**cluster, "STAGE": "cp absent ."}).returncode != 0


def test_a_job_leaves_its_folder_out_of_pythons_path_where_evenhand_is_installed(cluster):
    for code, safe in ((1, ""), (0, "1")):
        put_program(cluster, "python", f"exit {code}")
        command = ["bash", "-c", '. slurm/job.sh; echo "${PYTHONSAFEPATH:-}"']
        done = subprocess.run(command, cwd=ROOT, env=cluster, capture_output=True, text=True)
        assert done.stdout == f"{safe}\n", done.stderr


def test_a_dry_run_prints_the_chain_and_submits_nothing(cluster):
    done = run("pipeline.sh", *configs(cluster), env={**cluster, "DRY_RUN": "1"})
    assert done.returncode == 0, done.stderr
    jobs = re.findall(r"^\[\d\].*--job-name=evenhand-(\S+)", done.stdout, re.MULTILINE)
    arms = [f"{kind}-{arm}" for arm in ("sft", "dpo") for kind in ("train", "merge", "sample")]
    assert jobs == ["sample-before", *arms, "score"]
    assert done.stdout.count("--array=0-2") == 3
    assert not Path(cluster["CALLS"]).exists()
    assert not Path(cluster["RUN_ROOT"]).exists()


def test_what_doctor_finds_wrong_stops_the_chain_before_anything_is_submitted(cluster):
    evenhand = Path(cluster["VENV"]) / "bin" / "evenhand"
    evenhand.write_text(evenhand.read_text().replace("*) exit 0;;", "doctor) exit 1;;\n  *) exit 0;;"))
    assert run("pipeline.sh", *configs(cluster), env=cluster).returncode == 1
    calls = Path(cluster["CALLS"]).read_text().splitlines()
    assert [call.split()[1] for call in calls] == ["fetch", "doctor"]
    assert run("pipeline.sh", *configs(cluster), env={**cluster, "DOCTOR": "0"}).returncode == 0


def test_a_submission_that_fails_half_way_leaves_nothing_queued(cluster, tmp_path):
    queued = tmp_path / "queued"
    sbatch = f"n=$(($(cat {queued} 2>/dev/null | wc -l) + 1)); [ $n -lt 4 ] || exit 1; echo $n >> {queued}; echo $n"
    put_program(cluster, "sbatch", sbatch)
    put_program(cluster, "scancel", f'for id in "$@"; do sed -i "/^$id$/d" {queued}; done')
    done = run("pipeline.sh", *configs(cluster), env=cluster)
    assert (done.returncode, queued.read_text()) == (1, "")
    assert "cancelling 1 2 3" in done.stderr
    put_program(cluster, "sbatch", f"echo 1 | tee -a {queued}")
    assert run("pipeline.sh", *configs(cluster), env=cluster).returncode == 0
    assert len(queued.read_text().split()) == 8
    (no_folder := tmp_path / "file").touch()  # nor does it cancel what it cannot write down
    done = run("pipeline.sh", *configs(cluster), env={**cluster, "RUN_ROOT": str(no_folder)})
    assert (done.returncode, len(queued.read_text().split())) == (0, 16), done.stderr


def test_a_pipeline_that_lives_is_not_submitted_again(cluster, tmp_path):
    put_program(cluster, "squeue", f"cat {tmp_path}/queue")
    for queue, seeds, code in (("", "1", 0), ("1\n107", "1", 1), ("107", "2", 0), ("1\n2", "1", 0)):
        (tmp_path / "queue").write_text(queue)
        before = Path(cluster["COUNTER"]).read_text() if queue else ""
        done = run("pipeline.sh", *configs(cluster), env={**cluster, "SEEDS": seeds})
        assert (done.returncode, before == Path(cluster["COUNTER"]).read_text()) == (code, bool(code)), done.stderr
        assert ("jobs 107 are queued" in done.stderr) == bool(code)


@pytest.mark.parametrize("name", ["SEEDS", "SAMPLE_SHARDS", "SERVE_SHARDS", "ARRAY_LIMIT"])
def test_none_of_something_is_refused_before_anything_is_fetched(cluster, name):
    done = run("pipeline.sh", *configs(cluster), env={**cluster, name: "0"})
    assert (done.returncode, f"{name} is '0'" in done.stderr, Path(cluster["CALLS"]).exists()) == (2, True, False)


def test_a_kind_of_job_has_a_partition_and_an_account_of_its_own_and_an_array_a_limit(cluster):
    asked = {"PARTITION": "big", "SCORE_PARTITION": "cpu", "SAMPLE_ACCOUNT": "lab", "ARRAY_LIMIT": "2", "DRY_RUN": "1"}
    done = run("pipeline.sh", *configs(cluster), env={**cluster, **asked})
    jobs = [line.split() for line in done.stdout.splitlines() if line.startswith("[")]
    places = {next(w for w in job if w.startswith("--job-name")).split("-")[4]: {*job} for job in jobs}
    assert all("--export=ALL" in job for job in jobs)
    assert {kind for kind, job in places.items() if "--partition=big" in job} == {"sample", "train", "merge"}
    assert {kind for kind, job in places.items() if "--partition=cpu" in job} == {"score"}
    assert {kind for kind, job in places.items() if {"--account=lab", "--array=0-2%2"} <= job} == {"sample"}


def test_resources_and_places_come_from_the_settings(cluster):
    asked = {"PARTITION": "big", "ACCOUNT": "lab", "GPU": "gpu:h100", "TRAIN_GPUS": "2", "EXTRA": "--exclude=n1 --nice"}
    asked |= {"DRY_RUN": "1", "STOP_BEFORE": "80"}
    done = run("submit.sh", "train", "sft.yaml", "name=x", env={**cluster, **asked})
    words = set(done.stdout.split())
    assert {"--partition=big", "--account=lab", "--gres=gpu:h100:2", "--exclude=n1", "--nice", "--requeue"} <= words
    assert {"--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=16", "--mem=128G", "--signal=B:USR1@80"} <= words
    assert done.stdout.split()[-3:] == ["slurm/train.sh", "sft.yaml", "name=x"]
    scored = run("submit.sh", "score", "somewhere", env={**cluster, **asked}).stdout
    assert "--gres" not in scored  # a job of 0 GPUs asks for none
    assert "--signal" not in scored  # begins anew whenever it is started


def test_a_job_loads_modules_and_runs_its_programs_in_the_container_of_the_settings(cluster, tmp_path):
    put_program(cluster, "container", 'echo "container $1 $loaded" >> "$CALLS"\nshift\nexec "$@"')
    # `module` is a shell function, which a login shell has and hands on.
    env = {
        **cluster,
        "BASH_FUNC_module%%": '() { [ "$1" = load ] && export loaded="${*:2}" && [ "$2" != absent ]; }',
        "MODULES": "cuda/13.0 python",
        "WRAP": "container --nv",
    }
    calls_of("merge.sh", "somewhere", env=env)
    calls = [call.split()[:4] for call in calls_of("train.sh", tmp_path / "sft.yaml", env=env)]
    wrapped = ["container", "--nv", "cuda/13.0", "python"]
    assert [call for call in calls if call[0] == "container"] == [wrapped] * 4  # whether it is installed, and the job
    assert [call[:2] for call in calls if call[0] != "container"] == [["evenhand", "merge"], ["accelerate", "launch"]]
    assert run("merge.sh", "somewhere", env={**env, "MODULES": "absent"}).returncode != 0


@pytest.mark.parametrize("case", cases(__file__), ids=lambda case: case["what"])
def test_of_a_pipeline(case, cluster):
    """Each job is called with what the earlier ones made, and waits for them."""
    folder = Path(cluster["RUN_ROOT"]).parent
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(text)

    def placed(words):
        return re.sub(r"\w+\.yaml", rf"{folder}/\g<0>", words)

    variables = {name: placed(value) for name, value in case["variables"].items()}
    calls = calls_of("pipeline.sh", *map(placed, case["words"]), env={**cluster, **variables})
    shown = [call for call in calls if not call.startswith("option") or re.search("--(gres|dependency)", call)]
    assert [call.replace(f"{folder}/", "").removesuffix(" [offline=1]") for call in shown] == case["calls"].splitlines()


def test_a_job_whose_command_makes_nothing_fails_so_that_the_next_one_never_starts(cluster):
    done = run("merge.sh", "somewhere", env={**cluster, "BROKEN": "1"})
    assert done.returncode != 0
    assert "evenhand merge printed no directory, where its result would lie" in done.stderr


@pytest.mark.parametrize("words", ["merge @", "sample a model.name=@", "train a model.name=@", "score a b=@"])
def test_a_job_whose_note_is_missing_does_nothing(cluster, words):
    script, *arguments = f"{words}{cluster['RUN_ROOT']}/pipelines/absent".split()
    done = run(f"{script}.sh", *arguments, env=cluster)
    assert (done.returncode, "pipelines/absent" in done.stderr, Path(cluster["CALLS"]).exists()) == (1, True, False)


def test_training_on_two_nodes_is_launched_on_each_with_its_rank(cluster, tmp_path):
    options = "while [[ $1 == --* ]]; do shift; done"
    put_program(cluster, "srun", f'{options}\nfor SLURM_NODEID in 0 1; do export SLURM_NODEID; "$@"; done')
    put_program(cluster, "scontrol", "echo node7; echo node8")
    env = {"TRAIN_GPUS": "4", "SLURM_JOB_ID": "40123", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "node[7-8]"}
    calls = calls_of("train.sh", tmp_path / "sft.yaml", env={**cluster, **env})
    launches = [call for call in calls if "accelerate launch" in call]
    assert len(launches) == 2
    for rank, launch in enumerate(launches):
        assert (
            f"--machine_rank {rank} --config_file configs/accelerate/ddp-two-nodes.yaml --num_processes 8 "
            "--num_machines 2 --main_process_ip node7 --main_process_port 24123 -m"
        ) in launch

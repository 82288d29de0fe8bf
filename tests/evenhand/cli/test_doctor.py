"""`evenhand doctor`: each thing that would stop a job has its ✗ and the way out; what cannot be known is a ?."""

import shutil
import sys
from dataclasses import replace
from unittest.mock import Mock

import httpx
import huggingface_hub.errors
import pytest

from evenhand import device
from evenhand.checkpoints import ModelConfig
from evenhand.cli.doctor import command, machine, sampling, training
from evenhand.cli.doctor.checks import ok, unknown
from evenhand.cli.doctor.command import examined, main
from evenhand.cli.doctor.machine import gpu_check, room_check
from evenhand.cli.doctor.model import find_model
from evenhand.completions import answer_probability
from evenhand.embedded import embedded_model_path
from evenhand.errors import ModelError
from evenhand.files import shipped_yaml
from evenhand.machine import Gpu
from inference.config import load_sampling_config, parse_sampling_config
from inference.sampling import sample
from inference.schedule import first_prompts
from tests.made.fake_server import FakeServer, refusal
from tests.made.fake_server import answer as says
from tests.made.made_verdicts import write
from tests.made.places import CONFIGS, ROOT, cases
from tests.made.read_back import completions_of

A100 = Gpu("NVIDIA A100-SXM4-80GB", 80.0, "580.65.06")
CASES = cases(__file__)
SIGNS = shipped_yaml(ROOT / "tests" / "evenhand" / "device.yaml")["variables"]


@pytest.mark.parametrize(("drivers", "build", "n_seen", "variables", "named", "state", "says"), CASES["gpus"])
def test_torch_and_gpu_are_in_order_where_torch_sees_what_is_meant(
    drivers, build, n_seen, variables, named, state, says, monkeypatch
):
    listed = tuple(replace(A100, driver=driver) for driver in drivers)
    for name in SIGNS:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for module in (device, machine):
        monkeypatch.setattr(module, "gpus", lambda: listed)
        monkeypatch.setattr(module, "torch_cuda_build", lambda: build)
    monkeypatch.setattr(machine, "visible_gpus", lambda: tuple(gpu.name for gpu in listed[:n_seen]))
    check = gpu_check(named)
    assert (check.state, says in check.says) == (state, True), check.says


@pytest.mark.parametrize(("compiler", "headers", "n_gpus", "state"), CASES["kernels"])
def test_a_gpu_node_without_compiler_or_headers_cannot_build_the_samplers_kernels(
    compiler, headers, n_gpus, state, monkeypatch, tmp_path
):
    monkeypatch.setattr(machine, "usable_gpus", lambda: (A100,) * n_gpus)
    monkeypatch.setattr(machine, "gpu_check", lambda _: ok("GPU", ""))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())  # Triton's
    monkeypatch.setattr("shutil.which", lambda name: compiler)
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"include": str(tmp_path)})
    if headers:
        (tmp_path / "Python.h").touch()
    states = {check.subject: check.state for check in machine.machine_checks(None)}
    assert states.get("kernels") == state


def test_without_the_hub_s_client_the_machine_is_looked_at_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    subjects = [check.subject for check in machine.machine_checks(None)]
    assert ("HF_HOME" in subjects, "EVENHAND_CACHE" in subjects) == (False, True)


def test_without_torch_no_gpu_is_looked_for(monkeypatch):
    monkeypatch.setattr(machine, "package_versions", dict)
    check = machine.gpu_check(None)
    assert (check.subject, check.state, "torch" in check.says) == ("GPU", "ok", True)


def test_a_disk_without_room_is_wrong(tmp_path):
    assert room_check("HF_HOME", tmp_path / "new" / "hub", 1.0).state == "ok"
    assert room_check("HF_HOME", tmp_path / "new" / "hub", 1e18).state == "wrong"


@pytest.fixture
def hub(monkeypatch):
    """What the Hub is asked, where the cache is empty."""
    asked = Mock()
    monkeypatch.setattr("evenhand.checkpoints.cached_snapshot", lambda name, revision, weights=True: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.HfApi.auth_check", asked)
    return asked


def refused(kind, status):
    response = httpx.Response(status, request=httpx.Request("GET", "https://hub.invalid"))
    return getattr(huggingface_hub.errors, kind)("refused", response=response)


def test_a_hub_that_is_offline_is_not_asked(hub, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (check, *_) = find_model(ModelConfig(name="nobody/nothing")).checks
    assert (check.state, "run `evenhand fetch CONFIG`" in check.says, hub.called) == ("wrong", True, False)


REPLIES = [(None, "ok"), (refused("GatedRepoError", 403), "wrong"), (OSError("no route"), "unknown")]


@pytest.mark.parametrize(("reply", "state"), REPLIES)
def test_a_model_that_is_not_in_the_cache_is_asked_for(reply, state, hub):
    hub.side_effect = reply
    found = find_model(ModelConfig(name="google/gemma-3-12b-it"))
    assert found.checks[0].state == state
    assert found.size is not None, "by the table of the shipped configs' models"


def test_a_damaged_config_in_the_cache_is_named_and_is_the_models_fault(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{")
    monkeypatch.setattr("evenhand.checkpoints.cached_snapshot", lambda *_: tmp_path)
    (check, *_) = find_model(ModelConfig(name="nobody/nothing")).checks
    assert (check.subject, check.state, "is damaged JSON" in check.says) == ("model", "wrong", True)


def listing(top):
    """A server that lists these tokens, or has no log-probabilities."""
    listed = [{"token": token, "logprob": logprob} for token, logprob in top.items()]
    choice = {"logprobs": {"content": [{**listed[0], "top_logprobs": listed}]}} if top else {}
    return lambda body, n: says("1", **choice)


@pytest.mark.parametrize(("top", "verdict", "state", "words"), CASES["servers"])
def test_a_server_is_asked_one_short_question(top, verdict, state, words):
    with FakeServer(listing(top) if isinstance(top, dict) else lambda body, n: refusal(400, top)) as server:
        asked = [f"verdict={verdict}", "model.name=judge", f"engine.base_url={server.base_url}"]
        if top is None:
            server.__exit__()
        found = examined([str(CONFIGS / "inference" / "server.yaml"), *asked], None)
    (check,) = (check for check in found if check.subject == "server")
    assert (check.state, words in check.says) == (state, True), check.says
    assert len(server.asked) <= 1
    assert all(body["max_tokens"] <= 16 for body in server.asked)


def wrong_checks(*words):
    return {check.subject: check.says for check in examined(words, None) if check.state == "wrong"}


def asking(model, *words):
    """A config of two items for a model."""
    few = "dialdefer.benchmarks=[{dataset: pocket, n_items: 2}]"
    return [str(CONFIGS / "inference" / "pocket-demo.yaml"), f"model.name={model}", few, *words]


DAMAGES = {
    "weights cannot be loaded": lambda folder: (folder / "model.safetensors").write_bytes(b"12345678"),
    "Unrecognized model": lambda folder: (folder / "config.json").write_text('{"vocab_size": 999}'),
    "its model 99": lambda folder: (folder / "config.json").write_text('{"model_type": "llama", "vocab_size": 99}'),
    "have changed": lambda folder: (folder / "DONE.json").write_text('{"checkpoint_hash": "another"}'),
    "one turn": lambda folder: (folder / "chat_template.jinja").write_text(
        "{% if messages|length > 1 %}{{ raise_exception('one turn') }}{% endif %}x"
    ),
}


@pytest.mark.parametrize("says", DAMAGES)
def test_a_damaged_checkpoint_is_wrong_before_a_job_loads_it(says, byte_judge, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(byte_judge, folder)
    DAMAGES[says](folder)
    written = ["engine={kind: transformers}", "verdict=reason", "self_read=true", "sampling.max_tokens=4"]
    words = written if says == "one turn" else []
    assert any(says in found for found in wrong_checks(*asking(folder, *words)).values())


def test_a_small_model_says_how_likely_its_answers_are(byte_judge, tmp_path):
    words = asking(byte_judge, f"run.root={tmp_path}", "engine.row_tokens=0")
    (said,) = (check.says for check in examined(words, None) if check.subject == "answers")
    reply = completions_of(sample(load_sampling_config(words)))[
        (first_prompts(load_sampling_config(words))[0].prompt_hash, 0)
    ]
    assert said.startswith(f"P = {answer_probability(reply):.2g} together, behind one prompt")


def test_what_vllm_refuses_of_a_config_is_wrong(byte_judge, monkeypatch):
    monkeypatch.setattr(sampling, "start", Mock(side_effect=ModelError("no such argument")))
    assert wrong_checks(*asking(byte_judge, "engine={kind: vllm}"))["engine"] == "no such argument"


def test_one_wrong_thing_is_exit_code_1_and_what_is_not_known_is_none(monkeypatch, tmp_path, capsys):
    found = [ok("Python", "3.11.7"), unknown("Hub", "a server may say \x1b[2J")]
    monkeypatch.setattr(command, "machine_checks", lambda named_gpu: found.copy())
    main([])
    out = capsys.readouterr().out
    assert (out.endswith("1 ✓, 0 ✗, 1 ? (not to be known here)\n"), "\x1b" in out) == (True, False)
    (tmp_path / "broken.yaml").write_text("benchmark: [pocket]")
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "broken.yaml")])
    assert ended.value.code == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "✗ config" in out
    assert "names no study. The sections are: dialdefer, narrator" in out


# One of each folder, and all that need nothing but what is here: that the others load is tested with their schemas.
SHIPPED_CONFIGS = sorted(
    {*CONFIGS.glob("*/pocket*.yaml"), *(p for d in CONFIGS.iterdir() for p in sorted(d.glob("*.yaml"))[-1:])}
)
FOUND = {}  # a tokenizer takes a second to load, and most of these configs name one model


def find_once(model):
    """What is known of a model, looked up for the first config that names it."""
    return FOUND.get(model.name) or FOUND.setdefault(model.name, find_model(model))


@pytest.mark.parametrize("path", SHIPPED_CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_shipped_config_is_examined(path, monkeypatch):
    embedded_model_path()  # is in the cache, as after any run on it
    monkeypatch.setattr(sampling, "server_check", lambda config, server: unknown("server", "not asked"))
    monkeypatch.setattr(sampling, "start", lambda *_, **__: None)
    monkeypatch.setattr(sampling, "ASKED_GIB", 0.0)
    for module, n_counted in ((sampling, "N_COUNTED"), (training, "N_DRAWN")):
        monkeypatch.setattr(module, "find_model", find_once)
        monkeypatch.setattr(module, n_counted, 8)
    monkeypatch.chdir(ROOT)
    found = examined([str(path.relative_to(ROOT))], None)
    subjects = [check.subject for check in found]
    assert ("config" in subjects) == (path.parent.name in ("accelerate", "mappings", "serving"))
    if "pocket" in path.stem:
        undrawn = {"examples"} if path.stem == "pocket-bct" else set()  # the replies that it learns
        assert {check.subject for check in found if check.state != "ok"} <= {"time, this CPU", *undrawn}


@pytest.mark.parametrize(("word", "subject"), CASES["training"])
def test_what_training_refuses_is_wrong(word, subject, monkeypatch):
    monkeypatch.setattr(training, "find_model", find_once)
    monkeypatch.setattr(training, "N_DRAWN", 8)
    assert [*wrong_checks(str(CONFIGS / "training" / "pocket-sft.yaml"), word)] == [subject]


def test_of_items_that_are_left_out_the_reasons_are_counted(tmp_path):
    config = CASES["left_out"]["config"]
    config["framing"]["items"] = str(write(tmp_path / "items.csv", CASES["left_out"]["rows"]))
    sampling.planned(parse_sampling_config(config, ""), checks := [])
    assert "3 items are left out:\n  - 2 items like" in checks[0].says

"""Configs are closed and complete; their errors name file, key, value and the fix."""

import datetime
from pathlib import Path

import pytest
import yaml

from benchmarks.config import load_config, parse_config, to_yaml
from benchmarks.errors import ConfigError
from inference.config import InferenceConfig

CONFIGS = Path(__file__).parents[1] / "configs"
MINIMAL = {"name": "x", "model": {"name": "embedded"}, "benchmarks": [{"dataset": "pocket"}]}


def written(folder: Path, **changes: object) -> str:
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({**MINIMAL, **changes}))
    return str(path)


@pytest.mark.parametrize("path", sorted((CONFIGS / "inference").glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_sampling_config_loads_and_survives_a_round_trip(path: Path, tmp_path: Path) -> None:
    config = load_config(InferenceConfig, [str(path)])
    copy = tmp_path / "config.yaml"
    copy.write_text(to_yaml(config))
    assert load_config(InferenceConfig, [str(copy)]) == config


def test_overrides_reach_nested_keys_and_list_elements(tmp_path: Path) -> None:
    words = [written(tmp_path), "sampling.max_tokens=7", "benchmarks[0].n_items=3", "model.label=judge"]
    config = load_config(InferenceConfig, words)
    assert (config.sampling.max_tokens, config.benchmarks[0].n_items, config.model.label) == (7, 3, "judge")


@pytest.mark.parametrize(
    ("changes", "words", "says"),
    [
        ({"sampling": {"tempature": 1}}, [], "sampling.tempature: unknown key. Did you mean 'temperature'?"),
        (
            {"engine": {"kind": "transformers", "dtpye": "x"}},
            [],
            "engine.dtpye: unknown key. Did you mean 'dtype'? Known: batch_size, dtype, kind.",
        ),
        ({}, ["verdict=margin", "sampling.structured=json"], "generates no text to structure"),
        ({"benchmarks": [{"dataset": "truthful_qa"}]}, [], "unknown dataset 'truthful_qa'. Did you mean 'truthfulqa'?"),
        ({}, ["sampling.n=0"], "sampling.n: Input should be greater than or equal to 1 (got 0)"),
        ({}, ["sampling.n=5"], "greedy samples are all alike"),
        ({}, ["benchmarks[3].n_items=1"], "there is no element [3]"),
        ({"engine": {"kind": "vlm"}}, [], "engine.kind: unknown 'vlm'. Did you mean 'vllm'? Known: vllm, openai, tra"),
        ({}, ["nonsense"], "write key=value"),
        ({}, ["prompts.arms=honest"], "prompts.arms: takes a list, such as [honest]"),
        (
            {},
            ["prompts.arms=[honset]"],
            "prompts.arms[0]: cannot be 'honset'. Did you mean 'honest'? Known: none, honest",
        ),
        ({}, ["verdict=option"], "verdict: cannot be 'option'. Did you mean 'options'?"),
        ({}, ["verdict=margin", "prompts.template=paper"], "has no one_token form"),
        ({"model": {}}, [], "model.name: this key is required"),
        ({"name": "a/b"}, [], "name: "),
        ({}, ["sampling.n=5", "sampling.n=6"], "override 'sampling.n': is given 2 times; give it once"),
        ({}, ["sampling={n: 1, n: 2}"], "key 'n' occurs twice"),
        ({}, ["sampling.temperature=.inf"], "sampling.temperature: Input should be a finite number (got inf)"),
        ({}, ["sampling.temperature=.nan"], "sampling.temperature: Input should be a finite number (got nan)"),
        ({}, ["prompts.speakers=[Ann, 'Ann ']"], "prompts.speakers: both speakers are called 'Ann'"),
        ({}, ["prompts.variants=[{speakers: [A, A]}]"], "prompts.variants[0].speakers: both speakers are called 'A'"),
        ({}, ["benchmarks[²].n_items=1"], "there is no element [²] (the config has 1 there)"),
        ({}, [f"benchmarks[0].n_items={10**26}"], "benchmarks[0].n_items: should fit 64 bits (got 1000"),
        ({}, [f"benchmarks[0].n_items='{10**26}'"], "benchmarks[0].n_items: should fit 64 bits (got '1000"),
        ({}, ["sampling.n=" + "9" * 5000], "is not a YAML value (ValueError: Exceeds the limit"),
        ({}, ["model.label=2024-99-99"], "is not a YAML value (ValueError: month must be in 1..12); quote it"),
        ({}, ["sampling.temperature=1e-300"], "vLLM samples no colder than 0.01; set it to 0, which is greedy"),
        ({}, ['run.root="a\\0b"'], r"the character '\x00' cannot be written to a file"),
        ({}, ['prompts.speakers=[a, "\\ud800"]'], r"the character '\ud800' cannot be written to a file"),
        ({}, ["model.chat_template_args={tokenize: true}"], "model.chat_template_args: tokenize is set by Evenhand"),
        ({}, ["model.chat_template_args=&a {b: *a}"], "no reference (*name) is read; write the value out"),
        ({}, ["model.chat_template_args=" + "[" * 5000], "is nested deeper than 32 levels"),
    ],
)
def test_a_bad_config_is_refused_with_key_and_fix(
    tmp_path: Path, changes: dict[str, object], words: list[str], says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(InferenceConfig, [written(tmp_path, **changes), *words])
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://[::1", "is no address (Invalid IPv6 URL); write http://HOST:PORT/v1 (got 'http://[::1')"),
        ("localhost:8000/v1", "is no address; write http://HOST:PORT/v1"),
        ("http://", "is no address"),
        ("http://host:99999/v1", "is no address (Port out of range"),
        ("http://host/v1\n", "is no address"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(InferenceConfig, {**MINIMAL, "engine": {"kind": "openai", "base_url": url}}, "x.yaml")
    assert f"engine.base_url: {says}" in str(caught.value)


@pytest.mark.parametrize(
    "engine",
    [
        {"base_url": "http://me:hunter22@host/v1"},
        {"base_url": "http://hunter22@[::1"},
        {"base_url": "https://host/v1?api_key=hunter22"},
        {"extra_body": {"api_key": "hunter22"}},
        {"extra_body": {"provider": [{"Authorization": "hunter22"}]}},
        {"extra_body": {"user": "Bearer hunter22hunter22"}},
        {"extra_body": {"user": "sk-hunter22hunter22hunter22"}},
    ],
)
def test_a_password_or_key_in_a_servers_settings_is_refused_and_not_shown(engine: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(
            InferenceConfig, {**MINIMAL, "engine": {"kind": "openai", "base_url": "http://h/v1", **engine}}, "x.yaml"
        )
    assert "name the variable in engine.api_key_env" in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_fields_that_only_sound_like_secrets_may_be_sent() -> None:
    body = {"stop_token_ids": [1], "max_completion_tokens": 5, "prompt_cache_key": "a", "add_special_tokens": False}
    engine = {"kind": "openai", "base_url": "http://[::1]:8000/v1", "extra_body": body}
    assert parse_config(InferenceConfig, {**MINIMAL, "engine": engine}, "x.yaml").engine.extra_body == body


@pytest.mark.parametrize("value", [float("nan"), float("inf"), datetime.date(2024, 7, 26), {1, 2}])
def test_what_json_cannot_hold_is_refused_before_a_request(value: object) -> None:
    engine = {"kind": "openai", "base_url": "http://h/v1", "extra_body": {"x": value}}
    with pytest.raises(ConfigError, match=r"engine\.extra_body: cannot be sent as JSON"):
        parse_config(InferenceConfig, {**MINIMAL, "engine": engine}, "x.yaml")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a: [", "not valid YAML"),
        (b"- 1", "must hold a mapping"),
        (b"a: 1\na: 2", "key 'a' occurs twice"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a: " + b"[" * 100_000, "is nested deeper than 32 levels"),
        (b"\n".join(b" " * depth + b"a:" for depth in range(3000)), "is nested deeper than 32 levels"),
        (b"&a [*a]", "no reference"),
        (b"? &a [*a]\n: 1", "no reference"),
        (b"a: !!bool x", "is not valid YAML: KeyError"),
    ],
)
def test_a_file_that_is_no_config_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        load_config(InferenceConfig, [str(path)])
    assert str(path) in str(caught.value)


def test_a_kilobyte_of_references_is_refused_before_it_is_a_gigabyte(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    args = "".join(f"    {line}\n" for line in lines)
    path = tmp_path / "bomb.yaml"
    path.write_text(f"name: x\nbenchmarks: [{{dataset: pocket}}]\nmodel:\n  name: m\n  chat_template_args:\n{args}")
    with pytest.raises(ConfigError, match=r"bomb\.yaml: is not valid YAML: no reference \(\*name\) is read.*line 7"):
        load_config(InferenceConfig, [str(path)])


def test_a_training_config_is_called_one_and_nothing_else_of_it():
    with pytest.raises(ConfigError) as caught:
        load_config(InferenceConfig, [str(CONFIGS / "training" / "pocket-sft.yaml")])
    assert "is a training config" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_is_no_config_and_a_runs_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is a folder, and a config is a YAML file\.$"):
        load_config(InferenceConfig, [str(tmp_path)])
    (tmp_path / "config.yaml").touch()
    with pytest.raises(ConfigError, match=r"name its config\.yaml"):
        load_config(InferenceConfig, [str(tmp_path)])


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read"):
        load_config(InferenceConfig, [str(tmp_path / "absent.yaml")])


def test_a_refused_list_element_is_one_line_not_two(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(InferenceConfig, [written(tmp_path, benchmarks=[{"dataset": "nope"}])])
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("key", ["arms", "conditions"])
def test_a_config_that_asks_nothing_is_refused(key):
    with pytest.raises(ConfigError, match=rf"prompts\.{key}"):
        parse_config(InferenceConfig, {**MINIMAL, "prompts": {key: []}}, "x.yaml")

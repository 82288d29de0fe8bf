"""No secret enters a sampling config, and no error shows one."""

import re

import pytest

from evenhand.config import check_no_secret
from evenhand.errors import ConfigError
from inference.config import parse_sampling_config
from tests.made.places import cases

MINIMAL = {"name": "x", "model": {"name": "embedded"}, "dialdefer": {"benchmarks": [{"dataset": "pocket"}]}}

CASES = cases(__file__)


@pytest.mark.parametrize("engine", CASES["keys of a server"])
def test_a_password_or_key_in_a_servers_settings_is_refused_and_not_shown(engine):
    with pytest.raises(ConfigError) as caught:
        parse_sampling_config({**MINIMAL, "engine": {"kind": "openai", "base_url": "http://h/v1", **engine}}, "x.yaml")
    assert "name the variable in engine.api_key_env" in str(caught.value)
    assert "hunter22" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        parse_sampling_config({**MINIMAL, "engine": {"kind": "openai", "dtype": "float32", **engine}}, "x.yaml")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("name", ["hunter22-hunter22", "22hunter", "hunter22 x", ""])
def test_a_key_where_its_variable_belongs_is_refused_and_not_shown(name):
    engine = {"kind": "openai", "base_url": "http://h/v1", "api_key_env": name}
    with pytest.raises(ConfigError, match=r"engine\.api_key_env: is no name of a variable") as caught:
        parse_sampling_config({**MINIMAL, "engine": engine}, "x.yaml")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(("path", "keys"), CASES["keys of a config"])
def test_a_key_anywhere_in_a_config_is_refused_by_its_place(path, keys):
    with pytest.raises(ConfigError, match=f"^x.yaml: {re.escape(path)}: looks like a secret") as caught:
        parse_sampling_config({**MINIMAL, **keys}, "x.yaml")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("text", CASES["no keys"])
def test_texts_that_only_sound_like_keys_are_none(text):
    assert check_no_secret({"model": [text]}) == {"model": [text]}


@pytest.mark.parametrize("url", ["http://[::1]:8000/v1", f"https://host/v4/accounts/{'c0ffee' * 5}/ai/v1"])
def test_fields_and_addresses_that_only_sound_like_secrets_may_be_sent(url):
    body = {"stop_token_ids": [1], "max_completion_tokens": 5, "prompt_cache_key": "a", "add_special_tokens": False}
    engine = {"kind": "openai", "base_url": url, "extra_body": body}
    assert parse_sampling_config({**MINIMAL, "engine": engine}, "x.yaml").engine.extra_body == body

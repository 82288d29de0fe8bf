"""No secret enters a sampling config, and no error shows one."""

import pytest

from evenhand.errors import ConfigError
from inference.config import parse_sampling_config

MINIMAL = {"name": "x", "model": {"name": "embedded"}, "dialdefer": {"benchmarks": [{"dataset": "pocket"}]}}


@pytest.mark.parametrize(
    "engine",
    [
        {"base_url": "http://me:hunter22@host/v1"},
        {"base_url": "https://host/v1?api_key=hunter22"},
        {"extra_body": {"api_key": "hunter22"}},
        {"extra_body": {"user": "sk-hunter22hunter22hunter22"}},
        {"extra_body": {"user": "hf_hunter22hunter22hunter22"}},
        {"extra_body": {"headers": [{"x": "Bearer hunter22hunter22"}]}},
    ],
)
def test_a_password_or_key_in_a_servers_settings_is_refused_and_not_shown(engine: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_sampling_config({**MINIMAL, "engine": {"kind": "openai", "base_url": "http://h/v1", **engine}}, "x.yaml")
    assert "name the variable in engine.api_key_env" in str(caught.value)
    assert "hunter22" not in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        parse_sampling_config({**MINIMAL, "engine": {"kind": "openai", "dtype": "float32", **engine}}, "x.yaml")
    assert "kind openai has no dtype" in str(caught.value)
    assert "hunter22" not in str(caught.value)


def test_fields_that_only_sound_like_secrets_may_be_sent() -> None:
    body = {"stop_token_ids": [1], "max_completion_tokens": 5, "prompt_cache_key": "a", "add_special_tokens": False}
    engine = {"kind": "openai", "base_url": "http://[::1]:8000/v1", "extra_body": body}
    assert parse_sampling_config({**MINIMAL, "engine": engine}, "x.yaml").engine.extra_body == body

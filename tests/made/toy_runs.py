"""Toy prompts put to an engine: what the tests of the engines share."""

from dataclasses import replace

import pytest

from evenhand.errors import ModelError
from evenhand.records import SamplingOverride
from inference.engine import open_engine
from studies.dialdefer.render import VERDICT_SCHEMA
from tests.made.toy_prompts import toy_config, toy_prompt


def prompts(n):
    """Prompts "question 0", "question 1", ..."""
    schema = SamplingOverride(json_schema=VERDICT_SCHEMA)
    return [replace(toy_prompt(f"question {i}"), item_id=f"toy-{i}", drawing=schema) for i in range(n)]


def config(base_url, engine=None, **keys):
    """A run through an impatient client; `engine` and the keywords override."""
    settings = {"kind": "openai", "base_url": base_url, "concurrency": 4, "timeout_s": 5, "max_retries": 2}
    return toy_config("judge", **{"verdict": "reason", **keys, "engine": {**settings, **(engine or {})}})


def ask(server, asked, engine=None, **keys):
    """Every completion of the prompts."""
    with open_engine(config(server.base_url, engine, **keys)) as opened:
        return list(opened.generate(asked))


def ask_until_error(server, asked):
    """What came before the ModelError, and its words."""
    kept = []
    with open_engine(config(server.base_url)) as opened, pytest.raises(ModelError) as caught:
        kept.extend(opened.generate(asked))  # keeps what came before the error
    return kept, str(caught.value)

"""What a judge's reply says of a flip, whatever it is."""

import pytest

from evenhand.records import Completion
from studies.taxonomy.code_replies import codes_in

READ = [
    ('{"codes": ["IC2"], "primary": "IC2"}', "IC2", "IC2", "ok"),
    ('{"codes": ["IC2", "SA1"], "primary": "SA1"}', "SA1", "IC2 SA1", "ok"),
    ('```json\n{"codes": ["IC2"], "primary": "IC2"}\n```', "IC2", "IC2", "ok"),
    ('Here: {"codes": [" ic2 "], "primary": "ic2"} as asked.', "IC2", "IC2", "ok"),
    ('<think>{"primary": "SA1"}</think>{"codes": ["IC2"], "primary": "IC2"}', "IC2", "IC2", "ok"),
    ('{"codes": [], "primary": "IC2"}', "IC2", "IC2", "primary_not_listed"),
    ('{"codes": ["IC2", "XX9", 3, null], "primary": "IC2"}', "IC2", "IC2", "unknown_codes"),
    ('{"codes": ["UN1", "IC2"], "primary": "IC2"}', "IC2", "IC2 UN1", "unexplained_with_others"),
]
UNREAD = [
    ("", "malformed"),
    ('{"primary": "IC2"}', "malformed"),
    ("[" * 5000, "malformed"),
    ("<think>IC2 or SA1", "malformed"),
    ('{"codes": ["IC2"]}', "no_primary"),
    ('{"codes": ["IC2"], "primary": "XX9"}', "no_primary"),
    ('{"codes": ["IC2"], "primary": "IC2", "primary": "SA1"}', "contradictory"),
    ('{"codes": ["IC2"], "primary": "IC2"} or {"codes": ["SA1"], "primary": "SA1"}', "contradictory"),
]


def reply(text: str, finish_reason: str = "stop") -> Completion:
    return Completion(prompt_hash="0" * 16, sample_index=0, text=text, finish_reason=finish_reason)


@pytest.mark.parametrize(("text", "primary", "codes", "state"), READ)
def test_a_reply_with_a_primary_code_is_read(text: str, primary: str, codes: str, state: str) -> None:
    found = codes_in(reply(text))
    assert (found.primary, sorted(found.codes), found.state) == (primary, codes.split(), state)


@pytest.mark.parametrize(("text", "state"), UNREAD, ids=range(len(UNREAD)))
def test_any_other_reply_has_a_named_state_and_no_code(text: str, state: str) -> None:
    assert codes_in(reply(text)) == ("", frozenset(), state)


def test_a_reply_that_was_cut_is_told_apart() -> None:
    assert codes_in(reply('{"codes": ["IC2", ', "length")).state == "cut"
    assert codes_in(reply('{"codes": ["IC2"], "primary": "IC2"}', "length")).state == "ok"

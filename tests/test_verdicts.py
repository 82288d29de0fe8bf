"""What a reply means, by the strict rule, by the published lenient rule, and by margin."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.errors import DataError
from benchmarks.records import Completion
from eval.parsing import parse_lenient, parse_strict
from eval.verdicts import NoVerdict, Reading, decide

# reply, what the strict parser reads, what the published lenient rule reads
REPLIES = [
    ('{"chosen_answer": "1", "reasoning": "so"}', 1, 1),
    ('{"chosen_answer": "2", "reasoning": "so"}', 2, 2),
    ('{"chosen_answer": 1, "reasoning": "so"}', 1, 1),
    ('{"chosen_answer":2}', 2, 2),
    ('{"reasoning": "first", "chosen_answer": "2"}', 2, 2),
    ('  \n {"chosen_answer" : "1"}  \n', 1, 1),
    ('```json\n{"chosen_answer": "1", "reasoning": "so"}\n```', 1, 1),
    ('```\n{"chosen_answer": "2"}\n```', 2, 2),
    ('```json {"chosen_answer": "2"} ```', 2, 2),
    ('```json\n{"chosen_answer": "1"}', 1, 1),  # the fence never closed, the object did
    ('Here is my verdict: {"chosen_answer": "2", "reasoning": "so"}', 2, 2),
    ('{"chosen_answer": "1", "reasoning": "so"} I hope this helps with question 2.', 1, 1),
    ('{"chosen_answer": "2", "reasoning": "line one\nline two\ttab"}', 2, 2),  # raw control characters
    (r'{"chosen_answer": "1", "reasoning": "\(x^2\) and \sqrt{2} and \underline{y}"}', 1, 1),  # LaTeX
    (r'{"chosen_answer": "1", "reasoning": "a \"quote\" and a \\ and \u00e9"}', 1, 1),
    ('{"chosen_answer": "1", "reasoning": "{2} or {\\"chosen_answer\\": \\"2\\"}"}', 1, 1),
    ('{"chosen_answer": "1"}{"chosen_answer": "1"}', 1, 1),
    ('{"chosen_answer": "1"} or {"chosen_answer": "2"}', None, 1),  # two objects that disagree
    ('{"chosen_answer": "1", "chosen_answer": "2"}', None, 1),  # one key twice
    ('"chosen_answer": "2" and then {"chosen_answer": "1"}', None, 2),
    ('{"chosen_answer": "1", "reasoning": "the statement is corr', None, 1),  # cut off
    ('{"chosen_answer": "', None, None),
    ('{"reasoning": "there are 2 of them, so', None, 2),
    ('{"verdict": {"chosen_answer": "2"}}', None, 2),  # not at the top level
    ('{"chosen_answer": {"chosen_answer": "1"}}', None, 1),
    ('{"chosen_answer": ["1"]}', None, 1),
    ('{"chosen_answer": "3"}', None, None),
    ('{"chosen_answer": 12}', None, None),
    ('{"chosen_answer": "12"}', None, None),
    ('{"chosen_answer": 1.0}', None, 1),
    ('{"chosen_answer": true}', None, None),
    ('{"chosen_answer": null, "reasoning": "neither 1 nor 2"}', None, 1),
    ('{"chosen_answer": "Yes, the statement is correct."}', None, None),
    ('{"chosen_answer": "1 or 2"}', None, 1),
    ('{"Chosen_Answer": "2"}', None, 2),
    ("{'chosen_answer': '2'}", None, 2),  # Python's quotes are no JSON
    ('{chosen_answer: "2"}', None, 2),
    ("1", None, 1),
    ("2", None, 2),
    (" 2.", None, 2),
    ("1st of all, no", None, 1),  # leading, though it does not stand alone
    ("12 reasons", None, 1),
    ("Answer: 2", None, 2),
    ("Speaker 2 is correct.", None, 2),  # the lenient rule turns an acceptance into a rejection
    ("Yes, the statement is correct.", None, None),
    ("In 2019 there were 31 of them", None, None),
    ("The set {1, 2} is finite", None, 1),
    ("", None, None),
    ("{" * 5000, None, None),
    ('{"a":' * 5000, None, None),
    ('{"a":[' * 5000 + '{"chosen_answer": "1"}', None, 1),
    ('{"chosen_answer": ' + "1" * 5000 + "}", None, None),  # too long for an integer
    ("\\" * 5000 + "{", None, None),
    ("٢", None, None),  # an Arabic-Indic 2 is no "2"
]


@pytest.mark.parametrize(("reply", "strict", "lenient"), REPLIES, ids=lambda v: str(v)[:40])
def test_a_reply_is_read_as_the_table_says(reply: str, strict: int | None, lenient: int | None) -> None:
    assert parse_strict(reply) == strict
    assert parse_lenient(reply) == lenient


@given(st.text(alphabet='{}[]":,\\ \n12aé`chosen_answer', max_size=300))
def test_no_reply_breaks_a_parser_and_what_strict_reads_lenient_reads_too(text: str) -> None:
    strict, lenient = parse_strict(text), parse_lenient(text)
    assert strict in (1, 2, None)
    assert lenient in (1, 2, None)
    assert strict is None or lenient is not None


@given(st.text(max_size=200).filter(lambda t: "chosen_answer" not in t))
def test_the_strict_parser_reads_nothing_where_no_answer_is_named(text: str) -> None:
    assert parse_strict(text) is None


@given(st.sampled_from([1, 2]), st.text(max_size=100), st.booleans(), st.booleans())
def test_any_reasoning_leaves_a_valid_object_readable(choice: int, reasoning: str, as_text: bool, fenced: bool) -> None:
    reply = json.dumps({"chosen_answer": str(choice) if as_text else choice, "reasoning": reasoning})
    assert parse_strict(f"```json\n{reply}\n```" if fenced else reply) == choice
    assert parse_lenient(reply) == choice


@given(st.integers(0, 3000), st.sampled_from(["{", "[", '{"a":', '{"chosen_answer":', "[{", '\\"', "{\n"]))
def test_nested_braces_without_end_are_unreadable_not_a_crash(depth: int, unit: str) -> None:
    assert parse_strict(unit * depth) is None


def completion(text: str = "", finish: str = "stop", logprobs: dict[str, float] | None = None) -> Completion:
    return Completion(prompt_hash="h", sample_index=0, text=text, finish_reason=finish, answer_logprobs=logprobs)


MARGIN, STRICT = Reading("margin", None), Reading("reason", "strict")


@pytest.mark.parametrize(
    ("logprobs", "choice", "reason"),
    [
        ({"1": -0.1, "2": -2.4}, 1, None),
        ({"1": -2.4, "2": -0.1}, 2, None),
        ({"1": -0.7, "2": -0.7}, None, NoVerdict.TIE),
        ({"1": -0.7}, None, NoVerdict.NO_MARGIN),
        ({}, None, NoVerdict.NO_MARGIN),
        (None, None, NoVerdict.NO_MARGIN),
        ({"1": math.nan, "2": -1.0}, None, NoVerdict.NO_MARGIN),
        ({"1": -math.inf, "2": -math.inf}, None, NoVerdict.NO_MARGIN),
        ({"1": -0.5, "2": -math.inf}, 1, None),
    ],
)
def test_a_margin_decides_for_the_likelier_answer_and_names_why_it_cannot(
    logprobs: dict[str, float] | None, choice: int | None, reason: NoVerdict | None
) -> None:
    assert decide(completion("1", logprobs=logprobs), MARGIN)[:2] == (choice, reason)


def test_a_margin_is_in_nats() -> None:
    assert decide(completion(logprobs={"1": math.log(0.8), "2": math.log(0.2)}), MARGIN)[2] == pytest.approx(
        math.log(4)
    )


def test_a_margin_run_never_reads_the_text() -> None:
    assert decide(completion('{"chosen_answer": "1"}'), MARGIN)[:2] == (None, NoVerdict.NO_MARGIN)


def test_an_engine_error_is_no_reply_whatever_text_came_with_it() -> None:
    failed = completion('{"chosen_answer": "1"}', finish="error: connection reset", logprobs={"1": -0.1, "2": -3.0})
    assert decide(failed, STRICT)[:2] == (None, NoVerdict.ERROR)
    assert decide(failed, MARGIN)[:2] == (None, NoVerdict.ERROR)


def test_a_reply_cut_at_the_token_limit_is_truncated_and_another_unreadable_one_is_unparsed() -> None:
    assert decide(completion('{"chosen_answer": "1", "rea', finish="length"), STRICT)[:2] == (None, NoVerdict.TRUNCATED)
    assert decide(completion("I cannot say"), STRICT)[:2] == (None, NoVerdict.UNPARSED)
    assert decide(completion('{"chosen_answer": "1"} and so', finish="length"), STRICT)[:2] == (1, None)


def test_an_unknown_mode_or_parser_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="verdict mode 'vote'"):
        Reading("vote")
    with pytest.raises(DataError, match="parser 'kind'"):
        Reading("reason", "kind")

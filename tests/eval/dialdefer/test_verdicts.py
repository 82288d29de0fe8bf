"""What a completion decides, by its text or by its margin, and why it may decide nothing."""

import math

import pytest

from eval.dialdefer.parsing import NoVerdict, Reading, decide
from evenhand.errors import DataError
from evenhand.records import Completion


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

"""Exact probabilities of options: the trie's sums are those of all replies counted one by one."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.chat_templates import option_tokens, own_tokens
from inference.options import log_rest, option_logprobs, questions
from tests.made.tiny_checkpoint import byte_tokenizer

VOCABULARY = range(3)
options_of_tokens = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=3).map(tuple), min_size=1, max_size=6, unique=True
)


def next_token(seed, path):
    """A made-up model: the probability of each token behind a path."""
    weights = [random.Random(f"{seed} {list(path)} {token}").random() ** 3 for token in VOCABULARY]
    return [weight / sum(weights) for weight in weights]


def counted(reply, options):
    """The option that a reply begins with, unless its next token goes on towards a longer one."""
    for option in options:
        if tuple(reply[: len(option)]) == option:
            further = tuple(reply[: len(option) + 1])
            if not any(other[: len(further)] == further for other in options):
                return option
    return None


@given(options_of_tokens, st.integers(0, 1000))
def test_an_option_has_the_probability_of_all_replies_that_count_for_it(options, seed):
    brute = dict.fromkeys(options, 0.0)
    for reply in itertools.product(VOCABULARY, repeat=max(map(len, options)) + 1):
        option = counted(reply, options)
        if option is not None:
            brute[option] += math.prod(next_token(seed, reply[:i])[token] for i, token in enumerate(reply))
    named = {str(option): option for option in options}
    readings = {
        path: {t: math.log(next_token(seed, path)[t]) for t in children} for path, children in questions(named).items()
    }
    found = option_logprobs(named, readings)
    assert list(found) == list(named)
    for name, option in named.items():
        # Where every token goes on to some option, nothing is left to end here but what float32 hides.
        assert math.exp(found[name]) == pytest.approx(brute[option], rel=1e-6, abs=2.0**-24)
    assert math.fsum(map(math.exp, found.values())) <= 1 + 1e-6


def test_a_rest_is_exact_where_little_or_nearly_everything_goes_on():
    assert log_rest([math.log(1e-12)]) == pytest.approx(-1e-12, rel=1e-9)
    assert log_rest([math.log(0.25), math.log(0.25)]) == pytest.approx(math.log(0.5))
    assert log_rest([-1e-5]) == pytest.approx(math.log(1e-5), rel=1e-4)
    # float32 probabilities that add up to 1, or a little more: a rest too small to be seen, never log 0.
    assert log_rest([0.0]) == log_rest([math.log(0.5) + 1e-8, math.log(0.5)]) == math.log(2.0**-24)


def test_in_bare_text_a_reply_goes_on_in_a_line_at_whose_head_alone_a_word_start_mark_stands():
    for tokenizer in (byte_tokenizer(), byte_tokenizer(word_start=True)):
        for text, begins in (("Options: Ann\n\nAnswer:", "\u0120Ann"), ("Answer: ", "Ann")):
            tokens = option_tokens(tokenizer, ["Ann"], text, False)["Ann"]
            assert "".join(tokenizer.convert_ids_to_tokens(list(tokens))) == begins


@given(options_of_tokens)
def test_one_token_tells_the_options_apart_where_it_is_another_for_each_and_nowhere_else(options):
    found = own_tokens({str(option): option for option in options})
    if found is None:
        depth = next(d for d in itertools.count() if len({option[: d + 1] for option in options}) > 1 or d == 3)
        ahead = [option[depth : depth + 1] for option in options]
        assert () in ahead or len(set(ahead)) < len(ahead)
        return
    assert len(set(found.ids.values())) == len(options)
    for option in options:
        assert option[: len(found.lead) + 1] == (*found.lead, found.ids[str(option)])

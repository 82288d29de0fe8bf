"""Exact probabilities of answer options: what to ask a model for, and what its replies add up to. No engine in here.

A reply counts for an option when it begins with the option's tokens and does not go on to a longer option. Options of
one prompt share beginnings, so they form a trie. An engine is asked once at each inner node: behind the prompt and the
node's path, how likely is each token that some option goes on with? Nothing is divided by an option's length: these are
probabilities of replies. They add up to at most 1; what lacks is the probability of replies outside the list.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from evenhand.option_tokens import Tokens

# 1 - sum of float32 probabilities is not known more finely than this: no smaller rest is told from none.
SMALLEST_REST = 2.0**-24


class Question(NamedTuple):
    """An inner node of the trie: what one request asks."""

    path: Tokens  # tokens behind the prompt
    children: Tokens  # tokens whose log-probabilities are wanted there


def questions(options: Mapping[str, Tokens]) -> tuple[Question, ...]:
    """One question for each inner node of the options' trie, parents before children, neighbours sharing paths."""
    children: dict[Tokens, dict[int, None]] = {}
    for tokens in options.values():
        for depth, token in enumerate(tokens):
            children.setdefault(tokens[:depth], {})[token] = None
    return tuple(Question(path, tuple(found)) for path, found in sorted(children.items()))


def option_logprobs(options: Mapping[str, Tokens], readings: Mapping[Tokens, Mapping[int, float]]) -> dict[str, float]:
    """Option → natural log of the probability that a reply counts for it.

    readings: path of each question → token → natural log-probability over the whole vocabulary behind that path.
    """
    found = {}
    for option, tokens in options.items():
        steps = [readings[tokens[:depth]][token] for depth, token in enumerate(tokens)]
        if tokens in readings:  # others go on from here: Ann, Anna
            steps.append(log_rest(readings[tokens].values()))
        found[option] = math.fsum(steps)
    return found


def log_rest(logprobs: Iterable[float]) -> float:
    """log(1 - sum of exp): that none of these tokens comes next."""
    total = math.fsum(map(math.exp, logprobs))
    return math.log1p(-total) if total < 1 - SMALLEST_REST else math.log(SMALLEST_REST)

"""Exact probabilities of answer options: what to ask a model for, and what its replies add up to. No engine in here.

A reply counts for an option when it begins with the option's tokens and does not go on to a longer option. Options of
one prompt share beginnings, so they form a trie. An engine is asked once at each inner node: behind the prompt and the
node's path, how likely is each token that some option goes on with? Nothing is divided by an option's length: these are
probabilities of replies. They add up to at most 1; what lacks is the probability of replies outside the list. A margin
is the same of two answers of one token each.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evenhand.chat_templates import Tokens
from evenhand.records import Completion, Prompt
from inference.encoding import Encoded

# 1 - sum of float32 probabilities is not known more finely than this: no smaller rest is told from none.
SMALLEST_REST = 2.0**-24


def questions(options: Mapping[str, Tokens]) -> dict[Tokens, Tokens]:
    """Path of each inner node of the options' trie → the tokens that some option goes on with there.

    Parents come before children, and neighbours share paths.
    """
    children: dict[Tokens, dict[int, None]] = {}
    for tokens in options.values():
        for depth, token in enumerate(tokens):
            children.setdefault(tokens[:depth], {})[token] = None
    return {path: tuple(tokens) for path, tokens in sorted(children.items())}


def option_logprobs(options: Mapping[str, Tokens], readings: Mapping[Tokens, Mapping[int, float]]) -> dict[str, float]:
    """Option → natural log of the probability that a reply counts for it.

    readings: path of each question → token → natural log-probability over the whole vocabulary behind that path.
    """
    logprobs = {}
    for option, tokens in options.items():
        steps = [readings[tokens[:depth]][token] for depth, token in enumerate(tokens)]
        if tokens in readings:  # others go on from here: Ann, Anna
            steps.append(log_rest(readings[tokens].values()))
        logprobs[option] = math.fsum(steps)
    return logprobs


def log_rest(logprobs: Iterable[float]) -> float:
    """log(1 - sum of exp): that none of these tokens comes next."""
    total = math.fsum(map(math.exp, logprobs))
    return math.log1p(-total) if total < 1 - SMALLEST_REST else math.log(SMALLEST_REST)


@dataclass(frozen=True, slots=True)
class Node:
    """One request: one token behind a prompt and a path of its options' trie, and how likely each child is there."""

    encoded: Encoded
    path: Tokens  # tokens behind the prompt
    children: Tokens  # tokens whose log-probabilities are wanted there
    n_questions: int  # of this prompt
    readings: dict[Tokens, Mapping[int, float]]  # at those of its nodes that were read so far, which share it

    @property
    def prompt(self) -> Prompt:
        """What it asks for a part of."""
        return self.encoded.prompt

    @property
    def token_ids(self) -> list[int]:
        """What the engine is given: the prompt's tokens and the path's."""
        return [*self.encoded.token_ids, *self.path]

    def completed(self, reading: Mapping[int, float]) -> Iterator[Completion]:
        """The prompt's completion once the last of its nodes has its reading, else nothing.

        reading: token → natural log-probability, of the children.
        """
        self.readings[self.path] = reading
        if len(self.readings) == self.n_questions:
            logprobs = option_logprobs(self.encoded.options, self.readings)
            text = max(logprobs, key=lambda option: logprobs[option])
            # A token is generated at each question.
            yield self.encoded.completion(0, text, "length", self.n_questions, answer_logprobs=logprobs)


# What an engine is asked at once: a prompt whose reply is written, or a node of one whose probabilities are read.
Asked = Encoded | Node


def asked_of(encoded: Iterable[Encoded]) -> Iterator[Asked]:
    """Every request of these prompts in their order; those of one prompt are neighbours, so they share a prefix."""
    for prompt in encoded:
        inner, readings = questions(prompt.options), dict[Tokens, Mapping[int, float]]()
        if not inner:
            yield prompt
        for path, children in inner.items():
            yield Node(prompt, path, children, len(inner), readings)

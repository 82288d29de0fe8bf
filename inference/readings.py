"""Between a prompt with options and an engine: the requests it takes, and the completion that their replies make."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evenhand.option_tokens import Tokens
from evenhand.records import Completion
from inference.encoding import Encoded
from inference.options import Question, option_logprobs, questions


@dataclass(frozen=True, slots=True)
class Node:
    """One request: one token behind a prompt and a path of its options' trie, and how likely each child is there."""

    encoded: Encoded
    question: Question
    n_questions: int  # of this prompt

    @property
    def token_ids(self) -> list[int]:
        """What the engine is given: the prompt's tokens and the path's."""
        return [*self.encoded.token_ids, *self.question.path]


def nodes(encoded: Iterable[Encoded]) -> Iterator[Node]:
    """Every request of these prompts in their order; those of one prompt are neighbours, so they share a prefix."""
    for one in encoded:
        asked = questions(one.options)
        for question in asked:
            yield Node(one, question, len(asked))


class Readings:
    """Replies as they come in, in any order."""

    def __init__(self) -> None:
        self._open: dict[str, dict[Tokens, Mapping[int, float]]] = {}

    def add(self, node: Node, reading: Mapping[int, float]) -> Iterator[Completion]:
        """The prompt's completion once its last question has its reading, else nothing.

        reading: token → natural log-probability, of the node's children.
        """
        key = node.encoded.prompt.prompt_hash
        read = self._open.setdefault(key, {})
        read[node.question.path] = reading
        if len(read) == node.n_questions:
            del self._open[key]
            yield completion_of(node.encoded, read)


def completion_of(encoded: Encoded, readings: Mapping[Tokens, Mapping[int, float]]) -> Completion:
    """The likeliest option as text, and every option's log-probability beside it."""
    logprobs = option_logprobs(encoded.options, readings)
    return Completion(
        prompt_hash=encoded.prompt.prompt_hash,
        sample_index=0,
        text=max(logprobs, key=lambda option: logprobs[option]),
        finish_reason="length",
        answer_logprobs=logprobs,
        prompt_tokens=len(encoded.token_ids),
        completion_tokens=len(readings),  # one at each question
        rendered=encoded.rendered,
    )

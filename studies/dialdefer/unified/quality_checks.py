"""What may be doubtful about an item, one check each; repeats are found over a whole dataset."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from evenhand.same_text import normalised
from studies.dialdefer.item_table import INCORRECT_ANSWERS
from studies.dialdefer.records import Item
from studies.dialdefer.render import AIO_DATASETS
from studies.dialdefer.unified.self_reference import (
    answer_names_verdict,
    is_bare_verdict,
    is_unknown,
    names_options,
    question_names_verdict,
    skeleton,
)


def shown_answers(item: Item) -> tuple[str, str]:
    """The two answers that prompts claim."""
    return item.correct_answer, item.incorrect_answer


def wrong_answers(item: Item) -> list[str]:
    """Every wrong answer of the publisher's, or the chosen one where only that is known."""
    return list(item.meta.get(INCORRECT_ANSWERS) or [item.incorrect_answer])


def is_equal(one: str, other: str) -> bool:
    """Whether two answers are the same but for white space."""
    return one.split() == other.split()


def is_alike(one: str, other: str) -> bool:
    """Whether two answers that are not equal differ in case and sentence marks alone."""
    return not is_equal(one, other) and skeleton(one) == skeleton(other)


def always(item: Item) -> bool:
    """What a check concerns unless it says otherwise."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that may be doubtful about an item."""

    title: str  # of its column
    meaning: str  # for the list below the table
    holds: Callable[[Item], bool]
    concerns: Callable[[Item], bool] = always  # the items that it is counted among


# Those of `Repeats` come first; they look at earlier items too.
REPEATS = {
    "repeated_question": ("repeated question", "asks what an earlier item asks (NFKC, case and white space ignored)"),
    "repeated_item": ("repeated item", "a repeated question with the same correct and incorrect answer: a duplicate"),
    "contradiction": ("contradiction", "of two items that ask the same, one calls correct what the other calls wrong"),
}
CHECKS = {
    "empty_question": Check(
        title="empty question",
        meaning="there is no question (r/AIO asks none and is not counted)",
        holds=lambda item: not item.question.strip(),
        concerns=lambda item: item.dataset not in AIO_DATASETS,
    ),
    "empty_answer": Check(
        title="empty answer",
        meaning="the correct or the chosen incorrect answer is empty; training leaves such items out",
        holds=lambda item: not all(answer.strip() for answer in shown_answers(item)),
    ),
    "equal_answers": Check(
        title="equal answers",
        meaning="correct and incorrect answer are the same text, white space ignored: there is no right verdict",
        holds=lambda item: is_equal(*shown_answers(item)),
    ),
    "correct_among_wrong": Check(
        title="correct among wrong",
        meaning="the correct answer is one of the publisher's wrong ones, chosen or not",
        holds=lambda item: any(is_equal(item.correct_answer, wrong) for wrong in wrong_answers(item)),
    ),
    "alike_answers": Check(
        title="alike answers",
        meaning="the two answers differ in case or sentence marks alone; in formulas and gene names case may matter",
        holds=lambda item: is_alike(*shown_answers(item)),
    ),
    "outer_space": Check(
        title="outer space",
        meaning="one of the two answers begins or ends with white space, which prompts then show",
        holds=lambda item: any(answer != answer.strip() for answer in shown_answers(item)),
    ),
    "answer_names_verdict": Check(
        title="answer names verdict",
        meaning='label leak: an answer says of itself that it is right or wrong ("(correct)", "Paris is the answer")',
        holds=lambda item: any(map(answer_names_verdict, shown_answers(item))),
    ),
    "question_names_verdict": Check(
        title="question names verdict",
        meaning='label leak: the question tells the answer under that name ("the correct answer is B")',
        holds=lambda item: question_names_verdict(item.question),
    ),
    "bare_verdict": Check(
        title="bare verdict",
        meaning='an answer is nothing but "right", "wrong", "true" and the like, which in C1 reads as a verdict',
        holds=lambda item: any(map(is_bare_verdict, shown_answers(item))),
    ),
    "names_options": Check(
        title="names options",
        meaning='an answer points at options that no prompt shows ("none of these", "all of the above")',
        holds=lambda item: any(map(names_options, shown_answers(item))),
    ),
    "unknown_wrong": Check(
        title="unknown as wrong",
        meaning="the chosen incorrect answer is that nobody can know, of the items whose correct answer is not (BBQ: "
        "the disambiguated ones); such a claim names nobody, so it is another test than the group named",
        holds=lambda item: is_unknown(item.incorrect_answer) and not is_unknown(item.correct_answer),
        concerns=lambda item: not is_unknown(item.correct_answer),
    ),
}


class Repeats:
    """Questions seen so far, as digests: 58,492 texts in memory would be many times that."""

    def __init__(self) -> None:
        self.questions: dict[bytes, str] = {}
        self.items: dict[bytes, str] = {}
        self.claims: dict[bytes, str] = {}

    def look(self, item: Item) -> dict[str, str]:
        """Key of REPEATS → id of the earlier item, for those that hold; then the item is remembered."""
        question = normalised(item.question)
        if not question:
            return {}
        correct, wrong = map(normalised, shown_answers(item))
        found = {
            "repeated_question": self.questions.setdefault(key(question), item.item_id),
            "repeated_item": self.items.setdefault(key(question, correct, wrong), item.item_id),
        }
        opposed = (self.claims.get(key(question, correct, "wrong")), self.claims.get(key(question, wrong, "correct")))
        for answer, verdict in ((correct, "correct"), (wrong, "wrong")):
            self.claims.setdefault(key(question, answer, verdict), item.item_id)
        if earlier := opposed[0] or opposed[1]:
            found["contradiction"] = earlier
        return {name: earlier for name, earlier in found.items() if earlier != item.item_id}


def key(*texts: str) -> bytes:
    """16 bytes that stand for some texts in order."""
    return hashlib.blake2b("\x00".join(texts).encode(), digest_size=16).digest()

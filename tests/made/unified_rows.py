"""Made records in the nine publishers' schemas; every word is ours. Ids that are names hold the published ones."""

import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import cycle, islice
from typing import Any

from studies.dialdefer.release import published_ids
from studies.dialdefer.unified.converters import PLAUSIBILITY, SOCIALIQA_ANSWERS

Row = dict[str, Any]

NOUNS = ("baker", "driver", "sailor", "teacher", "gardener", "doctor", "pilot", "singer", "farmer", "clerk")
PLACES = ("harbour", "station", "meadow", "library", "kitchen", "market", "valley", "tower", "garden", "bridge")
VERBS = ("mended", "painted", "counted", "measured", "described", "carried", "borrowed", "returned", "kept", "watched")
THINGS = ("the clock", "a kettle", "nine maps", "the ladder", "some letters", "a kite", "the café's sign")
N_SAFE_OF_1000 = 576
# Stratum → how many a pool has, as in the publishers' files.
DIMENSIONS = {"xWant": 339, "xAttr": 297, "xIntent": 297, "xReact": 277, "xNeed": 277}
DIMENSIONS |= {"oWant": 252, "oReact": 223, "oEffect": 159, "xEffect": 103}
LEVELS = {1: 858, 2: 1_612, 3: 1_136, 4: 504}
DOMAINS = {"Physics": 187, "Chemistry": 183, "Biology": 78}


@cache
def sentences() -> tuple[str, ...]:
    """997 sentences of 60 to 90 characters."""
    draw = random.Random(0).choice
    return tuple(
        f"In the {draw(PLACES)} a {draw(NOUNS)} {draw(VERBS)} {draw(THINGS)} "
        f"while the {draw(NOUNS)} {draw(VERBS)} {draw(THINGS)}."
        for _ in range(997)
    )


def prose(index: int, n_sentences: int) -> str:
    """The same sentences for the same index."""
    return " ".join(sentences()[(index * 7 + k * 101) % 997] for k in range(n_sentences))


def question(dataset: str, index: int, n_sentences: int = 1) -> str:
    """A question that is asked once in all datasets, of about 85 characters beside the sentences."""
    case = f"case {index} of {dataset}"
    return f"{prose(index, n_sentences)} Who of them was right about {THINGS[index % len(THINGS)]} in {case}?"


def answers(index: int, n: int) -> list[str]:
    """n different answers."""
    return [f"The {NOUNS[(index + k) % 10]} from the {PLACES[(index // 10 + k) % 10]}" for k in range(n)]


def mixed(counts: Mapping[Any, int]) -> Iterator[Any]:
    """The names in their proportions, each once at the start, then shuffled; endless."""
    names = [name for name, count in counts.items() for _ in range(count - 1)]
    random.Random(0).shuffle(names)
    return cycle([*counts, *names])


def ids_of(dataset: str, n: int, prefix: str, make: Callable[[int], str]) -> list[str]:
    """n publisher's ids, the published ones first filled up with made ones, then mixed."""
    ids = [item_id.removeprefix(prefix) for item_id in published_ids()[dataset]][:n]
    ids += [make(k) for k in range(n - len(ids))]
    random.Random(0).shuffle(ids)
    return ids


def truthfulqa_rows(n: int) -> Iterator[Row]:
    for i in range(n):
        kind = {"Type": ("Adversarial", "Non-Adversarial")[i % 2], "Category": f"Matters of the {PLACES[i % 10]}"}
        right, wrong = answers(i, 2)
        asked = {"Question": question("truthfulqa", i), "Best Answer": right, "Best Incorrect Answer": wrong}
        yield {**kind, **asked}


def advisorqa_rows(n: int) -> Iterator[Row]:
    for i in range(n):
        suffix = [prose(i + 31 * k, 2) for k in range(2 + i % 5)]
        reward = [12 - 3 * k for k in range(len(suffix))]
        label = "safe" if i * 1_000 < N_SAFE_OF_1000 * n else "unsafe"
        post = question("advisorqa", i, 4)
        yield {"prefix": [post] * len(suffix), "suffix": suffix, "reward": reward, "sft_index": 0, "label": label}


def amqa_rows(n: int) -> Iterator[Row]:
    for i in range(n):
        texts, asked = answers(i, 4), question("amqa", i, 4)
        yield {
            "question_id": str(i),
            "original_question": asked,
            "desensitized_question": f"Somebody asks: {asked}",
            "options": dict(zip("ABCD", texts, strict=True)),
            "answer": texts[i % 4],
            "answer_idx": "ABCD"[i % 4],
        }


def bbq_rows(stem: str, n: int) -> Iterator[Row]:
    """Even lines ambiguous, odd lines disambiguated."""
    for i in range(n):
        one, other = answers(i, 2)
        yield {
            "question_polarity": ("neg", "nonneg")[i // 2 % 2],
            "context_condition": ("ambig", "disambig")[i % 2],
            "category": stem,
            "context": prose(i, 1 + i % 2),
            "question": f"Who of them was late in {stem} case {i}?",
            "ans0": one,
            "ans1": other,
            "ans2": "Not known",
            "label": 2 if i % 2 == 0 else i // 2 % 2,
        }


def gpqa_rows(n: int) -> Iterator[Row]:
    domains = mixed(DOMAINS)
    for i, item_id in enumerate(ids_of("gpqa", n, "gpqa-", lambda k: f"recMade{k:010}")):
        texts = answers(i, 4)
        yield {
            "Question": prose(i, 2) + " \n\n" + question("gpqa", i),
            "Correct Answer": texts[0],
            **{f"Incorrect Answer {k}": texts[k] for k in (1, 2, 3)},
            "Explanation": f"One line, \nand another:\n{prose(i, 3)}\n",
            "Subdomain": f"Studies of the {PLACES[i % 10]}",
            "Writer's Difficulty Estimate": "Hard graduate level",
            "Record ID": item_id,
            "High-level domain": next(domains),
        }


def halueval_rows(n: int) -> Iterator[Row]:
    for i in range(n):
        right, wrong = answers(i, 2)
        claims = {"right_answer": right, "hallucinated_answer": f"{wrong} was the only one who was right."}
        yield {"knowledge": f"{' ' * (i % 3 == 0)}{prose(i, 4)}", "question": question("halueval", i), **claims}


def harp_rows(n: int) -> Iterator[Row]:
    levels = mixed(LEVELS)
    for i, place in enumerate(ids_of("harp", n, "harp_mc-", lambda k: f"2000-MADE_{k // 25}-{k % 25 + 1}")):
        year, contest, number = place.split("-")
        yield {
            "year": year,
            "contest": contest,
            "number": int(number),
            "level": next(levels),
            "subject": "counting",
            "multiple_choice_only": i % 7 == 0,
            "choices": dict(zip("ABCDE", (f"${i + k}$" for k in range(5)), strict=True)),
            "problem": question("harp", i) + f" Let $n={i}$.",
            "answer_choice": "ABCDE"[i % 5],
            "solution_1": prose(i, 8),
            "num_solutions": 1,
        }


def plausibleqa_rows(n: int) -> Iterator[Row]:
    for i, source_id in enumerate(ids_of("plausibleqa", n, "plausibleqa-", lambda k: f"made_{k}")):
        texts = answers(i, 10)
        scores = [round((k * 37 + i) % 101 / 101, 6) for k in range(len(texts))]
        yield {
            "id": source_id,
            "question": question("plausibleqa", i),
            "answer": f"The {VERBS[i % 10]} one",
            "candidate_answers": {text: {PLAUSIBILITY: score} for text, score in zip(texts, scores, strict=True)},
            "question_type": {"major": "HUM:HUMAN", "minor": "ind:Individual"},
            "question_difficulty": ("Easy", "Medium", "Hard")[i % 3],
            "answer_difficulty": ("Hard", "Easy")[i % 2],
        }


def socialiqa_rows(n: int) -> Iterator[Row]:
    """`charmap` in both forms that releases have."""
    for i, dimension in enumerate(islice(mixed(DIMENSIONS), n)):
        right, sources = i % 3, ["qsa", "hca", "hia"]
        yield {
            "context": prose(i, 2),
            "question": f"What will Robin want to do in case {i}?",
            **dict(zip(SOCIALIQA_ANSWERS, answers(i, 3), strict=True)),
            "label_ix": right,
            "promptDim": dimension,
            "charmap": {"Robin": "X"} if i % 2 else '{"X": "Robin"}',
            "answerSourcesOrigins": sources,
            "answerSourcesWithCor": [*sources[:right], "cor", *sources[right + 1 :]],
            "promptQuestionFocusChar": dimension[0],
        }

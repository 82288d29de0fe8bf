"""Items that a small judge may know: sums, dates, weekdays, capitals, opposites, kinds, and pocket's short passages.

    python docs/evidence/knowing-judge/items.py data/knowing-judge/all                    # → train.jsonl, test.jsonl
    python docs/evidence/knowing-judge/items.py data/knowing-judge/known capitals kinds   # of these families alone

Items come in twos: the right answer to the one question is the wrong answer to the other, and the two are as long to
within a letter, so that neither an answer nor its length gives anything away. No question is in both files. The same
call writes the same bytes.
"""

import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

from evenhand.config import read_yaml
from evenhand.terminal import run_main
from studies.dialdefer.pocket import pocket_items

N_PAIRS = {"train": 12, "test": 12}  # of a family
SEED = 20261126
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Fact = tuple[str, str]  # question, right answer


def main(argv: Sequence[str]) -> None:
    """Write both files into the folder argv[0], of the families argv[1:] or of all."""
    folder, names = Path(argv[0]), argv[1:]
    folder.mkdir(parents=True, exist_ok=True)
    for split in N_PAIRS:
        lines = [json.dumps(item) + "\n" for item in items(split) if not names or item["family"] in names]
        (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{folder}/{split}.jsonl: {len(lines)} items")


def items(split: str) -> Iterator[dict[str, str]]:
    """The items of a split, round by round one of each family, so that the first n hold the families evenly."""
    families = {name: dealt(name, facts, split) for name, facts in facts_of(split).items()}
    for number in range(N_PAIRS[split]):
        for name, pairs in families.items():
            for first, second in (pairs[number], pairs[number][::-1]):
                yield {
                    "id": f"{name}-{split}-{number}-{'ab'[first > second]}",
                    "group": f"{name}-{split}-{number}",
                    "family": name,
                    "question": first[0],
                    "correct_answer": first[1],
                    "incorrect_answer": second[1],
                }


def facts_of(split: str) -> dict[str, list[Fact]]:
    """Everything that there is to ask; of pocket, whose splits are its own, what this split has."""
    texts = read_yaml(Path(__file__).with_name("items.yaml"))
    listed = {
        name: [(text["question"].format(subject), answer) for subject, answer in text["facts"].items()]
        for name, text in texts.items()
    }
    starts = [date(2025, month, day) for month in range(1, 13) for day in range(9, 22)]
    return listed | {
        "sums": [(f"What is {a} plus {b}?", str(a + b)) for a in range(12, 60, 3) for b in range(11, 40, 4)],
        "dates": [
            (f"Today is {day:%B} {day.day}. What is the date in {n} days?", f"{later:%B} {later.day}")
            for day in starts
            for n in (2, 3, 5)
            if (later := day + timedelta(n))
        ],
        "weekdays": [
            (f"Today is {day}. Which day of the week is it in {n} days?", DAYS[(i + n) % 7])
            for i, day in enumerate(DAYS)
            for n in range(2, 10)
        ],
        "pocket": [
            (item.question, item.correct_answer) for item in pocket_items(split) if item.meta["level"] == "single"
        ],
    }


def dealt(name: str, facts: Iterable[Fact], split: str) -> list[tuple[Fact, Fact]]:
    """The pairs of a family that are a split's. Each fact is in one pair at most."""
    rng = random.Random(f"{SEED} {name}")
    drawn = sorted(facts, key=lambda _: rng.random())
    waiting = sorted(drawn, key=lambda fact: (likeness(fact), len(fact[1])))
    pairs = []
    while waiting:
        fact = waiting.pop(0)
        partner = next((rest for rest in waiting if fits(fact, rest)), None)
        if partner is not None:
            waiting.remove(partner)
            pairs.append((fact, partner))
    pairs.sort(key=lambda _: rng.random())
    first = 0 if name == "pocket" or split == "train" else N_PAIRS["train"]
    chosen = pairs[first : first + N_PAIRS[split]]
    assert len(chosen) == N_PAIRS[split], f"{name}: {len(pairs)} pairs"
    return chosen


def likeness(fact: Fact) -> str:
    """All but the last word of an answer: a month, an article."""
    return fact[1].rpartition(" ")[0]


def fits(fact: Fact, partner: Fact) -> bool:
    """Whether the right answer to one question is a wrong answer to the other, in the same words but one, as long."""
    is_as_long = abs(len(fact[1]) - len(partner[1])) <= 1
    return likeness(fact) == likeness(partner) and fact[1] != partner[1] and is_as_long


if __name__ == "__main__":
    sys.exit(run_main(main))

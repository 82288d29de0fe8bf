"""The ten families of pocket: what binds an answer to a key, and how the passage and the question say it.

A passage of level "single" tells that key goes with answer, and names nothing else that could be the answer; slots:
answer, key, an_key (with article). One of level "pair" tells that key1 goes with answer1 and key2 with answer2, always
in this order, and asks for the answer that goes with one of them; slots: answer1, answer2, key1, key2, an_key1,
an_key2, key (the one asked for). Slots of both, for bystanders: person, place, game.
"""

from typing import NamedTuple

from studies.dialdefer.pocket_words import (
    ACTIONS,
    ANIMALS,
    COLOURS,
    DAYS,
    FOODS,
    HOMES,
    NAMES,
    OBJECTS,
    SHOPS,
    SPOTS,
    Words,
)


class Wording(NamedTuple):
    """One way to put a family's fact and its question."""

    passage: str
    question: str


class Family(NamedTuple):
    """One kind of fact. Keys are drawn from a word field, or are one of a few fixed pairs such as left and right."""

    name: str
    answers: Words
    keys: Words | tuple[tuple[str, str], ...]
    single: tuple[Wording, ...]
    pair: tuple[Wording, ...]
    answer_form: str = "{}"

    def wordings(self, level: str) -> tuple[Wording, ...]:
        """The wordings of "single" or "pair"."""
        return {"single": self.single, "pair": self.pair}[level]


OWNER = Family(
    "owner",
    NAMES,
    OBJECTS,
    single=(
        Wording("{answer} has {an_key}. We all met at the {place} today.", "Who has the {key}?"),
        Wording("The {key} belongs to {answer}. It was left at the {place}.", "Who does the {key} belong to?"),
        Wording("{answer} brought {an_key} to the {place} this morning.", "Who brought the {key}?"),
    ),
    pair=(
        Wording(
            "Two friends met at the {place} today. {answer1} has {an_key1} and {answer2} has {an_key2}.",
            "Who has the {key}?",
        ),
        Wording(
            "The {key1} belongs to {answer1} and the {key2} belongs to {answer2}. Both were left at the {place}.",
            "Who does the {key} belong to?",
        ),
        Wording(
            "{answer1} brought {an_key1} to the {place}. A little later, {answer2} came and brought {an_key2}.",
            "Who brought the {key}?",
        ),
    ),
)

COLOUR = Family(
    "colour",
    COLOURS,
    OBJECTS,
    single=(
        Wording("{person} bought something near the {place}. The {key} is {answer}.", "What colour is the {key}?"),
        Wording("{person} found a {answer} {key} at the {place} this morning.", "What colour is the {key}?"),
        Wording("In the picture that {person} painted, the {key} is {answer}.", "What is the colour of the {key}?"),
    ),
    pair=(
        Wording(
            "{person} bought two things near the {place}. The {key1} is {answer1} and the {key2} is {answer2}.",
            "What colour is the {key}?",
        ),
        Wording(
            "{person} found a {answer1} {key1} and a {answer2} {key2} at the {place} early this morning.",
            "What colour is the {key}?",
        ),
        Wording(
            "In the picture that {person} painted, the {key1} is {answer1}, but the {key2} is {answer2}.",
            "What is the colour of the {key}?",
        ),
    ),
)

SPOT = Family(
    "spot",
    SPOTS,
    OBJECTS,
    single=(
        Wording("Before dinner, {person} put the {key} {answer}.", "Where did {person} put the {key}?"),
        Wording("The house is tidy again. The {key} is {answer}.", "Where is the {key}?"),
        Wording("{person} was looking for something. The {key} was {answer}.", "Where was the {key}?"),
    ),
    pair=(
        Wording(
            "Before dinner, {person} put the {key1} {answer1} and the {key2} {answer2}.",
            "Where did {person} put the {key}?",
        ),
        Wording(
            "The house is tidy again. The {key1} is {answer1} and the {key2} is {answer2}.",
            "Where is the {key}?",
        ),
        Wording(
            "{person} was looking for two things. The {key1} was {answer1}, and the {key2} was {answer2}.",
            "Where was the {key}?",
        ),
    ),
)

SIDE = Family(
    "side",
    OBJECTS,
    (("on the left", "on the right"), ("at the top", "at the bottom"), ("in front", "at the back")),
    single=(
        Wording("{person} took a photo. In it, {answer} is {key}.", "Which thing is {key}?"),
        Wording("In the shop window, you can see {answer} {key}.", "What can you see {key}?"),
    ),
    pair=(
        Wording(
            "{person} took a photo of two things. In it, {answer1} is {key1} and {answer2} is {key2}.",
            "Which thing is {key}?",
        ),
        Wording(
            "In the shop window near the {place}, you can see {answer1} {key1} and {answer2} {key2}.",
            "What can you see {key}?",
        ),
    ),
    answer_form="the {}",
)

ORDER = Family(
    "order",
    ACTIONS,
    (("in the morning", "in the evening"), ("before lunch", "after lunch"), ("first", "last")),
    single=(
        Wording("{person} had a busy day yesterday. {person} {answer} {key}.", "What did {person} do {key}?"),
        Wording("On a day off, {person} {answer} {key}.", "What did {person} do {key}?"),
    ),
    pair=(
        Wording(
            "{person} had a very busy day yesterday. {person} {answer1} {key1} and {answer2} {key2}.",
            "What did {person} do {key}?",
        ),
        Wording(
            "It was a day off for {person}, who {answer1} {key1} and {answer2} {key2}.",
            "What did {person} do {key}?",
        ),
    ),
)

GIFT = Family(
    "gift",
    NAMES,
    OBJECTS,
    single=(
        Wording("At the party, the {key} was given to {answer}.", "Who was the {key} given to?"),
        Wording("We came back from the {place} with {an_key} for {answer}.", "Who was the {key} for?"),
        Wording("We sold {answer} {an_key} at the {place}.", "Who did we sell the {key} to?"),
    ),
    pair=(
        Wording(
            "At the party, {person} gave the {key1} to {answer1} and the {key2} to {answer2}.",
            "Who got the {key} from {person}?",
        ),
        Wording(
            "{person} came back from the {place} with presents: {an_key1} for {answer1} and {an_key2} for {answer2}.",
            "Who was the {key} for?",
        ),
        Wording(
            "{person} sold {answer1} {an_key1} at the {place}. {person} also sold {answer2} {an_key2}.",
            "Who did {person} sell the {key} to?",
        ),
    ),
)

OPENING = Family(
    "opening",
    DAYS,
    SHOPS,
    single=(
        Wording("In this small town, the {key} is only open {answer}.", "When is the {key} open?"),
        Wording("{person} read a sign. The {key} is closed {answer}.", "When is the {key} closed?"),
        Wording("{person} goes to the {key} {answer}.", "When does {person} go to the {key}?"),
    ),
    pair=(
        Wording(
            "In this small town, the {key1} is only open {answer1}, and the {key2} is only open {answer2}.",
            "When is the {key} open?",
        ),
        Wording(
            "{person} read two signs. The {key1} is closed {answer1}. The {key2} is closed {answer2}.",
            "When is the {key} closed?",
        ),
        Wording(
            "{person} goes to the {key1} {answer1} and to the {key2} {answer2}.",
            "When does {person} go to the {key}?",
        ),
    ),
    answer_form="on {}",
)

ANIMAL = Family(
    "animal",
    ANIMALS,
    HOMES,
    single=(
        Wording("{person} knows that {answer} lives in the {key}.", "Which animal lives in the {key}?"),
        Wording("At night it gets cold here, so {answer} sleeps in the {key}.", "Which animal sleeps in the {key}?"),
        Wording("{person} saw {answer} in the {key}.", "Which animal did {person} see in the {key}?"),
    ),
    pair=(
        Wording(
            "{person} knows all the animals here. In the {key1} lives {answer1}, and in the {key2} lives {answer2}.",
            "Which animal lives in the {key}?",
        ),
        Wording(
            "At night it gets cold here, so {answer1} sleeps in the {key1} and {answer2} sleeps in the {key2}.",
            "Which animal sleeps in the {key}?",
        ),
        Wording(
            "{person} saw {answer1} in the {key1}. Later, {person} saw {answer2} in the {key2}.",
            "Which animal was in the {key}?",
        ),
    ),
    answer_form="the {}",
)

GAME = Family(
    "game",
    NAMES,
    (("won", "lost"),),
    single=(
        Wording("{answer} {key} the {game} match at the {place} today.", "Who {key} the {game} match?"),
        Wording("After a long day, {answer} {key} the {game} final.", "Who {key} the {game} final?"),
    ),
    pair=(
        Wording(
            "There was a {game} match at the {place} today. In the end, {answer1} {key1} and {answer2} {key2}.",
            "Who {key} the {game} match?",
        ),
        Wording(
            "{person} watched the {game} final with some friends. In the end, {answer1} {key1} and {answer2} {key2}.",
            "Who {key} the {game} final?",
        ),
    ),
)

CAFE = Family(
    "cafe",
    FOODS,
    NAMES,
    single=(
        Wording("At the cafe near the {place}, {key} ordered {answer}.", "What did {key} order?"),
        Wording("During the break at the {place}, {key} had {answer}.", "What did {key} have during the break?"),
        Wording("The waiter brought {answer} for {key}, who said thank you.", "What did the waiter bring for {key}?"),
    ),
    pair=(
        Wording(
            "At the cafe near the {place}, {key1} ordered {answer1}. A little later, {key2} ordered {answer2}.",
            "What did {key} order?",
        ),
        Wording(
            "During the break at the {place}, {key1} had {answer1}, while {key2} had {answer2}.",
            "What did {key} have during the break?",
        ),
        Wording(
            "The waiter brought {answer1} for {key1} and {answer2} for {key2}. Both said thank you.",
            "What did the waiter bring for {key}?",
        ),
    ),
)

FAMILIES = (OWNER, COLOUR, SPOT, SIDE, ORDER, GIFT, OPENING, ANIMAL, GAME, CAFE)

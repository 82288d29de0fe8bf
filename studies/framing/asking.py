"""An item × a case × a framing × an order of the answers → a prompt, and a unit of all of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from jinja2 import meta

from evenhand.errors import DataError
from evenhand.records import AS_THE_RUN, Completion, Message, Prompt, SamplingOverride, digest, normalised
from evenhand.study import Replies
from studies.framing.replies import choice_in
from studies.framing.rows import Row
from studies.framing.templates import ENVIRONMENT, rendered
from studies.json_replies import without_thinking

BENCHMARK = "framing"
GIVEN, SWAPPED = "given", "swapped"
SHOWN = ("first", "second", "symbol", "choices")  # names that hang on the order of the answers
AFTER = ("said", "other")  # names that hang on the judge's own reply
OWN = (*SHOWN, *AFTER, "framing", "item")  # names of ours, which no case and no piece may have
PLACEBO = "placebo {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A framing: what is filled into `ask` as {{ framing }}, or what stands in the place of other texts."""

    name: str
    text: str | None  # None: `ask` shows no {{ framing }}
    ask: str
    answers: Mapping[str, str]  # name → its text
    system: str | None
    after: str | None  # the framing behind whose reply it goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingFactors:
    """What is varied in a prompt beside the framing, which is its condition."""

    group: str  # of the item
    case: str
    order: str  # GIVEN or SWAPPED
    symbols: tuple[str, ...]  # what a reply may name
    names: tuple[str, ...]  # the answer that each symbol stands for
    texts: tuple[str, ...]  # of these answers
    first: str  # the answer that is shown first
    label: str | None  # the right one
    behind: str  # a digest of the judge's own reply, where it goes on behind one: other replies make other prompts
    template_version: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A study's texts, as its section gives them."""

    cases: Mapping[str, Mapping[str, str]]
    labels: Mapping[str, str | None]  # case → an answer's name, or None: the column below says it
    label_column: str | None
    wordings: Sequence[Wording]
    pieces: Mapping[str, str]
    symbols: Sequence[str] | None  # None: an answer's text is what the judge writes
    orders: Sequence[str]
    verdict: str
    version: int

    @cached_property
    def late(self) -> set[str]:
        """The pieces that hang on the order of the answers."""
        return late_pieces(self.pieces, SHOWN)


@cache
def names_in(text: str) -> frozenset[str]:
    """The names that a template uses."""
    return frozenset(meta.find_undeclared_variables(ENVIRONMENT.parse(text)))


def late_pieces(pieces: Mapping[str, str], names: Sequence[str]) -> set[str]:
    """Those of the pieces that hang on some names, themselves or through other pieces."""
    late: set[str] = set()
    for name, text in pieces.items():
        if names_in(text) & {*names, *late}:
            late.add(name)
    return late


class Slots(NamedTuple):
    """What templates of one prompt are filled with, and what its symbols stand for."""

    values: Mapping[str, Any]
    texts: Mapping[str, str]  # answer → its text
    shown: Sequence[str]  # answers in the order shown
    names: tuple[str, ...]  # the answer of each symbol
    symbols: tuple[str, ...]


def slots(asked: Asked, row: Row, case: str, wording: Wording, order: str) -> Slots:
    """The values for one prompt: columns, the case's own, answers in this order, pieces."""

    def fill(texts: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
        more = dict(values)
        for name, text in texts.items():
            more[name] = rendered(text, more, f"{row.where}, {wording.name}, {name}")
        return more

    late = asked.late
    values = fill(asked.cases[case], {**row.values, "item": row.values})
    values = fill({name: text for name, text in asked.pieces.items() if name not in late}, values)
    where = f"{row.where}, {wording.name}, answers"
    texts = {name: rendered(text, values, where) for name, text in wording.answers.items()}
    if len({*texts.values()}) < len(texts):
        raise DataError(f"{where}: two of the answers read alike: {', '.join(texts.values())}")
    shown = [*texts][:: -1 if order == SWAPPED else 1]
    names = tuple(shown if asked.symbols else texts)
    symbols = tuple(asked.symbols or texts.values())
    symbol_of = dict(zip(names, symbols, strict=True))
    choices = [{"symbol": symbol_of[name], "text": texts[name]} for name in shown]
    values |= {"choices": choices, "symbol": symbol_of, "first": texts[shown[0]], "second": texts[shown[1]]}
    values = fill({name: text for name, text in asked.pieces.items() if name in late}, values)
    return Slots(values, texts, shown, names, symbols)


def prompt_of(asked: Asked, row: Row, case: str, wording: Wording, order: str) -> Prompt:
    """One prompt. Raises DataError, naming the item's place, for what its templates need and the item lacks."""
    known = slots(asked, row, case, wording, order)
    values, where = dict(known.values), f"{row.where}, {wording.name}"
    if wording.text is not None:
        values["framing"] = rendered(wording.text, values, where)
    contents = [("system", wording.system), ("user", wording.ask)]
    messages = [
        Message(role=role, content=rendered(text, values, f"{where}, {'ask' if role == 'user' else role}"))
        for role, text in contents
        if text is not None
    ]
    return with_messages(asked, row, case, wording, order, known, messages)


def with_messages(
    asked: Asked,
    row: Row,
    case: str,
    wording: Wording,
    order: str,
    known: Slots,
    messages: Sequence[Message],
    behind: str = "",
) -> Prompt:
    """Messages as a prompt of this study."""
    schema = AS_THE_RUN
    if asked.verdict == "reason":
        schema = SamplingOverride(json_schema=verdict_schema(known.symbols))
    return Prompt(
        item_id=row.item_id,
        benchmark=BENCHMARK,
        dataset=row.dataset,
        condition=wording.name,
        factors=FramingFactors(
            group=row.group,
            case=case,
            order=order,
            symbols=known.symbols,
            names=known.names,
            texts=tuple(known.texts[name] for name in known.names),
            first=known.shown[0],
            label=label_of(asked, row, case),
            behind=behind,
            template_version=asked.version,
        ),
        messages=tuple(messages),
        answer_space=known.symbols,
        drawing=schema,
    )


def verdict_schema(symbols: Sequence[str]) -> str:
    """The two keys of a reasoned verdict, for engines that hold replies to them."""
    answer = {"type": "string", "enum": list(symbols)}
    properties = {"chosen_answer": answer, "reasoning": {"type": "string"}}
    closed = {"required": ["chosen_answer", "reasoning"], "additionalProperties": False}
    return json.dumps({"type": "object", "properties": properties, **closed})


def label_of(asked: Asked, row: Row, case: str) -> str | None:
    """The right answer's name. Raises DataError for a value of the label's column that is none."""
    fixed, answers = asked.labels[case], asked.wordings[0].answers
    column = asked.label_column if fixed is None else None if fixed in answers else fixed
    if column is None:
        return fixed
    if column not in row.values:
        columns = f"empty, or no column of the file, which has {', '.join(row.values)}"
        raise DataError(
            f"{row.where}: no label in '{column}' ({columns}), and that is none of the answers {', '.join(answers)}. "
            "Give every item a label, or leave columns.label out"
        )
    label = str(row.values[column])
    if label not in answers:
        raise DataError(f"{row.where}: its {column} is '{label[:40]}'; the answers are {', '.join(answers)}")
    return label


@dataclass(frozen=True)
class FramedUnit:
    """An item in all its cases, framings and orders; framings that go on behind a reply are asked when it is there."""

    row: Row
    asked: Asked

    @property
    def unit_id(self) -> str:
        return self.row.item_id

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """See evenhand.study.Unit. What goes on behind a reply that names no answer is not asked."""
        first = self.first_round
        if any(prompt.prompt_hash not in replies for prompt in first.values()):
            return tuple(first.values())
        later = tuple(self.later(first, replies))
        return () if all(prompt.prompt_hash in replies for prompt in later) else later

    @property
    def first_round(self) -> dict[tuple[str, str, str], Prompt]:
        """(case, framing, order) → its prompt."""
        asked = self.asked
        return {
            (case, wording.name, order): prompt_of(asked, self.row, case, wording, order)
            for case in asked.cases
            for order in asked.orders
            for wording in asked.wordings
            if wording.after is None
        }

    def later(self, first: Mapping[tuple[str, str, str], Prompt], replies: Replies) -> Iterator[Prompt]:
        """The prompts that go on behind a reply."""
        asked = self.asked
        for case in asked.cases:
            for order in asked.orders:
                for wording in asked.wordings:
                    if wording.after is not None:
                        before = first[case, wording.after, order]
                        yield from self.behind(before, replies[before.prompt_hash][0], case, wording, order)

    def behind(self, before: Prompt, reply: Completion, case: str, wording: Wording, order: str) -> Iterator[Prompt]:
        """The prompt that goes on behind a reply; none where the reply names no answer."""
        place = choice_in(reply, before.answer_space, self.asked.verdict, before.factors.texts).place
        if place is None:
            return
        known = slots(self.asked, self.row, case, wording, order)
        name = before.factors.names[place]
        others = [text for other, text in known.texts.items() if other != name]
        values = {**known.values, "said": known.texts[name]} | ({"other": others[0]} if len(others) == 1 else {})
        spoken = (
            before.answer_space[place] if reply.answer_logprobs is not None else without_thinking(reply.text).strip()
        )
        ask = rendered(wording.ask, values, f"{self.row.where}, {wording.name}, ask")
        turns = (Message(role="assistant", content=spoken), Message(role="user", content=ask))
        messages = (*before.messages, *turns)
        yield with_messages(self.asked, self.row, case, wording, order, known, messages, behind=digest(spoken, 8))


def read_as(row: Row, asked: Asked, baseline: str) -> str:
    """What a judge reads of an item in the baseline, in all its cases, but for case and white space."""
    prompts = FramedUnit(row, asked).first_round
    return normalised("\n".join(p.messages[-1].content for (_, name, _), p in prompts.items() if name == baseline))

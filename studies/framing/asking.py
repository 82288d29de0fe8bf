"""An item × a case × a framing × an order of the answers → a prompt, and the unit that holds all prompts of an item."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from jinja2 import meta

from eval.reading.objects import as_turn
from evenhand.errors import DataError
from evenhand.records import Completion, Message, Prompt, SamplingOverride, answer_schema, digest, normalised
from evenhand.study import Replies
from evenhand.templates import ENVIRONMENT, rendered
from studies.framing.replies import choice_in
from studies.framing.rows import Row

BENCHMARK = "framing"
GIVEN, SWAPPED = "given", "swapped"
ORDER_NAMES = ("first", "second", "symbol", "choices")  # names in templates that depend on the order of the answers
REPLY_NAMES = ("said", "other")  # names in templates that depend on the judge's own reply
RESERVED_NAMES = (*ORDER_NAMES, *REPLY_NAMES, "framing", "item")  # no case and no snippet may have them
PLACEBO = "placebo {}"
# Verdict → the keys of a reply that is held to JSON: as DialDefer has them, and with the reason first
WRITTEN = {"reason": ("chosen_answer", "reasoning"), "answer": ("reasoning", "answer")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """A framing or a placebo with all of its texts, also those that it takes from the study."""

    name: str
    text: str | None  # what {{ framing }} in `ask` is; None: `ask` does not show it
    ask: str
    answers: Mapping[str, str]  # name → its text
    system: str | None
    follow_up_to: str | None  # the framing whose reply it follows up on


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
    behind: str  # of a follow-up, a digest of the reply before it: other replies make other prompts
    template_version: int


@dataclass(frozen=True, kw_only=True)
class StudyTexts:
    """The texts of a study, from which prompts are made."""

    cases: Mapping[str, Mapping[str, str]]
    labels: Mapping[str, str | None]  # case → the right answer's name; None: label_column says it
    label_column: str | None
    framings: Sequence[Framing]  # then the placebos
    snippets: Mapping[str, str]  # the key `set`
    symbols: Sequence[str] | None  # None: the judge writes an answer's text
    orders: Sequence[str]
    verdict: str
    version: int
    quotable: Mapping[str, str]  # framing → its texts that a reply may quote
    pattern: re.Pattern[str] | None  # of the answer in a reply
    statement_first: bool = False  # whether framings follow up on the baseline because a patch has them do so

    @cached_property
    def ordered_snippets(self) -> set[str]:
        """The snippets that depend on the order of the answers."""
        return snippets_with(self.snippets, ORDER_NAMES)


@cache
def names_in(text: str) -> frozenset[str]:
    """The names that a template uses."""
    return frozenset(meta.find_undeclared_variables(ENVIRONMENT.parse(text)))


def snippets_with(snippets: Mapping[str, str], names: Sequence[str]) -> set[str]:
    """The snippets that use some names, themselves or through an earlier snippet."""
    users: set[str] = set()
    for name, text in snippets.items():
        if names_in(text) & {*names, *users}:
            users.add(name)
    return users


class Setting(NamedTuple):
    """In which case, framing and order of the answers an item is asked about."""

    case: str
    framing: Framing
    order: str


class Slots(NamedTuple):
    """What the templates of one prompt are filled with, and what its symbols stand for."""

    values: Mapping[str, Any]
    texts: Mapping[str, str]  # answer → its text
    ordered: Sequence[str]  # answers in the order in which they are shown
    names: tuple[str, ...]  # the answer that each symbol stands for
    symbols: tuple[str, ...]


@dataclass(frozen=True)
class FramedUnit:
    """An item in all its cases, framings and orders. Follow-ups are asked once the reply before them is there."""

    row: Row
    study: StudyTexts

    @property
    def unit_id(self) -> str:
        return self.row.item_id

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """See evenhand.study.Unit. Nothing follows up on a reply that names no answer."""
        first = self.first_round
        if any(prompt.prompt_hash not in replies for prompt in first.values()):
            return tuple(first.values())
        later = tuple(self.follow_ups(first, replies))
        return () if all(prompt.prompt_hash in replies for prompt in later) else later

    def settings(self, *, follow_up: bool) -> Iterator[Setting]:
        """Those of the follow-ups, or all others."""
        for case in self.study.cases:
            for order in self.study.orders:
                for framing in self.study.framings:
                    if (framing.follow_up_to is not None) == follow_up:
                        yield Setting(case, framing, order)

    @property
    def first_round(self) -> dict[tuple[str, str, str], Prompt]:
        """(case, framing, order) → its prompt."""
        settings = self.settings(follow_up=False)
        return {(setting.case, setting.framing.name, setting.order): self.prompt(setting) for setting in settings}

    def prompt(self, setting: Setting) -> Prompt:
        """A prompt of the first round. Raises DataError naming the item where it lacks what a template needs."""
        framing, slots, messages = setting.framing, self.slots(setting), list[Message]()
        turn, values = self.user_turn(framing, slots.values)
        if framing.system is not None:
            where = f"{self.row.where}, {framing.name}, system"
            messages.append(Message(role="system", content=rendered(framing.system, values, where)))
        return self.as_prompt(setting, slots, [*messages, turn])

    def user_turn(self, framing: Framing, values: Mapping[str, Any]) -> tuple[Message, Mapping[str, Any]]:
        """What the user says in a framing, and the values with the framing's own text among them."""
        where = f"{self.row.where}, {framing.name}"
        if framing.text is not None:
            values = {**values, "framing": rendered(framing.text, values, where)}
        return Message(role="user", content=rendered(framing.ask, values, f"{where}, ask")), values

    def follow_ups(self, first: Mapping[tuple[str, str, str], Prompt], replies: Replies) -> Iterator[Prompt]:
        """The prompts that follow up on the replies of the first round, where these name one answer.

        What a patch puts behind the statement is asked whatever that reply is, else items would leave one framing.
        """
        for setting in self.settings(follow_up=True):
            before = first[setting.case, str(setting.framing.follow_up_to), setting.order]
            reply = replies[before.prompt_hash][0]
            quotable = self.study.quotable[before.condition]
            place = choice_in(reply, before.answer_space, before.factors.texts, quotable, self.study.pattern).place
            of_reply = names_in(setting.framing.ask) & {*REPLY_NAMES}
            if place is not None or (self.study.statement_first and not of_reply):
                yield self.follow_up(setting, before, reply, place)

    def follow_up(self, setting: Setting, before: Prompt, reply: Completion, place: int | None) -> Prompt:
        """The prompt that goes on with a prompt and the reply to it. place: of the symbol that the reply names."""
        slots = self.slots(setting)
        values = dict(slots.values)
        if place is not None:
            answer = before.factors.names[place]
            values["said"] = slots.texts[answer]
            rest = [text for name, text in slots.texts.items() if name != answer]
            if len(rest) == 1:
                values["other"] = rest[0]
        turn = as_turn(reply)
        user, _ = self.user_turn(setting.framing, values)
        messages = (*before.messages, Message(role="assistant", content=turn), user)
        return self.as_prompt(setting, slots, messages, behind=digest(turn, 8))

    def slots(self, setting: Setting) -> Slots:
        """The item's columns, the case's texts, the snippets, and the answers in the setting's order."""
        study, framing, where = self.study, setting.framing, f"{self.row.where}, {setting.framing.name}"

        def fill(texts: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
            filled = dict(values)
            for name, text in texts.items():
                filled[name] = rendered(text, filled, f"{where}, {name}")
            return filled

        ordered_snippets = study.ordered_snippets
        values = fill(study.cases[setting.case], {**self.row.values, "item": self.row.values})
        values = fill({name: text for name, text in study.snippets.items() if name not in ordered_snippets}, values)
        texts = {name: rendered(text, values, f"{where}, answers") for name, text in framing.answers.items()}
        if len({*texts.values()}) < len(texts):
            raise DataError(f"{where}, answers: two of the answers read alike: {', '.join(texts.values())}")
        ordered = [*texts][:: -1 if setting.order == SWAPPED else 1]
        names = tuple(ordered if study.symbols else texts)
        symbols = tuple(study.symbols or texts.values())
        symbol_of = dict(zip(names, symbols, strict=True))
        choices = [{"symbol": symbol_of[name], "text": texts[name]} for name in ordered]
        values |= {"choices": choices, "symbol": symbol_of, "first": texts[ordered[0]], "second": texts[ordered[1]]}
        values = fill({name: text for name, text in study.snippets.items() if name in ordered_snippets}, values)
        return Slots(values, texts, ordered, names, symbols)

    def as_prompt(self, setting: Setting, slots: Slots, messages: Sequence[Message], behind: str = "") -> Prompt:
        """Messages as a prompt of this study."""
        keys = WRITTEN.get(self.study.verdict)
        return Prompt(
            item_id=self.row.item_id,
            benchmark=BENCHMARK,
            dataset=self.row.dataset,
            condition=setting.framing.name,
            factors=FramingFactors(
                group=self.row.group,
                case=setting.case,
                order=setting.order,
                symbols=slots.symbols,
                names=slots.names,
                texts=tuple(slots.texts[name] for name in slots.names),
                first=slots.ordered[0],
                label=self.label(setting.case),
                behind=behind,
                template_version=self.study.version,
            ),
            messages=tuple(messages),
            answer_space=slots.symbols,
            drawing=SamplingOverride(json_schema=keys and answer_schema(slots.symbols, keys)),
            cluster=self.row.cluster,
        )

    def label(self, case: str) -> str | None:
        """The right answer's name. Raises DataError for a value of the label's column that is not an answer."""
        fixed, answers = self.study.labels[case], self.study.framings[0].answers
        column = self.study.label_column if fixed is None else None if fixed in answers else fixed
        if column is None:
            return fixed
        if column not in self.row.values:
            columns = f"empty, or no column of the file, which has {', '.join(self.row.values)}"
            raise DataError(
                f"{self.row.where}: no label in '{column}' ({columns}), and '{column}' is not one of the answers "
                f"{', '.join(answers)}. Give every item a label, or leave columns.label out"
            )
        label = str(self.row.values[column])
        if label not in answers:
            raise DataError(f"{self.row.where}: its {column} is '{label[:40]}'; the answers are {', '.join(answers)}")
        return label

    def baseline_text(self, baseline: str) -> str:
        """What a judge reads of the item in the baseline, in all its cases, without upper case and white space."""
        prompts = self.first_round.items()
        return normalised("\n".join(p.messages[-1].content for (_, name, _), p in prompts if name == baseline))

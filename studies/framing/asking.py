"""An item × a case × a framing × an order of the answers → a prompt, and the unit that holds all prompts of an item."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from eval.reading.objects import as_turn
from evenhand.errors import DataError
from evenhand.records import Completion, Message, Prompt, SamplingOverride, answer_schema, digest
from evenhand.sources.record_fields import shown
from evenhand.study import Replies
from evenhand.templates import names_in, rendered, same_value
from studies.framing import rows
from studies.framing.rows import LETTERS, Option, Row

BENCHMARK = "framing"
GIVEN, SWAPPED = "given", "swapped"
# Names in templates that depend on the order of the answers
ORDER_NAMES = ("first", "second", "symbol", "choices", "pushed")
REPLY_NAMES = ("said", "other")  # names in templates that depend on the judge's own reply
RESERVED_NAMES = (*ORDER_NAMES, *REPLY_NAMES, "framing", "item")  # no case and no snippet may have them
PLACEBO = "placebo "  # and a number, from 1
WRONG = "wrong"  # as what is pushed: some wrong answer
# Verdict → the keys of a reply that is held to JSON: as DialDefer has them, and with the reason first
WRITTEN = {"reason": ("chosen_answer", "reasoning"), "answer": ("reasoning", "answer")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """A framing or a placebo with all of its texts, also those that it takes from the study."""

    name: str
    text: str | None = None  # what {{ framing }} in `ask` is; None: `ask` does not show it
    ask: str
    answers: Mapping[str, str]  # name → its text
    system: str | None
    follow_up_to: str | None = None  # the framing whose reply it follows up on
    pushed: str | None = None  # see FramingText

    @property
    def texts(self) -> list[str]:
        """What the prompt is made of, without the answers."""
        return [text for text in (self.text, self.ask, self.system) if text]


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
    behind: str = ""  # of a follow-up, a digest of the reply before it: other replies make other prompts
    template_version: int
    pushed: str | None = None  # the answer that the framing argues for


@dataclass(frozen=True, kw_only=True)
class StudyTexts:
    """A study as its units ask about it."""

    section: Any  # the FramingSection, whose framings are made here
    framings: Sequence[Framing]  # then the placebos
    orders: Sequence[str]
    verdict: str
    statement_first: bool = False  # whether framings follow up on the baseline because a patch has them do so

    @cached_property
    def cases(self) -> dict[str, dict[str, str]]:
        """Each case's texts."""
        cases = self.section.cases or {"": {}}
        return {name: {k: text for k, text in case.items() if k != "label"} for name, case in cases.items()}


class Setting(NamedTuple):
    """In which case, framing and order of the answers an item is asked about."""

    case: str
    framing: Framing
    order: str


@dataclass(frozen=True)
class FramedUnit:
    """An item in all its cases, framings and orders. Follow-ups are asked once the reply before them is there."""

    row: Row
    study: StudyTexts

    @property
    def unit_id(self) -> str:
        return self.row.item_id

    @property
    def section(self) -> Any:
        """The study's section."""
        return self.study.section

    def next_prompts(self, replies: Replies) -> Sequence[Prompt]:
        """See evenhand.study.Unit. Nothing follows up on a reply that names no answer."""
        first = self.first_round
        if any(prompt.prompt_hash not in replies for prompt in first.values()):
            return tuple(first.values())
        later = tuple(self.follow_ups(first, replies))
        return () if all(prompt.prompt_hash in replies for prompt in later) else later

    def settings(self, *, follow_up: bool) -> Iterator[Setting]:
        """Those of the follow-ups, or all others."""
        for case, order, framing in product(self.study.cases, self.study.orders, self.study.framings):
            if (framing.follow_up_to is not None) == follow_up:
                yield Setting(case, framing, order)

    @cached_property
    def first_round(self) -> dict[tuple[str, str, str], Prompt]:
        """(case, framing, order) → its prompt."""
        settings = self.settings(follow_up=False)
        return {(setting.case, setting.framing.name, setting.order): self.prompt(setting) for setting in settings}

    def prompt(self, setting: Setting) -> Prompt:
        """A prompt of the first round. Raises DataError naming the item where it lacks what a template needs."""
        framing, messages, (filled, factors) = setting.framing, list[Message](), self.slots(setting)
        turn, values = self.user_turn(framing, filled)
        if framing.system is not None:
            where = f"{self.row.where}, {framing.name}, system"
            messages.append(Message(role="system", content=rendered(framing.system, values, where)))
        if self.section.messages:
            turns = rows.turns_of(self.row, self.values(framing), self.section.messages)
            messages += [Message(role=role, content=text) for role, text in turns]
            if turn.content and messages[-1].role == "user":
                turn = Message(role="user", content=f"{messages.pop().content}\n\n{turn.content}")
            if not turn.content and messages[-1].role != "user":
                raise DataError(f"{self.row.where}: '{self.section.messages}' does not end with the user; add an `ask`")
        return self.as_prompt(framing, factors, [*messages, turn] if turn.content else messages)

    def values(self, framing: Framing) -> Mapping[str, Any]:
        """The item's columns, where the file has a row for each framing those of that row."""
        if self.row.by_framing is None:
            return self.row.values
        wanted = framing.follow_up_to or framing.name
        name = next((name for name in self.row.by_framing if self.named(name, [wanted])), None)
        if name is None:
            listed = ", ".join(shown(name) for name in self.row.by_framing)
            problem = f"item '{self.row.item_id[:40]}' has no row in framing '{framing.name}', but in {listed}"
            raise DataError(f"{self.row.where}: {problem}")
        return self.row.by_framing[name]

    def named(self, text: str, names: Sequence[str]) -> str | None:
        """The name that a file means: as it is written or mapped, or the one that differs in case or spaces alone."""
        name = self.section.meanings.get(same_value(text), text)
        alike = [other for other in names if same_value(other) == same_value(name)]
        return name if name in names else alike[0] if len(alike) == 1 else None

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
            place = self.section.choice_in(reply, before.condition, before.answer_space, before.factors.texts).place
            of_reply = names_in(setting.framing.ask) & {*REPLY_NAMES}
            if place is not None or (self.study.statement_first and not of_reply):
                yield self.follow_up(setting, before, reply, place)

    def follow_up(self, setting: Setting, before: Prompt, reply: Completion, place: int | None) -> Prompt:
        """The prompt that goes on with a prompt and the reply to it. place: of the symbol that the reply names."""
        values, factors = self.slots(setting)
        if place is not None:
            texts = dict(zip(factors.names, factors.texts, strict=True))
            values["said"] = texts.pop(before.factors.names[place])
            if len(texts) == 1:
                (values["other"],) = texts.values()
        turn = as_turn(reply)
        user, _ = self.user_turn(setting.framing, values)
        messages = (*before.messages, Message(role="assistant", content=turn), user)
        return self.as_prompt(setting.framing, replace(factors, behind=digest(turn, 8)), messages)

    def slots(self, setting: Setting) -> tuple[dict[str, Any], FramingFactors]:
        """What templates are filled with (the item's columns, the case's texts, the snippets, and the answers in the
        setting's order), and what is varied."""
        study, section, framing = self.study, self.section, setting.framing
        where = f"{self.row.where}, {framing.name}"

        def fill(texts: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
            filled = dict(values)
            for name, text in texts.items():
                filled[name] = rendered(text, filled, f"{where}, {name}")
            return filled

        values = fill(study.cases[setting.case], rows.item_values(self.values(framing)))
        values = fill({k: text for k, text in section.set.items() if k not in section.ordered_snippets}, values)
        if section.choices:
            texts = dict(zip(LETTERS, self.options, strict=False))
        else:
            texts = {name: rendered(text, values, f"{where}, answers") for name, text in framing.answers.items()}
        if len({*texts.values()}) < len(texts):
            listed = ", ".join(text[:80] for text in texts.values())
            raise DataError(f"{where}, answers: two of the answers read alike: {listed}")
        ordered = [*texts][:: -1 if setting.order == SWAPPED else 1]
        if section.tie is not None:
            ordered = [*(name for name in ordered if name != section.tie), section.tie]
        has_symbols = section.symbols or section.choices
        names = tuple(ordered if has_symbols else texts)
        symbols = tuple(section.symbols or (LETTERS if section.choices else texts.values()))[: len(names)]
        if len(symbols) < len(names):
            raise DataError(f"{where}: it has {len(names)} options, and there are {len(symbols)} symbols")
        symbol_of = dict(zip(names, symbols, strict=True))
        choices = [{"symbol": symbol_of[name], "text": texts[name]} for name in ordered]
        values |= {"choices": choices, "symbol": symbol_of, "first": texts[ordered[0]], "second": texts[ordered[1]]}
        if pushed := self.pushed(setting):
            values["pushed"] = {"symbol": symbol_of[pushed], "text": texts[pushed]}
        values = fill(section.ordered_snippets, values)
        return values, FramingFactors(
            group=self.row.group,
            case=setting.case,
            order=setting.order,
            symbols=symbols,
            names=names,
            texts=tuple(texts[name] for name in names),
            first=ordered[0],
            label=self.label(setting.case),
            template_version=section.template_version,
            pushed=pushed,
        )

    def as_prompt(self, framing: Framing, factors: FramingFactors, messages: Sequence[Message]) -> Prompt:
        """Messages as a prompt of this study."""
        keys = WRITTEN.get(self.study.verdict)
        return Prompt(
            item_id=self.row.item_id,
            benchmark=BENCHMARK,
            dataset=self.row.dataset,
            condition=framing.name,
            factors=factors,
            messages=tuple(messages),
            answer_space=factors.symbols,
            drawing=SamplingOverride(json_schema=keys and answer_schema(factors.symbols, keys)),
            cluster=self.row.cluster,
        )

    @cached_property
    def listed(self) -> list[Option]:
        """The item's own options, of a study with choices, with those that are empty."""
        return rows.options_of(self.row, self.section.choices or ())

    @property
    def options(self) -> list[str]:
        """The texts of the item's own options."""
        return [option.text for option in self.listed if option.text is not None]

    @property
    def answers(self) -> Sequence[str]:
        """The names of the item's answers."""
        return [*LETTERS[: len(self.options)]] if self.section.choices else [*self.study.framings[0].answers]

    def answer_in(self, key: str) -> str:
        """The answer that a column or template names. Raises DataError where it names none."""
        if "{" not in key and key.split(".")[0] not in self.row.values:
            answers = ", ".join(self.answers)
            raise DataError(f"{self.row.where}: '{key}' is empty, or no column, and not among {answers}")
        text, choices = rows.name_in_item(self.row, key), self.section.choices
        if choices and same_value(text) not in self.section.meanings:
            reading = self.section.readings.get(rows.looks_like(text), "text")
            if (place := rows.place_of(text, reading, self.listed)) < 0:
                problem = f"{shown(text)} is read as {reading}, and is none of {len(self.options)} options"
                raise DataError(f"{self.row.where}: {key}: {problem}")
            return LETTERS[sum(option.text is not None for option in self.listed[:place])]
        if (name := self.named(text, self.answers)) is None:
            problem = f"its {key} is {text[:80]!r}; the answers are {', '.join(self.answers)}"
            way_out = f"say which one is meant: framing.values: {{{text[:80]!r}: NAME, ...}}"
            raise DataError(f"{self.row.where}: {problem}; {way_out}")
        return name

    def label(self, case: str) -> str | None:
        """The right answer's name. Raises DataError for a value of the label's column that is not an answer."""
        fixed: str | None = self.section.cases.get(case, {}).get("label")
        if fixed in self.answers:
            return fixed
        key = self.section.correct or (self.section.columns.label if fixed is None else fixed)
        return None if key is None else self.answer_in(key)

    def pushed(self, setting: Setting) -> str | None:
        """The answer that the framing argues for."""
        key = setting.framing.pushed
        if key is None or key in self.answers:
            return key
        if key != WRONG:
            return self.answer_in(key)
        label = self.label(setting.case)
        wrong = [name for name in self.answers if name not in (label, self.section.tie)]
        if label is None:
            raise DataError(f"{self.row.where}: no label, so no answer is known as wrong; name columns.label")
        return wrong[int(digest(["pushed", self.row.item_id], 8), 16) % len(wrong)]

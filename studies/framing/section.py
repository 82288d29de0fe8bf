"""What a study in YAML asks: the section `framing` of a config, which puts one claim into several framings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eval.reading.options import LONGEST_TEXT
from eval.reading.reader import valid_pattern
from evenhand.config import Closed, is_empty, is_none
from evenhand.data_files import kind_of
from evenhand.errors import ConfigError, DataError, EvenhandError
from evenhand.records import Completion, Prompt, normalised
from evenhand.study import LazyUnits, OneRound, Replies, StudySection, Units, check_no_repeats, reasons
from evenhand.templates import as_test, names_in, rendered, same_value, valid_template
from studies.framing import asking
from studies.framing.asking import FramedUnit, Framing, StudyTexts
from studies.framing.replies import Choice, choice_in
from studies.framing.rows import LETTERS, Columns, Row, are_families, load_rows, name_in_item, options_of, readings_of
from studies.item_files import ItemSource
from studies.units import Distinct, first_answers, first_of_each, set_hash, symbol_turn, table_name

MOST_ANSWERS = 101
# What helps where values may name one option or another
BY_LETTER = (
    """say it by a letter: correct: "{{ 'ABCD'[NAME | int - 1] }}" (of numbers from 1), "{% for text in LISTED %}"""
    """{% if text == NAME %}{{ 'ABCD'[loop.index0] }}{% endif %}{% endfor %}" (of texts), or values: {'1': A}"""
)


def as_name(value: Any) -> Any:
    """A name, also one that YAML has read as a number, true or false."""
    return str(value).lower() if isinstance(value, bool | int | float) else value


def named_texts(tree: Any) -> Any:
    """Texts by name. Keys that YAML has read as numbers, true and false are names."""
    return {as_name(key): text for key, text in tree.items()} if isinstance(tree, dict) else tree


Template = Annotated[str, AfterValidator(valid_template)]
Texts = Annotated[dict[str, Template], BeforeValidator(named_texts)]
Name = Annotated[str, BeforeValidator(as_name)]


class FramingText(Closed):
    """A framing as a config writes it: what it names replaces the study's own."""

    text: Template | None = None  # what {{ framing }} is
    ask: Template | None = None
    answers: Texts | None = None
    system: Template | None = None
    follow_up_to: str | None = None  # the framing whose reply it goes on with; `ask` then knows said and other
    # The answer that it argues for, in templates {{ pushed.text }} and {{ pushed.symbol }}: an answer's name, a column
    # or template that says it, or `wrong`: a wrong one, drawn by a hash of the item's id
    pushed: Name | None = None


def by_name(tree: Any) -> Any:
    """Framings that are a list of names alone, since rows hold their texts, as a mapping; without those that are null,
    which a word on the command line takes out.
    """
    if isinstance(tree, list):
        return {name: {} for name in tree}
    return {name: text for name, text in tree.items() if text is not None} if isinstance(tree, dict) else tree


TextOrMapping = Annotated[FramingText, BeforeValidator(lambda tree: {"text": tree} if isinstance(tree, str) else tree)]


class Pair(Closed):
    """Two responses to compare: columns of an item, which change places between the orders."""

    first: str
    second: str


class FramingSection(StudySection):
    """Items × cases × framings × orders of the answers."""

    key: ClassVar[str] = "framing"
    verdicts: ClassVar[tuple[str, ...]] = ("margin", "options", "answer", "reason")
    has_schemas: ClassVar[bool] = True

    # Where items come from: a file, a dataset's name, or a mapping of both's keys; or a list of these
    items: Annotated[
        tuple[ItemSource, ...], BeforeValidator(lambda tree: [tree] if isinstance(tree, str | dict) else tree)
    ] = Field(min_length=1)
    columns: Columns = Columns()
    # Which rows are kept: an expression over columns, such as: turn == 1 and label != "tie"
    where: Annotated[str, AfterValidator(lambda text: text if valid_template(as_test(text)) else "")] | None = Field(
        default=None, exclude_if=is_none
    )
    # counted: items that cannot be asked (no label, equal answers ...) are left out and counted; null: it is an error
    skip: Literal["counted"] | None = Field(default=None, exclude_if=is_none)
    # What a file says → the name of an answer or framing: {"A>B": first}. Case, spaces and 1 or 1.0 make no difference
    values: Annotated[dict[str, Name], BeforeValidator(named_texts)] = Field(default={}, exclude_if=is_empty)
    # Of an item, asked together and resampled together: name → {variable: its text}, and label: the right answer
    cases: Annotated[dict[str, Texts], BeforeValidator(named_texts)] = {}
    answers: Texts = {}  # name → its text
    pair: Pair | None = None  # instead of answers: two columns to compare
    # Instead of answers: each item's own options, a column that holds a list, or several columns. Answers are A, B ...
    choices: str | tuple[str, ...] | None = Field(default=None, exclude_if=is_none)
    correct: str | None = Field(default=None, exclude_if=is_none)  # of choices: label, letter, text or number; see docs
    scale: tuple[int, int] | None = None  # instead of answers: whole numbers from the lowest to the highest
    symbols: Distinct[str] | None = None  # what the judge writes for each answer; null: its text
    orders: Literal["both", "given"] = "both"  # both: also with the answers in reverse
    tie: Name | None = Field(default=None, exclude_if=is_none)  # an answer that stays last in both orders
    set: Texts = {}  # further texts for templates, by name
    system: Template | None = None
    # A column with a conversation, a list of {role, content}: what is asked, with `ask` behind it where there is one
    messages: str | None = Field(default=None, exclude_if=is_none)
    ask: Template = ""  # the user's turn, in which {{ framing }} stands
    baseline: str  # the framing that the others are compared with
    framings: Annotated[dict[str, TextOrMapping], BeforeValidator(by_name)] = Field(min_length=2)
    placebos: tuple[TextOrMapping, ...] = ()  # framings that should change nothing: the noise floor
    # On how many items of each dataset placebos are asked, the first ones; null: on all
    placebo_items: int | None = Field(default=None, ge=1, exclude_if=is_none)
    # How replies name the answer: a regular expression whose last match counts, or a name: [[A]], [RESULT] 4, final ...
    read: Annotated[str, AfterValidator(lambda read: read if valid_pattern(read) else "")] | None = Field(
        default=None, exclude_if=is_none
    )
    # With self_read: what asks for the symbol alone, behind the judge's reply; {{ choices }} as in `ask`. null: ours
    self_ask: Template | None = Field(default=None, exclude_if=is_none)
    template_version: int = 1  # raise it when a text changes that no prompt shows

    @model_validator(mode="after")
    def is_consistent(self) -> Self:
        for is_wrong, problem in self.mistakes():
            if is_wrong:
                raise ValueError(problem)
        return self

    def mistakes(self) -> Iterator[tuple[bool, str]]:
        """(whether it is wrong, what is wrong and what to do) of everything that must fit together."""
        kinds = [name for name in ("answers", "pair", "scale", "choices") if getattr(self, name)]
        yield len(kinds) != 1, f"needs one of answers, pair, scale and choices, not {' and '.join(kinds) or 'none'}"
        yield not (self.ask or self.messages), "ask: this key is required and absent, as there are no messages"
        yield bool(self.correct and not self.choices), "correct: is of choices; name columns.label in its place"
        is_unfit = bool(self.choices and (self.cases or self.columns.label))
        yield is_unfit, "choices: have `correct`, no cases and no label"
        names = self.answer_texts
        symbols = self.symbols or [*names]
        yield self.tie not in (None, *names), f"tie: '{self.tie}' is not among {', '.join(names)}"
        if self.choices is None:
            known = [*names, *self.texts]
            other = [name for name in self.values.values() if name not in known]
            yield bool(other), f"values: '{''.join(other[:1])}' is not among {', '.join(known)}"
        is_odd = not self.choices and len(symbols) != len(names)
        yield is_odd, f"symbols: there are {len(symbols)} for {len(names)} answers"
        is_of_item = self.pair or any("{" in text for text in names.values())
        needs_symbols = bool(is_of_item and not self.symbols)
        yield needs_symbols, 'symbols: answers whose texts are of the item need symbols, such as ["1", "2"]'
        yield self.baseline not in self.framings, f"baseline: '{self.baseline}' is not among {', '.join(self.framings)}"
        yield not 1 < len(names) <= MOST_ANSWERS, f"answers: a judge chooses among 2 to {MOST_ANSWERS}"
        written = (*self.cases.values(), self.set)
        reserved = [name for texts in written for name in texts if name in asking.RESERVED_NAMES]
        yield bool(reserved), f"cases and set: '{''.join(reserved[:1])}' has a meaning of its own; rename the text"
        taken = [name for name in self.framings if re.fullmatch(rf"{asking.PLACEBO}.*|\(.*\)", name)]
        yield bool(taken), f"framings: '{''.join(taken[:1])}' is a name of ours, as (all) and placebo 1 are; rename it"
        is_follow_up = self.framings[self.baseline].follow_up_to is not None
        yield is_follow_up, "baseline: it is a follow-up to another framing; name that one"
        for framing in self.all_framings:
            yield from self.follow_up_mistakes(framing) if framing.follow_up_to else self.framing_mistakes(framing)

    def follow_up_mistakes(self, framing: Framing) -> Iterator[tuple[bool, str]]:
        """The same of one framing that is a follow-up."""
        where, target = f"framings.{framing.name}", framing.follow_up_to
        targets = [name for name, text in self.framings.items() if text.follow_up_to is None]
        yield target not in targets, f"{where}: follow_up_to must name one of {', '.join(targets)}"
        text = self.texts[framing.name]
        has_more = bool(text.text or text.answers or text.system) or text.ask is None
        yield has_more, f"{where}: goes on in the chat of '{target}', so it has `ask` alone"

    def framing_mistakes(self, framing: Framing) -> Iterator[tuple[bool, str]]:
        """The same of one framing or placebo that is not a follow-up."""
        where, used, has_text = f"framings.{framing.name}", names_in(framing.ask), framing.text is not None
        names = self.answer_texts
        yield {*framing.answers} != {*names}, f"{where}: its answers must be {', '.join(names)}"
        yield (
            has_text and "framing" not in used and not self.columns.framing,
            f"{where}: ask shows no {{{{ framing }}}}, so its text changes nothing",
        )
        yield "framing" in used and not has_text, f"{where}: ask shows {{{{ framing }}}}, but it has no text"
        of_reply = bool(used & {*asking.REPLY_NAMES})
        yield of_reply, f"{where}: {' and '.join(asking.REPLY_NAMES)} exist behind a reply alone; set follow_up_to"
        is_meant = self.symbols or self.model_fields_set & {"orders", "symbols"} == {"orders"}  # a run's config has all
        is_idle = framing.ask and is_meant and self.orders == "both" and not (self.scale or self.shows_order(framing))
        showing = "{{ first }}, {{ second }}, {{ symbol.NAME }} or {{ choices }}"
        way_out = 'show them, with symbols such as ["1", "2"], or set orders: given'
        yield bool(is_idle), f"{where}: orders: both needs {showing} in its texts; {way_out}"

    def shows_order(self, framing: Framing) -> bool:
        """Whether a framing's prompt depends on the order of the answers."""
        names = {*asking.ORDER_NAMES, *self.ordered_snippets}
        return any(names_in(text) & names for text in framing.texts)

    @cached_property
    def ordered_snippets(self) -> dict[str, str]:
        """Those of `set` that depend on the order of the answers, themselves or through an earlier one."""
        ordered = dict[str, str]()
        for name, text in self.set.items():
            if names_in(text) & {*asking.ORDER_NAMES, *ordered}:
                ordered[name] = text
        return ordered

    @property
    def answer_texts(self) -> dict[str, str]:
        """Each answer's name with its text."""
        if self.scale and not self.answers:  # files of verdicts name the numbers
            return {str(n): str(n) for n in range(self.scale[0], self.scale[1] + 1)}
        if self.choices:
            return dict.fromkeys(LETTERS, "")
        columns = (self.pair.first, self.pair.second) if self.pair else ()
        return {column: f"{{{{ item[{column!r}] }}}}" for column in columns} or self.answers

    @property
    def order_names(self) -> tuple[str, ...]:
        """The orders in which answers are shown: one where no text shows them, or they are a scale."""
        has_both = self.orders == "both" and not self.scale and any(map(self.shows_order, self.all_framings))
        return (asking.GIVEN, asking.SWAPPED) if has_both else (asking.GIVEN,)

    @property
    def texts(self) -> dict[str, FramingText]:
        """Framings and placebos by name, as they are written."""
        return {**self.framings, **{f"{asking.PLACEBO}{i}": text for i, text in enumerate(self.placebos, start=1)}}

    @property
    def all_framings(self) -> list[Framing]:
        """Every framing, then every placebo, with what it takes from the study; answers in the study's order."""
        framings, names = list[Framing](), self.answer_texts
        for name, text in self.texts.items():
            answers = text.answers or names
            if answers.keys() == names.keys():
                answers = {answer: answers[answer] for answer in names}
            written = {key: value for key, value in text if value is not None}
            written |= {"name": name, "answers": answers}
            framings.append(Framing(**{"ask": self.ask, "system": self.system, **written}))
        return framings

    @property
    def base(self) -> Framing:
        """The baseline with all of its texts."""
        return next(framing for framing in self.all_framings if framing.name == self.baseline)

    def study_texts(self, verdict: str, *, has_placebos: bool = True) -> StudyTexts:
        """The texts, as units take them."""
        framings = self.all_framings if has_placebos else self.all_framings[: len(self.framings)]
        return StudyTexts(section=self, framings=framings, orders=self.order_names, verdict=verdict)

    def baseline_text(self, row: Row) -> str:
        """What a judge reads of an item in the baseline, in all its cases, without upper case and white space."""
        study = replace(self.study_texts("margin"), framings=[self.base])
        prompts = FramedUnit(row, study).first_round.values()
        return normalised("\n".join(message.content for prompt in prompts for message in prompt.messages))

    @cached_property
    def quotable(self) -> dict[str, str]:
        """Framing → its own texts, which a reply may quote: what the baseline has not, without the slots in it."""
        quotable = dict[str, str]()
        for framing in self.all_framings:
            texts = [text for text in framing.texts if text not in self.base.texts]
            texts += [self.set[name] for text in texts for name in names_in(text) if name in self.set]
            quotable[framing.name] = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", "\n".join(texts))
        return quotable

    def choice_in(self, reply: Completion, framing: str, symbols: Sequence[str], texts: Sequence[str]) -> Choice:
        """What a reply in a framing says. texts: the answers that the symbols stand for."""
        pattern = None if self.read is None else valid_pattern(self.read)
        return choice_in(reply, symbols, texts, self.quotable[framing], pattern)

    @cached_property
    def meanings(self) -> dict[str, str]:
        """What a file says, as same_value writes it → a name."""
        return {same_value(text): name for text, name in self.values.items()}

    @cached_property
    def readings(self) -> Mapping[str, str]:
        """How columns name an option, which all items of all sources tell together; see rows.readings_of."""
        answers = list[Any]()
        keys = [key for key in (self.correct, *sorted(self.pushed_columns)) if key and self.choices]
        for source in self.items if keys else ():
            whole = source.model_copy(update={"split": "all"}) if source.file else source
            for row in load_rows(whole, self.columns, []):
                for key in keys:
                    with suppress(EvenhandError):  # what cannot be read is told of item by item
                        if same_value(text := name_in_item(row, key)) not in self.meanings:
                            answers.append((text, options_of(row, self.choices or ()), f"{row.where}: {key}"))
        try:
            return readings_of(answers)
        except DataError as error:
            name = self.correct if self.correct and self.correct.isidentifier() else "COLUMN"
            listed = self.choices if isinstance(self.choices, str) else f"[{', '.join(self.choices or ())}]"
            raise DataError(f"{error}; {BY_LETTER.replace('NAME', name).replace('LISTED', listed)}") from None

    @cached_property
    def kept(self) -> tuple[list[Row], list[str]]:
        """The items, and why each of the others cannot be asked: a DataError, unless `skip` counts them."""
        rows, refused = list[Row](), list[str]()
        for source in self.items:
            rows += self.rows_of(source, refused)
        for row in rows:
            try:
                table_name(row.group), table_name(row.dataset)
            except DataError as error:
                raise DataError(f"{row.where}: its group or dataset {error}") from None
        check_no_repeats((row.item_id for row in rows), ", ".join(source.name for source in self.items))
        if self.columns.cluster or not are_families([row.group for row in rows]):
            return rows, refused
        return [row._replace(cluster=row.group) for row in rows], refused

    @property
    def rows(self) -> list[Row]:
        """The items that are asked. Raises DataError where one is damaged, or two have one id."""
        return self.kept[0]

    def rows_of(self, source: ItemSource, refused: list[str]) -> list[Row]:
        """The items of a source that can be asked; why others cannot is added to `refused`."""
        study, n_before, n_askable = self.study_texts("answer"), len(refused), 0
        checks = replace(study, framings=[self.base], orders=[asking.GIVEN])

        def askable() -> Iterator[Row]:
            nonlocal n_askable
            for row in load_rows(source, self.columns, refused, self.where):
                lacks = not self.names_of_columns <= row.values.keys()
                try:
                    _ = FramedUnit(row, study if lacks or row.by_framing else checks).first_round
                except DataError as error:
                    refused.append(str(error))
                    continue
                n_askable += 1
                yield row

        rows = list[Row]()
        try:
            rows = source.chosen(askable())
        except DataError:
            if len(refused) == n_before:
                raise
        if (why := refused[n_before:]) and not (rows and self.skip):
            way_out = "; mend them, or leave them out with framing.skip: counted"
            if not n_askable:
                is_table = kind_of(Path(source.file or "")) in (".csv", ".tsv") and not source.header
                way_out = "; if its first line is a row, items.header names the columns" if is_table else ""
                self.columns.check(source, self.correct, way_out)
            part = f"{len(why)} of {len(why) + n_askable}"
            raise DataError(f"{source.name}: {part} items cannot be asked{way_out}{reasons(why)}")
        return rows

    @property
    def pushed_columns(self) -> frozenset[str]:
        """The columns and templates that say what framings argue for."""
        pushed = (text.pushed for text in self.texts.values() if text.pushed)
        return frozenset(pushed) - {asking.WRONG, *self.answer_texts}

    @cached_property
    def names_of_columns(self) -> frozenset[str]:
        """The names that texts take from items: an item that has them all is not looked at framing by framing."""
        texts = [text for framing in self.all_framings for text in (*framing.texts, *framing.answers.values())]
        texts += self.set.values()
        texts += [text for case in self.cases.values() for name, text in case.items() if name != "label"]
        texts += [name if "{" in name else f"{{{{ {name} }}}}" for name in self.pushed_columns]
        ours = {*asking.RESERVED_NAMES, *self.set, *(name for case in self.cases.values() for name in case)}
        return frozenset(name for text in texts for name in names_in(text)) - ours

    def units(self, verdict: str) -> Units:
        """A unit an item; see StudySection."""
        return self.framed_units(self.study_texts(verdict))

    def statement_first(self, verdict: str) -> Units:
        """The baseline, and behind its reply every framing and placebo; see StudySection."""
        framings = list[Framing]()
        for framing in self.all_framings:
            where = f"patch.statement_first: {framing.name}"
            if framing.follow_up_to not in (None, self.baseline):
                raise ConfigError(f"{where} is a follow-up to '{framing.follow_up_to}'; leave one of the two out")
            if framing.follow_up_to is None and framing.system != self.base.system:
                raise ConfigError(f"{where} has another system prompt than '{self.baseline}', in whose chat it goes on")
            behind = None if framing.name == self.baseline else self.baseline
            framings.append(replace(framing, follow_up_to=behind))
        return self.framed_units(replace(self.study_texts(verdict), framings=framings, statement_first=True))

    def compared(self) -> tuple[int, int]:
        """See StudySection."""
        return len(self.framings) - 1, len(self.placebos)

    def framed_units(self, study: StudyTexts) -> Units:
        """A unit an item; placebos on the first items alone, where the section says so."""
        rows, bare = self.rows, replace(study, framings=study.framings[: len(self.framings)])
        with_placebos = first_of_each([(row.item_id, row.dataset) for row in rows], self.placebo_items)
        content = set_hash(row.content for row in rows)
        has_follow_ups = any(framing.follow_up_to for framing in study.framings)
        if has_follow_ups:  # their templates are tried before replies are paid for
            first = FramedUnit(rows[0], study)
            first.next_prompts(self.supposed_replies(first.next_prompts({})))

        def unit(row: Row) -> FramedUnit | OneRound:
            framed = FramedUnit(row, study if row.item_id in with_placebos else bare)
            return framed if has_follow_ups else OneRound(row.item_id, tuple(framed.first_round.values()))

        return Units(LazyUnits(rows, unit), content)

    def symbol_question(self, prompt: Prompt) -> str:
        """With the prompt's answers, where they are not too long to repeat, or as self_ask has it; see StudySection."""
        symbols, texts = prompt.answer_space, prompt.factors.texts
        if self.self_ask:
            choices = [{"symbol": symbol, "text": text} for symbol, text in zip(symbols, texts, strict=True)]
            return rendered(self.self_ask, {"choices": choices}, "framing.self_ask")
        if self.scale:
            return f"So which answer is it? Answer with a whole number from {symbols[0]} to {symbols[-1]} alone."
        is_plain = texts != symbols and max(map(len, texts)) < LONGEST_TEXT
        return symbol_turn(symbols, texts if is_plain else ())

    @property
    def left_out(self) -> Sequence[str]:
        """Those that `skip` counts; see StudySection."""
        return self.kept[1]

    def supposed_replies(self, prompts: Sequence[Prompt]) -> Replies:
        """Each prompt answered by its first symbol; see StudySection."""
        return first_answers(prompts)

    def on_own_items(self) -> Self:
        """The same section: its items are its user's; see StudySection."""
        return self

    def describe(self) -> str:
        """Items, framings and prompts; see StudySection."""
        n = len(self.cases or [""]) * len(self.order_names) * len(self.texts)
        few = f" on {self.placebo_items} items of each dataset" if self.placebo_items else ""
        asked = f"{len(self.framings)} framings and {len(self.placebos)} placebos{few}"
        counted = f" ({len(self.left_out)} cannot be asked and are left out)" if self.left_out else ""
        why = f"\n  left out:{reasons(self.left_out)}" if self.left_out else ""
        numbered = self.columns.id is None and all("id" not in row.values for row in self.rows)
        ids = "; their ids are the rows' numbers" if numbered else ""
        ways = " or ".join(dict.fromkeys(self.readings.values()))
        read = f"; {self.correct or 'pushed'} names an option by its {ways}" if ways else ""
        return f"{len(self.rows)} items{counted}, {asked}: {n} prompts an item{ids}{read}{why}"

    def check_verdict(self, verdict: str) -> None:
        """Also a margin of other symbols than 1 and 2; see StudySection."""
        super().check_verdict(verdict)
        if verdict == "margin" and self.symbols != ("1", "2"):
            raise ValueError('verdict margin reads "1" and "2"; write symbols: ["1", "2"], or verdict: options')

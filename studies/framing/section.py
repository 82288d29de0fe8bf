"""What a study in YAML asks: the section `framing` of a config, which puts one claim into several framings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from evenhand.config import Closed
from evenhand.item_files import ItemSource
from evenhand.records import Completion, Prompt
from evenhand.study import LazyUnits, OneRound, Replies, Shown, StudySection, Units, refuse_repeats, set_hash
from studies.framing.asking import (
    AFTER,
    GIVEN,
    OWN,
    PLACEBO,
    SHOWN,
    SWAPPED,
    Asked,
    FramedUnit,
    Wording,
    late_pieces,
    names_in,
)
from studies.framing.rows import Columns, Row, load_rows
from studies.framing.templates import refuse

MOST_ANSWERS = 101


def checked(text: str) -> str:
    """A template as it is. Raises ValueError where it is none, or could do more than fill values in."""
    refuse(text)
    return text


def named_texts(given: Any) -> Any:
    """Texts by name. Keys that YAML has read as true and false are names."""
    if not isinstance(given, dict):
        return given
    return {str(key).lower() if isinstance(key, bool) else key: text for key, text in given.items()}


Template = Annotated[str, AfterValidator(checked)]
Texts = Annotated[dict[str, Template], BeforeValidator(named_texts)]


class FramingText(Closed):
    """A framing that changes more than {{ framing }}: what it names stands in the place of the study's own."""

    text: Template | None = None  # what {{ framing }} is
    ask: Template | None = None
    answers: Texts | None = None
    system: Template | None = None
    after: str | None = None  # goes on behind the judge's reply in that framing; `ask` then knows said and other


def as_framing(given: Any) -> Any:
    """A framing that is a text alone, as a mapping."""
    return {"text": given} if isinstance(given, str) else given


Framing = Annotated[FramingText, BeforeValidator(as_framing)]


class Pair(Closed):
    """Two responses that are held against each other: columns of an item, which change places between the orders."""

    first: str
    second: str


class FramingSection(StudySection):
    """Items × cases × framings × orders of the answers."""

    key: ClassVar[str] = "framing"
    verdicts: ClassVar[tuple[str, ...]] = ("margin", "options", "answer", "reason")

    # Where items come from: a file, a dataset's name, or a mapping of both's keys; or a list of these
    items: tuple[ItemSource, ...] = Field(min_length=1)
    columns: Columns = Columns()
    # Of an item, asked together and resampled together: name → {variable: its text}, and label: the right answer
    cases: Annotated[dict[str, Texts], BeforeValidator(named_texts)] = {}
    answers: Texts = {}  # name → its text
    pair: Pair | None = None  # in the place of answers: two columns that are compared
    scale: tuple[int, int] | None = None  # in the place of answers: whole numbers from the lowest to the highest
    symbols: tuple[str, ...] | None = None  # what the judge writes for each answer; null: its text
    orders: Literal["both", "given"] = "both"  # both: also with the answers in reverse
    set: Texts = {}  # further texts for templates, by name
    system: Template | None = None
    ask: Template  # the user's turn, in which {{ framing }} stands
    baseline: str  # the framing that the others are held against
    framings: dict[str, Framing] = Field(min_length=2)
    placebos: tuple[Framing, ...] = ()  # framings that should change nothing: the noise floor
    template_version: int = 1  # raise it when a text changes that no prompt shows

    @model_validator(mode="before")
    @classmethod
    def lists_items(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("items"), str | dict):
            return {**given, "items": [given["items"]]}
        return given

    @model_validator(mode="after")
    def hangs_together(self) -> Self:
        for is_wrong, problem in self.mistakes():
            if is_wrong:
                raise ValueError(problem)
        return self

    def mistakes(self) -> Iterator[tuple[bool, str]]:
        """(whether it is so, what is wrong and what to do) of everything that does not go together."""
        given = [name for name in ("answers", "pair", "scale") if getattr(self, name)]
        yield len(given) != 1, f"needs one of answers, pair and scale; there is {' and '.join(given) or 'none'}"
        names = self.answer_texts
        named = len(self.symbols or names)
        yield named != len(names), f"symbols: there are {named} for {len(names)} answers; give each its own"
        yield len({*(self.symbols or names)}) < named, "symbols: one occurs twice; give each answer its own"
        is_fixed = self.symbols or not (self.pair or any("{" in text for text in self.answer_texts.values()))
        yield not is_fixed, 'symbols: answers whose texts are of the item need symbols, such as ["1", "2"]'
        yield self.baseline not in self.framings, f"baseline: '{self.baseline}' is none of {', '.join(self.framings)}"
        yield not 1 < len(names) <= MOST_ANSWERS, f"answers: a judge chooses among 2 to {MOST_ANSWERS}"
        named_ours = [name for texts in (*self.cases.values(), self.set) for name in texts if name in OWN]
        yield (
            bool(named_ours),
            f"cases and set: a text may not be called {''.join(named_ours[:1])}, which has a meaning",
        )
        taken = [name for name in self.framings if re.fullmatch(PLACEBO.format(".*"), name)]
        yield bool(taken), f"framings: '{''.join(taken[:1])}' is the name of a placebo; call it otherwise"
        known = [name for name, text in self.framings.items() if text.after is None]
        yield self.baseline not in known, "baseline: goes on behind another framing; name that one"
        for own, wording in zip(self.texts.values(), self.wordings, strict=True):
            where, used, after = f"framings.{wording.name}", names_in(wording.ask), wording.after
            yield {*wording.answers} != {*names}, f"{where}: its answers must be {', '.join(names)}"
            if after is not None:
                yield after not in known, f"{where}: after must name one of {', '.join(known)}"
                is_more = bool(own.text or own.answers or own.system) or own.ask is None
                yield is_more, f"{where}: goes on in the chat of '{after}', so it has `ask` alone"
                continue
            has_text, shows_it = wording.text is not None, "framing" in used
            yield has_text and not shows_it, f"{where}: ask shows no {{{{ framing }}}}, so that it changes nothing"
            yield shows_it and not has_text, f"{where}: ask shows {{{{ framing }}}}, and it has no text"
            yield bool(used & {*AFTER}), f"{where}: {' and '.join(AFTER)} are known behind a reply alone (after)"
            is_idle = self.symbols and self.orders == "both" and not (self.scale or self.shows_order(wording))
            shown = "{{ first }}, {{ second }}, {{ symbol.NAME }} or {{ choices }}"
            yield bool(is_idle), f"{where}: orders: both needs {shown} in its texts; show them, or set orders: given"

    def shows_order(self, wording: Wording) -> bool:
        """Whether a framing's prompt hangs on the order of the answers."""
        names = {*SHOWN, *late_pieces(self.set, SHOWN)}
        return any(names_in(text) & names for text in (wording.text, wording.ask, wording.system) if text)

    @property
    def answer_texts(self) -> dict[str, str]:
        """Each answer's name with its text."""
        if self.scale:
            return {str(n): str(n) for n in range(self.scale[0], self.scale[1] + 1)}
        columns = (self.pair.first, self.pair.second) if self.pair else ()
        return {column: f"{{{{ item[{column!r}] }}}}" for column in columns} or self.answers

    @property
    def order_names(self) -> tuple[str, ...]:
        """The orders in which answers are shown: one, where no text shows them or they are a scale."""
        is_shown = any(self.shows_order(wording) for wording in self.wordings)
        return (GIVEN, SWAPPED) if self.orders == "both" and is_shown and not self.scale else (GIVEN,)

    @property
    def wordings(self) -> list[Wording]:
        """Every framing, then every placebo, with what it takes from the study."""
        return [self.wording(name, text) for name, text in self.texts.items()]

    @property
    def texts(self) -> dict[str, FramingText]:
        """Framings and placebos by name, as they are written."""
        return {**self.framings, **{PLACEBO.format(i): text for i, text in enumerate(self.placebos, start=1)}}

    def wording(self, name: str, own: FramingText) -> Wording:
        """A framing with what it does not name itself; its answers in the study's order."""
        names, answers = self.answer_texts, own.answers or self.answer_texts
        if answers.keys() == names.keys():
            answers = {name: answers[name] for name in names}
        return Wording(
            name=name,
            text=own.text,
            ask=self.ask if own.ask is None else own.ask,
            answers=answers,
            system=self.system if own.system is None else own.system,
            after=own.after,
        )

    def asked(self, verdict: str) -> Asked:
        """The texts, as units take them."""
        cases = self.cases or {"": {}}
        return Asked(
            cases={name: {k: text for k, text in case.items() if k != "label"} for name, case in cases.items()},
            labels={name: case.get("label") for name, case in cases.items()},
            label_column=self.columns.label,
            wordings=self.wordings,
            pieces=self.set,
            symbols=self.symbols,
            orders=self.order_names,
            verdict=verdict,
            version=self.template_version,
        )

    @property
    def rows(self) -> list[Row]:
        """The items. Raises DataError where one is damaged, or two have one id."""
        rows = [row for source in self.items for row in load_rows(source, self.columns)]
        refuse_repeats((row.item_id for row in rows), ", ".join(source.name for source in self.items))
        return rows

    def units(self, verdict: str) -> Units:
        """A unit an item; see StudySection."""
        rows, asked = self.rows, self.asked(verdict)
        content = set_hash([row.item_id, row.group, row.dataset, row.values] for row in rows)
        is_one_round = all(wording.after is None for wording in asked.wordings)
        if not is_one_round:  # what goes on behind a reply is tried before replies are paid for
            first = FramedUnit(rows[0], asked)
            first.next_prompts(self.supposed_replies(first.next_prompts({})))

        def unit(row: Row) -> FramedUnit | OneRound:
            framed = FramedUnit(row, asked)
            return OneRound(row.item_id, tuple(framed.first_round.values())) if is_one_round else framed

        return Units(LazyUnits(rows, unit), content)

    @classmethod
    def shown(cls) -> Mapping[str, Shown]:
        """None: a study in YAML is shown by its config (`evenhand show CONFIG`)."""
        return {}

    def supposed_replies(self, prompts: Sequence[Prompt]) -> Replies:
        """Each prompt answered by its first symbol; see StudySection."""
        return {prompt.prompt_hash: [first_symbol(prompt)] for prompt in prompts}

    def on_own_items(self) -> Self:
        """The same section: its items are its user's; see StudySection."""
        return self

    def describe(self) -> str:
        """Items, framings and prompts; see StudySection."""
        rows = self.rows
        n = len(self.cases or [""]) * len(self.order_names) * len(self.wordings)
        return (
            f"{len(rows)} items, {len(self.framings)} framings and {len(self.placebos)} placebos: {n} prompts an item"
        )

    def refuse_verdict(self, verdict: str) -> None:
        """Also a margin of other symbols than 1 and 2; see StudySection."""
        super().refuse_verdict(verdict)
        if verdict == "margin" and self.symbols != ("1", "2"):
            raise ValueError(
                'verdict margin reads the symbols "1" and "2"; write symbols: ["1", "2"], or verdict: options'
            )


def first_symbol(prompt: Prompt) -> Completion:
    """A reply that is surest of a prompt's first symbol."""
    symbol, *others = prompt.answer_space
    logs = {symbol: 0.0, **dict.fromkeys(others, -1.0)}
    return Completion(
        prompt_hash=prompt.prompt_hash, sample_index=0, text=symbol, finish_reason="stop", answer_logprobs=logs
    )

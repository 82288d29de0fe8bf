"""The templates of users' YAML files: jinja2 in its sandbox, whose names lead to an item's values alone.

Values are filled in once: a template inside an item stays text.
"""

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, StrictUndefined, Template, TemplateSyntaxError, Undefined, meta
from jinja2.exceptions import TemplateError
from jinja2.runtime import LoopContext
from jinja2.sandbox import SandboxedEnvironment

from evenhand.errors import DataError

NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d{0,15}|\.\d{1,15})(e[+-]?\d{1,2})?")
NOTHING = ("", "0", "false")  # what counts as no, as same_value writes it


def same_value(value: object) -> str:
    """What all spellings of one value have in common: " Yes" and "yes", True and "true", 1, 1.0, "1.0" and "1"."""
    text = str(value).strip().casefold()
    return f"{float(text):.15g}" if NUMBER.fullmatch(text) else text


def by_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A comparison of cells: by number where both are numbers, also those that CSV has as texts."""

    def compared(cell: "Cell", other: Any) -> bool:
        values = [same_value(cell), same_value(other)]
        return compare(*map(float if all(map(NUMBER.fullmatch, values)) else str, values))

    return compared


def unpacked_cell(value: Any) -> Any:
    """The list or object that CSV has as a text, in JSON or as Python prints it; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


class Cell(str):
    """A number, truth value or text of a column, which prints as it stands and is the same in every file format.

    It equals a text that is spelt alike, and a number or truth value that it stands for.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        value = same_value(self)
        is_typed = value in ("true", "false") or NUMBER.fullmatch(value) is not None
        return str.__eq__(self, other) is True or (is_typed and value == same_value(other))

    __lt__, __le__, __gt__, __ge__ = map(by_number, (operator.lt, operator.le, operator.gt, operator.ge))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return same_value(self) not in NOTHING

    def __getitem__(self, key: Any) -> Any:
        """An element of the list or object that CSV has as a text; of any other text its characters."""
        text = str(self)
        return text[key] if isinstance(key, slice) else unpacked_cell(text)[key]


def cells(values: Mapping[str, Any]) -> dict[str, Any]:
    """An item's values as templates have them."""
    return {name: Cell(v) if isinstance(v, str | bool | int | float) else v for name, v in values.items()}


class Values(SandboxedEnvironment):
    """An environment whose names lead to the values of mappings and lists, and never to attributes."""

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, argument)
        if isinstance(argument, Cell) and isinstance(unpacked_cell(obj), list):  # an index that CSV has as a text
            argument = int(argument) if argument.isdecimal() else argument
        try:
            return obj[argument]
        except (TypeError, LookupError):
            hint = f"a text has no '{argument}' here; there are Jinja's filters, and split: {{{{ x | split(';') }}}}"
            return self.undefined(hint if isinstance(obj, str) else f"'{argument}' is undefined", obj, argument)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)


def is_conversation(value: Any) -> bool:
    """Whether a value is a list of turns with role and content."""
    return (
        isinstance(value, list)
        and all(isinstance(turn, dict) and {"role", "content"} <= {*turn} for turn in value)
        and value != []
    )


def printable(value: Any) -> Any:
    """What a template prints of a value, of a conversation its last turn. Raises TemplateError for any other list."""
    if is_conversation(value):
        value = value[-1]["content"]
    if value is None:
        raise TemplateError("a value that it prints is empty")
    if not isinstance(value, str | int | float | Undefined):  # {{ self }} is an object of jinja2's
        raise TemplateError("a value that it prints is a list, a mapping or no value: name one of its elements")
    return value


ENVIRONMENT = Values(undefined=StrictUndefined, keep_trailing_newline=True, finalize=printable)
ENVIRONMENT.filters["split"] = lambda text, by: [Cell(part.strip()) for part in text.split(by)]
ENVIRONMENT.globals.clear()  # `range` and the like: a name that an item lacks is an error
del ENVIRONMENT.filters["random"]  # a prompt is the same whenever it is made


def valid_template(text: str) -> str:
    """The template. Raises ValueError where it does not parse."""
    try:
        compiled(text)
    except TemplateSyntaxError as error:
        spaced = re.search(r"\{\{ *(\w+(?: +\w+)+) *[}|]", text)
        hint = f'; of a column whose name has a space write {{{{ item["{spaced[1]}"] }}}}' if spaced else ""
        raise ValueError(f"is not a template: {error.message} (line {error.lineno} of it){hint}") from None
    return text


@cache
def compiled(text: str, environment: Environment = ENVIRONMENT) -> Template:
    """A template from its text."""
    return environment.from_string(text)


@cache
def names_in(text: str) -> frozenset[str]:
    """The names that a template uses."""
    return frozenset(meta.find_undeclared_variables(ENVIRONMENT.parse(text)))


def rendered(text: str, values: Mapping[str, Any], where: str, environment: Environment = ENVIRONMENT) -> str:
    """A template with values filled in. Raises DataError that says where for a name without a value."""
    if "{" not in text and "\r" not in text:  # a plain text, as most answers are; Jinja would make "\n" of "\r\n"
        return text
    wrong = (TemplateError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError)
    try:
        return compiled(text, environment).render(values)
    except wrong as error:
        names = [name[:80] for name in sorted(values)]
        listed = ", ".join([*names[:12], *["..."] * (len(names) > 12)])
        says = str(error).replace("is undefined", "is empty here, or no column")
        raise DataError(f"{where}: {says}; names with a value here: {listed}") from None


def is_true(expression: str, values: Mapping[str, Any], where: str) -> bool:
    """Whether an expression ("turn == 1 and label != 'tie'"), or a template's text, stands for something."""
    return bool(Cell(rendered(as_test(expression), values, where)))


def as_test(expression: str) -> str:
    """An expression as a template."""
    return expression if not expression or re.search("{[{%]", expression) else f"{{{{ {expression} }}}}"

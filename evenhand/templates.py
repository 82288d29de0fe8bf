"""The templates of users' YAML files: jinja2 in its sandbox, whose names lead to an item's values alone.

Values are filled in once: a template inside an item stays text.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError
from jinja2.exceptions import TemplateError
from jinja2.runtime import LoopContext
from jinja2.sandbox import SandboxedEnvironment

from evenhand.errors import DataError


class Values(SandboxedEnvironment):
    """An environment whose names lead to the values of mappings and lists, and never to attributes."""

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, argument)
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)


def printable(value: Any) -> Any:
    """What a template prints of a value. Raises TemplateError for a value that is not a text or number."""
    if value is None:
        raise TemplateError("a value that it prints is empty")
    if isinstance(value, dict | list | tuple):
        raise TemplateError("a value that it prints is a list or a mapping: name one of its elements")
    return value


ENVIRONMENT = Values(undefined=StrictUndefined, keep_trailing_newline=True, finalize=printable)
ENVIRONMENT.globals.clear()  # `range` and the like: a name that an item lacks is an error
del ENVIRONMENT.filters["random"]  # a prompt is the same whenever it is made


def valid_template(text: str) -> str:
    """The template. Raises ValueError where it does not parse."""
    try:
        compiled(text)
    except TemplateSyntaxError as error:
        raise ValueError(f"is not a template: {error.message} (line {error.lineno} of it)") from None
    return text


@cache
def compiled(text: str) -> Template:
    """A template from its text."""
    return ENVIRONMENT.from_string(text)


def rendered(text: str, values: Mapping[str, Any], where: str) -> str:
    """A template with values filled in. Raises DataError that says where for a name without a value."""
    wrong = (TemplateError, AttributeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError)
    try:
        return compiled(text).render(values)
    except wrong as error:
        names = ", ".join(sorted(values))
        raise DataError(f"{where}: {error}; names with a value here: {names}") from None

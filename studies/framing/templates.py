"""The templates of a framing study: jinja2 that fills an item's values in, and can do no more than that.

A template comes from a user's file and an item from anywhere, so neither may reach into Python, run on, or grow without
end: calls, assignments and loops inside loops are refused when the config is read, names reach into an item's values
alone, and a text has a longest length. Values are filled in once: a template inside an item is text.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.exceptions import TemplateError
from jinja2.runtime import LoopContext
from jinja2.sandbox import SandboxedEnvironment

from evenhand.errors import DataError

MOST_CHARACTERS = 400_000  # of a rendered text
LONGEST_TEMPLATE = 20_000
FILTERS = [
    "capitalize",
    "default",
    "first",
    "float",
    "int",
    "join",
    "last",
    "length",
    "lower",
    "round",
    "title",
    "tojson",
    "trim",
    "upper",
]
MOST_FILTERS = 3  # on one value: `tojson` doubles backslashes each time
LONGEST_JOIN = 10  # characters between the elements that `join` puts together
ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const),
    *(nodes.Filter, nodes.Test, nodes.If, nodes.For, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or),
    *(nodes.Not, nodes.Concat, nodes.Tuple, nodes.List),
)
LOOP = ("first", "index", "index0", "last", "length")  # of `loop`
HINT = (
    "a template holds {{ names }} with filters, {% if %} and {% for x in list %}; it calls nothing, sets nothing and "
    "computes nothing"
)


class Values(SandboxedEnvironment):
    """An environment whose names lead to the values of mappings and lists, and never to attributes."""

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, LoopContext) and argument in LOOP:
            return getattr(obj, argument)
        try:
            return obj[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=argument)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)


def printable(value: Any) -> Any:
    """What a template prints of a value. Raises TemplateError for one that is no text or number."""
    if value is None or isinstance(value, dict | list | tuple):
        what = "empty" if value is None else "a list or a mapping: name one of its elements"
        raise TemplateError(f"a value that it prints is {what}")
    return value


ENVIRONMENT = Values(undefined=StrictUndefined, keep_trailing_newline=True, finalize=printable)


def refuse(text: str) -> None:
    """Raises ValueError for a template that is none, or could do more than fill values in."""
    if len(text) > LONGEST_TEMPLATE:
        raise ValueError(f"is {len(text):,} characters long; a template has at most {LONGEST_TEMPLATE:,}")
    try:
        tree = ENVIRONMENT.parse(text)
    except TemplateSyntaxError as error:
        raise ValueError(f"is no template: {error.message} (line {error.lineno} of it)") from None
    for node in inside(tree):
        if not isinstance(node, ALLOWED):
            raise ValueError(f"line {node.lineno} of it has a {type(node).__name__.lower()}; {HINT}")
        if isinstance(node, nodes.For) and (node.recursive or any(node.find_all(nodes.For))):
            raise ValueError(f"line {node.lineno} of it has a loop inside a loop; {HINT}")
        if isinstance(node, nodes.Filter):
            refuse_filter(node)


def inside(node: nodes.Node) -> Iterator[nodes.Node]:
    """A node and all below it."""
    yield node
    for child in node.iter_child_nodes():
        yield from inside(child)


def refuse_filter(node: nodes.Filter) -> None:
    """Raises ValueError for a filter that is not known, or that can make a long text of a short one."""
    if node.name not in FILTERS:
        raise ValueError(f"uses the filter '{node.name}'; there are {', '.join(FILTERS)}")
    if len([*inside_filters(node)]) > MOST_FILTERS:
        raise ValueError(f"puts more than {MOST_FILTERS} filters on one value")
    between = [argument.value for argument in node.args if isinstance(argument, nodes.Const)]
    is_long = len(between) < len(node.args) or any(len(str(text)) > LONGEST_JOIN for text in between)
    if node.name == "join" and (is_long or node.kwargs):
        raise ValueError(f"joins with more than {LONGEST_JOIN} plain characters")


def inside_filters(node: nodes.Node | None) -> Iterator[nodes.Filter]:
    """A filter and those on the value below it."""
    while isinstance(node, nodes.Filter):
        yield node
        node = node.node


@cache
def compiled(text: str) -> Any:
    """A template that `refuse` has let pass."""
    return ENVIRONMENT.from_string(text)


def rendered(text: str, values: Mapping[str, Any], where: str) -> str:
    """A template with values filled in. Raises DataError that says where for a name without a value, or a long text."""
    pieces, n_characters = [], 0
    try:
        for piece in compiled(text).generate(values):
            n_characters += len(piece)
            if n_characters > MOST_CHARACTERS:
                raise DataError(f"{where}: makes a text of more than {MOST_CHARACTERS:,} characters; shorten the item")
            pieces.append(piece)
    except (TemplateError, TypeError, ValueError) as error:
        known = ", ".join(sorted(values))
        raise DataError(f"{where}: {error}; names with a value here: {known}") from None
    return "".join(pieces)

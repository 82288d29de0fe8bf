"""The templates of a framing study: jinja2 that fills in an item's values, and nothing more.

A template comes from a user's file and an item from anywhere, so neither may reach into Python, run without end, or
make texts without end. Calls, assignments and nested loops are refused when the config is read, names lead to an item's
values alone, and a text has a largest length. Values are filled in once: a template inside an item stays text.
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
FILTERS = (
    *("capitalize", "default", "first", "int", "join", "last"),
    *("length", "lower", "round", "title", "trim", "upper"),
)
TESTS = ("defined", "undefined", "none")
MOST_FILTERS = 3  # in one expression
MOST_JOINED = 20  # operands of ~
MOST_NESTED = 60  # levels of one template
LONGEST_ARGUMENT = 10  # characters of what `join` puts between elements; and the most digits that `round` keeps
MOST_ELEMENTS = 1_000  # of a list that is looped over
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
    """What a template prints of a value. Raises TemplateError for a value that is not a text or number."""
    if value is None:
        raise TemplateError("a value that it prints is empty")
    if isinstance(value, dict | list | tuple):
        raise TemplateError("a value that it prints is a list or a mapping: name one of its elements")
    return value


def elements(value: Any) -> Any:
    """A list that may be looped over. Raises TemplateError for anything else, which could be endless."""
    if not isinstance(value, list | tuple) or len(value) > MOST_ELEMENTS:
        raise TemplateError(f"loops over a value that is not a list of at most {MOST_ELEMENTS:,} elements")
    return value


ENVIRONMENT = Values(undefined=StrictUndefined, keep_trailing_newline=True, finalize=printable)
ENVIRONMENT.globals.clear()  # `range` and the like: a name that an item lacks is an error
ENVIRONMENT.filters["elements"] = elements


def valid_template(text: str) -> str:
    """The template. Raises ValueError where it does not parse, or could do more than fill values in."""
    if len(text) > LONGEST_TEMPLATE:
        raise ValueError(f"is {len(text):,} characters long; a template has at most {LONGEST_TEMPLATE:,}")
    try:
        for node in nested_nodes(ENVIRONMENT.parse(text)):
            validate_node(node)
        compiled(text)
    except TemplateSyntaxError as error:
        raise ValueError(f"is no template: {error.message} (line {error.lineno} of it)") from None
    except (RecursionError, SyntaxError):
        raise ValueError(f"is nested more than {MOST_NESTED} levels deep") from None
    return text


def nested_nodes(node: nodes.Node, level: int = 0) -> Iterator[nodes.Node]:
    """A node and all below it. Raises RecursionError where they are nested too deep."""
    if level > MOST_NESTED:
        raise RecursionError
    yield node
    for child in node.iter_child_nodes():
        yield from nested_nodes(child, level + 1)


def validate_node(node: nodes.Node) -> None:
    """Raises ValueError for what a template may not hold."""
    where = f"line {node.lineno} of it"
    if not isinstance(node, ALLOWED):
        raise ValueError(f"{where} has a {type(node).__name__.lower()}; {HINT}")
    if isinstance(node, nodes.For) and (node.recursive or any(node.find_all(nodes.For))):
        raise ValueError(f"{where} has a loop inside a loop; {HINT}")
    if isinstance(node, nodes.Test) and (node.name not in TESTS or node.args or node.kwargs):
        raise ValueError(f"{where} has the test '{node.name}'; the tests are {', '.join(TESTS)}")
    if isinstance(node, nodes.Concat) and (len(node.nodes) > MOST_JOINED or any(node.find_all(nodes.Concat))):
        raise ValueError(f"{where} joins more than {MOST_JOINED} values with ~, or within another ~")
    if isinstance(node, nodes.Filter):
        validate_filter(node, where)


def validate_filter(node: nodes.Filter, where: str) -> None:
    """Raises ValueError for an unknown filter, and for one that can make a short text long."""
    if node.name not in FILTERS:
        raise ValueError(f"{where} has the filter '{node.name}'; the filters are {', '.join(FILTERS)}")
    inner = [filter_.name for filter_ in node.find_all(nodes.Filter)]
    if len(inner) >= MOST_FILTERS or (node.name == "join" and "join" in inner):
        raise ValueError(f"{where} has more than {MOST_FILTERS} filters, or two joins, on one value")
    has_arguments = bool(node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
    if not has_arguments or node.name == "default":
        return
    is_one = len(node.args) == 1 and not (node.kwargs or node.dyn_args or node.dyn_kwargs)
    value = node.args[0].value if is_one and isinstance(node.args[0], nodes.Const) else None
    is_small_text = node.name == "join" and isinstance(value, str) and len(value) <= LONGEST_ARGUMENT
    is_small_number = node.name == "round" and isinstance(value, int) and 0 <= value <= LONGEST_ARGUMENT
    if not (is_small_text or is_small_number):
        raise ValueError(
            f"{where} gives '{node.name}' an argument that is not at most {LONGEST_ARGUMENT} characters or digits"
        )


@cache
def compiled(text: str) -> Any:
    """A template whose nodes may be run; what it loops over is held to a list."""
    tree = ENVIRONMENT.parse(text)
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, "elements", [], [], None, None, lineno=loop.lineno)
    return ENVIRONMENT.from_string(tree)


def rendered(text: str, values: Mapping[str, Any], where: str) -> str:
    """A template with values filled in. Raises DataError that says where for a name without a value, or a long text."""
    pieces, n_characters = [], 0
    try:
        for piece in compiled(text).generate(values):
            n_characters += len(piece)
            if n_characters > MOST_CHARACTERS:
                raise DataError(f"{where}: makes a text of more than {MOST_CHARACTERS:,} characters; shorten the item")
            pieces.append(piece)
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        names = ", ".join(sorted(values))
        raise DataError(f"{where}: {error}; names with a value here: {names}") from None
    return "".join(pieces)

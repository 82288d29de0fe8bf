"""The codebook: six categories and `Unexplained`, 14 codes, from codebook.yaml (DialDefer, Table 19)."""

from functools import cache
from pathlib import Path

from evenhand.config import Closed
from evenhand.shipped_yaml import shipped_yaml

UNEXPLAINED = "UN1"
MOST_UNEXPLAINED = 5.0  # percent of flips; the paper's target (appendix F.2)


class Code(Closed):
    """One reason why a verdict flips."""

    code: str
    name: str
    definition: str
    markers: str
    rule: str  # when it applies and when it does not: ours


class Category(Closed):
    """Codes of one kind."""

    category: str
    gist: str
    codes: tuple[Code, ...]


@cache
def categories() -> tuple[Category, ...]:
    """All of them, in the order of Table 19."""
    path = Path(__file__).with_name("codebook.yaml")
    return tuple(Category.model_validate(category) for category in shipped_yaml(path))


@cache
def codes() -> dict[str, Code]:
    """Code → what it stands for, in the order of Table 19."""
    return {code.code: code for category in categories() for code in category.codes}


@cache
def category_of() -> dict[str, str]:
    """Code → its category."""
    return {code.code: category.category for category in categories() for code in category.codes}

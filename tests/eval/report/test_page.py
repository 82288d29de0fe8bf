"""The parts of the report page: whatever a model or an item says is text there."""

from html.parser import HTMLParser

import pytest

from eval.report.page import element, folded, table, unfolding
from tests.made.hostile_texts import HOSTILE

OURS = {"p", "details", "summary", "pre", "table", "thead", "tbody", "tr", "th", "td", "caption", "div"}


class Read(HTMLParser):
    """The tags and the text of a page, as a browser takes them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = set[str](), set[str](), ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_text_in_every_part_of_the_report(hostile: str) -> None:
    parts = [
        element("p", hostile),
        folded(hostile, hostile),
        unfolding(hostile, [element("p", hostile)]),
        table([hostile, "b"], [[hostile, hostile]], label=hostile),
    ]
    for part in parts:
        read = Read(str(part))
        assert read.tags <= OURS
        assert not {name for name in read.attributes if name.startswith("on")}
        assert hostile in read.text

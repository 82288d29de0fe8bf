"""A report's page, parsed."""

import gzip
import io
import json
import re
from base64 import b64decode
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

SAVEFIG = Figure.savefig


class Page(HTMLParser):
    """Its tags, those that were not closed in order, its text, every address, and images without words."""

    def __init__(self, html):
        super().__init__()
        self.open: list[str] = []
        self.tags, self.attributes, self.text = set[str](), set[str](), ""
        self.addresses: list[str] = []
        self.n_mute = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href")]
        self.n_mute += tag == "img" and len(dict(attrs).get("alt") or "") < 20
        if tag not in ("meta", "img", "source", "br", "wbr", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def packed_text(script):
    """The JSON in a script of the browser of items."""
    (packed,) = re.findall(r'^got\("\w+", "([^"]*)"\);$', script.read_text())
    return gzip.decompress(b64decode(packed))


def unpacked(script):
    return json.loads(packed_text(script))


def without_drawing(figure, file, **keys):
    """In the place of savefig, for pictures take most of the time: writes hardly anything."""
    if isinstance(file, str | Path):
        Path(file).write_bytes(b"")
    else:
        file.write("<svg/>" if isinstance(file, io.TextIOBase) else b"")


@contextmanager
def drawing():
    """Context manager: figures are drawn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", SAVEFIG)
        yield

"""A report's page, parsed."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects tags that were not closed in order, every address, and images without words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.n_mute = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href")]
        self.n_mute += tag == "img" and len(dict(attrs).get("alt") or "") < 20
        if tag not in ("meta", "img", "br", "wbr", "!doctype"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

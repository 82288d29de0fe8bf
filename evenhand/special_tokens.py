"""Special tokens inside a prompt's content, such as <|im_end|> on a talk page: content is text and is encoded as text.

Else an item could end the user's turn and speak for the judge. The template's own special tokens stay what they are.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from evenhand.records import Message

FIRST_MARK = 0x100000  # of a private plane of Unicode
# Special tokens of the families served, where the tokenizer is a server's and not at hand.
LOOKS_SPECIAL = re.compile(r"<\|[a-z_]+\|>|<(?:start|end)_of_turn>|\[/?INST\]|</?s>|<(?:bos|eos|pad|unk)>")


class Rendered(str):
    """A rendered prompt with special tokens in its content: the text as it reads, and where they stand."""

    marked: str  # the text with a mark in place of each
    names: Mapping[str, str]  # mark → what it stands for

    @classmethod
    def of(cls, marked: str, names: Mapping[str, str]) -> Self:
        """The text of a marked one."""
        rendered = cls(restored(marked, names))
        rendered.marked, rendered.names = marked, names
        return rendered


@lru_cache(maxsize=8)
def special_pattern(tokenizer: Any) -> re.Pattern[str] | None:
    """What matches a tokenizer's special tokens, the longest first; None where it has none."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    names = sorted({token.content for token in added if token.special}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, names))) if names else None


def found_in(tokenizer: Any, texts: Iterable[str]) -> list[str]:
    """The special tokens of a tokenizer that stand in some texts, each once."""
    pattern = special_pattern(tokenizer)
    return list(dict.fromkeys(name for text in texts for name in pattern.findall(text))) if pattern else []


def marks_for(names: Sequence[str], contents: Sequence[str]) -> dict[str, str]:
    """A character for each name, none of which stands in the contents."""
    used = set().union(*contents)
    free = (chr(code) for code in range(FIRST_MARK, 0x110000) if chr(code) not in used)
    return dict(zip(free, names, strict=False))


def marked(text: str, marks: Mapping[str, str]) -> str:
    """A content with marks in place of the names."""
    for mark, name in sorted(marks.items(), key=lambda pair: len(pair[1]), reverse=True):
        text = text.replace(name, mark)
    return text


def restored(text: str, marks: Mapping[str, str]) -> str:
    """A text with the names back in place of their marks."""
    return text.translate({ord(mark): name for mark, name in marks.items()})


def encode_rendered(tokenizer: Any, rendered: Rendered) -> list[int]:
    """Token ids: the template's special tokens as such, and all between them as text."""
    pattern = special_pattern(tokenizer)
    assert pattern is not None
    ids: list[int] = []
    start = 0
    for own in [*pattern.finditer(rendered.marked), None]:
        between = restored(rendered.marked[start : own.start() if own else None], rendered.names)
        if between:
            ids += as_text(tokenizer, between)
        if own:
            ids.append(tokenizer.convert_tokens_to_ids(own[0]))
            start = own.end()
    return ids


def as_text(tokenizer: Any, text: str, *, add_special_tokens: bool = False) -> list[int]:
    """Token ids of a text in which the name of a special token is no special token."""
    return list(tokenizer(text, add_special_tokens=add_special_tokens, split_special_tokens=True)["input_ids"])


def look_special(messages: Iterable[Message]) -> list[str]:
    """What looks like a special token of some family in some messages, each once."""
    return list(dict.fromkeys(name for message in messages for name in LOOKS_SPECIAL.findall(message.content)))


def text_note(text: str) -> str:
    """For `show`: which special tokens of a rendered prompt are encoded as text; empty where there are none."""
    return f" · encoded as text: {' '.join(text.names.values())}" if isinstance(text, Rendered) else ""

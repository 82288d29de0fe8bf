"""The objects of one JSON array, however long, with no more than one of them and a chunk of the file in memory.

By hand: json.load holds three times the file, which may be a ConvoKit dump of any size, and ijson keeps the whole path
at every level of nesting (20,000 brackets take it 1 GB, 100,000 take 25) and does not read NaN.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

CHUNK = 1 << 20  # bytes
LONGEST = 1 << 24  # characters of one element
NOT_BLANK = re.compile(r"[^ \t\r\n]")
NOT_UTF8 = re.compile("[\udc80-\udcff]")  # what surrogateescape puts in the place of a byte


class ArrayError(ValueError):
    """The file is no such array from here on."""


def array_objects(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """The array's objects in order. Raises ArrayError where the file ends being such an array."""
    window = Window(file)
    if window.sign() != "[":
        raise ArrayError("does not begin with [")
    sign = window.sign()
    if sign == "]":
        return window.end()
    while True:
        if sign != "{":
            raise ArrayError("the file ends" if not sign else f"no object, but {sign!a}")
        yield window.rest_of_object()
        sign = window.sign()
        if sign == "]":
            return window.end()
        if sign != ",":
            raise ArrayError("the file ends" if not sign else f"{sign!a} stands for the comma")
        sign = window.sign()


class Window:
    """The piece of the file that is in memory; it moves on as it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.text, self.place = "", 0

    def more(self) -> bool:
        """Take in as much again, and forget what was read; false at the end of the file."""
        chunk = self.file.read(max(CHUNK, len(self.text) - self.place))
        self.text = self.text[self.place :] + self.decoder.decode(chunk, final=not chunk)
        self.place = 0
        return bool(chunk)

    def sign(self) -> str:
        """The next character that is not blank; empty at the end of the file."""
        while (found := NOT_BLANK.search(self.text, self.place)) is None:
            self.place = len(self.text)
            if not self.more():
                return ""
        self.place = found.end()
        return found[0]

    def rest_of_object(self) -> dict[str, Any]:
        """The object whose opening brace was the last sign."""
        self.place -= 1
        while True:
            try:
                value, end = json.JSONDecoder().raw_decode(self.text, self.place)
                break
            except json.JSONDecodeError as error:  # damaged, or not all of it is here yet
                if len(self.text) - self.place > LONGEST or not self.more():
                    raise ArrayError(error.msg) from None
            except (ValueError, RecursionError) as error:  # a number of thousands of digits; thousands of brackets
                raise ArrayError(str(error)) from None
        if stray := NOT_UTF8.search(self.text, self.place, end):
            raise ArrayError(f"not UTF-8: the byte 0x{ord(stray[0]) - 0xDC00:02x}; encodings are mixed")
        self.place = end
        found: dict[str, Any] = value
        return found

    def end(self) -> None:
        """Nothing may stand behind the array."""
        if sign := self.sign():
            raise ArrayError(f"{sign!a} stands behind the end of the array")

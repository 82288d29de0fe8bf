"""Invented chats, screenshots of them, and a vision model that reads such screenshots back.

A screenshot shows phone-like bubbles: the poster's on the right, the other's on the left. The stand-in for the model
cannot read: it knows each picture by its pixels, as the product sends them.
"""

import base64
import hashlib
import io
import json
from functools import cache
from typing import Any

from PIL import Image, ImageDraw

from tests.made.fake_server import Reply, answer

WIDTH, LINE = 360, 34
Chat = tuple[tuple[str, str], ...]  # ("left" or "right", what it says)

TRIP: Chat = (
    ("left", "you said you would drive me to the airport"),
    ("right", "I said maybe, and that was before your sister came"),
    ("right", "now the car is full"),
    ("left", "so I have to pay for a taxi because of her"),
    ("right", "I can give you half of it"),
    ("left", "keep it, call me at 512-555-0147 when you are sorry"),
)
SPANISH: Chat = (
    ("left", "me dijiste que ibas a venir a la fiesta"),
    ("right", "te dije que tenía que trabajar hasta tarde"),
    ("left", "siempre tienes una excusa para todo"),
    ("right", "no es una excusa, es mi trabajo"),
)
SHORT: Chat = (("left", "where are you"), ("right", "at home, why do you ask"))
MONEY: Chat = (
    ("right", "Hey Sarah, did you get the money that I sent you"),
    ("left", "yes but it is not what we said, you still owe me"),
    ("right", "we said two hundred and I sent two hundred"),
    ("left", "you are so cheap that I do not want to talk to you"),
)
DOG: Chat = (
    ("left", "you left the door open and the dog ran out again"),
    ("right", "I was only gone for a minute and I am sorry"),
    ("left", "that is what you said the last time"),
    ("right", "we should get a fence, it is not only my fault"),
    ("left", "do not make this about a fence"),
)


def screenshot(chat: Chat, *, cropped: bool = False) -> bytes:
    """A PNG of a chat. cropped: the first and last bubbles are cut in two by the edges."""
    height = 40 + LINE * 2 * max(len(chat), 1)
    image = Image.new("RGB", (WIDTH, height), "white")
    draw = ImageDraw.Draw(image)
    for number, (side, text) in enumerate(chat):
        left, top = (20 if side == "left" else 110), 20 + number * LINE * 2
        draw.rounded_rectangle((left, top, left + 230, top + LINE + 16), 12, "#dddddd" if side == "left" else "#2277ff")
        for row in range(0, len(text), 38):
            place = (left + 8, top + 6 + row // 38 * 13)
            draw.text(place, text[row : row + 38], "black" if side == "left" else "white")
    return encoded(image.crop((0, 45, WIDTH, height - 60)) if cropped else image)


def landscape() -> bytes:
    """A picture without text."""
    image = Image.new("RGB", (200, 120), "#88bbff")
    ImageDraw.Draw(image).rectangle((0, 80, 200, 120), "#338833")
    return encoded(image)


def encoded(image: Image.Image) -> bytes:
    """As PNG."""
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def pixels(png: bytes) -> str:
    """What a picture is known by, however it was encoded."""
    with Image.open(io.BytesIO(png)) as image:
        return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()


def transcript(chat: Chat, *, first: str = "Speaker A") -> str:
    """What a good vision model replies: the first side that it sees is Speaker A."""
    other = {"Speaker A": "Speaker B", "Speaker B": "Speaker A"}[first]
    names = {chat[0][0]: first} if chat else {}
    messages = [{"speaker": names.get(side, other), "text": text} for side, text in chat]
    return json.dumps({"messages": messages})


@cache
def known_chats() -> dict[str, str]:
    """Pixels → the reply, of every chat here; a cropped one is read without its first and last bubble."""
    whole = {pixels(screenshot(chat)): transcript(chat) for chat in (TRIP, SPANISH, SHORT, MONEY, DOG)}
    return {**whole, pixels(screenshot(DOG, cropped=True)): transcript(DOG[:-1]), pixels(landscape()): transcript(())}


def read_images(body: dict[str, Any], n_before: int) -> Reply:
    """The vision model's script: the transcripts of the pictures in a request, one after the other."""
    parts = body["messages"][0]["content"]
    messages = []
    for part in parts[1:]:
        png = base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
        messages += json.loads(known_chats()[pixels(png)])["messages"]
    return answer(json.dumps({"messages": messages}))

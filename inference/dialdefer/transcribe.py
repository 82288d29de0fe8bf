"""Screenshots → transcripts by a vision model (B.1.3). Images are held in memory alone: none is written to a file."""

import asyncio
import base64
import io
import time
from typing import Any

from evenhand.errors import ConfigError, DataError
from evenhand.sources.http_get import PAUSES, Address, Connection, NotThere, PassingError, answered, connected
from inference.dialdefer.model_server import ModelServer, Unanswered
from studies.dialdefer.aio.prompts import TRANSCRIPTION, VERSIONS
from studies.dialdefer.aio.raw_folder import POSTS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.records import Dropped, Post
from studies.dialdefer.aio.transcripts import transcript_in

MAX_TOKENS = 4096  # of a transcript; 37 turns of chat take some 1,000
MOST_BYTES = 20 * 2**20  # of an image
MOST_PIXELS = 60_000_000  # a long screenshot has some 10 million
LONGEST_SIDE = 4096  # pixels that are sent; what is larger is made smaller


class BrokenImage(Exception):
    """An image that is gone or cannot be read; the words say why."""


def transcribe(folder: RawFolder, model: ModelServer) -> int:
    """Transcribe the posts that have no transcript yet; how many got no answer."""
    owed = folder.owed(TRANSCRIPTS, (post_id for post_id, _ in folder.kept(POSTS, Post)))
    if owed:
        folder.settle("transcribe", {"model": model.model, "prompts": VERSIONS["transcribe"]})
    with connected(time.sleep) as connection:

        async def one(post_id: str) -> bool:
            post = folder.read(POSTS, post_id)
            assert isinstance(post, Post)
            try:
                images = [await asyncio.to_thread(image_at, url, connection) for url in post.images]
            except BrokenImage as reason:
                folder.write(TRANSCRIPTS, post_id, Dropped(dropped=str(reason)))
                return False
            parts: list[dict[str, Any]] = [{"type": "text", "text": TRANSCRIPTION}]
            parts += [{"type": "image_url", "image_url": {"url": image}} for image in images]
            reply = await model.ask(parts, MAX_TOKENS)
            if reply.finish_reason == "length":
                found = Dropped(dropped=f"transcript of more than {MAX_TOKENS} tokens")
            else:
                found = transcript_in(reply.text, reply.answered_by)  # type: ignore[assignment]
            folder.write(TRANSCRIPTS, post_id, found)
            return True

        return model.each(owed, one, "transcribe")


def image_at(url: str, connection: Connection) -> str:
    """An image as a data address, decoded and encoded anew, so without what a camera wrote beside it.

    Raises BrokenImage, and Unanswered where the host may answer later.
    """
    return data_address(image_bytes(Address(url=url, way_in="it is gone from Reddit"), connection))


def image_bytes(address: Address, connection: Connection) -> bytes:
    """An image as it lies at its host. Raises as image_at."""
    for pause in (*PAUSES, None):
        try:
            with answered(address, connection) as response:
                raw = bytearray()
                for part in response.iter_bytes():
                    raw += part
                    if len(raw) > MOST_BYTES:
                        raise BrokenImage(f"image of more than {MOST_BYTES >> 20} MiB")
                return bytes(raw)
        except PassingError as failure:
            if pause is None:
                raise Unanswered(f"{address.url.partition('?')[0]}: {failure}") from None
            connection.wait(max(pause, failure.after))
        except NotThere:
            raise BrokenImage("image is gone") from None
        except DataError as refusal:  # of this address or of us, perhaps for a while; or a login page in its place
            raise Unanswered(str(refusal)) from None
    raise AssertionError


def data_address(raw: bytes) -> str:
    """The image as data:image/png. Raises BrokenImage for what is none, is cut off, or is huge."""
    try:
        from PIL import Image
    except ImportError:
        raise ConfigError(
            "reading images needs Pillow, which is not installed: pip install --no-deps -r requirements/aio.lock"
        ) from None
    try:
        with Image.open(io.BytesIO(raw)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BrokenImage(f"image of more than {MOST_PIXELS:,} pixels")
            plain = image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise BrokenImage("image cannot be read") from None
    plain.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    encoded = io.BytesIO()
    plain.save(encoded, "PNG")
    return f"data:image/png;base64,{base64.b64encode(encoded.getvalue()).decode()}"

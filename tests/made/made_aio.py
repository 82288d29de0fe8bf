"""An invented release of r/AIO, the posts with their screenshots, a model that reads them, and the stages run.

The stand-in for the vision model cannot read: it knows each picture by its colour, as the product sends it.
"""

import base64
import hashlib
import io
import json
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from PIL import Image

from evenhand.files import shipped_yaml, write_jsonl
from tests.made.fake_server import FakeServer, answer
from tests.made.made_reddit import MadePost, MadeReddit

CHATS = {
    name: tuple((side, said) for side, said in chat)
    for name, chat in shipped_yaml(Path(__file__).with_name("chats.yaml")).items()
}
TRIP, MONEY, DOG = CHATS.values()
RELEASED = "finalAIOdata_experiment_ready.jsonl"


def screenshot(chat):
    """A PNG that stands for a chat: all of one colour, which is its own."""
    out = io.BytesIO()
    Image.new("RGB", (60, 40), colour(chat)).save(out, "PNG")
    return out.getvalue()


def colour(chat):
    """What a picture is known by, however it was encoded."""
    return tuple(hashlib.sha256(repr(chat).encode()).digest()[:3])


def transcript(chat):
    """What a good vision model replies: the first side that it sees is Speaker A."""
    messages = [{"speaker": f"Speaker {'AB'[side != chat[0][0]]}", "text": text} for side, text in chat]
    return json.dumps({"messages": messages})


def read_images(body, n_before):
    """The vision model's script: the transcript of the pictures in a request, one after the other."""
    known = {colour(chat): chat for chat in (*CHATS.values(), ())}
    chat = ()
    for part in body["messages"][0]["content"][1:]:
        url = part["image_url"]["url"].removeprefix("data:image/png;base64,")
        with Image.open(io.BytesIO(base64.b64decode(url))) as image:
            chat += known[image.getpixel((0, 0))]
    return answer(transcript(chat))


def posts():
    """One post for every way through the stages."""
    trip, money = screenshot(TRIP), screenshot(MONEY)
    return [
        MadePost("trip1", (trip,)),
        MadePost("money1", (money,)),
        MadePost("two001", (trip, screenshot(DOG))),
        MadePost("land01", (screenshot(()),)),
        MadePost("none01", ()),
        MadePost("gone01", (trip,), gone=True),
        MadePost("broke1", (trip[:60],)),
        MadePost("unsure", (trip,)),
    ]


def released(post_id):
    """A record in the format of the authors' release."""
    return {
        "id": post_id,
        "context": f"Speaker B told Speaker A of {post_id}.",
        "c2_input": "[redacted]",
        "ground_truth": "OR" if post_id == "money1" else "NOR",
        "speaker_a_identity": "Person B's boyfriend",
    }


class Workshop:
    """The stand-ins and a raw folder, and the stages run on it."""

    def __init__(self, folder, reddit, vision):
        self.raw, self.release, self.reddit, self.vision = folder / "raw-reddit", folder / "release", reddit, vision
        self.environment = reddit.environment(folder)
        self.release.mkdir()
        write_jsonl(self.release / RELEASED, map(released, reddit.posts))

    def words(self, stage, *more):
        """The words of a stage."""
        named = ["--server", self.vision.base_url, "--model", "eyes"] if stage == "transcribe" else []
        return [stage, "--raw", str(self.raw), "--release", str(self.release), *named, *more]

    def run(self, stage, *more):
        """A stage in this process."""
        from studies.dialdefer.aio.build import main

        main(self.words(stage, *more))

    def stages(self, *names):
        """Several stages in this process."""
        for name in names:
            self.run(name)

    def kept(self, stage):
        """Post → what a stage has kept of it, or why it was dropped."""
        return {path.stem: json.loads(path.read_text()) for path in sorted((self.raw / stage).glob("*.json"))}

    def items(self):
        """The records of the set."""
        path = self.raw / "items" / RELEASED
        return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}

    def missing(self):
        """Post → stage and reason of those that are not in the set."""
        lines = (self.raw / "items" / "missing.jsonl").read_text().splitlines()
        return {row["id"]: (row["stage"], row["why"]) for row in map(json.loads, lines)}

    def checked(self, post_id):
        """What a file of `check` says."""
        return shipped_yaml(self.raw / "check" / f"{post_id}.yaml")

    def fill(self, post_id, **changes):
        """What a person does to a file of `check`."""
        filled = yaml.safe_dump({**self.checked(post_id), **changes}, allow_unicode=True)
        (self.raw / "check" / f"{post_id}.yaml").write_text(filled)


@contextmanager
def workshop_here(folder):
    """The stand-ins, which PRAW finds from this process, where nobody sleeps for long."""
    from praw.config import Config

    sleep = time.sleep
    with MadeReddit(posts()) as reddit, FakeServer(read_images) as vision, pytest.MonkeyPatch.context() as patch:
        at_work = Workshop(folder, reddit, vision)
        for name, value in at_work.environment.items():
            patch.setenv(name, value)
        patch.setattr(Config, "CONFIG", None)
        patch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.01)))
        yield at_work

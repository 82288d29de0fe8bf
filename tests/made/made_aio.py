"""Twelve invented posts of r/AmIOverreacting, a text model that reads them, and the stages run against stand-ins."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.made.fake_server import FakeServer, Reply, answer, as_json
from tests.made.made_chats import DOG, MONEY, SHORT, SPANISH, TRIP, Chat, landscape, read_images, screenshot
from tests.made.made_reddit import MadePost, MadeReddit
from tests.made.places import ROOT

NOR_COMMENTS = [("helpful_hannah", "NOR. Your boyfriend is the rude one here."), ("b2", "Not overreacting at all.")]
CUT_OFF = screenshot(TRIP)[:400]


def post(post_id: str, *images: bytes, **changes: Any) -> MadePost:
    """A post about a boyfriend, by default with two comments for the poster."""
    body = changes.pop("body", "I told my boyfriend that I'm tired of this. My friend u/other_person says he is right.")
    comments = changes.pop("comments", NOR_COMMENTS)
    orders = {order: [("AutoModerator", "Read the rules."), *comments] for order in ("confidence", "top")}
    return MadePost(
        post_id=post_id,
        title=changes.pop("title", "AIO because of these messages?"),
        body=body,
        images=images,
        comments={**orders, "controversial": comments[:1], "qa": []},
        **changes,
    )


def posts() -> list[MadePost]:
    """One post for every way through the stages."""
    trip, money = screenshot(TRIP), screenshot(MONEY)
    best = [
        ("c1", "I would leave him."),
        ("c2", "OR a bit, honestly. It is only money."),
    ]
    both = [("c1", "NOR about the dog. But you're overreacting about the fence.")]
    return [
        post("trip1", trip),
        post("money1", money, comments=best, title="AIO over this text?"),
        post("dog001", screenshot(DOG, cropped=True), comments=both),
        post("two001", trip, screenshot(DOG), comments=[("c1", "He should say sorry. made_up_poster, run!")]),
        post("span01", screenshot(SPANISH)),
        post("short1", screenshot(SHORT)),
        post("land01", landscape()),
        post("ten001", *([money] * 10)),
        post("none01"),
        post("gone01", trip, gone=True),
        post("broke1", CUT_OFF),
        post("weweb1", trip, body="We had plans, and then my boyfriend changed them. UNCLEANABLE"),
        post("unsure", trip, comments=[("c1", "What did your mother say?")]),
    ]


def chat_messages(*chats: Chat) -> int:
    """How many bubbles chats have."""
    return sum(map(len, chats))


def read_text(body: dict[str, Any], n_before: int) -> Reply:
    """The text model's script: it leaves first persons behind, as models do."""
    content = body["messages"][0]["content"]
    if content.startswith("You are analyzing"):
        comment = content.partition('\nCOMMENT: "')[2]
        label = "NOR" if "say sorry" in comment else "UNCLEAR"
        return answer("Sure: " + json.dumps({"label": label, "confidence": 0.9}))
    if content.startswith("Rewrite this text"):
        text = content.partition("Original text: ")[2].removesuffix("\nThird-person version:")
        text = text.replace("my boyfriend", "Speaker A").replace("I told", "Speaker B told")
        return answer(text if "UNCLEANABLE" in text else text.replace("We", "They"))
    return answer(json.dumps({"relationship": "Boyfriend"}))


class Workshop:
    """The stand-ins and a raw folder; stages are run here or in a process of their own."""

    def __init__(self, folder: Path, reddit: MadeReddit, vision: FakeServer, text: FakeServer) -> None:
        self.raw, self.reddit, self.vision, self.text = folder / "raw-reddit", reddit, vision, text
        self.environment = reddit.environment(folder)

    def words(self, stage: str, *more: str) -> list[str]:
        """The command line of a stage."""
        server = {"transcribe": (self.vision, "eyes"), "label": (self.text, "pen")}.get(stage)
        named = ["--server", server[0].base_url, "--model", server[1]] if server else []
        return ["build", "aio", stage, "--raw", str(self.raw), *named, *more]

    def run(self, stage: str, *more: str) -> None:
        """A stage in this process."""
        from inference.dialdefer.build_aio import main

        main(self.words(stage, *more)[2:])

    def start(self, stage: str, *more: str) -> "subprocess.Popen[str]":
        """A stage in a process of its own."""
        environment = {**os.environ, **self.environment, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "evenhand.command", *self.words(stage, *more)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stages(self, *names: str) -> None:
        """Several stages in this process."""
        for name in names:
            self.run(name)

    def kept(self, stage: str) -> dict[str, dict[str, Any]]:
        """Post → what a stage has kept of it, or why it was dropped."""
        return {path.stem: json.loads(path.read_text()) for path in sorted((self.raw / stage).glob("*.json"))}

    def items(self) -> dict[str, dict[str, Any]]:
        """The records of the set."""
        path = self.raw / "items" / "finalAIOdata_experiment_ready.jsonl"
        return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}

    def missing(self) -> dict[str, tuple[str, str]]:
        """Post → stage and reason of those that are not in the set."""
        lines = (self.raw / "items" / "missing.jsonl").read_text().splitlines()
        return {row["id"]: (row["stage"], row["why"]) for row in map(json.loads, lines)}

    def checked(self, post_id: str) -> dict[str, Any]:
        """What a file of `check` says."""
        found: dict[str, Any] = yaml.safe_load((self.raw / "check" / f"{post_id}.yaml").read_text())
        return found

    def fill(self, post_id: str, **changes: object) -> None:
        """What a person does to a file of `check`."""
        filled = yaml.safe_dump({**self.checked(post_id), **changes}, allow_unicode=True)
        (self.raw / "check" / f"{post_id}.yaml").write_text(filled)


@contextmanager
def workshop(folder: Path, made: list[MadePost] | None = None) -> Iterator[Workshop]:
    """The stand-ins at work."""
    models = {name: as_json({"data": [{"id": name}]}) for name in ("eyes", "pen")}
    with (
        MadeReddit(posts() if made is None else made) as reddit,
        FakeServer(read_images, models["eyes"]) as vision,
        FakeServer(read_text, models["pen"]) as text,
    ):
        yield Workshop(folder, reddit, vision, text)


def use_environment(monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str]) -> None:
    """Let PRAW find the stand-in from this process, and let nobody sleep for long."""
    import time

    from praw.config import Config

    sleep = time.sleep
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(Config, "CONFIG", None)
    monkeypatch.setattr(time, "sleep", lambda seconds: sleep(min(seconds, 0.01)))

"""`evenhand build aio` from discovery to items that DialDefer loads, against stand-ins on loopback."""

import json
import re

import pytest

from evenhand.errors import ConfigError, DataError, ModelError
from studies.dialdefer.datasets import DatasetSpec, load_items
from tests.made.fake_server import Reply
from tests.made.made_aio import TRIP, Workshop, post, screenshot, workshop_here

CHECKED = {"trip1": "Speaker B", "money1": "Speaker A", "dog001": "Speaker B", "two001": "Speaker B"}  # the posters
TO_CHECK = ("discover", "harvest", "transcribe", "label", "check")


@pytest.fixture
def made(tmp_path):
    with workshop_here(tmp_path) as made:
        yield made


def test_screenshots_become_items_that_dialdefer_loads(made):
    made.stages(*TO_CHECK)
    texts = {path: path.read_bytes() for path in made.raw.rglob("*") if path.is_file()}
    for name in (b"made_up_poster", b"helpful_hannah", b"other_person", b"555-0147", b"Sarah", b"\x89PNG"):
        assert [path for path, content in texts.items() if name in content] == [], name
    assert (made.raw / ".gitignore").read_text().splitlines()[-1] == "*"
    for post_id, poster in CHECKED.items():
        made.fill(post_id, keep=True, poster=poster)
    made.fill("weweb1", keep=True, poster="Speaker B")
    made.fill("unsure", keep=False, why="label unclear")
    made.run("check")
    made.run("items")

    items = made.items()
    assert {name: items[name]["ground_truth"] for name in items} == {
        "trip1": "NOR", "money1": "OR", "dog001": "NOR", "two001": "NOR"
    }  # fmt: skip
    assert items["trip1"]["c2_input"].splitlines() == [
        "Speaker A: you said you would drive me to the airport",
        "Speaker B: I said maybe, and that was before your sister came now the car is full",
        "Speaker A: so I have to pay for a taxi because of her",
        "Speaker B: I can give you half of it",
        "Speaker A: keep it, call me at [REDACTED] when you are sorry",
    ]
    # The first bubble was the poster's, whom the model's labels call Speaker A; the person said so.
    assert items["money1"]["c2_input"].startswith("Speaker B: Hey [REDACTED], did you get the money")
    assert items["trip1"]["context"] == (
        "because of these messages?\n\nSpeaker B told Speaker A that Speaker B is tired of this. Speaker B's friend "
        "[REDACTED] says he is right."
    )
    assert items["trip1"]["speaker_a_identity"] == "Speaker B's boyfriend"
    assert made.missing() == {
        "short1": ("filter", "fewer than 4 turns"),
        "land01": ("transcribe", "no conversation of two"),
        "ten001": ("harvest", "more than 9 images"),
        "broke1": ("transcribe", "image cannot be read"),
        "weweb1": ("label", "context held back: We"),
        "unsure": ("check", "label unclear"),
    }
    card = (made.raw / "items" / "README.md").read_text()
    assert re.findall(r"^\| .* \| (\d+) \| [\d,–]+ \|$", card, re.MULTILINE) == ["10", "9", "7", "6", "5", "4"]
    assert "| turn range | 4–9 |" in card

    loaded = {item.item_id: item for item in load_items([DatasetSpec(dataset="aio", root=made.raw / "items")])}
    assert set(loaded) == set(items)
    assert (loaded["money1"].correct_answer, loaded["trip1"].correct_answer) == ("overreacting", "not overreacting")
    assert loaded["trip1"].context == items["trip1"]["context"]


def test_posts_that_a_server_does_not_answer_are_asked_again_by_the_next_call(made, capsys):
    made.stages("discover", "harvest")
    script = made.vision.script
    made.vision.script = lambda body, n: (
        Reply(400, "too long") if len(body["messages"][0]["content"]) > 2 else script(body, n)
    )
    made.reddit.faults = {"/image/trip1": [Reply(503)]}
    made.run("transcribe")
    assert not {"two001", "trip1"} & set(made.kept("transcripts"))
    assert "2 posts got no answer" in capsys.readouterr().out
    n_asked = len(made.vision.asked)
    made.vision.script = script
    made.run("transcribe")
    assert "turns" in made.kept("transcripts")["two001"]
    assert len(made.vision.asked) == n_asked + 2


def test_a_server_that_answers_no_post_refuses_the_key_or_has_no_such_model_ends_the_stage(made, tmp_path, monkeypatch):
    made.reddit.posts = {f"post{number:02}": post(f"post{number:02}", screenshot(TRIP)) for number in range(18)}
    (tmp_path / "ids.txt").write_text("\n".join(made.reddit.posts))
    made.run("harvest", "--ids", str(tmp_path / "ids.txt"))
    monkeypatch.setenv("MY_KEY", "sk-secret-of-mine")
    for reply, error, says in (
        (Reply(400, "no images here"), ModelError, "8 posts in a row got no answer"),
        (Reply(401, json.dumps({"error": {"message": "bad key sk-secret-of-mine"}})), ConfigError, "MY_KEY"),
        (Reply(404, "{}"), ConfigError, "knows no model 'eyes'"),
    ):
        made.vision.script = lambda body, n, reply=reply: reply
        with pytest.raises(error, match=says) as refused:
            made.run("transcribe", "--api-key-env", "MY_KEY")
        assert "sk-secret" not in str(refused.value)
    assert made.kept("transcripts") == {}
    assert set(made.vision.keys) == {"Bearer sk-secret-of-mine"}


def test_the_released_ids_become_items_and_what_is_gone_is_listed(made, tmp_path):
    """Our own release has the format of the authors': from its ids back to the same dialogues."""
    made.stages(*TO_CHECK)
    for post_id, poster in CHECKED.items():
        made.fill(post_id, keep=True, poster=poster)
    made.run("items")
    made.run("release", "--out", str(tmp_path / "bundle"))
    first, bundle = made.items(), tmp_path / "bundle"
    assert (bundle / "ids.txt").read_text().split() == list(first)
    released = "".join(path.read_text() for path in bundle.iterdir())
    spoken = [line.partition(": ")[2][:40] for line in first["trip1"]["c2_input"].splitlines()]
    assert [text for text in (*spoken, "I told", "u/other") if text in released] == []

    (tmp_path / "again").mkdir()
    again = Workshop(tmp_path / "again", made.reddit, made.vision, made.text)
    made.reddit.posts["dog001"].gone = True
    again.run("harvest", "--release", str(bundle))
    assert {(post["title"], post["body"], str(post["comments"])) for post in again.kept("posts").values()} == {
        ("", "", "[]")
    }
    again.run("transcribe")
    again.run("items", "--release", str(bundle), "--unchecked")
    assert again.items()["money1"] == first["money1"]  # who is the poster came with the release
    again.run("check", "--release", str(bundle))
    for post_id in ("trip1", "money1"):
        again.fill(post_id, keep=True)
    again.fill("two001", keep=False, why="not a chat")
    again.run("items", "--release", str(bundle))
    assert again.items() == {name: first[name] for name in ("trip1", "money1")}
    assert again.missing() == {"dog001": ("harvest", "deleted by its author"), "two001": ("check", "not a chat")}


def test_unchecked_posts_are_taken_only_when_asked_and_never_with_a_doubtful_label_or_poster(made):
    made.stages("discover", "harvest", "transcribe", "label", "items")
    assert made.items() == {}
    made.run("items", "--unchecked")
    assert list(made.items()) == ["trip1", "money1"]
    assert made.items()["money1"]["c2_input"].startswith("Speaker B: Hey")
    doubtful = ("check", "doubtful label or poster, and not checked by a person")
    assert [made.missing()[name] for name in ("dog001", "two001")] == [doubtful, doubtful]
    assert made.missing()["unsure"] == ("label", "no verdict in the comments")


def test_a_release_has_no_post_that_nobody_checked_and_none_whose_context_repeats_it(made, tmp_path):
    made.reddit.posts["trip1"].title = "AIO? He told the whole family about the car"
    made.stages(*TO_CHECK)
    made.run("items", "--unchecked")
    assert {"trip1", "money1"} <= set(made.items())
    for post_id in ("trip1", "money1"):
        with pytest.raises(DataError, match="no post is checked and kept"):
            made.run("release", "--out", str(tmp_path / "bundle"))
        made.fill(post_id, keep=True, poster=CHECKED[post_id])
    made.run("release", "--out", str(tmp_path / "bundle"))
    assert (tmp_path / "bundle" / "ids.txt").read_text() == "money1\n"


def test_what_is_deleted_on_reddit_is_deleted_here_by_the_next_harvest(made):
    made.stages(*TO_CHECK)
    for post_id in ("trip1", "two001"):
        made.fill(post_id, keep=True, poster="Speaker B", why="looks fine")
    made.run("items")
    made.reddit.posts["trip1"].gone = True
    del made.reddit.posts["short1"]
    made.run("harvest")
    assert [path for path in made.raw.rglob("*") if path.stem in ("trip1", "short1")] == []
    assert list((made.raw / "items").iterdir()) == []
    gone = {"trip1": "deleted by its author", "short1": "not on Reddit any more"}
    assert json.loads((made.raw / "gone.json").read_text()) == gone
    of = made.reddit.posts["two001"]
    of.gone_comments.add(of.comments[1][1])  # the first comment, behind AutoModerator's
    (made.raw / "check" / "two001.yaml").write_text("keep: [")  # whatever a person left there
    made.run("harvest")
    assert list((made.raw / "items").iterdir()) == []
    assert "He should say sorry" not in json.dumps(made.kept("posts"))
    assert "two001" in made.kept("posts")  # fetched anew
    assert "two001" not in made.kept("readings")
    assert not (made.raw / "check" / "two001.yaml").exists()
    made.stages("label", "check")
    assert [made.checked("two001")[key] for key in ("keep", "label")] == [None, ""]

"""`evenhand build aio` from a release to items that DialDefer loads, against stand-ins on loopback."""

import json

import pytest

from evenhand.errors import ConfigError, DataError, ModelError
from studies.dialdefer.aio.reddit import gone_reason, image_addresses
from studies.dialdefer.datasets import DatasetSpec, load_items
from tests.made.fake_server import Reply
from tests.made.made_aio import TRIP, screenshot, workshop_here
from tests.made.made_reddit import MadePost
from tests.made.places import cases

CASES = cases(__file__)
STAGES = ("harvest", "transcribe", "check")


@pytest.fixture
def made(tmp_path):
    with workshop_here(tmp_path) as made:
        yield made


def test_the_released_ids_become_items_that_dialdefer_loads_and_what_is_missing_is_listed(made):
    made.stages(*STAGES)
    texts = {path: path.read_bytes() for path in made.raw.rglob("*") if path.is_file()}
    for name in (b"made_up_poster", b"tired of this", b"555-0147", b"Sarah", b"\x89PNG"):
        assert [path for path, content in texts.items() if name in content] == [], name
    assert (made.raw / ".gitignore").read_text().splitlines()[-1] == "*"
    made.fill("trip1", keep=True, poster="Speaker B")
    made.fill("money1", keep=True, poster="Speaker A")
    made.fill("two001", keep=True)
    made.fill("unsure", keep=False, why="not a chat")
    made.stages("check", "items")

    items = made.items()
    assert items["trip1"]["c2_input"].splitlines() == CASES["trip"]
    # The first bubble was the poster's, whom the model's labels call Speaker A; the person said so.
    assert items["money1"]["c2_input"].startswith("Speaker B: Hey [REDACTED], did you get the money")
    assert made.missing() == {post: (stage, why) for post, stage, why in CASES["missing"]}
    card = (made.raw / "items" / "README.md").read_text()
    assert "2 of 8 posts have their dialogue." in card
    assert "| turn range | 4–5 |" in card

    loaded = {item.item_id: item for item in load_items([DatasetSpec(dataset="aio", root=made.raw / "items")])}
    assert set(loaded) == set(items) == {"trip1", "money1"}
    assert (loaded["money1"].correct_answer, loaded["trip1"].correct_answer) == ("overreacting", "not overreacting")
    assert loaded["trip1"].context == "Speaker B told Speaker A of trip1."


def test_posts_that_a_server_does_not_answer_are_asked_again_by_the_next_call(made, capsys):
    made.stages("harvest")
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


def test_a_server_that_answers_no_post_refuses_the_key_or_has_no_such_model_ends_the_stage(made, monkeypatch):
    for post_id in made.reddit.posts:
        made.reddit.posts[post_id] = MadePost(post_id, (screenshot(TRIP),))
    made.run("harvest")
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


def test_what_is_deleted_on_reddit_is_deleted_here_by_the_next_harvest(made):
    made.stages(*STAGES, "items")
    made.reddit.posts["trip1"].gone = True
    del made.reddit.posts["unsure"]
    made.run("harvest")
    assert [path for path in made.raw.rglob("*") if path.stem in ("trip1", "unsure")] == []
    assert list((made.raw / "items").iterdir()) == []
    gone = {"trip1": "deleted by its author", "unsure": "not on Reddit any more", "gone01": "deleted by its author"}
    assert json.loads((made.raw / "gone.json").read_text()) == gone


def test_ids_are_checked_before_reddit_is_asked(made):
    (made.release / "finalAIOdata_experiment_ready.jsonl").write_text('{"id": "../../x"}\n')
    with pytest.raises(DataError, match=r"'\.\./\.\./x' is not an id of a post"):
        made.run("harvest")


@pytest.mark.parametrize(("facts", "expected"), CASES["images"])
def test_images_are_found_in_galleries_in_texts_and_behind_links(facts, expected):
    urls = image_addresses(facts)
    assert [url.rpartition("/")[2].partition(".")[0] for url in urls] == expected
    assert all("&amp;" not in url for url in urls)


@pytest.mark.parametrize(("facts", "reason"), CASES["gone"])
def test_what_is_gone_is_known_by_its_mark(facts, reason):
    assert gone_reason(facts) == reason

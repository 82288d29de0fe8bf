"""What is deleted on Reddit is deleted here by the next harvest, with what was made of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenhand.errors import ConfigError
from tests.made.made_aio import Workshop, use_environment, workshop


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        use_environment(monkeypatch, made.environment)
        yield made


def test_what_is_deleted_on_reddit_is_deleted_here_by_the_next_harvest(made):
    made.stages("discover", "harvest", "transcribe", "label", "check")
    for post_id in ("trip1", "two001"):
        made.fill(post_id, keep=True)
    made.run("items")
    assert list(made.items()) == ["trip1", "two001"]

    made.reddit.posts["trip1"].gone = True
    del made.reddit.posts["short1"]
    made.run("harvest")
    left = [path for path in made.raw.rglob("*") if path.stem in ("trip1", "short1")]
    assert left == []
    assert not (made.raw / "items" / "finalAIOdata_experiment_ready.jsonl").exists()
    gone = json.loads((made.raw / "gone.json").read_text())
    assert {name: entry["reason"] for name, entry in gone.items()} == {
        "trip1": "deleted by its author",
        "short1": "not on Reddit any more",
    }
    made.run("items")
    comment = made.reddit.posts["two001"].comments["confidence"][1][1]
    made.reddit.posts["two001"].gone_comments.add(comment)
    made.run("harvest")
    assert list((made.raw / "items").iterdir()) == []
    assert "He should say sorry" not in json.dumps(made.kept("posts"))
    assert "two001" not in made.kept("readings")
    made.stages("label", "check")
    made.run("items")
    assert made.missing()["trip1"] == ("harvest", "deleted by its author")
    assert made.missing()["two001"] == ("check", "not checked by a person yet")


def test_a_label_goes_from_the_file_of_a_check_with_the_comment_that_it_was_read_from(made):
    made.stages("discover", "harvest", "transcribe", "label", "check")
    mended = "Speaker A: not what the model read"
    made.fill("two001", keep=True, why="looks fine", dialogue=mended)
    made.fill("money1", keep=True)
    made.fill("dog001", keep=False)
    for post_id, number in {"two001": 1, "money1": 1, "dog001": 1, "trip1": 1}.items():  # behind AutoModerator's
        of = made.reddit.posts[post_id]
        of.gone_comments.add(of.comments["confidence"][number][1])
    untouched = made.checked("trip1")
    assert untouched["label"] == "NOR"
    made.run("harvest")

    left = made.checked("two001")
    assert {name: left[name] for name in ("label", "doubts", "keep")} == {"label": "", "doubts": [], "keep": None}
    assert {name: left[name] for name in ("why", "dialogue")} == {"why": "looks fine", "dialogue": mended}
    assert left["context"]
    assert "give `label` and `keep` anew" in (made.raw / "check" / "two001.yaml").read_text()
    assert (made.checked("money1")["label"], made.checked("money1")["keep"]) == ("OR", True)  # of the second comment
    assert (made.checked("dog001")["label"], made.checked("dog001")["keep"]) == ("", False)
    assert not (made.raw / "check" / "trip1.yaml").exists()
    made.stages("label", "check")
    assert made.checked("trip1") == untouched  # from the second comment, which says the same
    made.fill("money1", label="NOR")  # read by a person, nobody knows from which comment
    made.reddit.posts["money1"].gone_comments.add("OR a bit, honestly. It is only money.")
    made.run("harvest")
    assert made.checked("money1")["label"] == ""


def test_a_file_that_no_longer_parses_does_not_keep_what_is_deleted_elsewhere(made):
    made.stages("discover", "harvest", "transcribe", "label", "check")
    broken = made.raw / "check" / "trip1.yaml"
    whole = broken.read_text()
    broken.write_text("keep: [")
    for post_id in ("trip1", "two001"):
        of = made.reddit.posts[post_id]
        of.gone_comments.add(of.comments["confidence"][1][1])
    with pytest.raises(ConfigError, match=r"trip1\.yaml(.|\n)*Comments of 1 posts with such files are still here"):
        made.run("harvest")
    gone = {post_id: made.reddit.posts[post_id].comments["confidence"][1][1] for post_id in ("trip1", "two001")}
    assert gone["two001"] not in json.dumps(made.kept("posts")["two001"])
    broken.write_text(whole)
    made.run("harvest")
    assert gone["trip1"] not in json.dumps(made.kept("posts")["trip1"])
